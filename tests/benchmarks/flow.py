"""Benchmark of flow-based pruning, and the published algorithm as the other side.

Makes scale-free graphs (preferential attachment, five links a node), retrieves nodes at random and
measures how long it takes to find the most reliable paths between all of them; at one size also
between the nodes with the most relationships::

    python -m tests.benchmarks.flow --lane lts --json flow.json --svg flow.svg

``paper`` and ``reference`` run in this process, ``pagerank`` in Graph Data Science: its time holds
the projection, and a server that has just started is warmed up before. The published algorithm is
written plainly on NetworkX, as its repository has it (https://github.com/BUPT-GAMMA/PathRAG,
``bfs_weighted_paths``); it is stopped at ``--limit`` seconds, and then its time is a lower bound
and the share of the pairs that it had done is told. Graphs are made before any clock runs; what it
takes to index one is ``index_s``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

from pathrag_gds.graph.database import Database
from pathrag_gds.retrieve.flow import FLOW_PRESETS, FlowOptions, Subgraph
from pathrag_gds.retrieve.flow_between import between
from pathrag_gds.retrieve.flow_gds import gds_between
from pathrag_gds.types import Edge
from tests.benchmarks.curves import Curve, curves_svg
from tests.benchmarks.server import server

LINKS = 5
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
RETRIEVED = (10, 20, 30, 40, 50, 60)
# A search never sends more than this to be projected; what it does not stop by itself is stopped.
MOST_SENT, MOST_PUBLISHED = 100_000, 30_000
# The graph of the aim: 3,000 nodes, 40 of them retrieved.
NODES, SEEDS = 3_000, 40
MODES: dict[str, FlowOptions] = {
    # The published settings; with them nothing leaves a node of more than 20 neighbours.
    "paper": FLOW_PRESETS["paper"],
    "reference": FLOW_PRESETS["reference"],
    "pagerank": FlowOptions(),
}
PUBLISHED = "published, NetworkX"


@dataclass(frozen=True, slots=True)
class Measure:
    """One run.

    Attributes:
        mode: Of flow, or the published algorithm.
        retrieved: Nodes between which paths were looked for.
        hubs: They were the nodes with the most relationships, not any.
        seconds: It took; at least, where it was stopped.
        done: Share of the pairs that were searched.
    """

    mode: str
    nodes: int
    relationships: int
    retrieved: int
    hubs: bool
    seconds: float
    paths: int
    done: float = 1.0


def scale_free(nodes: int, links: int = LINKS, seed: int = 0) -> list[Edge]:
    """Make a graph by preferential attachment (Barabási and Albert, 1999)."""
    rng = random.Random(seed)
    ends: list[int] = []
    made: list[Edge] = []
    targets = list(range(links))
    for node in range(links, nodes):
        made += [Edge(f"{node}-{t}", f"n{node}", f"n{t}", "R") for t in targets]
        ends += [end for t in targets for end in (node, t)]
        chosen: set[int] = set()
        while len(chosen) < links:
            chosen.add(rng.choice(ends))
        targets = sorted(chosen)
    return made


def retrieve(graph: Subgraph, count: int, *, hubs: bool) -> list[str]:
    """Give nodes at random, or those with the most neighbours."""
    if hubs:
        return sorted(graph.out, key=lambda node: (-len(graph.out[node]), node))[:count]
    return random.Random(1).sample(sorted(graph.out), count)


def published(
    edges: Sequence[Edge], seeds: Sequence[str], limit: float
) -> tuple[float, int, float]:
    """Run the published algorithm: every path of at most three hops between every ordered pair.

    Returns:
        Seconds, paths kept, share of the pairs that were done within the limit.
    """
    import networkx as nx

    began = time.perf_counter()
    graph = nx.Graph()
    graph.add_edges_from((edge.source, edge.target) for edge in edges)
    rated: list[tuple[float, tuple[str, ...]]] = []
    pairs = [(start, target) for start in seeds for target in seeds if start != target]
    for done, (start, target) in enumerate(pairs):
        if time.perf_counter() - began > limit:
            return time.perf_counter() - began, 0, done / len(pairs)
        found: list[tuple[str, ...]] = []

        def search(path: tuple[str, ...], target: str, found: list[tuple[str, ...]]) -> None:
            # Like the published code, it goes one node deeper before it turns back.
            if len(path) > 4:
                return
            if path[-1] == target:
                found.append(path)
                return
            for node in graph.neighbors(path[-1]):
                if node not in path:
                    search((*path, node), target, found)

        search((start,), target, found)
        rated += _rate(found, start, target)
    kept: dict[frozenset[str], float] = {}
    for score, path in sorted(rated, key=lambda item: -item[0]):
        kept.setdefault(frozenset(path), score)
    return time.perf_counter() - began, len(list(kept)[:15]), 1.0


def _rate(
    paths: Sequence[tuple[str, ...]],
    start: str,
    target: str,
    decay: float = 0.8,
    threshold: float = 0.3,
) -> list[tuple[float, tuple[str, ...]]]:
    follow: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        for i in range(len(path) - 1):
            follow[path[i]].add(path[i + 1])
    flow: dict[tuple[str, str], float] = defaultdict(float)
    for second in sorted(follow[start]):
        flow[start, second] += 1 / len(follow[start])
        if flow[start, second] > threshold and second != target:
            for third in sorted(follow[second]):
                flow[second, third] += flow[start, second] * decay / len(follow[second])
                if flow[second, third] > threshold and third != target:
                    for fourth in sorted(follow[third]):
                        flow[third, fourth] += flow[second, third] * decay / len(follow[third])
    return [
        (sum(flow[path[i], path[i + 1]] for i in range(len(path) - 1)) / (len(path) - 1), path)
        for path in paths
    ]


class Bench:
    """Runs the modes on graphs of many sizes, one after the other."""

    def __init__(self, db: Database | None, limit: float, out: Callable[[str], None]) -> None:
        self._db = db
        self._limit = limit
        self._out = out
        self.measures: list[Measure] = []
        self.index_s: dict[int, float] = {}
        self.warm_up_s = 0.0

    def warm_up(self, edges: Sequence[Edge]) -> None:
        """Let the server compile what it has not run since it started; keep the time."""
        began = time.perf_counter()
        if self._db is not None:
            graph = Subgraph.of(edges)
            for count in (2, SEEDS):
                gds_between(self._db, graph, retrieve(graph, count, hubs=False), "pagerank")
        self.warm_up_s = round(time.perf_counter() - began, 2)

    def run(
        self,
        edges: Sequence[Edge],
        retrieved: Sequence[int],
        *,
        hubs: bool = False,
        modes: Sequence[str] = (*MODES, PUBLISHED),
    ) -> None:
        """Measure every mode for every number of retrieved nodes."""
        began = time.perf_counter()
        graph = Subgraph.of(edges)
        self.index_s[len(edges)] = round(time.perf_counter() - began, 3)
        for count in retrieved:
            seeds = retrieve(graph, count, hubs=hubs)
            for mode in modes:
                self._measure(graph, edges, seeds, mode, hubs)

    def _measure(
        self, graph: Subgraph, edges: Sequence[Edge], seeds: Sequence[str], mode: str, hubs: bool
    ) -> None:
        done = 1.0
        began = time.perf_counter()
        if mode == PUBLISHED:
            seconds, paths, done = published(edges, seeds, self._limit)
        elif mode == "pagerank":
            if self._db is None:
                return
            options = MODES[mode]
            paths = len(gds_between(self._db, graph, seeds, "pagerank", options=options).paths)
            seconds = time.perf_counter() - began
        elif mode == "paper":
            paths = len(between(graph, seeds, "paper", options=MODES[mode]).paths)
            seconds = time.perf_counter() - began
        else:
            paths = len(between(graph, seeds, "reference", options=MODES[mode]).paths)
            seconds = time.perf_counter() - began
        measure = Measure(
            mode, len(graph.out), len(edges), len(seeds), hubs, round(seconds, 4), paths, done
        )
        self.measures.append(measure)
        self._out(json.dumps(asdict(measure)))


def main() -> int:
    """Run the benchmark; 1 where one of ours takes a second or more at the size of the aim."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--limit", type=float, default=90.0, help="seconds for the other side")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="relationships at most")
    parser.add_argument("--lane", help="embedded server to start for pagerank; none without")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--svg", type=Path, help="file for the picture")
    given = parser.parse_args()
    with _server(given.lane) as db:
        bench = Bench(db, given.limit, lambda line: print(line, file=sys.stderr))
        aim = scale_free(NODES)
        bench.warm_up(aim)
        bench.run(aim, [SEEDS])
        bench.run(aim, [SEEDS], hubs=True)
        at_aim = list(bench.measures)
        bench.run(aim, [SEEDS // 2], hubs=True)
        bench.run(aim, [n for n in RETRIEVED if n != SEEDS])
        for size in SIZES:
            if size <= given.largest:
                # What lies beyond its limit at one size does so at the next.
                other = [PUBLISHED] * (size <= MOST_PUBLISHED)
                ours = [m for m in MODES if m != "pagerank" or size <= MOST_SENT]
                bench.run(scale_free(size // LINKS + LINKS), [SEEDS], modes=(*ours, *other))
    result = {
        "machine": {"cpus": os.cpu_count(), "load_average": round(os.getloadavg()[0], 1)},
        "python": platform.python_version(),
        "limit_s": given.limit,
        "warm_up_s": bench.warm_up_s,
        "index_s": bench.index_s,
        "aim": {f"{m.mode}{', hubs' * m.hubs}": m.seconds for m in at_aim},
        "holds": all(m.seconds < 1 for m in at_aim if m.mode != PUBLISHED),
        "measures": [asdict(m) for m in bench.measures],
    }
    text = json.dumps(result, indent=2)
    if given.json:
        given.json.write_text(text + "\n", encoding="utf-8")
    print(text)
    if given.svg:
        given.svg.write_text(picture(bench.measures), encoding="utf-8")
    return 0 if result["holds"] else 1


def picture(measures: Sequence[Measure]) -> str:
    """Draw time against size, and against the number of retrieved nodes."""
    by_size: dict[str, list[tuple[float, float, bool]]] = defaultdict(list)
    by_count: dict[str, list[tuple[float, float, bool]]] = defaultdict(list)
    for m in measures:
        if m.hubs:
            continue
        point = (m.seconds, m.done < 1)
        if m.nodes == NODES:
            by_count[m.mode].append((m.retrieved, *point))
        else:
            by_size[m.mode].append((m.relationships, *point))
    return curves_svg(
        [
            (
                f"{SEEDS} retrieved nodes",
                "relationships",
                [Curve(mode, tuple(sorted(points))) for mode, points in by_size.items()],
            ),
            (
                f"{NODES:,} nodes",
                "retrieved nodes",
                [Curve(mode, tuple(sorted(points))) for mode, points in by_count.items()],
            ),
        ]
    )


@contextmanager
def _server(lane: str | None) -> Iterator[Database | None]:
    if lane is None:
        with nullcontext():
            yield None
        return
    with server(lane) as connection, Database(connection) as db:
        yield db


if __name__ == "__main__":
    sys.exit(main())
