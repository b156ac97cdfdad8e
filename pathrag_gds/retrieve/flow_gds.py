"""Flow computed by Graph Data Science on a subgraph that is sent along.

The subgraph in memory (:class:`~pathrag_gds.retrieve.flow.Subgraph`) is projected, searched and
dropped again in one statement, so what is computed is never stale, two questions never meet, and
nothing is left behind. Nodes keep their true degrees: what flows out of a node by relationships
that were not read is lost, not shared among those that were.

=========  =========================================================================================
pagerank   Node flow: S(v) of :func:`~pathrag_gds.retrieve.flow.walk_resource`, for all seeds in one
           statement. A path is rated as in the paper, by the S of its nodes.
yens       Path flow: the ways by which most of a resource arrives, Π α / |N(u,·)| over the nodes u
           that are left. As Yen's cheapest ways on the cost −ln(α / |N(u,·)|) = ln |N(u,·)| − ln α.
maxflow    Edge flow: as much as fits between two nodes when the relationship u → v holds at most
           α / |N(u,·)|. It is taken apart into paths, shortest first; a path is rated by the part
           of the flow that takes it.
steiner    A cheap tree, at the same costs, that links the first node to all others; its paths are
           rated like those of yens.
=========  =========================================================================================

:func:`gds_steps` is a generator without I/O, as a search is; :func:`gds_flow`, :func:`gds_between`
and :func:`gds_outward` run it. :func:`tenant_resource` works on the whole graph of a tenant.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, get_args

from pathrag_gds.errors import ConfigError, DatabaseError
from pathrag_gds.graph.database import Capabilities, Database, Row
from pathrag_gds.graph.gds_client import (
    check_memory,
    drop_parameters,
    ensure_projection,
    question_graph,
)
from pathrag_gds.graph.queries import load
from pathrag_gds.retrieve.flow import TOLERANCE, FlowOptions, FlowResult, Nodes, Pair, Subgraph
from pathrag_gds.retrieve.flow_between import between, of_sequences, outward
from pathrag_gds.retrieve.statements import Request, perform

__all__ = [
    "MOST_PAIRS",
    "GdsFlow",
    "GdsMode",
    "flow_paths",
    "gds_between",
    "gds_flow",
    "gds_outward",
    "gds_steps",
    "require_mode",
    "tenant_resource",
]

GdsMode = Literal["pagerank", "yens", "maxflow", "steiner"]
Steps = Generator[Request, list[Row], "GdsFlow"]

PROCEDURES: Mapping[str, str] = {
    "pagerank": "gds.pageRank.stream",
    "yens": "gds.shortestPath.yens.stream",
    "maxflow": "gds.maxFlow.stream",
    "steiner": "gds.steinerTree.stream",
}
MOST_PAIRS = 40
"""``yens`` and ``maxflow`` search each pair anew, so more pairs are not searched (65 ms each)."""

# Ways asked of Yen's search for each that is wanted: it knows no limit of hops.
_SPARE = 3
# Ways wanted of a pair where the options set no number.
_WAYS = 5
# A tenant's graph may be made anew by another process between a look at it and its use.
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class GdsFlow:
    """What was computed; each mode fills the part that it is about.

    Attributes:
        mode: Of the four.
        nodes: S(v) by start, then by node (``pagerank``).
        edges: Flow by pair, then by (node, successor), each above 0 (``maxflow``).
        paths: Flow by node sequence (``yens``, ``maxflow``, ``steiner``).
        pairs_left_out: Pairs beyond :data:`MOST_PAIRS`.
    """

    mode: GdsMode
    nodes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    edges: Mapping[Pair, Mapping[Pair, float]] = field(default_factory=dict)
    paths: Mapping[Nodes, float] = field(default_factory=dict)
    pairs_left_out: int = 0


def require_mode(capabilities: Capabilities, mode: GdsMode) -> None:
    """Refuse a mode that the server cannot compute.

    Raises:
        ConfigError: There is no such mode.
        GdsMissing: The server has no plugin, or one without the procedure; says which version.
    """
    if mode not in get_args(GdsMode):
        raise ConfigError(
            f"Graph Data Science computes no flow {mode!r}.",
            hint=f"There are {', '.join(get_args(GdsMode))}.",
        )
    capabilities.require_gds(f"Flow by {mode}", PROCEDURES[mode])


def gds_steps(graph: Subgraph, pairs: Sequence[Pair], mode: GdsMode, options: FlowOptions) -> Steps:
    """Compute flow between pairs of nodes.

    Args:
        graph: Where it flows, with true degrees.
        pairs: (start, target), best first. Those of which a node is not in the graph are left out;
            ``steiner`` makes one tree for each start.
        options: ``decay`` and ``max_hops`` count, and ``per_pair`` for ``yens``.

    Yields:
        The server's estimate of the memory, then the computation; send back their rows.

    Returns:
        The flow; an empty one where no pair is left.

    Raises:
        ConfigError: ``decay`` is 1, which PageRank does not take.
        GdsMemory: The projection would not fit.
    """
    if mode == "pagerank" and options.decay >= 1:
        raise ConfigError(
            "PageRank needs a decay below 1.", hint="Take another, or the flow 'paper'."
        )
    names = sorted(graph.out)
    number = {name: index for index, name in enumerate(names)}
    neighbours = _neighbours(graph, number, mode)
    projected = {
        names[end]
        for node, heads in enumerate(neighbours)
        for end in (node, *heads)
        if heads and end < len(names)
    }
    there = [pair for pair in pairs if pair[0] != pair[1] and projected >= set(pair)]
    left_out = max(len(there) - MOST_PAIRS, 0) if mode in ("yens", "maxflow") else 0
    there = there[: len(there) - left_out]
    if not there:
        return GdsFlow(mode, pairs_left_out=left_out)
    size = {"nodes": len(names) + 1, "relationships": sum(map(len, neighbours))}
    rows = yield Request(load("gds/memory"), {**size, "properties": ["value"]})
    check_memory(rows, **size)
    name = question_graph()
    request = Request(
        load(f"gds/{mode}"),
        {
            "graph": name,
            "neighbours": neighbours,
            **_values(graph, names, mode, options.decay),
            **_asked(there, number, mode, options),
        },
        undo=Request(load("gds/drop"), drop_parameters(name)),
    )
    rows = yield request
    return replace(_READERS[mode](rows, names, graph, options), pairs_left_out=left_out)


def _neighbours(graph: Subgraph, number: Mapping[str, int], mode: GdsMode) -> list[list[int]]:
    """List the neighbours of each node by number."""
    walks = mode == "pagerank"
    found = []
    for node in number:
        # A self-loop is on no path; and gds.maxFlow of 2.26 fails at one.
        heads = sorted(number[other] for other in graph.out[node] if walks or other != node)
        # What flows to neighbours that were not read is lost in a node out of which nothing flows.
        if walks and graph.degrees[node] > len(heads):
            heads.append(len(number))
        found.append(heads)
    return found


def _values(graph: Subgraph, names: Sequence[str], mode: GdsMode, decay: float) -> dict[str, Any]:
    """Give what the mode needs to know of each node."""
    if mode == "pagerank":
        return {"lost": [float(graph.degrees[n] - len(graph.out[n])) for n in names]}
    shares = [decay / max(graph.degrees[name], 1) for name in names]
    if mode == "maxflow":
        return {"capacities": shares}
    return {"costs": [-math.log(share) for share in shares]}


def _asked(
    pairs: Sequence[Pair], number: Mapping[str, int], mode: GdsMode, options: FlowOptions
) -> dict[str, Any]:
    numbers = [[number[start], number[target]] for start, target in pairs]
    if mode == "pagerank":
        return {
            "seeds": list(dict.fromkeys(start for start, _ in numbers)),
            "damping": options.decay,
            # The first iteration places the resource at the seed.
            "iterations": options.max_hops + 1,
        }
    if mode == "yens":
        return {"pairs": numbers, "k": _SPARE * (options.per_pair or _WAYS)}
    if mode == "maxflow":
        return {"pairs": numbers}
    targets: dict[int, list[int]] = defaultdict(list)
    for start, target in numbers:
        targets[start].append(target)
    return {"trees": [[[root], list(dict.fromkeys(ends))] for root, ends in targets.items()]}


def _read_nodes(rows: Iterable[Row], names: Sequence[str], _: Subgraph, __: FlowOptions) -> GdsFlow:
    amounts = {
        names[row["seed"]]: {
            # The last number is no node: what was lost lies there.
            names[node]: resource
            for node, resource in zip(row["nodes"], row["resources"], strict=True)
            if node < len(names)
        }
        for row in rows
    }
    return GdsFlow("pagerank", nodes=amounts)


def _read_ways(rows: Iterable[Row], names: Sequence[str], _: Subgraph, __: FlowOptions) -> GdsFlow:
    paths = {tuple(names[node] for node in row["nodes"]): math.exp(-row["cost"]) for row in rows}
    return GdsFlow("yens", paths=paths)


def _read_edges(
    rows: Iterable[Row], names: Sequence[str], _: Subgraph, options: FlowOptions
) -> GdsFlow:
    found: dict[Pair, dict[Pair, float]] = defaultdict(dict)
    for row in rows:
        pair = (names[row["start"]], names[row["target"]])
        found[pair][names[row["tail"]], names[row["head"]]] = row["flow"]
    edges = {pair: _net(flow) for pair, flow in sorted(found.items())}
    paths: dict[Nodes, float] = {}
    for (start, target), flow in edges.items():
        paths |= _paths_of(flow, start, target, options.max_hops)
    return GdsFlow("maxflow", edges=edges, paths=paths)


def _read_trees(
    rows: Iterable[Row], names: Sequence[str], graph: Subgraph, options: FlowOptions
) -> GdsFlow:
    before: dict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        before[names[row["root"]]][names[row["node"]]] = names[row["parent"]]
    paths: dict[Nodes, float] = {}
    for root, parents in before.items():
        for node in sorted(parents):
            way = [node]
            while way[-1] != root:
                way.append(parents[way[-1]])
            nodes = tuple(reversed(way))
            paths[nodes] = math.prod(options.decay / graph.degrees[n] for n in nodes[:-1])
    return GdsFlow("steiner", paths=paths)


_READERS: Mapping[str, Callable[[Iterable[Row], Sequence[str], Subgraph, FlowOptions], GdsFlow]] = {
    "pagerank": _read_nodes,
    "yens": _read_ways,
    "maxflow": _read_edges,
    "steiner": _read_trees,
}


def _net(flow: Mapping[Pair, float]) -> dict[Pair, float]:
    """Take off what flows back the other way."""
    net = {
        (tail, head): amount - flow.get((head, tail), 0.0) for (tail, head), amount in flow.items()
    }
    return {edge: amount for edge, amount in sorted(net.items()) if amount > TOLERANCE}


def _paths_of(flow: Mapping[Pair, float], start: str, target: str, hops: int) -> dict[Nodes, float]:
    """Take a flow apart into paths: the shortest one with all that it carries, then the next.

    Ties are decided by the names. What flows on longer ways than ``hops`` is left out.
    """
    left = dict(flow)
    paths: dict[Nodes, float] = {}
    while nodes := _shortest(left, start, target, hops):
        amount = min(left[edge] for edge in pairwise(nodes))
        paths[nodes] = amount
        for edge in pairwise(nodes):
            left[edge] -= amount
            if left[edge] <= TOLERANCE:
                del left[edge]
    return paths


def _shortest(edges: Iterable[Pair], start: str, target: str, hops: int) -> Nodes:
    """Give the nodes of a shortest way along edges, the first by name; none beyond ``hops``."""
    out: dict[str, list[str]] = defaultdict(list)
    for tail, head in sorted(edges):
        out[tail].append(head)
    waiting: deque[Nodes] = deque([(start,)])
    seen = {start}
    while waiting:
        nodes = waiting.popleft()
        if nodes[-1] == target:
            return nodes
        for head in out[nodes[-1]] if len(nodes) <= hops else ():
            if head not in seen:
                seen.add(head)
                waiting.append((*nodes, head))
    return ()


def flow_paths(
    graph: Subgraph, pairs: Sequence[Pair], flow: GdsFlow, options: FlowOptions
) -> FlowResult:
    """Give the most reliable paths between pairs by a flow that was computed.

    Args:
        pairs: Those that the flow was computed for, with ``pagerank`` from one start or between all
            nodes that occur.
    """
    if flow.mode == "pagerank":
        starts = list(dict.fromkeys(start for start, _ in pairs))
        every = replace(options, max_seeds=max(len(pairs), 1))
        if len(starts) == 1:
            targets = [target for _, target in pairs]
            return outward(graph, starts[0], targets, "walk", options=every, amounts=flow.nodes)
        return between(graph, starts, "walk", options=every, amounts=flow.nodes)
    wanted = set(pairs)
    rated = {nodes: f for nodes, f in flow.paths.items() if (nodes[0], nodes[-1]) in wanted}
    found = of_sequences(graph, pairs, rated, options=options)
    return replace(found, truncated=found.truncated or flow.pairs_left_out > 0)


def gds_flow(
    db: Database,
    graph: Subgraph,
    pairs: Sequence[Pair],
    mode: GdsMode,
    *,
    options: FlowOptions | None = None,
) -> GdsFlow:
    """Compute flow between pairs of nodes in the database; see :func:`gds_steps`.

    Raises:
        GdsMissing: The server cannot compute this.
    """
    require_mode(db.capabilities, mode)
    steps = gds_steps(graph, pairs, mode, options or FlowOptions())
    try:
        request = next(steps)
        while True:
            request = steps.send(perform(db, request))
    except StopIteration as stop:
        flow: GdsFlow = stop.value
        return flow


def gds_between(
    db: Database,
    graph: Subgraph,
    seeds: Iterable[str],
    mode: GdsMode,
    *,
    options: FlowOptions | None = None,
) -> FlowResult:
    """Find the most reliable paths between nodes, each with each, in both directions of travel.

    ``steiner`` makes one tree, from the first node to all others. Else as
    :func:`~pathrag_gds.retrieve.flow_between.between`.
    """
    chosen = options or FlowOptions()
    ids = list(dict.fromkeys(seeds))
    pairs = pairs_between(ids[: chosen.max_seeds], mode)
    flow = gds_flow(db, graph, pairs, mode, options=chosen)
    found = flow_paths(graph, pairs, flow, chosen)
    return replace(found, seeds_left_out=max(len(ids) - chosen.max_seeds, 0))


def gds_outward(
    db: Database,
    graph: Subgraph,
    start: str,
    targets: Iterable[str],
    mode: GdsMode,
    *,
    options: FlowOptions | None = None,
) -> FlowResult:
    """Find the most reliable paths from one node to each of others; else as :func:`gds_between`."""
    chosen = options or FlowOptions()
    ids = [target for target in dict.fromkeys(targets) if target != start]
    pairs = [(start, target) for target in ids[: chosen.max_seeds]]
    flow = gds_flow(db, graph, pairs, mode, options=chosen)
    found = flow_paths(graph, pairs, flow, chosen)
    return replace(found, seeds_left_out=max(len(ids) - chosen.max_seeds, 0))


def pairs_between(seeds: Sequence[str], mode: str) -> list[Pair]:
    """List the ordered pairs of nodes that a mode looks between, pairs of the best nodes first."""
    if mode == "steiner":
        return [(seeds[0], target) for target in seeds[1:]]
    ranked = [(max(i, j), i, j) for i in range(len(seeds)) for j in range(len(seeds)) if i != j]
    return [(seeds[i], seeds[j]) for _, i, j in sorted(ranked)]


def tenant_resource(
    db: Database,
    tenant: str,
    seeds: Sequence[str],
    *,
    hops: int = 3,
    decay: float = 0.8,
    most: int = 1000,
) -> dict[str, dict[str, float]]:
    """Spread a resource from each seed over the whole graph of a tenant.

    As :func:`~pathrag_gds.retrieve.flow.walk_resource` with ``parallel``, on the projection
    ``pathrag_<tenant>``. That is made anew first where it is gone or anything was written since,
    which takes about a second per 200,000 relationships; worth it for many questions between two
    writes.

    Args:
        seeds: Ids; those that the tenant does not have are left out.
        hops: Of the longest walk, at least 0.
        decay: α, above 0 and below 1.
        most: Nodes per seed.

    Returns:
        S(v) by seed, then by id; most first, then by id.

    Raises:
        GdsMissing: The server cannot compute this.
        GdsMemory: The projection would not fit.
    """
    require_mode(db.capabilities, "pagerank")
    for attempt in range(_ATTEMPTS):
        name = ensure_projection(db, tenant)
        try:
            rows = db.run(
                load("gds/tenant_pagerank"),
                tenant=tenant,
                graph=name,
                seeds=list(dict.fromkeys(seeds)),
                damping=decay,
                iterations=hops + 1,
                most=most,
            )
        except DatabaseError as error:
            if name not in error.message or attempt == _ATTEMPTS - 1:
                raise
        else:
            break
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows:
        found[row["seed"]][row["id"]] = row["resource"]
    return dict(found)
