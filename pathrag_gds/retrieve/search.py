"""Beam search over relational paths, with no I/O of its own.

:func:`search` is a generator: it yields a :class:`~pathrag_gds.retrieve.statements.Request` and is
sent the rows. So it is tested without a server, and another driver could await each statement::

    seeds → score → (expand → score → prune) × depth → hydrate → provenance → answers

One statement each, so a search of depth *d* makes *d* + 4 round trips, whatever the beam width,
*d* + 3 where no patterns are wanted (one more only if an index had to be asked again because of
other tenants' rows, and one where flow counts in the score). The beam holds whole paths
(:mod:`.paths`) or chains of relations (:mod:`.chains`).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from pathrag_gds import telemetry
from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import QueryTimeout
from pathrag_gds.graph.database import QueryRunner, Row
from pathrag_gds.models.reranker import reads_chains
from pathrag_gds.retrieve.answers import answers_of, properties_to_read
from pathrag_gds.retrieve.beam import Beam, Shown, Working
from pathrag_gds.retrieve.chains import ChainBeam
from pathrag_gds.retrieve.complete import Found, ask_patterns, fill_in, fill_in_meetings
from pathrag_gds.retrieve.flow_prior import read_prior
from pathrag_gds.retrieve.flow_search import FlowBeam
from pathrag_gds.retrieve.keywords import Keyword
from pathrag_gds.retrieve.language import language_warnings
from pathrag_gds.retrieve.meet import Joined, join, merged, place, proven
from pathrag_gds.retrieve.paths import PathBeam
from pathrag_gds.retrieve.restrict import restriction_warnings
from pathrag_gds.retrieve.seeds import Seeds
from pathrag_gds.retrieve.session import SearchContext, Session
from pathrag_gds.retrieve.settle import beam_for, look_further, settle
from pathrag_gds.retrieve.shaped import Reply
from pathrag_gds.retrieve.statements import Request, perform
from pathrag_gds.types import (
    Answer,
    DepthTrace,
    Outcome,
    Pattern,
    RankedPath,
    ResultHop,
    SearchResult,
    SearchStats,
    Source,
)

__all__ = ["run", "search"]

Steps = Generator[Request, list[Row], SearchResult]


def run(db: QueryRunner, steps: Steps) -> SearchResult:
    """Run a search against a database, one statement after the other."""
    try:
        request = next(steps)
        while True:
            try:
                rows = _perform(db, request)
            except QueryTimeout as error:
                request = steps.throw(error)
            else:
                request = steps.send(rows)
    except StopIteration as stop:
        result: SearchResult = stop.value
        return result
    finally:
        steps.close()


def _perform(db: QueryRunner, request: Request) -> list[Row]:
    """Run a statement in the span of the stage that asks for it."""
    tenant = request.parameters.get("tenant", "")
    with telemetry.span(f"pathrag.{request.stage}", tenant=tenant, depth=request.depth) as span:
        rows = perform(db, request)
        span.set(query=request.query.name, rows=len(rows))
        return rows


def search(
    question: str,
    config: SearchConfig,
    context: SearchContext,
    trace: list[DepthTrace] | None = None,
    *,
    start_ids: Sequence[str] = (),
    keywords: Sequence[Keyword] = (),
) -> Steps:
    """Search for the paths that answer a question.

    Args:
        question: In plain language. Without a word in it, its vector alone finds seeds.
        config: How wide, how deep, what counts.
        trace: Appended to per depth when given: what was kept and what was cut.
        start_ids: Entities that the question is about, where the caller knows them; they are the
            anchors, and the question's words are not searched for names.
        keywords: What starts are looked for by instead of the question, a statement each; they
            count for nothing else, and for nothing where ``start_ids`` are given.

    Yields:
        Statements to run; send back their rows.

    Returns:
        The result; the same for the same graph and arguments, ``stats.millis`` apart.
    """
    session = Session(
        question, config, context, trace, tuple(dict.fromkeys(start_ids)), tuple(keywords)
    )
    found = yield from session.find_seeds()
    starts = session.begin(found)
    beam = _beam(session)
    if config.pruner == "beam":
        session.prior = yield from read_prior(session, starts)
    yield from _deepen(session, beam, starts)
    if look_further(session, beam):
        beam = _beam(session)
        yield from _deepen(session, beam, starts)
    return (yield from _finish(session, beam, found))


def _deepen(session: Session, beam: Beam, starts: Sequence[str]) -> Working:
    session.level = 0
    beam.start(starts)
    for depth in range(1, session.config.max_depth + 1):
        if not beam.alive or session.out_of_time():
            break
        session.level = depth
        yield from beam.go_deeper(depth)
    session.level = None


def _beam(session: Session) -> Beam:
    # Who asks for a flow gets it, whatever the shape of the question.
    if session.config.pruner != "beam":
        return FlowBeam(session)
    shaped = beam_for(session, session.shape)
    if shaped is not None:
        return shaped
    return ChainBeam(session) if session.choice.strategy == "chains" else PathBeam(session)


def _joined(session: Session, beam: Beam, found: Seeds) -> list[Joined]:
    """Read the conjunctions of what a beam found; a reranker that reads paths alone reads none."""
    if not isinstance(beam, ChainBeam | PathBeam) or session.choice.strategy == "paths":
        return []
    return join(session, beam.conditions(), found.anchors)


def _finish(session: Session, beam: Beam, found: Seeds) -> Steps:
    """Choose the results, fetch what is shown of them, and say what it cost."""
    shown, groups = beam.choose()
    named = [anchor.id for anchor in found.anchors]
    asked: Found | None = None
    if joined := _joined(session, beam, found):
        groups = merged(groups, joined)
        unsure = {one.group.chains for one in joined if not one.conjunction.met}
        asked = yield from ask_patterns(
            session, groups, named, unsure=unsure, examples=session.config.top_k
        )
        joined = proven(session, joined, asked)
        shown = place(session, joined, shown)
    sources: dict[str, Source] = {}
    if session.start_rank:
        shown = yield from beam.hydrate(shown)
        sources = yield from session.provenance(path.path for path in shown)
    ranked = tuple(_ranked(session, rank, path, sources) for rank, path in enumerate(shown, 1))
    with telemetry.span("pathrag.answer") as span:
        properties = _read_properties(session, ranked, found)
        answers = answers_of(session.question, ranked, found.anchors, properties)
        span.set(paths=len(ranked), answers=len(answers))
    meetings = {rank: path.meeting for rank, path in enumerate(shown, 1) if path.meeting}
    reply = yield from settle(session, session.shape, ranked, found.anchors, answers, meetings)
    patterns: tuple[Pattern, ...] = ()
    if reply is not None:
        answers, ranked, patterns = reply.answers, reply.paths or ranked, reply.patterns
    elif groups:
        if asked is None:
            asked = yield from ask_patterns(session, groups, named)
        if isinstance(beam, ChainBeam):
            answers, patterns = fill_in(answers, shown, groups, asked)
        else:
            answers, patterns = fill_in_meetings(answers, shown, asked)
    session.millis["total"] = (session.context.clock() - session.began) * 1000
    return SearchResult(
        question=session.question,
        tenant=session.context.tenant,
        method="path",
        outcome=_outcome(session, answers, reply),
        anchors=found.anchors,
        answers=answers,
        paths=ranked,
        cut=session.cuts(),
        stats=SearchStats(
            round_trips=session.round_trips,
            setup_round_trips=session.context.setup_round_trips,
            depth=session.depth,
            strategy=session.choice.strategy,
            strategy_reason=session.choice.reason,
            candidates=session.candidates,
            texts_scored=len(session.scorer.scores),
            cache_hits=session.scorer.cache_hits,
            truncated=len(session.truncated),
            millis={stage: round(ms, 3) for stage, ms in sorted(session.millis.items())},
        ),
        config=session.config.to_dict(),
        keywords=tuple(keyword.text for keyword in session.keywords),
        seeds=found.seeds,
        warnings=(
            *session.context.warnings,
            *language_warnings(session.question),
            *found.warnings,
            *_unknown_starts(session, found),
            *_restricted(session, answers),
            *(reply.warnings if reply else ()),
        ),
        patterns=patterns,
        shape=session.shape.to_dict(),
    )


def _read_properties(
    session: Session, ranked: Sequence[RankedPath], found: Seeds
) -> dict[str, str]:
    """Let a reranker that was trained for it find the property that is asked for, by id."""
    if not reads_chains(session.context.reranker):
        return {}
    wanted = properties_to_read(session.question, ranked, found.anchors)
    return {
        id_: session.scorer.best_property(session.entities[id_], keys)
        for id_, keys in wanted.items()
    }


def _unknown_starts(session: Session, found: Seeds) -> list[str]:
    known = {anchor.id for anchor in found.anchors}
    return [f"The graph has no entity {id_!r}." for id_ in session.start_ids if id_ not in known]


def _restricted(session: Session, answers: Sequence[Answer]) -> tuple[str, ...]:
    if session.config.intent != "restrict":
        return ()
    types = len(session.context.ontology.relation_types)
    return restriction_warnings(session.allowed, types, empty=not answers)


def _ranked(session: Session, rank: int, shown: Shown, sources: Mapping[str, Source]) -> RankedPath:
    path = shown.path
    return RankedPath(
        rank=rank,
        score=shown.score,
        confidence=shown.confidence,
        terms=shown.terms,
        text=shown.text,
        path=path,
        nodes=tuple(session.entities[node] for node in path.nodes),
        hops=tuple(
            ResultHop(hop, tuple(sources.get(c, Source(c)) for c in sorted(hop.edge.chunk_ids)))
            for hop in path.hops
        ),
    )


def _outcome(session: Session, answers: Sequence[Answer], reply: Reply | None) -> Outcome:
    if session.partial:
        return "partial"
    if reply is not None:
        return reply.outcome
    if session.allowed and not answers:
        # What the graph holds elsewhere was not looked at.
        return "partial"
    # A path that ends where the question begins may pass, and yet answers nothing.
    return "answered" if answers else "not_in_graph"
