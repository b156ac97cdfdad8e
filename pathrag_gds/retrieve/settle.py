"""Settle questions that have a shape of their own: which beam looks for what, and what is answered.

Like a search, a generator of requests without I/O. A question that leads to the end of a path, or
that nothing here can answer as it asks, is left to the search.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pathrag_gds.graph.database import Row
from pathrag_gds.graph.queries import load
from pathrag_gds.retrieve.attributes import (
    SUPERLATIVES,
    TIME_MEASURES,
    keys_by_measure,
    measures_said,
    verbs_of_time,
)
from pathrag_gds.retrieve.beam import Beam
from pathrag_gds.retrieve.evidence import BetweenBeam, NamedBeam
from pathrag_gds.retrieve.filters import Predicate, all_of
from pathrag_gds.retrieve.intent import asked_type
from pathrag_gds.retrieve.kinds import kind_words
from pathrag_gds.retrieve.pattern import (
    MAX_READ,
    HopFilter,
    PatternAnswers,
    answers_request,
    pattern_of,
    read_answers,
)
from pathrag_gds.retrieve.serialize import entity_text, path_text, relation_phrase
from pathrag_gds.retrieve.session import Session
from pathrag_gds.retrieve.shape import Shape
from pathrag_gds.retrieve.shaped import (
    Reply,
    chain_to,
    compared,
    end_values,
    extreme,
    hop_key,
    hop_values,
    is_true,
    named_values,
    path_to_count,
    relation_answers,
    time_place,
    unaccounted,
    untrue_of,
    within,
)
from pathrag_gds.retrieve.statements import Request
from pathrag_gds.retrieve.when import Span, span_of_value
from pathrag_gds.retrieve.wording import read_wording
from pathrag_gds.types import (
    Anchor,
    Answer,
    Chain,
    Outcome,
    Path,
    Pattern,
    RankedPath,
    ResultHop,
    Source,
)

__all__ = ["beam_for", "look_further", "settle"]

_Settling = Generator[Request, list[Row], Reply | None]

_OPEN_WORLD = "What the graph does not say is not thereby false, so there is no answer."
_HOPS_OF_PROOF = 2
# Shapes whose questions are answered only where the graph leaves no doubt.
_MAY_DECLINE = ("boolean", "comparison", "superlative", "negation")
_ANSWERED = ("answered", "not_in_graph")


def beam_for(session: Session, shape: Shape) -> Beam | None:
    """Give the beam that a shape needs; None for a search as for any question."""
    mentions = shape.mentions
    if shape.of_hop:
        return BetweenBeam(session, mentions[0], mentions[1], 1, lambda path: hop_key(shape, path))
    if shape.kind == "property" and (values := named_values(shape, session.entities)):
        return NamedBeam(session, tuple(answer.id for answer in values))
    if shape.kind == "comparison" and compared(shape, session.entities):
        return NamedBeam(session, tuple(ids[0] for ids in mentions))
    depth = session.config.max_depth
    if shape.kind == "relation" and len(mentions) == 2:
        return BetweenBeam(session, mentions[0], mentions[1], depth)
    if shape.kind == "boolean" and len(mentions) == 2 and not session.unproved:
        return BetweenBeam(session, mentions[0], mentions[1], min(depth, _HOPS_OF_PROOF))
    if _kind_of(session, shape):
        return NamedBeam(session, ())
    return None


def look_further(session: Session, beam: Beam) -> bool:
    """Whether there is more to look for: what was asked between two names was not there.

    Then a question for what a relationship tells is taken for what else it may ask, and one
    whether something is so gets what is known of each of the two as its evidence.
    """
    shape = session.shape
    if not isinstance(beam, BetweenBeam) or beam.found or session.out_of_time():
        return False
    if shape.instead is not None:
        session.take(shape.instead)
        return True
    session.unproved = shape.kind == "boolean"
    return session.unproved


def settle(
    session: Session,
    shape: Shape,
    ranked: Sequence[RankedPath],
    anchors: Sequence[Anchor],
    otherwise: Sequence[Answer],
    meetings: Mapping[int, tuple[Chain, ...]] | None = None,
) -> _Settling:
    """Answer what a shape asks; None where the ends of the paths are the answers.

    What cannot be answered for sure comes with evidence of all that is named.

    Args:
        ranked: What the beam of :func:`beam_for`, or the search, found.
        otherwise: The answers of a question that leads to the end of a path.
        meetings: By rank, the chains that a path's meets in its end.
    """
    reply = yield from _settle(session, shape, ranked, anchors, otherwise, meetings or {})
    if reply is None or shape.kind not in _MAY_DECLINE or reply.outcome in _ANSWERED:
        return reply
    shown = reply.paths or tuple(ranked)
    return replace(reply, paths=(*shown, *_of_named(session, shape, shown)))


def _of_named(session: Session, shape: Shape, shown: Sequence[RankedPath]) -> Iterator[RankedPath]:
    """Show what is named and no path touches as it is."""
    seen = {node for path in shown for node in path.path.nodes}
    ids = dict.fromkeys(id_ for mention in shape.mentions for id_ in mention)
    for rank, id_ in enumerate((id_ for id_ in ids if id_ not in seen), len(shown) + 1):
        entity, link = session.entities[id_], session.link_score[id_]
        yield RankedPath(
            rank, link, link, {"link": link}, entity_text(entity), Path((id_,)), (entity,), ()
        )


def _settle(
    session: Session,
    shape: Shape,
    ranked: Sequence[RankedPath],
    anchors: Sequence[Anchor],
    otherwise: Sequence[Answer],
    meetings: Mapping[int, tuple[Chain, ...]],
) -> _Settling:
    if shape.of_hop:
        return Reply(hop_values(shape, ranked), "answered")
    if shape.kind == "property":
        return _property(session, shape, ranked, anchors, otherwise)
    if shape.kind == "relation":
        return _relation(session, shape, ranked)
    if shape.kind == "comparison":
        return _with_ranks(compared(shape, session.entities), ranked) or _unsupported(
            "A comparison is answered where two things are named and both have the property "
            "that is compared."
        )
    if shape.kind == "boolean":
        proof = is_true(shape, session.question, ranked)
        if proof is None:
            return Reply((), "partial" if ranked else "unsupported", (_OPEN_WORLD,))
        answer = Answer("boolean", "", "", value=True, confidence=proof.confidence)
        return Reply((replace(answer, paths=(proof.rank,)),), "answered")
    if shape.kind == "negation" and not (shape.excluded or shape.keys):
        return _unsupported(f"A denial ({shape.negated!r}) is not answered. {_OPEN_WORLD}")
    kind = _kind_of(session, shape)
    if kind is not None:
        return (yield from _of_kind(session, shape, kind))
    if shape.kind in ("count", "superlative", "time", "negation"):
        return (yield from _complete(session, shape, ranked, anchors, otherwise, meetings))
    return None


def _unsupported(why: str) -> Reply:
    return Reply((), "unsupported", (why,))


def _with_ranks(reply: Reply | None, ranked: Sequence[RankedPath]) -> Reply | None:
    if reply is None:
        return None
    ranks = tuple(path.rank for path in ranked)
    return replace(reply, answers=tuple(replace(a, paths=ranks) for a in reply.answers))


def _property(
    session: Session,
    shape: Shape,
    ranked: Sequence[RankedPath],
    anchors: Sequence[Anchor],
    otherwise: Sequence[Answer],
) -> Reply | None:
    ranks = {path.path.start: path.rank for path in ranked if not path.path.hops}
    values = named_values(shape, session.entities)
    if values:
        given = (replace(v, paths=(ranks[v.id],)) if v.id in ranks else v for v in values)
        return Reply(tuple(given), "answered")
    if not shape.of_end:
        # What is named has it not, by the words of its keys; its text may say it all the same.
        return None
    values = end_values(shape, ranked, (anchor.id for anchor in anchors))
    if values:
        return Reply(values, "answered")
    if any(answer.kind == "value" for answer in otherwise):
        return None
    return Reply((), "partial", (f"Nothing that was found has {' or '.join(shape.keys)}.",))


def _relation(session: Session, shape: Shape, ranked: Sequence[RankedPath]) -> Reply:
    if len(shape.mentions) != 2:
        return Reply((), "not_in_graph", ("Two names of the graph are needed for a way between.",))
    answers = relation_answers(ranked, session.entities)
    if answers:
        return Reply(answers, "answered")
    return Reply(
        (), "not_in_graph", (f"No path of up to {session.config.max_depth} hops connects them.",)
    )


@dataclass(frozen=True, slots=True)
class _Kind:
    """All entities with a label, and the property of them that matters; empty for none."""

    label: str
    key: str


def _kind_of(session: Session, shape: Shape) -> _Kind | None:
    """Give what a question about all of a kind is about; None where it is about less.

    Whatever is named, or said besides the kind, makes it less.
    """
    if shape.kind not in ("count", "superlative", "time") or session.link_score:
        return None
    noun = shape.noun or asked_type(shape.core)
    types = [t for t in session.context.ontology.entity_types if t.name]
    fitting = [t for t in types if kind_words(relation_phrase(t.name)) == kind_words(noun)]
    said = " ".join([noun, *shape.keys])
    rest = {*unaccounted(shape.core, [], said)} - _OF_ALL - verbs_of_time(shape.core)
    if len(fitting) != 1 or rest:
        return None
    (kind,) = fitting
    if shape.span is None:
        return _Kind(kind.name, next((k for k in shape.keys if k in kind.properties), ""))
    measures = measures_said(shape.core) or TIME_MEASURES
    keys = keys_by_measure(measures, kind.properties)
    return _Kind(kind.name, keys[0]) if keys and shape.kind != "superlative" else None


# Words that leave a question about all of a kind what it is.
_OF_ALL = frozenset(("exist", "existing", "graph", "database", "data", "total", "altogether")) | {
    word for adjective in SUPERLATIVES for word in adjective.split()
}


def _of_kind(session: Session, shape: Shape, kind: _Kind) -> _Settling:
    """Count, compare or filter everything with a label."""
    held_to = session.seed_filter
    slot = f"AND {held_to.text}" if held_to.text else ""
    request = Request(
        load("retrieve/of_label").render({"filter": slot}),
        {
            "filters": dict(held_to.values),
            "tenant": session.context.tenant,
            "label": kind.label,
            "key": kind.key,
            "most": MAX_READ + 1,
        },
    )
    rows = yield from session.ask("expand", request)
    if session.partial or len(rows) > MAX_READ:
        return Reply((), "partial", (f"There are more than {MAX_READ:,} of {kind.label}.",))
    values = {row["id"]: row["value"] for row in rows}
    ids, warnings = tuple(values), tuple[str, ...]()
    if shape.kind == "superlative":
        at = shape.keys.index(kind.key) if kind.key else 0
        only = replace(shape, keys=shape.keys[at : at + 1], larger=shape.larger[at : at + 1])
        best = extreme(only, {id_: {kind.key: value} for id_, value in values.items()})
        if best is None or shape.yes_no:
            return _unsupported(f"Not every {kind.label} has a value that could be compared.")
        ids = best.ids
    elif shape.span is not None:
        held = {id_: _holds(shape.span, value) for id_, value in values.items()}
        ids = tuple(id_ for id_, inside in held.items() if inside)
        unknown = sum(inside is None for inside in held.values())
        if unknown:
            warnings = (f"Of {unknown} the {kind.key} is not known exactly enough.",)
    outcome: Outcome = "partial" if warnings else "answered"
    if shape.kind == "count":
        number = Answer("number", "", "", value=len(ids), confidence=1.0)
        return Reply((number,), outcome, warnings)
    names = {row["id"]: str(row["name"] or row["id"]) for row in rows}
    answers = tuple(Answer("entity", id_, names[id_], confidence=1.0) for id_ in ids)
    return Reply(answers, outcome if answers else "not_in_graph", warnings)


def _holds(span: Span, value: Any) -> bool | None:
    found = span_of_value(value)
    return None if found is None else span.holds(found)


def _complete(
    session: Session,
    shape: Shape,
    ranked: Sequence[RankedPath],
    anchors: Sequence[Anchor],
    otherwise: Sequence[Answer],
    meetings: Mapping[int, tuple[Chain, ...]],
) -> _Settling:
    """Answer from the complete set that the best path is an instance of, or one of several."""
    named = [anchor.id for anchor in anchors]
    if not named and shape.kind != "time":
        # What is near to the question's words is no set that anything could be counted in.
        return _unsupported("Nothing that the graph has is named, so it is not known of what.")
    if not named:
        why = "Nothing that the graph has is named, so the answers may be of any time."
        return Reply(tuple(otherwise), "partial", (why,))
    noun = shape.noun or _asked_noun(shape.core, anchors)
    path = path_to_count(replace(shape, noun=noun), ranked, named)
    if path is None:
        return Reply((), "partial", ("No path leads to what is asked for.",))
    if shape.kind == "superlative" and (not shape.keys or shape.yes_no):
        return _unsupported("Nothing that the graph holds of each says which has most of it.")
    chains = meetings.get(path.rank) or (chain_to(path, noun),)
    beside = [p for p in ranked if meetings.get(p.rank) == chains] or [path]
    # Where a time stands is told by the variables of the first chain.
    first = next((p for p in beside if p.path.start == chains[0].start), path)
    place = time_place(shape.core, first) if shape.span else None
    if shape.span and place is None:
        why = "The graph has no time there, so the answers may be of any."
        kept = otherwise if shape.kind == "time" else ()
        return Reply(tuple(kept), "partial", (why,))
    inside = within(shape.span, place, first.path.depth) if shape.span and place else None
    predicate = _both(session, inside)
    revisit = session.config.revisit
    pattern = pattern_of(
        chains,
        path.text,
        tenant=session.context.tenant,
        revisit=revisit,
        predicate=predicate,
        named=named,
    )
    request = answers_request(
        [pattern],
        tenant=session.context.tenant,
        revisit=revisit,
        limit=MAX_READ,
        examples=session.config.top_k,
        predicate=predicate,
        named=named,
    )
    rows = yield from session.ask("expand", request)
    found = read_answers([pattern], request, rows)[0]
    pattern = replace(pattern, total=found.total, complete=found.complete)
    reply = _told(shape, path, found, pattern, _doubts(shape, beside, anchors, noun))
    return (yield from _with_paths(session, reply, path, ranked, found))


def _asked_noun(question: str, anchors: Sequence[Anchor]) -> str:
    """Name the kind of thing that a question asks for; a name before it is no part of it."""
    wording = read_wording(question, list(dict.fromkeys(anchor.mention for anchor in anchors)))
    return asked_type(wording.text.replace("@ 's", "x's").replace("@", ""))


def _with_paths(
    session: Session,
    reply: Reply,
    best: RankedPath,
    ranked: Sequence[RankedPath],
    found: PatternAnswers,
) -> Generator[Request, list[Row], Reply]:
    """Show the paths that end in the set, and of more of its members one each, up to ``top_k``."""
    wanted = {a.id for a in reply.answers if a.kind == "entity"}
    wanted = wanted or {answer.entity.id for answer in found.answers}
    kept = [p for p in ranked if p.path.hops and p.nodes[-1].id in wanted]
    ends = {path.nodes[-1].id for path in kept}
    more = [p for a in found.answers if a.entity.id in wanted - ends for p in a.paths]
    more = more[: session.config.top_k - len(kept)]
    unread = {n for path in more for n in path.nodes} - session.entities.keys()
    if unread:
        yield from session.hydrate(sorted(unread))
    kept += [_example(session, best, path) for path in more]
    if not kept:
        return reply
    paths = tuple(replace(path, rank=rank) for rank, path in enumerate(kept, 1))
    at: dict[str, list[int]] = {}
    for path in paths:
        at.setdefault(path.nodes[-1].id, []).append(path.rank)
    every = tuple(path.rank for path in paths)
    answers = [
        replace(a, paths=tuple(at.get(a.id, ())) if a.kind == "entity" else every)
        for a in reply.answers
    ]
    answers.sort(key=lambda a: (min(a.paths, default=len(paths) + 1), a.name, a.id))
    return replace(reply, answers=tuple(answers), paths=paths)


def _example(session: Session, best: RankedPath, path: Path) -> RankedPath:
    """Show a path that runs as the best one does, and is as sure."""
    phrasing = session.context.ontology.phrasing
    return replace(
        best,
        text=path_text(path, session.entities, phrasing=phrasing),
        path=path,
        nodes=tuple(session.entities[node] for node in path.nodes),
        hops=tuple(
            ResultHop(hop, tuple(Source(c) for c in sorted(hop.edge.chunk_ids)))
            for hop in path.hops
        ),
    )


def _both(session: Session, inside: HopFilter | None) -> HopFilter:
    """Hold a chain to the filters of the search and to the time."""

    def predicate(node: str, relationship: str) -> Predicate:
        own = session.predicate(node, relationship)
        return all_of((own, inside(node, relationship))) if inside else own

    return predicate


def _doubts(
    shape: Shape, paths: Sequence[RankedPath], anchors: Sequence[Anchor], noun: str
) -> tuple[str, ...]:
    """Say what the set leaves out of account that some paths, one of each of its chains, are of."""
    nodes = {node for path in paths for node in path.path.nodes}
    mentions: dict[str, set[str]] = {}
    excluded = {id_ for ids in shape.excluded for id_ in ids}
    for anchor in anchors:
        if anchor.id in excluded:
            continue
        mentions.setdefault(anchor.mention, set()).add(anchor.id)
    missing = [m for m, ids in mentions.items() if not ids & nodes]
    if missing:
        return (f"What was found does not take into account: {', '.join(missing)}.",)
    verbs = verbs_of_time(shape.core) if shape.span else ()
    rest = [word for word in unaccounted(shape.core, paths, noun) if word not in verbs]
    # The verb of a question is seldom the graph's own word.
    if len(rest) > 1:
        return (f"What was found may not take into account: {', '.join(rest)}.",)
    if shape.vague:
        return ("The time is put vaguely; the bounds are those of its widest meaning.",)
    return ()


def _told(
    shape: Shape,
    path: RankedPath,
    found: PatternAnswers,
    pattern: Pattern,
    warnings: tuple[str, ...],
) -> Reply:
    if found.total is None:
        more = f"There are more than {MAX_READ:,}, or the time was up."
        return Reply((), "partial", (*warnings, more), (pattern,))
    outcome: Outcome = "partial" if warnings else "answered"
    if shape.kind == "count":
        number = Answer("number", "", "", value=found.total, confidence=path.confidence, pattern=0)
        return Reply((number,), outcome, warnings, (pattern,))
    entities = {a.entity.id: a.entity for a in found.answers}
    ids = tuple(entities)
    if shape.kind == "superlative":
        best = extreme(shape, {id_: entity.properties for id_, entity in entities.items()})
        if best is None or warnings:
            why = "Not all that it is compared with is known to have a value."
            return Reply((), "unsupported", warnings or (why,), (pattern,))
        ids = best.ids
    if shape.kind == "negation" and shape.keys:
        untrue = untrue_of(shape.keys, entities)
        if untrue is None or warnings:
            why = f"Not of all it is known whether they are {shape.negated!r}."
            return Reply((), "unsupported", warnings or (why,), (pattern,))
        ids = untrue
    answers = tuple(
        Answer("entity", id_, entities[id_].name, confidence=path.confidence, pattern=0)
        for id_ in ids
    )
    pattern = replace(pattern, complete=pattern.complete and len(ids) == found.total)
    none: Outcome = "partial" if warnings else "not_in_graph"
    return Reply(answers, outcome if answers else none, warnings, (pattern,))
