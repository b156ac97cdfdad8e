"""Find where chains from different names meet, and put that among the results. No I/O.

What two frontiers have in common is seen where both are whole; where one is a sample, only the
database can tell. So the patterns of the likeliest conjunctions are asked for their answers before
anything is shown: the statement that completes answers anyway, asked earlier. Those that lead to
nothing are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pathrag_gds.retrieve.beam import Group, Shown
from pathrag_gds.retrieve.complete import Found
from pathrag_gds.retrieve.conjoin import Condition, Conjunction, conjoin
from pathrag_gds.retrieve.pattern import PatternAnswers
from pathrag_gds.retrieve.score import shifted
from pathrag_gds.retrieve.serialize import meeting_text
from pathrag_gds.retrieve.session import Session
from pathrag_gds.types import Anchor, Chain, Path, PathKey

__all__ = ["Joined", "join", "merged", "place", "proven"]

# Shapes whose answers are what paths lead to.
_SHAPES = frozenset({"conjunction", "count", "time", "superlative"})
_MOST_TEXTS = 60
# Added to the logit of a conjunction for each mention beyond the first: one that leaves no name out
# rather answers. Chosen on conjunctions over the graphs of PathQuestion and on MetaQA's training
# split, where words that happen to be names must not count: from 3 on, the former had the right
# answer first for .825 of 120, without it for .775, by single chains for .308; at 5 the latter
# lost none, without a limit 2 of 120.
_PER_MENTION = 3.0


@dataclass(frozen=True, slots=True)
class Joined:
    """A conjunction that was read.

    Attributes:
        terms: Of its score, by name; see :class:`pathrag_gds.types.RankedPath`.
        asked: What the graph says to it; None where it was not asked.
    """

    conjunction: Conjunction
    group: Group
    terms: Mapping[str, float]
    asked: PatternAnswers | None = field(default=None, compare=False)


def join(
    session: Session, conditions: Iterable[Condition], anchors: Sequence[Anchor]
) -> list[Joined]:
    """Read the conjunctions of what a beam found; best first, none where fewer than two are named.

    Args:
        conditions: Chains that were read, in a fixed order.
        anchors: What the question names; candidates of one mention are alternatives.
    """
    mentions: dict[str, list[str]] = {}
    for anchor in anchors:
        mentions.setdefault(anchor.mention, []).append(anchor.id)
    if session.shape.kind not in _SHAPES or len(mentions) < 2:
        return []
    named = [anchor.id for anchor in anchors]
    found = conjoin(conditions, list(mentions.values()), named, _MOST_TEXTS)
    session.candidates += len(found)
    phrasing = session.context.ontology.phrasing
    began = session.context.clock()
    texts = [
        meeting_text(one.chains, [session.entities[c.start] for c in one.chains], phrasing=phrasing)
        for one in found
    ]
    session.scorer.read_texts(texts)
    session.add_time("score", began)
    read = [(c, t, session.scorer.scores.get(t)) for c, t in zip(found, texts, strict=True)]
    known = [(c, t, values[0]) for c, t, values in read if values is not None]
    session.note(session.depth, "time_limit", len(read) - len(known))
    joined = [_joined(session, *one) for one in known]
    sure = [one for one in joined if one.group.confidence >= session.config.min_score]
    session.note(session.depth, "min_score", len(joined) - len(sure))
    return sorted(sure, key=lambda one: -one.group.score)


def _joined(session: Session, conjunction: Conjunction, text: str, rerank: float) -> Joined:
    """Score a conjunction by the terms of a path, as one: by its longest chain and worst link."""
    chains = conjunction.chains
    ends = {end for condition in conjunction.conditions for end in condition.ends}
    # What a node tells of itself, its chains do not say: among events that alone decides, and the
    # paths that they are compared with were read with it.
    told = any(session.entities[end].description for end in ends & session.entities.keys())
    answer = rerank if told else shifted(rerank, _PER_MENTION * (len(chains) - 1))
    worst = min(chains, key=lambda chain: session.link_score.get(chain.start, 0.0)).start
    types = [step.type for chain in chains for step in chain.steps]
    ways = [
        condition.path_to(end).nodes
        for condition in conjunction.conditions
        for end in conjunction.met
    ]
    score = session.total(
        answer,
        worst,
        conjunction.depth,
        session.flow_of(*ways),
        session.words_score(text, types),
    )
    terms = {
        "rerank": rerank,
        "similarity": 0.0,
        "type": 0.0,
        "link": session.link_score.get(worst, 0.0),
        **session.flow_term(*ways),
        **session.words_terms(text, types),
    }
    return Joined(conjunction, Group(chains, text, session.confidence(answer), score), terms)


def merged(groups: Iterable[Group], joined: Iterable[Joined]) -> list[Group]:
    """Put conjunctions among other groups, best first; before equally good ones."""
    return sorted([*(one.group for one in joined), *groups], key=lambda group: -group.score)


def proven(session: Session, joined: Iterable[Joined], found: Found) -> list[Joined]:
    """Keep the conjunctions that meet somewhere, with what the graph says to them.

    One of which nothing was asked counts by what is known of its frontiers.
    """
    told = {g.chains: a for g, a in zip(found.groups, found.answers, strict=True)}
    kept = []
    for one in joined:
        asked = told.get(one.group.chains)
        if asked.answers if asked else one.conjunction.met:
            kept.append(replace(one, asked=asked))
        else:
            session.note(one.conjunction.depth, "no_meeting", 1)
    return kept


def place(session: Session, joined: Sequence[Joined], shown: Sequence[Shown]) -> list[Shown]:
    """Put instances of conjunctions among the paths of the result.

    An instance is a path of each chain to one node. They stay together: where ``top_k`` leaves no
    room for all of them, the next best take it.

    Args:
        joined: Best first.
        shown: Paths of the beam, best first.
    """
    limit = session.config.top_k
    units = [*(unit for one in joined for unit in _instances(one)), *([path] for path in shown)]
    units.sort(key=lambda unit: -unit[0].score)
    placed: list[Shown] = []
    seen: set[PathKey] = set()
    for unit in units:
        new = [path for path in unit if path.path.key not in seen]
        if len(placed) + len(new) > limit:
            session.note(unit[0].path.depth, "top_k", len(new))
            continue
        placed += new
        # A path of a chain does not know its relationships' keys before it is read.
        seen |= {key for path in new for key in (path.path.key, _keyless(path.path))}
    return placed


def _keyless(path: Path) -> PathKey:
    return tuple(sorted((*hop.edge.identity[:-1], "") for hop in path.hops))


def _instances(joined: Joined) -> Iterator[list[Shown]]:
    """Give a path of each chain to one node, node by node: nearest to the question first."""
    conditions = joined.conjunction.conditions
    if joined.asked is not None:
        ways = [answer.paths for answer in joined.asked.answers if answer.paths]
    else:
        ways = [tuple(c.path_to(end) for c in conditions) for end in joined.conjunction.met]
    for paths in ways:
        yield [
            _shown(joined, path, chain)
            for path, chain in zip(paths, joined.group.chains, strict=True)
        ]


def _shown(joined: Joined, path: Path, chain: Chain) -> Shown:
    return Shown(
        path=path,
        text=joined.group.text,
        score=joined.group.score,
        confidence=joined.group.confidence,
        terms=joined.terms,
        chain=chain,
        meeting=joined.group.chains,
    )
