"""Search by flow: it chooses the paths, the reranker ranks them. No I/O.

One statement reads what lies around the starts (:mod:`.subgraph`), flow keeps the most reliable
paths through it, in this process or by Graph Data Science, and the reranker reads those::

    seeds → subgraph → (memory → flow in GDS) → hydrate → score → hydrate → provenance

Paths run *between* starts or *outward* from them. An entity between two starts is at the end of a
part of the path, from either side, so the parts are read, too: that is how one that lies between
can be the answer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from pathrag_gds.config import Pruner
from pathrag_gds.graph.database import Database, Row
from pathrag_gds.retrieve.beam import Shown, Working
from pathrag_gds.retrieve.flow import (
    FLOW_PRESETS,
    FlowMode,
    FlowOptions,
    FlowResult,
    Pair,
    ReliablePath,
    Threshold,
    plain_reliability,
    walk_resource,
)
from pathrag_gds.retrieve.flow_between import between, outward
from pathrag_gds.retrieve.flow_gds import (
    PROCEDURES,
    GdsFlow,
    GdsMode,
    flow_paths,
    gds_steps,
    pairs_between,
    require_mode,
)
from pathrag_gds.retrieve.paths import PathBeam
from pathrag_gds.retrieve.prune import Candidate
from pathrag_gds.retrieve.score import Child
from pathrag_gds.retrieve.statements import Request
from pathrag_gds.retrieve.subgraph import Around, read_subgraph, subgraph_request
from pathrag_gds.types import Path

__all__ = ["FlowBeam", "check_pruner", "parts_of"]


def check_pruner(db: Database, pruner: Pruner) -> None:
    """Refuse a flow that the server cannot compute; asks it only for one of GDS.

    Raises:
        GdsMissing: It has no plugin, or one without the procedure.
    """
    mode = pruner.partition(":")[2]
    if mode in PROCEDURES:
        require_mode(db.capabilities, cast(GdsMode, mode))


@dataclass(slots=True)
class FlowBeam(PathBeam):
    """The paths that flow keeps; see :class:`~pathrag_gds.retrieve.beam.Beam`.

    Attributes:
        starts: Nodes that flow runs from, best first.
        flow: Of each path that is read, as a share of the most reliable one's.
    """

    starts: tuple[str, ...] = ()
    flow: dict[Path, float] = field(default_factory=dict)

    @property
    def alive(self) -> bool:
        """Whether flow has still to run."""
        return bool(self.starts)

    @property
    def mode(self) -> str:
        """How flow is computed."""
        return self.session.config.pruner.partition(":")[2]

    def start(self, ids: Sequence[str]) -> None:
        """Begin at nodes; they are answers, too, where they tell what is asked."""
        # Flow keeps paths, so whole paths are read, never chains alone.
        if self.session.scorer.strategy == "chains":
            self.session.scorer.strategy = "both"
        self.starts = tuple(ids)
        children = [Child(Path((id_,))) for id_ in ids]
        self.session.candidates += len(children)
        self._remember(self._score(children, 0))

    def go_deeper(self, depth: int) -> Working:
        """Read what lies around, keep what flow calls reliable, and read it."""
        session, config, context = self.session, self.session.config, self.session.context
        starts, self.starts = self.starts, ()
        ends = self._ends(starts)
        # What lies between two nodes is near to either.
        rounds = config.flow_hops if ends == "outward" else (config.flow_hops + 1) // 2
        request = subgraph_request(
            starts,
            rounds=rounds,
            tenant=context.tenant,
            ontology=context.ontology,
            restriction=config.rel_types,
            cap=config.cap_per_relation,
            predicate=session.hop_filter,
        )
        rows = yield from session.ask("expand", request)
        began = context.clock()
        around = read_subgraph(request, rows)
        session.add_time("flow", began)
        session.depth = config.flow_hops
        session.truncated.update(around.truncated)
        session.note(1, "flow_nodes", around.not_expanded)
        found = yield from self._run(around, starts, ends)
        session.note(1, "flow_paths", max(found.considered - len(found.paths), 0))
        session.choice = replace(
            session.choice, reason=self._told(around, found, starts, ends, session.choice.reason)
        )
        children = self._children_of(found.paths, ends)
        yield from session.hydrate(node for child in children for node in child.path.nodes)
        session.candidates += len(children)
        self._remember(self._score(children, 0))

    def _ends(self, starts: Sequence[str]) -> str:
        wanted = self.session.config.flow_ends
        if wanted != "auto":
            return wanted
        return "between" if len(starts) > 1 else "outward"

    def _options(self) -> FlowOptions:
        config = self.session.config
        own = FLOW_PRESETS["reference"] if self.mode == "reference" else FlowOptions()
        theta = config.flow_threshold
        return replace(
            own,
            decay=config.flow_decay,
            threshold=own.threshold if theta is None else Threshold(theta),
            max_hops=config.flow_hops,
            max_seeds=max(config.seed_k, config.flow_paths),
            top_k=config.flow_paths,
        )

    def _run(
        self, around: Around, starts: Sequence[str], ends: str
    ) -> Generator[Request, list[Row], FlowResult]:
        options = self._options()
        clock = self.session.context.clock
        began = clock()
        graph = around.graph
        pairs = pairs_between(starts, self.mode) if ends == "between" and starts else []
        if ends == "outward":
            for start in starts:
                reached = walk_resource(graph, start, options.max_hops, decay=options.decay)
                ranked = [node for node in self._ranked(reached) if node != start]
                pairs += [(start, target) for target in ranked[: options.max_seeds]]
        if self.mode in PROCEDURES:
            flow = yield from self._by_gds(around, pairs, options)
            began = clock()
            parts = [flow_paths(graph, group, flow, options) for group in _groups(pairs, ends)]
        elif ends == "between":
            parts = [between(graph, starts, cast(FlowMode, self.mode), options=options)]
        else:
            parts = [
                outward(
                    graph,
                    group[0][0],
                    [target for _, target in group],
                    cast(FlowMode, self.mode),
                    options=options,
                )
                for group in _groups(pairs, ends)
            ]
        self.session.add_time("flow", began)
        return _merged(parts, options.top_k)

    def _ranked(self, reached: Mapping[str, float]) -> list[str]:
        """Put nodes in the order in which paths are looked for to them.

        Args:
            reached: What flow brings to each, in the order in which it comes there.
        """
        if self.mode == "hops":
            return list(reached)
        if self.mode == "random":
            return sorted(reached, key=lambda node: (plain_reliability((node, ""), "random"), node))
        return sorted(reached, key=lambda node: (-reached[node], node))

    def _by_gds(
        self, around: Around, pairs: Sequence[Pair], options: FlowOptions
    ) -> Generator[Request, list[Row], GdsFlow]:
        mode = cast(GdsMode, self.mode)
        steps = gds_steps(around.graph, pairs, mode, options)
        try:
            request = next(steps)
            while True:
                rows = yield from self.session.ask("flow", request)
                if self.session.partial:
                    return GdsFlow(mode)
                request = steps.send(rows)
        except StopIteration as stop:
            return cast(GdsFlow, stop.value)

    def _children_of(self, paths: Iterable[ReliablePath], ends: str) -> list[Child]:
        """List what is read: the paths, and between starts their parts; each once."""
        paths = list(paths)
        most = max((one.reliability for one in paths), default=0.0) or 1.0
        for one in paths:
            share = round(one.reliability / most, 6)
            for path in parts_of(one.path) if ends == "between" else (one.path,):
                # The most reliable path comes first.
                self.flow.setdefault(path, share)
        return [Child(path, turn=turn) for turn, path in enumerate(self.flow)]

    def _score(self, children: Sequence[Child], depth: int) -> list[Candidate]:
        weight = self.session.config.weight_flow
        return [
            replace(
                candidate,
                score=round(candidate.score + weight * self.flow.get(candidate.path, 0.0), 6),
            )
            for candidate in PathBeam._score(self, children, depth)
        ]

    def _shown(self, candidate: Candidate) -> Shown:
        shown = PathBeam._shown(self, candidate)
        return replace(shown, terms={**shown.terms, "flow": self.flow.get(candidate.path, 0.0)})

    def _told(
        self,
        around: Around,
        found: FlowResult,
        starts: Sequence[str],
        ends: str,
        strategy: str,
    ) -> str:
        """Say what flow did, as a clause for people."""
        where = f"between {len(starts)} starts" if ends == "between" else "outward"
        if ends == "outward" and len(starts) > 1:
            where = f"outward from {len(starts)} starts"
        told = (
            f"flow:{self.mode} {where} kept {len(found.paths)} paths of a subgraph of "
            f"{len(around.graph.out)} nodes and {around.relationships} relationships"
        )
        if found.explanation:
            told += f" ({found.explanation.removesuffix('.').lower()})"
        return f"{told}; {strategy}"


def parts_of(path: Path) -> list[Path]:
    """Give a path between two nodes, and its parts from either end to each node in between."""
    parts = [path]
    backward = [replace(hop, forward=not hop.forward) for hop in reversed(path.hops)]
    for nodes, hops in ((path.nodes, path.hops), (path.nodes[::-1], tuple(backward))):
        parts += [Path(nodes[: n + 1], hops[:n]) for n in range(1, path.depth)]
    return parts


def _groups(pairs: Sequence[Pair], ends: str) -> list[list[Pair]]:
    """Put pairs of one start together, in their order; between starts all are one group."""
    if ends == "between":
        return [list(pairs)]
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair[0], []).append(pair)
    return list(groups.values())


def _merged(parts: Sequence[FlowResult], top_k: int) -> FlowResult:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return FlowResult((), "no_pair", 0)
    every = [one for part in parts for one in part.paths]
    every.sort(key=lambda one: (-one.reliability, one.path.key, one.path.nodes))
    return FlowResult(
        tuple(every[:top_k]),
        "found" if every else parts[0].outcome,
        sum(part.considered for part in parts),
        any(part.truncated for part in parts),
    )
