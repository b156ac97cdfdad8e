"""A beam of relation chains: types, directions and labels that many paths have in common. No I/O.

A chain is read once, whatever the number of its paths, and one statement per depth extends all
chains of the beam. Per chain the beam keeps the nodes that it has come to (its frontier), and per
node a few ways there, so that the revisit policy holds:

- A chain is extended by a step where some kept way may take it. Nodes keep up to four ways through
  different nodes, which is exact to a depth of three; deeper, a step may be missed that only a way
  that was not kept could take, never one be taken that no way may.
- A frontier wider than ``frontier_width`` keeps the nodes nearest to the question. The chain is
  marked as sampled, and so is one whose nodes have, or may have, more relationships than were
  read.
- A return to the start is a chain of its own; a return to another node is not told apart.

What a sample leaves out, the query that is made of a chain returns (:mod:`.pattern`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pathrag_gds.config import RevisitPolicy
from pathrag_gds.graph.database import Row
from pathrag_gds.retrieve.beam import Group, Shown, Working
from pathrag_gds.retrieve.chain_hops import (
    Links,
    Reach,
    chains_request,
    read_reach,
    read_shown,
    shown_request,
    walk,
)
from pathrag_gds.retrieve.conjoin import Condition
from pathrag_gds.retrieve.prune import min_max
from pathrag_gds.retrieve.serialize import steps_text
from pathrag_gds.retrieve.session import Session
from pathrag_gds.retrieve.statements import Request
from pathrag_gds.retrieve.steps import Way, labels_by_count, may_step
from pathrag_gds.types import Chain, Edge, Hop, Path, Step, TracedPath

__all__ = ["ChainBeam", "Growth", "extend", "narrow"]

_WAYS_PER_NODE = 4


@dataclass(frozen=True, slots=True)
class Growth:
    """A chain with where it leads.

    Attributes:
        ends: Ways to each node that it leads to, by id, at least one each.
        sampled: It may lead to more nodes than these.
        parent: Rank in the beam before of the chain that it extends; -1 for a start.
    """

    chain: Chain
    ends: Mapping[str, tuple[Way, ...]]
    sampled: bool = False
    parent: int = -1

    def path_to(self, end: str) -> Path:
        """Give a way to one of its ends, without what its relationships tell."""
        return _sketch(self.ends[end][0], self.chain.steps)


@dataclass(frozen=True, slots=True)
class Scored:
    """A chain that was read.

    Attributes:
        answer: How likely its ends are the answer, in [0, 1].
        prefix: How likely an extension's are.
        rerank: What the reranker made of ``answer``.
        score: Orders results.
        steer: Orders the beam.
    """

    growth: Growth
    text: str
    rerank: float
    answer: float
    prefix: float
    score: float
    steer: float
    start_rank: int


def extend(
    growth: Growth,
    links: Sequence[Links],
    *,
    policy: RevisitPolicy,
    truncated: frozenset[str] = frozenset(),
    parent: int = -1,
) -> tuple[list[Growth], int]:
    """Extend a chain by every step that leads on from one of its nodes.

    Args:
        links: Where the steps lead.
        truncated: Nodes that may lead to more.
        parent: Of the extensions.

    Returns:
        The extensions by type, direction and label, and how many steps from a node to a node the
        policy forbade whatever the way.
    """
    grown: list[Growth] = []
    forbidden = 0
    start = growth.chain.start
    for link in links:
        found: dict[Step, dict[str, list[tuple[int, Way]]]] = defaultdict(dict)
        for node, ways in growth.ends.items():
            for end, parallel in link.ends.get(node, ()):
                open_ = [
                    (turn, (*way, end))
                    for turn, way in enumerate(ways)
                    if may_step(policy, growth.chain.steps, way, link.step, end, parallel)
                ]
                forbidden += not open_
                if open_:
                    step = replace(link.step, id=start) if end == start else link.step
                    found[step].setdefault(end, []).extend(open_)
        for step in sorted(found, key=lambda step: step.id):
            ends = {end: _several(ways) for end, ways in found[step].items()}
            cut = any(node in truncated for node in growth.ends)
            grown.append(
                Growth(
                    Chain(start, (*growth.chain.steps, step)),
                    ends,
                    growth.sampled or cut,
                    parent,
                )
            )
    return grown, forbidden


def _several(ways: Iterable[tuple[int, Way]]) -> tuple[Way, ...]:
    """Keep a few ways to a node, as many as can be through different nodes before it."""
    return tuple(way for _, way in sorted(ways)[:_WAYS_PER_NODE])


def narrow(growth: Growth, nearness: Mapping[str, float], width: int) -> Growth:
    """Keep the nodes that are nearest to the question, then by id; the same where they are few."""
    ranked = sorted(growth.ends, key=lambda end: (-nearness.get(end, 0.0), end))
    return replace(
        growth,
        ends={end: growth.ends[end] for end in ranked[:width]},
        sampled=growth.sampled or len(ranked) > width,
    )


@dataclass(slots=True)
class ChainBeam:
    """The best chains so far; see :class:`~pathrag_gds.retrieve.beam.Beam`.

    Attributes:
        kept: What the next depth extends, best first.
        scored: Every chain that was read.
    """

    session: Session
    kept: list[Scored] = field(default_factory=list)
    scored: list[Scored] = field(default_factory=list)
    labels: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.labels = labels_by_count(self.session.context.ontology)

    @property
    def alive(self) -> bool:
        """Whether there is anything to extend."""
        return bool(self.kept)

    def start(self, ids: Sequence[str]) -> None:
        """Make a chain of no step of every node, and score it."""
        self.session.candidates += len(ids)
        scored = self._score([Growth(Chain(id_, ()), {id_: ((id_,),)}) for id_ in ids], 0)
        self.kept, dropped = self._widest(scored)
        self.session.note(0, "beam_width", len(dropped))
        self._trace(0, ((self.kept, ""), (dropped, "beam_width")), ())

    def go_deeper(self, depth: int) -> Working:
        """Extend every chain of the beam by one step and keep the best."""
        session, config, context = self.session, self.session.config, self.session.context
        beam, self.kept = self.kept, []
        request = chains_request(
            list(dict.fromkeys(node for scored in beam for node in scored.growth.ends)),
            tenant=context.tenant,
            ontology=context.ontology,
            restriction=config.rel_types,
            labels=self.labels,
            cap=config.cap_per_relation,
            width=config.frontier_width,
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
        reach = read_reach(request, rows)
        session.truncated.update(reach.truncated)
        for reason, count in reach.lost.items():
            session.note(depth, reason, count)
        grown = self._grow(beam, reach, depth)
        session.add_time("prune", began)
        scored = self._score(grown, depth)
        began = context.clock()
        leading, ended = session.leading(scored, depth)
        self.kept, dropped = self._widest(leading)
        session.note(depth, "beam_width", len(dropped))
        groups = (self.kept, ""), (dropped, "beam_width"), (ended, "min_prefix")
        self._trace(depth, groups, reach.truncated)
        session.add_time("prune", began)

    def choose(self) -> tuple[list[Shown], list[Group]]:
        """Give instances of the best chains that pass ``min_score``, and all of these chains."""
        session, config = self.session, self.session.config
        shown: dict[object, Shown] = {}
        groups: list[Group] = []
        for scored in sorted(self.scored, key=_result_order):
            chain, confidence = scored.growth.chain, session.confidence(scored.answer)
            if confidence < config.min_score:
                session.note(len(chain.steps), "min_score", 1)
                continue
            groups.append(Group((chain,), scored.text, confidence, scored.score))
            for path in _instances(scored.growth):
                if path.key in shown:
                    continue
                if len(shown) == config.top_k:
                    session.note(path.depth, "top_k", 1)
                    continue
                shown[path.key] = Shown(
                    path=path,
                    text=scored.text,
                    score=scored.score,
                    confidence=confidence,
                    terms={
                        "rerank": scored.rerank,
                        "similarity": 0.0,
                        "type": 0.0,
                        "link": session.link_score.get(chain.start, 0.0),
                        **session.flow_term(*_ways(scored.growth)),
                        **session.words_terms(scored.text, [s.type for s in chain.steps]),
                    },
                    chain=chain,
                )
        return list(shown.values()), groups

    def conditions(self) -> list[Condition]:
        """Give every chain that was read, best first, for chains to be joined of several names."""
        return [
            Condition(
                chain=scored.growth.chain,
                answer=scored.answer,
                ends=frozenset(scored.growth.ends),
                sampled=scored.growth.sampled,
                path_to=scored.growth.path_to,
            )
            for scored in sorted(self.scored, key=_result_order)
        ]

    def hydrate(self, shown: Sequence[Shown]) -> Generator[Request, list[Row], list[Shown]]:
        """Read nodes and relationships of the shown paths, and the names that the trace tells.

        A path that is in the graph no more, or that the time limit left unread, is left out.
        """
        session = self.session
        traced = [id_ for level in session.trace or () for id_ in level.names]
        request = shown_request(
            ((path.path.nodes, path.chain.steps) for path in shown),
            (id_ for id_ in traced if id_ not in session.entities),
            tenant=session.context.tenant,
            predicate=session.hop_filter,
        )
        entities, hops = read_shown((yield from session.ask("hydrate", request)))
        session.entities.update(entities)
        if session.trace is not None:
            session.trace[:] = [
                replace(level, names=session.names(level.names)) for level in session.trace
            ]
        walked = ((path, walk(path.path.nodes, path.chain.steps, hops)) for path in shown)
        return [
            replace(path, path=whole)
            for path, whole in walked
            if whole is not None and all(node in session.entities for node in whole.nodes)
        ]

    def _grow(self, beam: Sequence[Scored], reach: Reach, depth: int) -> list[Growth]:
        """List the extensions to score, narrowed: parents take turns up to ``rerank_limit``."""
        session, config = self.session, self.session.config
        truncated = frozenset(reach.truncated)
        if reach.lost:
            # A cap on all of the expansion does not tell which nodes it cut.
            truncated = frozenset(node for scored in beam for node in scored.growth.ends)
        turns: list[tuple[int, int, Growth]] = []
        for parent, scored in enumerate(beam):
            grown, forbidden = extend(
                scored.growth,
                reach.links,
                policy=config.revisit,
                truncated=truncated,
                parent=parent,
            )
            session.note(depth, "revisit", forbidden)
            turns += [(turn, parent, growth) for turn, growth in enumerate(grown)]
        session.candidates += len(turns)
        turns.sort(key=lambda item: item[:2])
        limit = config.rerank_limit or len(turns)
        session.note(depth, "rerank_limit", max(len(turns) - limit, 0))
        return [
            narrow(growth, reach.nearness, config.frontier_width) for _, _, growth in turns[:limit]
        ]

    def _score(self, grown: Sequence[Growth], depth: int) -> list[Scored]:
        """Read chains, as far as there is time; best first."""
        session = self.session
        began = session.context.clock()
        phrasing = session.context.ontology.phrasing
        texts = [
            steps_text(g.chain, session.entities[g.chain.start], phrasing=phrasing) for g in grown
        ]
        session.scorer.read_texts(texts)
        read = [(g, t, session.scorer.scores.get(t)) for g, t in zip(grown, texts, strict=True)]
        known = [(g, t, values) for g, t, values in read if values is not None]
        session.note(depth, "time_limit", len(read) - len(known))
        answers = [values[0] for _, _, values in known]
        prefixes = [values[1] for _, _, values in known]
        if session.config.normalize_within_depth:
            answers, prefixes = min_max(answers), min_max(prefixes)
        flows = [session.flow_of(*_ways(growth)) for growth, _, _ in known]
        words = [session.words_score(t, [s.type for s in g.chain.steps]) for g, t, _ in known]
        session.add_time("score", began)
        found = [
            Scored(
                growth=growth,
                text=text,
                rerank=values[0],
                answer=values[0],
                prefix=values[1],
                score=session.total(answer, growth.chain.start, depth, flow, added),
                steer=session.total(prefix, growth.chain.start, depth, flow, added),
                start_rank=session.start_rank[growth.chain.start],
            )
            for (growth, text, values), answer, prefix, flow, added in zip(
                known, answers, prefixes, flows, words, strict=True
            )
        ]
        found.sort(key=_steer_order)
        self.scored += found
        return found

    def _widest(self, ranked: Sequence[Scored]) -> tuple[list[Scored], list[Scored]]:
        """Keep as many chains as the beam is wide; those that read the same count as one."""
        texts = list(dict.fromkeys(scored.text for scored in ranked))
        kept = set(texts[: self.session.config.beam_width])
        return [s for s in ranked if s.text in kept], [s for s in ranked if s.text not in kept]

    def _trace(
        self,
        depth: int,
        groups: Sequence[tuple[Sequence[Scored], str]],
        truncated: Sequence[str],
    ) -> None:
        """Tell what became of the chains of a depth, each by its first instance."""
        confidence = self.session.confidence
        traced = (
            TracedPath(
                next(_instances(scored.growth)),
                confidence(scored.answer),
                scored.steer,
                reason,
                scored.growth.chain,
            )
            for group, reason in groups
            for scored in group
        )
        # Names of nodes that were not read yet are read at the end, with what is shown.
        self.session.tell(depth, traced, truncated)


def _ways(growth: Growth) -> Iterator[Way]:
    """Give all ways of a chain that were kept."""
    return (way for ways in growth.ends.values() for way in ways)


def _instances(growth: Growth) -> Iterator[Path]:
    """Give the ways of a chain as paths without what their relationships tell: ends take turns."""
    steps = growth.chain.steps
    for turn in range(_WAYS_PER_NODE):
        for ways in growth.ends.values():
            if turn < len(ways):
                yield _sketch(ways[turn], steps)


def _sketch(way: Way, steps: Sequence[Step]) -> Path:
    hops = []
    for head, step, tail in zip(way, steps, way[1:], strict=False):
        source, target = (head, tail) if step.forward else (tail, head)
        hops.append(Hop(Edge("", source, target, step.type), step.forward))
    return Path(way, tuple(hops))


def _steer_order(scored: Scored) -> tuple[object, ...]:
    return (-scored.steer, scored.start_rank, _key(scored.growth.chain))


def _result_order(scored: Scored) -> tuple[object, ...]:
    return (-scored.score, scored.start_rank, _key(scored.growth.chain))


def _key(chain: Chain) -> tuple[tuple[str, bool, str, str], ...]:
    return tuple((step.type, not step.forward, step.label, step.id) for step in chain.steps)
