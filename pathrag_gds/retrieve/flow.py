"""Flow-based pruning: rate paths by a resource that runs from one node to another. Pure.

Three ways of letting it flow; paper and published code do not agree, so both are here, and beside
them the two selections without flow that the paper compares with:

- ``paper``: a resource per *node*, as printed in the paper (:func:`paper_resource`).
- ``reference``: a flow per *edge* in the subgraph of one pair, as the published code computes it
  (:func:`edge_flow`).
- ``walk``: the paper's recursion over all walks, which is a personalised PageRank
  (:func:`walk_resource`).
- ``hops`` and ``random``: no flow; short paths first, or any (:func:`plain_reliability`).

Paper: Chen et al., PathRAG: Pruning Graph-based Retrieval Augmented Generation with Relational
Paths, arXiv 2502.14902. Code: https://github.com/BUPT-GAMMA/PathRAG, ``PathRAG/operate.py``.

Symbols: ``decay`` is the paper's α, ``threshold`` its θ, ``resource`` its S(v), ``reliability`` its
S(P). Flow looks at no question: it prunes, and is a prior; what ranks answers is the reranker.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice, pairwise
from typing import Literal, get_args

from pathrag_gds.errors import ConfigError
from pathrag_gds.types import Edge, Hop, Path, PathKey

__all__ = [
    "FLOW_PRESETS",
    "FlowMode",
    "FlowOptions",
    "FlowOutcome",
    "FlowResult",
    "ReliablePath",
    "Resource",
    "Subgraph",
    "Threshold",
    "edge_flow",
    "paper_resource",
    "path_reliability",
    "plain_reliability",
    "prune_paths",
    "score_paths",
    "select_published",
    "walk_resource",
]

FlowMode = Literal["paper", "reference", "walk", "hops", "random"]
FlowOutcome = Literal["found", "no_pair", "not_linked", "below_threshold"]
Nodes = tuple[str, ...]
Pair = tuple[str, str]

# Two amounts that differ by less are equal: sums of one value in another order are no difference.
TOLERANCE = 1e-12
DECIMALS = 12


@dataclass(frozen=True, slots=True)
class Threshold:
    """Where flow stops: the paper's θ.

    An absolute θ is a cliff of degree. With α = 0.8 and θ = 0.05 nothing leaves a start of more
    than 20 neighbours, and 17 equal routes of two hops are none where 16 are 16. A share keeps what
    carries most, whatever the degrees are.

    Attributes:
        value: θ, at least 0 (0 stops nothing); or the share of the mass that must go on, above 0
            and at most 1 (1 stops nothing).
        share: Whether ``value`` is a share. Then θ is, for each level of a propagation, the largest
            at which the nodes that pass it still hold that share of the level's resource; nodes
            that are equal pass or stop together. What this means for edges: :func:`edge_flow`.

    Raises:
        ConfigError: The value is out of its range.
    """

    value: float = 0.001
    share: bool = False

    def __post_init__(self) -> None:
        if self.share and not 0 < self.value <= 1:
            raise ConfigError(
                f"The threshold is {self.value!r}, but a share of the mass is above 0, at most 1.",
                hint="Give 0.9 to let nine tenths of the flow go on.",
            )
        if not (self.value >= 0 and math.isfinite(self.value)):
            raise ConfigError(
                f"The threshold is {self.value!r}, but θ is a number of at least 0.",
                hint="Give 0 to stop nothing.",
            )


@dataclass(frozen=True, slots=True)
class FlowOptions:
    """How far flow runs and how many paths it leaves.

    Attributes:
        decay: α, what is left of a resource after one hop; above 0, at most 1.
        threshold: θ: of the nodes of each level in ``paper``, of all nodes together in ``walk``,
            of edges in ``reference``, where it stops flow but takes no path away.
        max_hops: Longer paths are neither looked for nor kept. The published code has 3, the paper
            names none.
        max_seeds: Nodes between which paths are looked for, the first of those given; the paper's
            N. Means nothing for a list of paths.
        per_pair: Node sequences kept of one ordered pair, None for all. The paper keeps the best,
            the published code all.
        top_k: Paths kept of all pairs: the paper's K.
        max_paths: Node sequences that are looked at in all, and paths that are made of them; where
            there are more, the result is marked as truncated. Means nothing for a list of paths.

    Raises:
        ConfigError: A value is out of its range.
    """

    decay: float = 0.8
    threshold: Threshold = field(default_factory=Threshold)
    max_hops: int = 3
    max_seeds: int = 40
    per_pair: int | None = None
    top_k: int = 15
    max_paths: int = 200_000

    def __post_init__(self) -> None:
        if not 0 < self.decay <= 1:
            raise ConfigError(
                f"decay is {self.decay!r}, but what is left after a hop is above 0 and at most 1.",
                hint="The paper has 0.8.",
            )
        for name in ("max_hops", "max_seeds", "per_pair", "top_k", "max_paths"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value!r}, but at least 1 is needed.")


FLOW_PRESETS: Mapping[str, FlowOptions] = {
    "paper": FlowOptions(threshold=Threshold(0.05), per_pair=1),
    "lt": FlowOptions(threshold=Threshold(0.05), per_pair=1, max_seeds=20, top_k=5),
    "reference": FlowOptions(threshold=Threshold(0.3)),
}
"""The paper's settings, those of its light variant, and the literals of the published code."""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A part of a graph in memory; make it with :meth:`of`.

    Attributes:
        hops: Every way on from a node, by node, then by the node it leads to; hops between the same
            two nodes are sorted by relationship. Undirected graphs hold each relationship from
            both ends.
        out: Nodes that a node leads to: N(v,·).
        into: Nodes that lead to a node: N(·,v).
        degrees: |N(v,·)| in the whole graph, never below what is seen here.
        directed: Whether relationships are followed in their stored direction alone.
    """

    hops: Mapping[str, Mapping[str, tuple[Hop, ...]]]
    out: Mapping[str, frozenset[str]]
    into: Mapping[str, frozenset[str]]
    degrees: Mapping[str, int]
    directed: bool = False

    @classmethod
    def of(
        cls,
        edges: Iterable[Edge],
        *,
        directed: bool = False,
        degrees: Mapping[str, int] | None = None,
    ) -> Subgraph:
        """Make a subgraph of relationships; none give an empty one.

        Args:
            edges: In any order; one that comes twice counts once. Relationships between the same
                two nodes make one neighbour but stay paths of their own.
            directed: Follow relationships in their stored direction alone. Otherwise a path may
                walk them either way; its hops know which.
            degrees: Neighbours of a node in the whole graph (outgoing ones when directed), for
                nodes that were cut here: else a hub of which little was read would look like a
                narrow way. Nodes that are not named have the neighbours that are seen.
        """
        unique = {edge.identity: edge for edge in edges}
        ways: dict[str, dict[str, list[Hop]]] = defaultdict(lambda: defaultdict(list))
        into: dict[str, set[str]] = defaultdict(set)
        for _, edge in sorted(unique.items()):
            for forward in (True,) if directed else (True, False):
                hop = Hop(edge, forward)
                ways[hop.head][hop.tail].append(hop)
                into[hop.tail].add(hop.head)
        nodes = sorted(ways.keys() | into.keys())
        known = degrees or {}
        out = {node: frozenset(ways[node]) for node in nodes}
        return cls(
            {
                node: {tail: tuple(found) for tail, found in sorted(ways[node].items())}
                for node in nodes
            },
            out,
            {node: frozenset(into[node]) for node in nodes},
            {node: max(len(out[node]), known.get(node, 0)) for node in nodes},
            directed,
        )


@dataclass(frozen=True, slots=True)
class Resource:
    """What reached each node from one start.

    Attributes:
        amounts: S(v) of every node that was reached; the start has 1 (more where walks come back).
        passing: Nodes that passed the threshold, so that paths may lead on from them.
    """

    amounts: Mapping[str, float]
    passing: frozenset[str]

    @classmethod
    def of(
        cls, amounts: Mapping[str, float], graph: Subgraph, threshold: Threshold | None = None
    ) -> Resource:
        """Take amounts that were computed elsewhere, such as by GDS; test them all together.

        Args:
            amounts: S(v) by node. A PageRank of GDS has to be divided by 1 − damping first.
            threshold: Nothing is stopped without one.
        """
        reached = {node: amount for node, amount in amounts.items() if amount > 0}
        return cls(reached, _passing(reached, graph, threshold or Threshold(0.0)))


@dataclass(frozen=True, slots=True)
class ReliablePath:
    """A path and how reliable flow says it is.

    Attributes:
        path: The path.
        reliability: S(P), at least 0, rounded to 12 decimals; comparable within one mode. The
            paper's exceeds 1 for short paths, the published code's does not.
        passed: False where the threshold stopped it, where it is longer than ``max_hops``, and for
            a path without hops, which links nothing.
    """

    path: Path
    reliability: float
    passed: bool = True


@dataclass(frozen=True, slots=True)
class FlowResult:
    """The most reliable paths, and why there are no more.

    Attributes:
        paths: Most reliable first, then by path key; no two of one key.
        outcome: ``found``; else why there is none: ``no_pair`` (fewer than two different nodes),
            ``not_linked`` (no path of at most ``max_hops``), ``below_threshold`` (θ stopped all).
        considered: Paths of a list that were rated; node sequences that were listed, which for
            ``reference`` are those that may be among the best.
        truncated: More than ``max_paths`` were there; the rest was not looked at.
        seeds_left_out: Nodes beyond ``max_seeds``.
    """

    paths: tuple[ReliablePath, ...]
    outcome: FlowOutcome
    considered: int
    truncated: bool = False
    seeds_left_out: int = 0

    @property
    def explanation(self) -> str:
        """Say in a sentence why there is no path; empty when there is one."""
        return {
            "found": "",
            "no_pair": "Paths run between two different nodes, and fewer were given.",
            "not_linked": "No path of the allowed length links any of the nodes.",
            "below_threshold": "Paths link the nodes, but the threshold stopped each of them.",
        }[self.outcome]


def paper_resource(
    graph: Subgraph,
    start: str,
    *,
    target: str | None = None,
    decay: float = 0.8,
    threshold: Threshold | None = None,
    hops: int | None = None,
) -> Resource:
    """Spread a resource from a node as the paper prints it.

    S(start) = 1; S(v) = Σ_{u ∈ N(·,v)} α·S(u) / |N(u,·)|; nothing leaves u when
    S(u) / |N(u,·)| < θ; a node is updated at most once (arXiv 2502.14902, path retrieval).
    What the paper leaves open is settled so: level by level, so that v receives from all nodes of
    the level before it and from none later; θ holds for the start too; N is undirected unless the
    graph is directed; relationships have no weights.

    Args:
        graph: Where it flows.
        start: A node that the graph lacks keeps its resource of 1.
        target: Takes what it gets and passes nothing on.
        decay: α, above 0, at most 1.
        threshold: θ; by default 0.001.
        hops: Levels; by default until nothing new is reached.

    Returns:
        Amounts of the nodes reached, the start included. With ``hops`` the last level is not tested
        against the threshold: it can only be the end of a path.
    """
    theta = threshold or Threshold()
    amounts = {start: 1.0}
    passing: set[str] = set()
    level = {start: 1.0}
    while level and (hops is None or hops > 0):
        pushing = _passing(level, graph, theta)
        if target != start:
            pushing -= {target}
        passing |= pushing
        arrived: dict[str, float] = defaultdict(float)
        for node in sorted(pushing):
            part = decay * level[node] / graph.degrees[node]
            for neighbour in graph.hops[node]:
                if neighbour not in amounts:
                    arrived[neighbour] += part
        amounts |= arrived
        level = arrived
        hops = None if hops is None else hops - 1
    return Resource(amounts, frozenset(passing))


def _passing(level: Mapping[str, float], graph: Subgraph, threshold: Threshold) -> frozenset[str]:
    """Give the nodes of a level that flow may leave; those that lead nowhere are not among them."""
    flows = {
        node: amount / graph.degrees[node]
        for node, amount in level.items()
        if graph.degrees.get(node)
    }
    least = threshold.value
    if threshold.share:
        least = _least(((flow, level[node]) for node, flow in flows.items()), share=threshold.value)
    return frozenset(node for node, flow in flows.items() if flow >= least * (1 - TOLERANCE))


def _least(flows: Iterable[tuple[float, float]], *, share: float) -> float:
    """Give the least flow among the largest that together hold a share of the mass.

    Args:
        flows: (flow, mass) pairs; none give 0.
    """
    ranked = sorted(flows, reverse=True)
    wanted = share * math.fsum(mass for _, mass in ranked) * (1 - TOLERANCE)
    held = 0.0
    for flow, mass in ranked:
        held += mass
        if held >= wanted:
            return flow
    return 0.0


def walk_resource(
    graph: Subgraph, start: str, hops: int, *, decay: float = 0.8, parallel: bool = False
) -> dict[str, float]:
    """Spread a resource along every walk, back and forth and round in circles.

    S(v) = Σ over walks start = u₀ → … → u_k = v, k ≤ hops, of Π α / |N(u_i,·)|: the paper's sum
    without "at most once" and without θ. GDS computes the same as a personalised PageRank,
    S(v) = score(v) / (1 − α), with ``sourceNodes`` = start, ``dampingFactor`` = α,
    ``maxIterations`` = hops + 1, ``tolerance`` = 0 and no scaler.

    Args:
        graph: Where it flows.
        start: A node that the graph lacks keeps its resource of 1.
        hops: Length of the longest walk, at least 0.
        decay: α, above 0, at most 1.
        parallel: Count relationships instead of neighbours, so that two to the same node carry
            twice as much, as in a GDS projection that does not aggregate them. An undirected
            self-loop counts twice.

    Returns:
        S(v) of every node reached, the start included; at least 1 for the start.
    """
    total = {start: 1.0}
    wave = {start: 1.0}
    for _ in range(hops):
        arrived: dict[str, float] = defaultdict(float)
        for node in sorted(wave):
            ways = graph.hops.get(node, {})
            if parallel:
                seen = sum(len(found) for found in ways.values())
                part = decay * wave[node] / max(graph.degrees.get(node, 0), seen, 1)
                for tail, found in ways.items():
                    arrived[tail] += part * len(found)
            else:
                part = decay * wave[node] / max(graph.degrees.get(node, 0), 1)
                for tail in ways:
                    arrived[tail] += part
        for node, amount in arrived.items():
            total[node] = total.get(node, 0.0) + amount
        wave = arrived
    return total


def path_reliability(nodes: Sequence[str], amounts: Mapping[str, float]) -> float:
    """Rate a path by the resource of its nodes: S(P) = (1/|E_P|) · Σ_{v ∈ V_P} S(v).

    The formula of the paper. The sum holds the start, whose S is 1, so S(P) ≥ 1/|E_P|, and the
    order is nearly that of the lengths: two hops beat one only from a start that has a single
    neighbour.

    Args:
        nodes: Of the path, in order; one that comes twice counts once, as V_P is a set.
        amounts: S(v); what is missing has 0.

    Returns:
        S(P), rounded to 12 decimals; 0 for a path without hops.
    """
    if len(nodes) < 2:
        return 0.0
    held = math.fsum(amounts.get(node, 0.0) for node in dict.fromkeys(nodes))
    return round(held / (len(nodes) - 1), DECIMALS)


def plain_reliability(nodes: Sequence[str], mode: Literal["hops", "random"]) -> float:
    """Rate a path without flow, as the selections do that the paper compares with.

    Args:
        nodes: Of the path, in order.
        mode: ``hops``: 1 / |E_P|. ``random``: a number in (0, 1] that is always the same for the
            same nodes, from their SHA-256, and else has nothing to do with them.

    Returns:
        Rounded to 12 decimals; 0 for a path without hops.
    """
    if len(nodes) < 2:
        return 0.0
    if mode == "hops":
        return round(1 / (len(nodes) - 1), DECIMALS)
    digest = sha256("\0".join(nodes).encode("utf-8", "surrogatepass")).digest()
    return round((int.from_bytes(digest[:6], "big") + 1) / 2**48, DECIMALS)


def edge_flow(
    sequences: Sequence[Sequence[str]],
    *,
    decay: float = 0.8,
    threshold: Threshold | None = None,
    hops: int = 3,
) -> dict[Pair, float]:
    """Let flow run over the paths of one pair as the published code does.

    With F(v) the distinct successors of v on these paths alone (``bfs_weighted_paths`` of the
    published code)::

        f(s, n)  = 1 / |F(s)|
        f(n, m) += α · f(s, n) / |F(n)|    if f(s, n) > θ and n is not the target
        f(m, k) += α · f(n, m) / |F(m)|    if f(n, m) > θ and m is not the target

    The table is shared: an edge that is reached at two depths adds up, and what is read later sees
    the sum. The published code goes through F in the order of string hashes, so that its result
    changes between processes; here the order is that of the ids.

    F ignores all neighbours that lead not to the target, so a true hub is not punished. θ takes
    no path away: edges that no flow reaches count 0.

    Args:
        sequences: Node ids of each path; all have the same first and the same last node. None give
            an empty table.
        decay: α, above 0, at most 1.
        threshold: θ; by default 0.3. As a share, those edges pass flow on that carry most of
            it when nothing is stopped: as few as together carry that share, and their equals.
        hops: Levels of the recursion; the published code has 3.

    Returns:
        f by (node, successor).

    Raises:
        ValueError: The paths link different pairs.
    """
    if not sequences:
        return {}
    start, target = sequences[0][0], sequences[0][-1]
    if any(nodes[0] != start or nodes[-1] != target for nodes in sequences):
        raise ValueError(f"paths of one pair are needed; not all run from {start!r} to {target!r}")
    found: dict[str, set[str]] = defaultdict(set)
    for nodes in sequences:
        for node, successor in pairwise(nodes):
            found[node].add(successor)
    follow = {node: sorted(successors) for node, successors in found.items()}
    theta = threshold or Threshold(0.3)
    if not theta.share:
        return _edge_flow(follow, start, target, decay, hops, lambda _, flow: flow > theta.value)
    free = _edge_flow(follow, start, target, decay, hops, lambda *_: True)
    least = _least(((flow, flow) for flow in free.values()), share=theta.value)
    passing = {edge for edge, flow in free.items() if flow >= least * (1 - TOLERANCE)}
    return _edge_flow(follow, start, target, decay, hops, lambda edge, _: edge in passing)


def _edge_flow(
    follow: Mapping[str, Sequence[str]],
    start: str,
    target: str,
    decay: float,
    hops: int,
    passes: Callable[[Pair, float], bool],
) -> dict[Pair, float]:
    flow: dict[Pair, float] = defaultdict(float)

    def send(node: str, via: Pair | None, level: int) -> None:
        successors = follow.get(node, ())
        for successor in successors:
            arriving = 1.0 if via is None else flow[via] * decay
            edge = (node, successor)
            flow[edge] += arriving / len(successors)
            if successor != target and level < hops and passes(edge, flow[edge]):
                send(successor, edge, level + 1)

    send(start, None, 1)
    return dict(flow)


def _flow_reliability(nodes: Sequence[str], flow: Mapping[Pair, float]) -> float:
    """Average the flow of a path's edges: (1/|E_P|) · Σ f(e), as the published code does."""
    edges = list(pairwise(nodes))
    return round(math.fsum(flow.get(edge, 0.0) for edge in edges) / len(edges), DECIMALS)


def score_paths(
    paths: Sequence[Path],
    mode: FlowMode,
    *,
    graph: Subgraph | None = None,
    options: FlowOptions | None = None,
    amounts: Mapping[str, Mapping[str, float]] | None = None,
) -> list[ReliablePath]:
    """Rate any paths, wherever they come from.

    Paths of one start and end are one pair. A pair's flow is its own: in ``reference`` it sees its
    own paths alone, in ``paper`` its end absorbs. In ``paper`` and ``walk`` a path passes when
    resource reached each of its nodes and all but the last passed the threshold; it need not lead
    from level to level.

    Args:
        paths: In any order, of any pairs.
        mode: How the resource flows.
        graph: What they are part of, for the true degrees of ``paper`` and ``walk``; by default
            all their relationships together, undirected. ``reference`` does not look at it.
        options: Decay, threshold and longest path; by default those of the mode.
        amounts: For ``walk``: S(v) by start, where GDS has computed it already.

    Returns:
        One for each path, in their order, also for those that the threshold stopped; none
        for none.

    Raises:
        ConfigError: The mode is unknown.
    """
    chosen = options_of(mode, options)
    groups: dict[Pair, set[Nodes]] = defaultdict(set)
    for path in paths:
        if 0 < path.depth <= chosen.max_hops:
            groups[path.start, path.tail].add(path.nodes)
    where = graph or Subgraph.of(hop.edge for path in paths for hop in path.hops)
    resources = Resources(where, mode, chosen, amounts)
    rated: dict[Nodes, tuple[float, bool]] = {}
    for (start, target), group in sorted(groups.items()):
        sequences = sorted(group)
        if mode == "reference":
            rated |= {nodes: (r, True) for nodes, r in rate_edges(sequences, chosen)}
        elif mode in ("hops", "random"):
            rated |= {nodes: (plain_reliability(nodes, mode), True) for nodes in sequences}
        else:
            resource = resources.of(start, target)
            for nodes in sequences:
                passed = resource.passing.issuperset(nodes[:-1]) and nodes[-1] in resource.amounts
                rated[nodes] = (path_reliability(nodes, resource.amounts), passed)
    return [ReliablePath(path, *rated.get(path.nodes, (0.0, False))) for path in paths]


def prune_paths(
    paths: Sequence[Path],
    mode: FlowMode,
    *,
    graph: Subgraph | None = None,
    options: FlowOptions | None = None,
    amounts: Mapping[str, Mapping[str, float]] | None = None,
) -> FlowResult:
    """Keep the most reliable of any paths: :func:`score_paths`, then what ``options`` leave.

    Two paths over the same relationships are one, walked from either end; the more reliable stays.
    Two over the same nodes in another order, or by other relationships, stay two.

    Raises:
        ConfigError: The mode is unknown.
    """
    chosen = options_of(mode, options)
    scored = score_paths(paths, mode, graph=graph, options=chosen, amounts=amounts)
    passed = [one for one in scored if one.passed]
    by_pair: dict[Pair, dict[Nodes, float]] = defaultdict(dict)
    for one in passed:
        by_pair[one.path.start, one.path.tail][one.path.nodes] = one.reliability
    kept = {nodes for group in by_pair.values() for nodes, _ in best_of_pair(group, chosen)}
    best = distinct(one for one in passed if one.path.nodes in kept)
    rated = [one for one in scored if 0 < one.path.depth <= chosen.max_hops]
    outcome: FlowOutcome = "found"
    if not best:
        outcome = "below_threshold" if rated else "not_linked" if paths else "no_pair"
    return FlowResult(tuple(best[: chosen.top_k]), outcome, len(rated))


def select_published(
    scored: Iterable[ReliablePath], *, top_k: int = 15
) -> tuple[ReliablePath, ...]:
    """Choose as the published code does, which loses paths; for comparison only.

    Sort by reliability, paths of equal reliability as they come, and drop each path whose *set of
    nodes* was there before: of A-B-C-D and A-C-B-D, and of two relationships between A and B, one
    stays. :func:`prune_paths` and :func:`~pathrag_gds.retrieve.flow_between.between` keep them.

    Args:
        scored: In the order of the pairs; the threshold removes none of them, nor does this.
        top_k: At most so many. The published code has 15, or half the number of paths if that is
            less; since it holds every path once from each end, that half never cuts.
    """
    rated = [one for one in scored if one.path.depth > 0]
    kept: dict[frozenset[str], ReliablePath] = {}
    for one in sorted(rated, key=lambda one: -one.reliability):
        kept.setdefault(frozenset(one.path.nodes), one)
    return tuple(islice(kept.values(), top_k))


def options_of(mode: FlowMode, options: FlowOptions | None) -> FlowOptions:
    """Give the options, or those of the mode; refuse an unknown mode."""
    if mode not in get_args(FlowMode):
        raise ConfigError(
            f"{mode!r} is no way of flow.",
            hint=f"There are {', '.join(get_args(FlowMode))}.",
        )
    if options is not None:
        return options
    return FLOW_PRESETS["reference"] if mode == "reference" else FlowOptions()


class Resources:
    """The resources of starts, each computed once; only that of ``paper`` depends on the target."""

    __slots__ = ("_amounts", "_free", "_graph", "_mode", "_options")

    def __init__(
        self,
        graph: Subgraph,
        mode: FlowMode,
        options: FlowOptions,
        amounts: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        self._graph = graph
        self._mode = mode
        self._options = options
        self._amounts = amounts or {}
        self._free: dict[str, Resource] = {}

    def of(self, start: str, target: str) -> Resource:
        """Give what reaches each node from the start when the target absorbs."""
        free = self._free.get(start)
        if free is None:
            made = self._walk(start) if self._mode == "walk" else self._paper(start)
            free = self._free[start] = made
        # A target that θ stops passes nothing on anyway.
        if self._mode == "walk" or target not in free.passing:
            return free
        return self._paper(start, target)

    def _walk(self, start: str) -> Resource:
        options = self._options
        amounts = self._amounts.get(start)
        if amounts is None:
            amounts = walk_resource(self._graph, start, options.max_hops, decay=options.decay)
        return Resource.of(amounts, self._graph, options.threshold)

    def _paper(self, start: str, target: str | None = None) -> Resource:
        options = self._options
        return paper_resource(
            self._graph,
            start,
            target=target,
            decay=options.decay,
            threshold=options.threshold,
            hops=options.max_hops,
        )


def rate_edges(sequences: Sequence[Nodes], options: FlowOptions) -> list[tuple[Nodes, float]]:
    """Rate all paths of one pair by edge flow, in their order."""
    flow = edge_flow(
        sequences, decay=options.decay, threshold=options.threshold, hops=options.max_hops
    )
    return [(nodes, _flow_reliability(nodes, flow)) for nodes in sequences]


def best_of_pair(rated: Mapping[Nodes, float], options: FlowOptions) -> list[tuple[Nodes, float]]:
    """Keep what one pair may keep; most reliable first, then by nodes."""
    ranked = sorted(rated.items(), key=lambda item: (-item[1], item[0]))
    return ranked[: options.per_pair]


def distinct(scored: Iterable[ReliablePath]) -> list[ReliablePath]:
    """Keep the most reliable path of each key; most reliable first, then by key."""
    kept: dict[PathKey, ReliablePath] = {}
    for one in sorted(scored, key=lambda o: (-o.reliability, o.path.key, o.path.nodes)):
        kept.setdefault(one.path.key, one)
    return list(kept.values())
