"""Search a subgraph for the paths that flow calls most reliable. Pure.

What flow is, and how it rates a path: :mod:`pathrag_gds.retrieve.flow`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice, pairwise, product
from typing import Literal, TypeVar

from pathrag_gds.retrieve.flow import (
    DECIMALS,
    FlowMode,
    FlowOptions,
    FlowOutcome,
    FlowResult,
    Nodes,
    Pair,
    ReliablePath,
    Resources,
    Subgraph,
    best_of_pair,
    distinct,
    options_of,
    path_reliability,
    plain_reliability,
    rate_edges,
)
from pathrag_gds.types import Path, PathKey

__all__ = ["between", "of_sequences", "outward"]

T = TypeVar("T")


def between(
    graph: Subgraph,
    seeds: Iterable[str],
    mode: FlowMode,
    *,
    options: FlowOptions | None = None,
    amounts: Mapping[str, Mapping[str, float]] | None = None,
) -> FlowResult:
    """Find the most reliable paths between nodes, each with each, in both directions of travel.

    Gives what :func:`~pathrag_gds.retrieve.flow.prune_paths` gives for all paths that visit no node
    twice, without listing those that cannot be among the best.

    Args:
        graph: A subgraph that holds the nodes and what lies between them.
        seeds: Ids, best first; one that comes twice counts once.
        mode: How the resource flows.
        options: By default those of the mode.
        amounts: For ``walk``: S(v) by start, where GDS has computed it already.

    Raises:
        ConfigError: The mode is unknown.
    """
    chosen = options_of(mode, options)
    ids = list(dict.fromkeys(seeds))
    used = ids[: chosen.max_seeds]
    pairs = [(start, target) for start in used for target in used if start != target]
    found = _search(graph, pairs, mode, chosen, amounts)
    return replace(found, seeds_left_out=len(ids) - len(used))


def outward(
    graph: Subgraph,
    start: str,
    targets: Iterable[str],
    mode: FlowMode,
    *,
    options: FlowOptions | None = None,
    amounts: Mapping[str, Mapping[str, float]] | None = None,
) -> FlowResult:
    """Find the most reliable paths from one node to each of others; else as :func:`between`.

    Args:
        targets: Ids of candidates, best first; ``max_seeds`` of them are used, the start is none.
    """
    chosen = options_of(mode, options)
    ids = [target for target in dict.fromkeys(targets) if target != start]
    used = ids[: chosen.max_seeds]
    found = _search(graph, [(start, target) for target in used], mode, chosen, amounts)
    return replace(found, seeds_left_out=len(ids) - len(used))


def of_sequences(
    graph: Subgraph,
    pairs: Sequence[Pair],
    rated: Mapping[Nodes, float],
    *,
    options: FlowOptions | None = None,
) -> FlowResult:
    """Make the most reliable paths of node sequences that were rated elsewhere, as by GDS.

    Args:
        graph: That they are of; a sequence that it does not have makes no path.
        pairs: Between which they were looked for.
        rated: Reliability by node sequence; those longer than ``max_hops`` do not count.
        options: ``max_hops``, ``per_pair``, ``top_k`` and ``max_paths`` count.
    """
    chosen = options or FlowOptions()
    by_pair: dict[Pair, dict[Nodes, float]] = defaultdict(dict)
    for nodes, reliability in rated.items():
        if 1 < len(nodes) <= chosen.max_hops + 1 and reliability > 0:
            by_pair[nodes[0], nodes[-1]][nodes] = round(reliability, DECIMALS)
    listed: dict[float, list[Nodes]] = defaultdict(list)
    for _, group in sorted(by_pair.items()):
        for nodes, reliability in best_of_pair(group, chosen):
            listed[reliability].append(nodes)
    routes = _Routes(graph, chosen.max_hops)
    made = _Budget(chosen.max_paths)
    best = _best(routes, listed, {}, chosen.top_k, _Budget(chosen.max_paths), made)
    outcome: FlowOutcome = "found" if best else "not_linked" if pairs else "no_pair"
    return FlowResult(tuple(best), outcome, len(rated), made.truncated)


@dataclass(frozen=True, slots=True)
class _Tier:
    """Paths of one pair and length, all of one reliability, not listed yet."""

    start: str
    target: str
    length: int


class _Budget:
    """Counts what is listed, and says when there was more."""

    __slots__ = ("left", "truncated", "used")

    def __init__(self, most: int) -> None:
        self.left = most
        self.used = 0
        self.truncated = False

    def take(self, found: Iterator[T]) -> list[T]:
        taken = list(islice(found, self.left))
        self.left -= len(taken)
        self.used += len(taken)
        if not self.left and next(found, None) is not None:
            self.truncated = True
        return taken


def _search(
    graph: Subgraph,
    pairs: Sequence[Pair],
    mode: FlowMode,
    options: FlowOptions,
    amounts: Mapping[str, Mapping[str, float]] | None,
) -> FlowResult:
    budget = _Budget(options.max_paths)
    listed: dict[float, list[Nodes]] = defaultdict(list)
    tiers: dict[float, list[_Tier]] = defaultdict(list)
    routes = _Routes(graph, options.max_hops)
    if mode == "reference":
        _rate_pairs(routes, pairs, options, budget, listed, tiers)
    elif mode in ("hops", "random"):
        _rate_plainly(routes, pairs, mode, options, budget, listed, tiers)
    else:
        resources = Resources(graph, mode, options, amounts)
        for start, target in pairs:
            resource = resources.of(start, target)
            # A short cut for the many pairs whose target nothing reaches.
            if start in resource.passing and target in resource.amounts:
                found = budget.take(routes.all(start, target, within=resource.passing))
                rated = {nodes: path_reliability(nodes, resource.amounts) for nodes in found}
                for nodes, reliability in best_of_pair(rated, options):
                    listed[reliability].append(nodes)
    made = _Budget(options.max_paths)
    best = _best(routes, listed, tiers, options.top_k, budget, made)
    outcome: FlowOutcome = "found"
    if not pairs:
        outcome = "no_pair"
    elif not best:
        linked = any(next(routes.all(start, target), None) for start, target in pairs)
        outcome = "below_threshold" if linked else "not_linked"
    return FlowResult(tuple(best), outcome, budget.used, budget.truncated or made.truncated)


def _rate_pairs(
    routes: _Routes,
    pairs: Sequence[Pair],
    options: FlowOptions,
    budget: _Budget,
    listed: dict[float, list[Nodes]],
    tiers: dict[float, list[_Tier]],
) -> None:
    """Rate the pairs by edge flow; where θ stops all after the first hop, list no path yet.

    Then a path of L hops has 1/(|F(s)|·L), whichever way it takes. That is so for almost all pairs
    of a dense graph, and listing their paths is what makes the published code slow.
    """
    for start, target in pairs:
        fan_out = routes.fan_out(start, target)
        if not fan_out:
            continue
        stopped = not options.threshold.share and 1 / fan_out <= options.threshold.value
        if stopped and options.per_pair is None:
            for length in range(1, options.max_hops + 1):
                reliability = round(1 / fan_out / length, DECIMALS)
                tiers[reliability].append(_Tier(start, target, length))
            continue
        found = budget.take(routes.all(start, target))
        for nodes, reliability in best_of_pair(dict(rate_edges(found, options)), options):
            listed[reliability].append(nodes)


def _rate_plainly(
    routes: _Routes,
    pairs: Sequence[Pair],
    mode: Literal["hops", "random"],
    options: FlowOptions,
    budget: _Budget,
    listed: dict[float, list[Nodes]],
    tiers: dict[float, list[_Tier]],
) -> None:
    """Rate the pairs without flow; by hops, list no path yet: lengths are known beforehand."""
    for start, target in pairs:
        if mode == "hops" and options.per_pair is None:
            for length in range(1, options.max_hops + 1):
                tiers[round(1 / length, DECIMALS)].append(_Tier(start, target, length))
            continue
        found = budget.take(routes.all(start, target))
        rated = {nodes: plain_reliability(nodes, mode) for nodes in found}
        for nodes, reliability in best_of_pair(rated, options):
            listed[reliability].append(nodes)


def _best(
    routes: _Routes,
    listed: Mapping[float, Sequence[Nodes]],
    tiers: Mapping[float, Sequence[_Tier]],
    top_k: int,
    budget: _Budget,
    made: _Budget,
) -> list[ReliablePath]:
    """Make paths of the best node sequences, one level of reliability after the other."""
    kept: dict[PathKey, ReliablePath] = {}
    for reliability in sorted(listed.keys() | tiers.keys(), reverse=True):
        if len(kept) >= top_k:
            break
        sequences = list(listed.get(reliability, ()))
        for tier in tiers.get(reliability, ()):
            sequences += budget.take(routes.of_length(tier.start, tier.target, tier.length))
        paths = made.take(path for nodes in sequences for path in routes.paths(nodes))
        same = (ReliablePath(path, reliability) for path in paths)
        for one in distinct(same):
            kept.setdefault(one.path.key, one)
    return list(kept.values())[:top_k]


class _Routes:
    """Lists simple paths of a subgraph as node sequences; looks only where the target is near."""

    __slots__ = ("_graph", "_hops", "_near")

    def __init__(self, graph: Subgraph, hops: int) -> None:
        self._graph = graph
        self._hops = hops
        self._near: dict[str, list[frozenset[str]]] = {}

    def all(
        self, start: str, target: str, *, within: AbstractSet[str] | None = None
    ) -> Iterator[Nodes]:
        """List every path of at most the allowed length, in a fixed order."""
        near = self._within(target, within)
        return self._walk((start,), target, self._hops, near)

    def of_length(self, start: str, target: str, length: int) -> Iterator[Nodes]:
        """List the paths of exactly ``length`` hops."""
        near = self._within(target, None)
        found = self._walk((start,), target, length, near)
        return (nodes for nodes in found if len(nodes) == length + 1)

    def fan_out(self, start: str, target: str) -> int:
        """Count the nodes by which paths leave the start: |F(s)| without listing the paths."""
        out = self._graph.out.get(start, frozenset())
        near = self._within(target, None)
        # A shortest way from a node that is as near as the start cannot lead through the start.
        own = next((d for d, nodes in enumerate(near) if start in nodes), self._hops - 1)
        sure = out & near[own]
        unsure = (out & near[-1]) - sure
        found = sum(self._leads((start, node), target, self._hops - 1, near) for node in unsure)
        return len(sure - {start}) + found + (target in out)

    def _leads(
        self, nodes: Nodes, target: str, left: int, near: Sequence[AbstractSet[str]]
    ) -> bool:
        """Tell whether a path leads on from the last of the nodes to the target."""
        out = self._graph.out[nodes[-1]]
        if target in out:
            return True
        on = (node for node in out & near[left - 1] if node not in nodes)
        if left == 2:
            return next(on, None) is not None
        return left > 2 and any(self._leads((*nodes, node), target, left - 1, near) for node in on)

    def paths(self, nodes: Nodes) -> Iterator[Path]:
        """Give a path for every choice of relationships along the nodes."""
        hops = self._graph.hops
        ways = (hops.get(head, {}).get(tail, ()) for head, tail in pairwise(nodes))
        return (Path(nodes, chosen) for chosen in product(*ways))

    def _within(self, target: str, within: AbstractSet[str] | None) -> list[frozenset[str]]:
        """Give, by number of hops, the nodes that lead to the target through ``within`` alone."""
        if within is None:
            if target not in self._near:
                self._near[target] = self._nearer(target, None)
            return self._near[target]
        return self._nearer(target, within)

    def _nearer(self, target: str, within: AbstractSet[str] | None) -> list[frozenset[str]]:
        into = self._graph.into
        near: list[frozenset[str]] = [frozenset()]
        edge = frozenset({target})
        for _ in range(1, self._hops):
            reached: set[str] = set()
            for node in edge:
                found = into.get(node, frozenset())
                reached |= found if within is None else found & within
            reached.discard(target)
            edge = frozenset(reached - near[-1])
            near.append(near[-1] | edge)
        return near

    def _walk(
        self, nodes: Nodes, target: str, left: int, near: Sequence[AbstractSet[str]]
    ) -> Iterator[Nodes]:
        out = self._graph.out.get(nodes[-1], frozenset())
        if left > 0 and target in out:
            yield (*nodes, target)
        if left > 1:
            for node in sorted(out & near[left - 1]):
                if node not in nodes:
                    yield from self._walk((*nodes, node), target, left - 1, near)
