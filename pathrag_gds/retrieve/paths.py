"""A beam of whole paths: every one is read by itself. No I/O."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from pathrag_gds.graph.database import Row
from pathrag_gds.retrieve.beam import Group, Shown, Working
from pathrag_gds.retrieve.conjoin import Condition
from pathrag_gds.retrieve.expand import (
    Neighbour,
    allowed,
    expand_request,
    extensions,
    read_neighbours,
)
from pathrag_gds.retrieve.prune import Candidate, distinct, min_max, prune
from pathrag_gds.retrieve.score import Child
from pathrag_gds.retrieve.session import Session
from pathrag_gds.retrieve.statements import Request
from pathrag_gds.retrieve.steps import chain_of, labels_by_count
from pathrag_gds.types import Chain, Path, PathKey, TracedPath

__all__ = ["PathBeam"]

# Reasons for which paths of a depth were not read, and for which they were not extended.
_UNREAD = frozenset({"expand_per_path", "rerank_limit", "row_cap", "byte_cap", "time_limit"})
_UNFOLLOWED = frozenset({"beam_width", "min_prefix"})


@dataclass(slots=True)
class PathBeam:
    """The best paths so far; see :class:`~pathrag_gds.retrieve.beam.Beam`.

    Attributes:
        kept: What the next depth extends, best first.
        best: Every path that was scored, once by its key.
    """

    session: Session
    kept: list[Candidate] = field(default_factory=list)
    best: dict[PathKey, Candidate] = field(default_factory=dict)

    @property
    def alive(self) -> bool:
        """Whether there is anything to extend."""
        return bool(self.kept)

    def start(self, ids: Sequence[str]) -> None:
        """Make a path of no hop of every node, and score it."""
        paths = [Child(Path((id_,))) for id_ in ids]
        self.session.candidates += len(paths)
        scored = self._score(paths, 0)
        self._remember(scored)
        self.kept, dropped = prune(scored, beam_width=self.session.config.beam_width, local_keep=0)
        self.session.note(0, "beam_width", len(dropped))
        self._trace(0, ((self.kept, ""), (dropped, "beam_width")), ())

    def go_deeper(self, depth: int) -> Working:
        """Extend every path of the beam by one hop and keep the best."""
        session, config, context = self.session, self.session.config, self.session.context
        beam, self.kept = self.kept, []
        frontier = list(dict.fromkeys(candidate.path.tail for candidate in beam))
        request = expand_request(
            frontier,
            tenant=context.tenant,
            ontology=context.ontology,
            restriction=config.rel_types,
            targets=list(dict.fromkeys([*session.start_rank, *frontier])),
            cap=config.cap_per_relation,
            predicate=session.hop_filter,
            vector=context.question_vector,
            vector_property=context.vector_property,
            max_rows=config.max_rows,
            max_bytes=config.max_bytes,
        )
        if request is None:
            return
        rows = yield from session.ask("expand", request)
        session.depth = depth
        began = context.clock()
        around = read_neighbours(request, rows)
        session.truncated.update(around.truncated)
        for reason, count in around.lost.items():
            session.note(depth, reason, count)
        children = self._children(beam, around.neighbours, depth)
        session.add_time("prune", began)
        scored = self._score(children, depth)
        began = context.clock()
        self._remember(scored)
        local_keep = config.local_keep * (2 if depth < config.min_depth else 1)
        leading, ended = session.leading(scored, depth)
        self.kept, dropped = prune(leading, beam_width=config.beam_width, local_keep=local_keep)
        session.note(depth, "beam_width", len(dropped))
        groups = (self.kept, ""), (dropped, "beam_width"), (ended, "min_prefix")
        self._trace(depth, groups, around.truncated)
        session.add_time("prune", began)

    def choose(self) -> tuple[list[Shown], list[Group]]:
        """Give the best paths that pass ``min_score``, and their chains."""
        session, config = self.session, self.session.config
        passing = []
        for candidate in sorted(self.best.values(), key=_result_order):
            if session.confidence(candidate.answer) >= config.min_score:
                passing.append(candidate)
            else:
                session.note(candidate.path.depth, "min_score", 1)
        for candidate in passing[config.top_k :]:
            session.note(candidate.path.depth, "top_k", 1)
        shown = [self._shown(candidate) for candidate in passing[: config.top_k]]
        groups: dict[Chain, Group] = {}
        for path in shown:
            group = Group(path.chains, path.text, path.confidence, path.score)
            groups.setdefault(path.chain, group)
        return shown, list(groups.values())

    def conditions(self) -> list[Condition]:
        """Give the chains of all paths, best first, for chains to be joined of several names.

        A chain through a node that tells something of its own is none: its text does not say which.
        """
        session = self.session
        order = labels_by_count(session.context.ontology)
        by_chain: dict[Chain, dict[str, Candidate]] = {}
        for candidate in sorted(self.best.values(), key=_result_order):
            chain = chain_of(candidate.path, session.entities, order)
            if not any(step.id for step in chain.steps):
                by_chain.setdefault(chain, {}).setdefault(candidate.path.tail, candidate)
        return [
            Condition(
                chain=chain,
                answer=next(iter(ends.values())).answer,
                ends=frozenset(ends),
                sampled=self._sampled(chain),
                path_to=partial(_path_to, ends),
            )
            for chain, ends in by_chain.items()
        ]

    def _sampled(self, chain: Chain) -> bool:
        """Whether a chain may lead to more than it was followed to."""
        depth = len(chain.steps)
        return bool(self.session.truncated) or any(
            (reason in _UNREAD and at <= depth) or (reason in _UNFOLLOWED and at < depth)
            for at, reason in self.session.cut
        )

    def hydrate(self, shown: Sequence[Shown]) -> Generator[Request, list[Row], list[Shown]]:
        """Read all that is told of the nodes of the shown paths."""
        yield from self.session.hydrate(node for path in shown for node in path.path.nodes)
        return list(shown)

    def _shown(self, candidate: Candidate) -> Shown:
        session = self.session
        order = labels_by_count(session.context.ontology)
        return Shown(
            path=candidate.path,
            text=candidate.text,
            score=candidate.score,
            confidence=session.confidence(candidate.answer),
            terms={
                "rerank": candidate.rerank,
                "similarity": candidate.similarity,
                "type": candidate.type,
                "link": session.link_score.get(candidate.path.start, 0.0),
                **session.flow_term(candidate.path.nodes),
                **session.words_terms(candidate.text, _types(candidate.path)),
            },
            chain=chain_of(candidate.path, session.entities, order),
        )

    def _children(
        self,
        beam: Sequence[Candidate],
        neighbours: Mapping[str, Sequence[Neighbour]],
        depth: int,
    ) -> list[Child]:
        """List the distinct extensions to score."""
        session = self.session
        may = allowed(session.config.revisit)
        seen: set[tuple[PathKey, str]] = set()
        children: list[Child] = []
        for parent, candidate in enumerate(beam):
            chosen, forbidden, excess = extensions(
                candidate.path,
                neighbours.get(candidate.path.tail, ()),
                may=may,
                expand_per_path=session.config.expand_per_path,
            )
            session.note(depth, "revisit", forbidden)
            session.note(depth, "expand_per_path", excess)
            for turn, neighbour in enumerate(chosen):
                path = candidate.path.extend(neighbour.hop)
                if (path.key, path.tail) in seen:
                    session.note(depth, "duplicate", 1)
                    continue
                seen.add((path.key, path.tail))
                session.entities.setdefault(neighbour.entity.id, neighbour.entity)
                children.append(Child(path, parent, turn))
        session.candidates += len(children)
        return children

    def _score(self, children: Sequence[Child], depth: int) -> list[Candidate]:
        session = self.session
        began = session.context.clock()
        readings, over_limit, late = session.scorer.read(children, session.entities)
        session.note(depth, "rerank_limit", over_limit)
        session.note(depth, "time_limit", late)
        answers = [reading.answer for reading in readings]
        prefixes = [reading.prefix for reading in readings]
        if session.config.normalize_within_depth:
            answers, prefixes = min_max(answers), min_max(prefixes)
        flows = [session.flow_of(reading.child.path.nodes) for reading in readings]
        words = [session.words_score(r.text, _types(r.child.path)) for r in readings]
        session.add_time("score", began)
        return distinct(
            [
                Candidate(
                    path=(path := reading.child.path),
                    text=reading.text,
                    chain=reading.chain,
                    rerank=reading.rerank,
                    similarity=reading.similarity,
                    type=reading.type,
                    answer=reading.answer,
                    prefix=reading.prefix,
                    score=session.total(answer, path.start, path.depth, flow, added),
                    steer=session.total(prefix, path.start, path.depth, flow, added),
                    parent=reading.child.parent,
                    start_rank=session.start_rank[path.start],
                )
                for reading, answer, prefix, flow, added in zip(
                    readings, answers, prefixes, flows, words, strict=True
                )
            ]
        )

    def _remember(self, scored: Iterable[Candidate]) -> None:
        for candidate in scored:
            known = self.best.get(candidate.key)
            if known is None or _result_order(candidate) < _result_order(known):
                self.best[candidate.key] = candidate

    def _trace(
        self,
        depth: int,
        groups: Sequence[tuple[Sequence[Candidate], str]],
        truncated: Sequence[str],
    ) -> None:
        """Tell what became of the candidates of a depth: groups of one reason, kept ones first."""
        confidence = self.session.confidence
        traced = (
            TracedPath(c.path, confidence(c.answer), c.steer, reason)
            for group, reason in groups
            for c in group
        )
        self.session.tell(depth, traced, truncated)


def _types(path: Path) -> list[str]:
    return [hop.edge.type for hop in path.hops]


def _path_to(ends: Mapping[str, Candidate], end: str) -> Path:
    return ends[end].path


def _result_order(candidate: Candidate) -> tuple[float, int, PathKey, str]:
    return (-candidate.score, candidate.start_rank, candidate.key, candidate.path.tail)
