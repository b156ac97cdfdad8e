"""Flow: values worked out by hand, what follows from the formulas, and inputs that broke others.

D13 and the like are the numbers of defects that were found in the published code.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import pytest

from pathrag_gds.errors import ConfigError
from pathrag_gds.retrieve.flow import (
    FLOW_PRESETS,
    FlowMode,
    FlowOptions,
    ReliablePath,
    Resource,
    Subgraph,
    Threshold,
    edge_flow,
    paper_resource,
    path_reliability,
    plain_reliability,
    prune_paths,
    score_paths,
    select_published,
    walk_resource,
)
from pathrag_gds.retrieve.flow_between import between, outward
from pathrag_gds.types import Edge, Hop, Path, PathKey

PAPER = FlowOptions(threshold=Threshold(0.05), max_hops=5)
REFERENCE = FLOW_PRESETS["reference"]
MODES: tuple[FlowMode, ...] = ("paper", "reference", "walk", "hops", "random")


def edge(source: str, target: str, type_: str = "R") -> Edge:
    return Edge(f"{source}-{type_}-{target}", source, target, type_)


def edges(*pairs: str) -> list[Edge]:
    """Make relationships of ``AB`` or ``A>B``, each from the first node to the second."""
    return [edge(*(p.split(">") if ">" in p else p)) for p in pairs]


def walk(graph: Subgraph, nodes: Sequence[str]) -> Iterator[Path]:
    """Make a path of each choice of relationships along the nodes."""
    for hops in product(*(graph.hops[head][tail] for head, tail in pairwise(nodes))):
        yield Path(tuple(nodes), hops)


def simple_paths(graph: Subgraph, start: str, target: str, hops: int) -> list[Path]:
    """List by plain recursion what is to be found between two nodes."""

    def further(nodes: tuple[str, ...]) -> Iterator[Path]:
        if nodes[-1] == target:
            yield from walk(graph, nodes)
        elif len(nodes) <= hops:
            for node in sorted(graph.out.get(nodes[-1], ())):
                if node not in nodes:
                    yield from further((*nodes, node))

    return list(further((start,)))


def reliabilities(found: Sequence[ReliablePath]) -> dict[str, float]:
    return {"".join(one.path.nodes): one.reliability for one in found}


def chain(length: int) -> list[Edge]:
    return [edge(f"n{i}", f"n{i + 1}") for i in range(length)]


def routes(count: int) -> list[Edge]:
    """Make so many routes of two hops from ``s`` to ``t``."""
    return [e for i in range(count) for e in (edge("s", f"m{i:02}"), edge(f"m{i:02}", "t"))]


def scale_free(nodes: int, links: int, seed: int) -> list[Edge]:
    rng = random.Random(seed)
    ends: list[int] = []
    made = []
    targets = list(range(links))
    for node in range(links, nodes):
        made += [edge(f"n{node}", f"n{target}") for target in targets]
        ends += [end for target in targets for end in (node, target)]
        targets = []
        while len(targets) < links:
            end = rng.choice(ends)
            if end not in targets:
                targets.append(end)
    return made


def random_edges(rng: random.Random, nodes: int, count: int) -> list[Edge]:
    """Make relationships of two types, with parallels, both directions and self-loops."""
    names = [chr(ord("a") + i) for i in range(nodes)]
    return [edge(rng.choice(names), rng.choice(names), rng.choice("RS")) for _ in range(count)]


# --- the published code ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "expected"),
    # f = 1, then 0.8, then 0.64; averages 1, 1.8/2, 2.44/3. Four hops are not looked for.
    [(1, 1.0), (2, 0.9), (3, 2.44 / 3), (4, None)],
)
def test_reference_rates_a_chain(length: int, expected: float | None) -> None:
    found = between(Subgraph.of(chain(length)), ["n0", f"n{length}"], "reference")
    if expected is None:
        assert found.outcome == "not_linked"
    else:
        assert [one.reliability for one in found.paths] == pytest.approx([expected])


@pytest.mark.parametrize(
    ("count", "expected"),
    # (1/k + 0.8/k) / 2 while 1/k > 0.3, then (1/k) / 2, since flow stops at the first hop.
    [(1, 0.9), (2, 0.45), (3, 0.3), (4, 0.125), (5, 0.1)],
)
def test_reference_shares_flow_among_parallel_routes(count: int, expected: float) -> None:
    found = between(Subgraph.of(routes(count)), ["s", "t"], "reference")
    assert len(found.paths) == count
    assert [one.reliability for one in found.paths] == pytest.approx([expected] * len(found.paths))


@pytest.mark.parametrize("theta", [0.0, 0.3, 0.9])
def test_reference_threshold_removes_no_path(theta: float) -> None:
    three = [e for x in "abcd" for e in edges(f"s{x}", f"{x}{x.upper()}", f"{x.upper()}t")]
    found = between(
        Subgraph.of(three),
        "st",
        "reference",
        options=replace(REFERENCE, threshold=Threshold(theta)),
    )
    # 1/4 on the first hop of each, which is less than 0.3: (1/4 + 0 + 0) / 3. Where θ is 0, flow
    # goes on: (1/4 + 0.2 + 0.16) / 3.
    expected = 0.61 / 3 if theta == 0 else 0.25 / 3
    assert len(found.paths) == 4
    assert [one.reliability for one in found.paths] == pytest.approx([expected] * len(found.paths))


def test_reference_rates_the_worked_square() -> None:
    graph = Subgraph.of(edges("AB", "BC", "CD", "AC", "BD"))
    found = prune_paths(simple_paths(graph, "A", "D", 3), "reference")
    # F(A) = {B, C}: 0.5 each. F(B) = {C, D}: 0.5·0.8/2 = 0.2 each; F(C) = {B, D} the same; 0.2 is
    # not above θ. ABD and ACD: (0.5 + 0.2)/2; ABCD and ACBD: (0.5 + 0.2 + 0.2)/3.
    assert reliabilities(found.paths) == pytest.approx(
        {"ABD": 0.35, "ACD": 0.35, "ABCD": 0.3, "ACBD": 0.3}
    )


def test_reference_links_the_leaves_of_a_star() -> None:
    found = between(Subgraph.of(edges("CX", "CY", "CZ")), "XYZ", "reference")
    # One path each, (1 + 0.8)/2, found from either end but kept once.
    assert reliabilities(found.paths) == {"XCY": 0.9, "XCZ": 0.9, "YCZ": 0.9}


def test_reference_adds_up_an_edge_that_is_reached_at_two_depths() -> None:
    flow = edge_flow(["sat", "sbat"])
    # F(s) = {a, b}: 0.5 each. From a: f(at) = 0.4. From b: f(ba) = 0.4 > 0.3, so f(at) grows by
    # 0.4·0.8 = 0.32 to 0.72.
    assert flow == pytest.approx(
        {("s", "a"): 0.5, ("a", "t"): 0.72, ("s", "b"): 0.5, ("b", "a"): 0.4}
    )


def test_reference_reads_half_summed_flow_in_a_fixed_order() -> None:
    paths = ["sbt", "sbct", "sabt"]
    # a first: f(ab) = 0.4 > 0.3, so f(bc) = f(bt) = 0.16. Then b: f(bc) = 0.16 + 0.2 = 0.36 > 0.3,
    # and f(ct) = 0.36·0.8 = 0.288.
    assert edge_flow(paths) == pytest.approx(
        {
            ("s", "a"): 0.5,
            ("s", "b"): 0.5,
            ("a", "b"): 0.4,
            ("b", "c"): 0.36,
            ("b", "t"): 0.36,
            ("c", "t"): 0.288,
        }
    )
    # The published code may take b first: f(bc) is 0.2 when it is read, and nothing reaches ct.
    assert published_flow(paths, reverse=True).get(("c", "t"), 0.0) == 0.0
    assert edge_flow(paths[::-1]) == edge_flow(paths)


def published_flow(
    paths: Sequence[Sequence[str]], *, reverse: bool = False
) -> dict[tuple[str, str], float]:
    """Restate the published loops, three nested levels and all."""
    source, target = paths[0][0], paths[0][-1]
    found = defaultdict(set)
    for nodes in paths:
        for u, v in pairwise(nodes):
            found[u].add(v)
    follow = {u: sorted(vs, reverse=reverse) for u, vs in found.items()}
    weight: dict[tuple[str, str], float] = defaultdict(float)
    for n in follow[source]:
        weight[source, n] += 1 / len(follow[source])
        if n == target or not weight[source, n] > 0.3:
            continue
        for m in follow[n]:
            weight[n, m] += weight[source, n] * 0.8 / len(follow[n])
            if m == target or not weight[n, m] > 0.3:
                continue
            for k in follow[m]:
                weight[m, k] += weight[n, m] * 0.8 / len(follow[m])
    return weight


def published(graph: Subgraph, seeds: Sequence[str]) -> list[ReliablePath]:
    """Run the published algorithm plainly, with one order of successors; all paths, by pair."""
    scored = []
    for start in seeds:
        for target in seeds:
            paths = simple_paths(graph, start, target, 3) if start != target else []
            flow = published_flow([path.nodes for path in paths]) if paths else {}
            for path in paths:
                whole = sum(flow.get(e, 0.0) for e in pairwise(path.nodes))
                scored.append(ReliablePath(path, whole / path.depth))
    return scored


def test_reference_equals_the_published_algorithm() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        graph = Subgraph.of(random_edges(rng, 9, rng.choice([9, 14, 24])))
        seeds = rng.sample("abcdefghi", 4)
        every: dict[PathKey, float] = {}
        for one in published(graph, seeds):
            key = one.path.key
            every[key] = max(every.get(key, 0.0), one.reliability)
        found = between(graph, seeds, "reference", options=replace(REFERENCE, top_k=10_000))
        got = {one.path.key: one.reliability for one in found.paths}
        assert got == pytest.approx(every, abs=1e-9), seed
        assert between(graph, seeds, "reference").paths == found.paths[:15]


# --- the paper ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decay", "expected"),
    # (1 + α)/1, (1 + α + α²)/2, (1 + α + α² + α³)/3, …
    [
        (0.8, [1.8, 1.22, 0.984, 0.8404, 0.737856]),
        (0.7, [1.7, 1.095, 2.533 / 3, 0.693275, 0.588234]),
    ],
)
def test_paper_rates_a_directed_chain(decay: float, expected: list[float]) -> None:
    for length, value in enumerate(expected, start=1):
        graph = Subgraph.of(chain(length), directed=True)
        found = between(graph, ["n0", f"n{length}"], "paper", options=replace(PAPER, decay=decay))
        assert [one.reliability for one in found.paths] == pytest.approx([value])


def test_paper_rates_an_undirected_chain_by_all_neighbours() -> None:
    # A has one neighbour, B two: S(B) = 0.8, S(C) = 0.8·0.8/2 = 0.32; (1 + 0.8 + 0.32)/2.
    found = between(Subgraph.of(edges("AB", "BC")), "AC", "paper")
    assert reliabilities(found.paths) == {"ABC": 1.06}


@pytest.mark.parametrize(
    ("count", "expected"),
    # S(m) = 0.8/k, S(t) = k·0.8·S(m) = 0.64: (1 + 0.8/k + 0.64)/2. From 17 on S(m)/1 < 0.05.
    [(1, 1.22), (2, 1.02), (3, 2.86 / 3), (4, 0.92), (5, 0.9), (10, 0.86), (16, 0.845), (17, None)],
)
def test_paper_target_sums_up_parallel_routes(count: int, expected: float | None) -> None:
    graph = Subgraph.of(routes(count), directed=True)
    found = between(graph, "st", "paper", options=replace(PAPER, top_k=100))
    wanted = [] if expected is None else [expected] * count
    assert [one.reliability for one in found.paths] == pytest.approx(wanted)


def fan(start_degree: int, middle_degree: int) -> Subgraph:
    """Make s → m → t with so many ways out of s and m in all."""
    return Subgraph.of(
        [
            *edges("sm", "mt"),
            *(edge("s", f"x{i}") for i in range(start_degree - 1)),
            *(edge("m", f"y{i}") for i in range(middle_degree - 1)),
        ],
        directed=True,
    )


@pytest.mark.parametrize(
    ("start_degree", "middle_degree", "expected"),
    # S(m) = 0.8/d, S(t) = 0.8·S(m)/h; a second hop needs 0.8/(d·h) ≥ 0.05, so d·h ≤ 16.
    [(1, 16, 0.92), (1, 17, None), (2, 8, 0.72), (2, 9, None), (4, 4, 0.62), (5, 4, None)],
)
def test_paper_threshold_is_a_cliff_of_degree(
    start_degree: int, middle_degree: int, expected: float | None
) -> None:
    found = between(fan(start_degree, middle_degree), "st", "paper", options=PAPER)
    if expected is None:
        assert found.outcome == "below_threshold"
    else:
        assert [one.reliability for one in found.paths] == pytest.approx([expected])


def test_paper_threshold_lets_nothing_leave_a_start_of_21_neighbours() -> None:
    star = [edge("s", f"x{i:02}") for i in range(21)]
    for count, outcome in ((20, "found"), (21, "below_threshold")):
        graph = Subgraph.of(star[:count], directed=True)
        assert between(graph, ["s", "x00"], "paper", options=PAPER).outcome == outcome


def test_paper_third_hop_needs_a_product_of_degrees_of_12() -> None:
    # 0.64/(d_s·d_1·d_2) ≥ 0.05 needs a product of at most 12.8.
    for width, outcome in ((12, "found"), (13, "below_threshold")):
        graph = Subgraph.of(
            [*edges("ab", "bc", "cd"), *(edge("c", f"x{i}") for i in range(width - 1))],
            directed=True,
        )
        assert between(graph, "ad", "paper", options=PAPER).outcome == outcome


@pytest.mark.parametrize("count", [16, 17, 200])
def test_share_of_the_mass_is_no_cliff(count: int) -> None:
    graph = Subgraph.of(routes(count), directed=True)
    options = FlowOptions(threshold=Threshold(0.9, share=True), top_k=1000)
    # Equal routes pass together; S as without a threshold.
    for mode in ("paper", "walk"):
        found = between(graph, "st", mode, options=options)
        assert len(found.paths) == count
        assert [one.reliability for one in found.paths] == pytest.approx(
            [(1.64 + 0.8 / count) / 2] * len(found.paths)
        )


def test_share_drops_what_carries_least() -> None:
    # s leads to a, b and h with 0.8/3 each; a and b have one way on, the hub h has 50, each with
    # a fiftieth. Two thirds of the level are held by a and b, so h is needed only above that.
    fork = [*edges("sa", "sb", "sh", "at", "bt", "ht"), *(edge("h", f"x{i}") for i in range(49))]
    graph = Subgraph.of(fork, directed=True)
    for share, passing in ((0.5, "sab"), (0.66, "sab"), (0.7, "sabh"), (1.0, "sabh")):
        got = paper_resource(graph, "s", target="t", threshold=Threshold(share, share=True), hops=2)
        assert got.passing == frozenset(passing)


def test_share_of_edge_flow() -> None:
    paths = ["sat", "sbct", "sbdt", "sbet"]
    # Free flow: sa .5, sb .5, at .4, bc bd be .4/3 = .1333 each, ct dt et .1067 each; 2.12 in all.
    # Half of that is held by sa, sb and at: edges below 0.4 pass nothing on.
    half = edge_flow(paths, threshold=Threshold(0.5, share=True))
    assert half["b", "c"] == pytest.approx(0.4 / 3)
    assert ("c", "t") not in half
    whole = edge_flow(paths, threshold=Threshold(1.0, share=True))
    assert whole["c", "t"] == pytest.approx(0.32 / 3)
    assert whole == edge_flow(paths, threshold=Threshold(0.0))


def test_paper_is_nearly_hop_first() -> None:
    # Two hops, (1 + α/d₁ + α²/(d₁·d₂))/2, beat one, 1 + α/d′, only from a start of one neighbour.
    free = FlowOptions(threshold=Threshold(0.0))
    beaten = set()
    for start, middle, direct in product(range(1, 5), range(1, 5), (1, 3, 5, 14, 130)):
        (two,) = between(fan(start, middle), "st", "paper", options=free).paths
        star = Subgraph.of([edge("p", f"q{i}") for i in range(direct)], directed=True)
        (one,) = between(star, ["p", "q0"], "paper", options=free).paths
        wins = two.reliability > one.reliability
        assert wins == (0.8 / start + 0.64 / (start * middle) > 1 + 1.6 / direct)
        assert two.reliability >= 1 / 2
        if wins:
            beaten.add((start, middle, direct))
    # 1.44 > 1 + 1.6/5, 1.12 > 1 + 1.6/14, 1.0133 > 1 + 1.6/130; 0.96 never.
    assert beaten == {
        *((1, 1, direct) for direct in (5, 14, 130)),
        *((1, 2, direct) for direct in (14, 130)),
        (1, 3, 130),
    }


def test_reference_has_no_such_term() -> None:
    # Two direct links of a start with four ways to the target lose to a chain of two hops.
    fork = edges("st", "sa", "sb", "sc", "at", "bt", "ct", "pq", "qr")
    graph = Subgraph.of(fork)
    found = between(graph, "stpr", "reference")
    assert reliabilities(found.paths[:2]) == {"pqr": 0.9, "st": 0.25}


def test_hub_is_punished_by_the_paper_but_not_by_the_published_code() -> None:
    hub = [*edges("sh", "ht", "sm", "mt"), *(edge("h", f"x{i}") for i in range(1000))]
    graph = Subgraph.of(hub)
    assert graph.degrees["h"] == 1002
    # Published: both are one of two routes, (0.5 + 0.4)/2.
    found = between(graph, "st", "reference")
    assert reliabilities(found.paths) == {"sht": 0.45, "smt": 0.45}
    # Paper: S(h)/1002 = 0.4/1002 < 0.001; without h, S(t) = 0.8·0.4/2 = 0.16: (1 + 0.4 + 0.16)/2.
    found = between(graph, "st", "paper")
    assert reliabilities(found.paths) == {"smt": 0.78}


def test_hub_that_was_cut_keeps_its_true_degree() -> None:
    four = edges("sh", "ht", "sm", "mt")
    found = between(Subgraph.of(four, degrees={"h": 1002}), "st", "paper")
    assert reliabilities(found.paths) == {"smt": 0.78}
    # A count that is older than the relationships seen is no reason to divide by less.
    assert Subgraph.of(four, degrees={"h": 1}).degrees["h"] == 2


def test_paper_updates_a_node_once_and_level_by_level() -> None:
    # b is reached from s and from a; what comes from a is a level too late.
    got = paper_resource(Subgraph.of(edges("sa", "sb", "ab"), directed=True), "s")
    assert got.amounts == pytest.approx({"s": 1.0, "a": 0.4, "b": 0.4})
    # c is reached from a and b at the same level and gets both: 0.8·0.4/2 + 0.8·0.4.
    got = paper_resource(Subgraph.of(edges("sa", "sb", "ab", "ac", "bc"), directed=True), "s")
    assert got.amounts["c"] == pytest.approx(0.16 + 0.32)


def test_paper_target_absorbs() -> None:
    graph = Subgraph.of(edges("st", "tm", "mn"), directed=True)
    assert paper_resource(graph, "s", target="t").amounts == {"s": 1.0, "t": 0.8}
    assert paper_resource(graph, "s").amounts["n"] == pytest.approx(0.512)
    # s has three neighbours, u too, t two. S(t) = S(u) = 0.8/3; v has what u gives, 0.8·S(u)/3. If
    # t passed on, v had 0.8·S(t)/2 more.
    fork = Subgraph.of(edges("st", "su", "sw", "uv", "ux", "vt"))
    found = outward(fork, "s", "t", "paper")
    assert reliabilities(found.paths) == pytest.approx(
        {"st": 1 + 0.8 / 3, "suvt": (1 + 2 * 0.8 / 3 + 0.64 / 9) / 3}
    )
    assert paper_resource(fork, "s").amounts["v"] == pytest.approx(0.64 / 9 + 0.32 / 3)


def test_levels_can_be_limited() -> None:
    graph = Subgraph.of(chain(5), directed=True)
    assert sorted(paper_resource(graph, "n0", hops=2).amounts) == ["n0", "n1", "n2"]
    assert paper_resource(graph, "n0", hops=0).amounts == {"n0": 1.0}
    assert paper_resource(graph, "nowhere").amounts == {"nowhere": 1.0}
    assert paper_resource(graph, "n5").passing == frozenset()


# --- walks ----------------------------------------------------------------------------------------


def test_walk_counts_going_back_and_forth() -> None:
    graph = Subgraph.of(edges("AB"))
    assert walk_resource(graph, "A", 0) == {"A": 1.0}
    assert walk_resource(graph, "A", 1) == pytest.approx({"A": 1.0, "B": 0.8})
    assert walk_resource(graph, "A", 3) == pytest.approx({"A": 1.64, "B": 0.8 + 0.512})
    assert walk_resource(graph, "nowhere", 3) == {"nowhere": 1.0}


def test_walk_counts_neighbours_or_relationships() -> None:
    graph = Subgraph.of([edge("A", "B"), edge("A", "B", "S"), edge("A", "C")])
    assert walk_resource(graph, "A", 1) == pytest.approx({"A": 1.0, "B": 0.4, "C": 0.4})
    parallel = walk_resource(graph, "A", 1, parallel=True)
    assert parallel == pytest.approx({"A": 1.0, "B": 1.6 / 3, "C": 0.8 / 3})
    loop = Subgraph.of([edge("A", "A"), edge("A", "B")])
    assert walk_resource(loop, "A", 1, parallel=True) == pytest.approx(
        {"A": 1 + 1.6 / 3, "B": 0.8 / 3}
    )


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("parallel", [False, True])
def test_walk_is_a_personalised_pagerank(directed: bool, parallel: bool) -> None:
    for seed in range(25):
        rng = random.Random(seed)
        graph = Subgraph.of(random_edges(rng, 8, 16), directed=directed)
        hops = rng.randrange(5)
        rank = pagerank(graph, "a", hops, parallel=parallel)
        got = walk_resource(graph, "a", hops, parallel=parallel)
        assert {node: 0.2 * s for node, s in got.items()} == pytest.approx(rank, abs=1e-12)


def pagerank(graph: Subgraph, start: str, steps: int, *, parallel: bool) -> dict[str, float]:
    """Iterate r = (1 − d)·e_start + d·Pᵀr from r = (1 − d)·e_start."""
    rank = {start: 0.2}
    for _ in range(steps):
        following: dict[str, float] = defaultdict(float, {start: 0.2})
        for node, value in rank.items():
            ways = [t for t, hops in graph.hops.get(node, {}).items() for _ in hops]
            ways = ways if parallel else sorted(set(ways))
            for tail in ways:
                following[tail] += 0.8 * value / len(ways)
        rank = following
    return rank


def test_walk_equals_the_paper_on_a_directed_tree() -> None:
    tree = Subgraph.of(edges("AB", "AC", "BD", "BE", "CF", "FG"), directed=True)
    free = paper_resource(tree, "A", threshold=Threshold(0.0), hops=3)
    assert walk_resource(tree, "A", 3) == pytest.approx(dict(free.amounts))
    # Round in a circle they differ: the paper visits A once.
    ring = Subgraph.of(edges("AB", "BA"))
    assert paper_resource(ring, "A").amounts["A"] == 1.0
    assert walk_resource(ring, "A", 2)["A"] == pytest.approx(1.64)


def test_amounts_may_come_from_elsewhere() -> None:
    graph = Subgraph.of(edges("sa", "at", "sb", "bt"))
    given = {"s": {"s": 1.0, "a": 0.5, "b": 0.2, "t": 0.3}}
    found = outward(graph, "s", "t", "walk", amounts=given)
    assert reliabilities(found.paths) == pytest.approx({"sat": 0.9, "sbt": 0.75})
    listed = prune_paths(simple_paths(graph, "s", "t", 3), "walk", amounts=given)
    assert listed.paths == found.paths
    tight = FlowOptions(threshold=Threshold(0.2))
    # S(b)/2 = 0.1 stops; S(a)/2 = 0.25 and S(s)/2 = 0.5 do not.
    found = outward(graph, "s", "t", "walk", amounts=given, options=tight)
    assert reliabilities(found.paths) == pytest.approx({"sat": 0.9})
    assert Resource.of({"s": 1.0, "a": 0.0}, graph) == Resource({"s": 1.0}, frozenset("s"))


# --- any list of paths ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "options",
    [
        FlowOptions(),
        FlowOptions(threshold=Threshold(0.05), top_k=4),
        FlowOptions(threshold=Threshold(0.3), per_pair=1),
        FlowOptions(threshold=Threshold(0.8, share=True), max_hops=2),
        FlowOptions(threshold=Threshold(0.0), max_hops=4, top_k=1000, decay=0.7),
        FlowOptions(threshold=Threshold(0.4), max_hops=1),
        FlowOptions(threshold=Threshold(0.5), max_hops=4, top_k=30),
    ],
)
def test_search_gives_what_pruning_all_paths_gives(mode: FlowMode, options: FlowOptions) -> None:
    for seed in range(30):
        rng = random.Random(seed)
        graph = Subgraph.of(
            random_edges(rng, 8, rng.choice([8, 14, 20])),
            directed=seed % 3 == 0,
            degrees={"c": 30},
        )
        seeds = rng.sample("abcdefgh", 4)
        paths = [
            path
            for start in seeds
            for target in seeds
            if start != target
            for path in simple_paths(graph, start, target, options.max_hops)
        ]
        listed = prune_paths(rng.sample(paths, len(paths)), mode, graph=graph, options=options)
        found = between(graph, seeds, mode, options=options)
        assert found.paths == listed.paths, seed
        assert found.outcome == (listed.outcome if paths else "not_linked"), seed
        assert not found.truncated


def test_scores_come_in_the_order_of_the_paths() -> None:
    graph = Subgraph.of(edges("AB", "BC", "XY"))
    (abc,) = walk(graph, "ABC")
    (xy,) = walk(graph, "XY")
    back_and_forth = Path(("A", "B", "A"), (abc.hops[0], Hop(abc.hops[0].edge, False)))
    scored = score_paths([abc, Path(("A",)), xy, back_and_forth, abc], "paper")
    assert [one.path for one in scored] == [abc, Path(("A",)), xy, back_and_forth, abc]
    # A path without hops links nothing. A node that comes twice counts once: (1 + 0.8)/2.
    assert [one.reliability for one in scored] == pytest.approx([1.06, 0.0, 1.8, 0.9, 1.06])
    assert [one.passed for one in scored] == [True, False, True, True, True]
    assert score_paths([], "paper") == []


def test_paths_longer_than_the_limit_do_not_pass() -> None:
    graph = Subgraph.of(chain(4))
    long = simple_paths(graph, "n0", "n4", 4)
    for mode in MODES:
        (one,) = score_paths(long, mode, graph=graph)
        assert (one.reliability, one.passed) == (0.0, False)
        assert prune_paths(long, mode).outcome == "not_linked"
        assert score_paths(long, mode, options=FlowOptions(max_hops=4))[0].passed


def test_a_stopped_path_is_still_rated_as_a_prior() -> None:
    graph = fan(5, 4)
    (path,) = simple_paths(graph, "s", "t", 3)
    (one,) = score_paths([path], "paper", graph=graph, options=PAPER)
    assert not one.passed
    assert one.reliability == pytest.approx((1 + 0.16) / 2)
    # On its own, without the graph, it is a chain of one way.
    (alone,) = score_paths([path], "paper", options=PAPER)
    assert alone.reliability == pytest.approx(1.06)
    assert alone.passed


def test_paths_of_another_pair_do_not_take_flow() -> None:
    graph = Subgraph.of(edges("st", "su"))
    paths = [*walk(graph, "st"), *walk(graph, "su")]
    assert [one.reliability for one in score_paths(paths, "reference")] == [1.0, 1.0]
    with pytest.raises(ValueError, match="one pair"):
        edge_flow(["st", "su"])
    assert edge_flow([]) == {}


def test_reliability_of_nodes() -> None:
    amounts = {"a": 1.0, "b": 0.5}
    assert path_reliability("ab", amounts) == 1.5
    assert path_reliability("abc", amounts) == 0.75
    assert path_reliability("a", amounts) == 0.0


def test_selections_without_flow() -> None:
    assert [plain_reliability("ABCD"[:n], "hops") for n in range(1, 5)] == [
        0.0,
        1.0,
        0.5,
        pytest.approx(1 / 3),
    ]
    assert plain_reliability("A", "random") == 0.0
    # Neither degrees nor lengths are looked at: over many paths the means are the same.
    by_length = [
        [plain_reliability([f"n{i}", "m", "o"][: hops + 1], "random") for i in range(2000)]
        for hops in (1, 2)
    ]
    for found in by_length:
        assert sum(found) / len(found) == pytest.approx(0.5, abs=0.03)
        assert len(set(found)) == len(found)
    graph = Subgraph.of(edges("AB", "AC", "CB", "AD", "DE", "EB"))
    nearest = between(graph, "AB", "hops", options=FlowOptions(top_k=2))
    assert ["".join(one.path.nodes) for one in nearest.paths] == ["AB", "ACB"]


def test_best_of_each_pair() -> None:
    graph = Subgraph.of(edges("st", "sa", "at", "pt", "pa"))
    all_of = between(graph, "stp", "paper", options=FlowOptions(top_k=100))
    best = between(graph, "stp", "paper", options=FlowOptions(top_k=100, per_pair=1))
    ends = [tuple(sorted((one.path.start, one.path.tail))) for one in best.paths]
    assert sorted(set(ends)) == [("p", "s"), ("p", "t"), ("s", "t")]
    assert set(best.paths) < set(all_of.paths)


# --- inputs that broke the published code ---------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_nothing_found_says_why(mode: FlowMode) -> None:
    # D22: one retrieved node, nodes that nothing links, no node.
    graph = Subgraph.of(edges("AB", "CD"))
    for seeds in ("", "A", "AA"):
        found = between(graph, seeds, mode)
        assert (found.paths, found.outcome) == ((), "no_pair")
        assert "two different nodes" in found.explanation
    for seeds in ("AC", "AZ", "YZ"):
        found = between(graph, seeds, mode)
        assert (found.paths, found.outcome) == ((), "not_linked")
        assert "links" in found.explanation
    assert between(Subgraph.of([]), "AB", mode).outcome == "not_linked"
    assert prune_paths([], mode).outcome == "no_pair"
    assert between(graph, "AB", mode).explanation == ""
    assert outward(graph, "A", "A", mode).outcome == "no_pair"


def test_threshold_that_stops_all_says_so() -> None:
    found = between(fan(30, 1), "st", "paper", options=PAPER)
    assert found.outcome == "below_threshold"
    assert "threshold" in found.explanation


@pytest.mark.parametrize("mode", MODES)
def test_direction_of_each_hop_survives(mode: FlowMode) -> None:
    # D13: DOG -[BITES]-> MAN, asked for in the order MAN, DOG.
    bites = edge("DOG", "MAN", "BITES")
    (one,) = between(Subgraph.of([bites]), ["MAN", "DOG"], mode).paths
    (hop,) = one.path.hops
    assert hop.edge == bites
    assert (hop.head, hop.tail) == one.path.nodes
    assert hop.forward == (one.path.start == "DOG")


@pytest.mark.parametrize("mode", MODES)
def test_parallel_relations_and_both_directions_survive(mode: FlowMode) -> None:
    # D14: A hires B, A pays B, B sues A.
    three = [edge("A", "B", "HIRES"), edge("A", "B", "PAYS"), edge("B", "A", "SUES")]
    found = between(Subgraph.of(three), "AB", mode)
    assert sorted(one.path.hops[0].edge.type for one in found.paths) == ["HIRES", "PAYS", "SUES"]
    assert len({one.reliability for one in found.paths}) == 1
    assert len(select_published(found.paths)) == 1
    # A directed graph has two of them from A to B and one back.
    ways = between(Subgraph.of(three, directed=True), "AB", mode).paths
    assert {(one.path.start, one.path.hops[0].edge.type) for one in ways} == {
        ("A", "HIRES"),
        ("A", "PAYS"),
        ("B", "SUES"),
    }


@pytest.mark.parametrize("mode", MODES)
def test_same_nodes_in_another_order_are_another_path(mode: FlowMode) -> None:
    # D23: A-B-C-D and A-C-B-D.
    graph = Subgraph.of(edges("AB", "BC", "CD", "AC", "BD"))
    options = REFERENCE if mode == "reference" else FlowOptions()
    found = outward(graph, "A", "D", mode, options=options)
    assert {"ABCD", "ACBD"} <= reliabilities(found.paths).keys()
    kept = reliabilities(select_published(found.paths))
    assert len({"ABCD", "ACBD"} & kept.keys()) == 1


def test_published_selection_takes_the_first_of_equals() -> None:
    graph = Subgraph.of(edges("AB", "BC", "CD", "AC", "BD"))
    scored = score_paths(simple_paths(graph, "A", "D", 3), "reference")
    # ACBD has the nodes of ABCD, which comes first.
    assert list(reliabilities(select_published(scored))) == ["ABD", "ACD", "ABCD"]
    assert list(reliabilities(select_published(scored[::-1]))) == ["ACD", "ABD", "ACBD"]
    assert len(select_published(scored, top_k=1)) == 1


@pytest.mark.parametrize("order", ["ABCDEF", "FEDCBA", "CFADBE"])
def test_equal_paths_come_in_the_order_of_their_keys(order: str) -> None:
    # D24: where every pair is linked directly all have 1.0, whatever the order they are given in.
    graph = Subgraph.of(edges("AB", "CD", "EF"))
    found = between(graph, order, "reference")
    assert list(reliabilities(found.paths).items()) == [("AB", 1.0), ("CD", 1.0), ("EF", 1.0)]


def test_names_are_kept_as_they_are() -> None:
    # D15, D16, D25, D26: case, ligatures, ids that join to one string, braces, quotes.
    names = ["straße", "STRASSE", "ﬁ", "FI", "AB", "A", "BC", "C", "{x}", '"x"', "x", "a`b"]
    graph = Subgraph.of([edge("hub", name) for name in names])
    found = between(graph, ["hub", *names], "walk", options=FlowOptions(top_k=1000))
    direct = {one.path.tail for one in found.paths if one.path.start == "hub"}
    direct |= {one.path.start for one in found.paths if one.path.tail == "hub"}
    assert direct >= set(names)
    pairs = Subgraph.of([edge("AB", "C"), edge("A", "BC")])
    assert {one.path.nodes for one in between(pairs, ["AB", "C", "A", "BC"], "paper").paths} == {
        ("AB", "C"),
        ("A", "BC"),
    }


def test_properties_are_not_needed() -> None:
    # D8: no weight, no keywords, a number for a description.
    bare = Edge("k", "A", "B", "")
    odd = Edge("k2", "B", "C", "R", {"description": 7, "weight": None})
    found = between(Subgraph.of([bare, odd]), "AC", "paper")
    assert found.paths[0].path.hops == (Hop(bare, True), Hop(odd, True))


def test_options_are_not_changed_by_a_search() -> None:
    # D3: the published code writes into the options of the caller and into their shared default.
    options = FlowOptions(top_k=1)
    found = between(Subgraph.of(edges("AB")), "AC", "paper", options=options)
    assert found.outcome == "not_linked"
    assert options == FlowOptions(top_k=1)


def test_self_loops_lead_nowhere_but_count_as_a_neighbour() -> None:
    graph = Subgraph.of(edges("AA", "AB", "BB"))
    found = between(graph, "AB", "paper")
    # |N(A)| = 2, so S(B) = 0.4.
    assert reliabilities(found.paths) == {"AB": 1.4}
    assert reliabilities(between(graph, "AB", "reference").paths) == {"AB": 1.0}


# --- size and order -------------------------------------------------------------------------------


def test_hubs_of_a_scale_free_graph_are_searched_without_listing_their_paths() -> None:
    graph = Subgraph.of(scale_free(3000, 5, seed=1))
    hubs = sorted(graph.degrees, key=lambda node: (-graph.degrees[node], node))[:40]
    # The published code lists more than a hundred thousand paths here.
    most: dict[FlowMode, int] = {"reference": 100, "paper": 3000}
    for mode in most:
        found = between(graph, hubs, mode)
        assert len(found.paths) == 15
        assert found.considered < most[mode]
        assert not found.truncated


@pytest.mark.parametrize("mode", MODES)
def test_too_many_paths_are_reported(mode: FlowMode) -> None:
    two_hubs = [e for i in range(10_000) for e in (edge("s", f"m{i}"), edge(f"m{i}", "t"))]
    options = FlowOptions(threshold=Threshold(0.0), max_paths=500)
    found = between(Subgraph.of(two_hubs), "st", mode, options=options)
    assert found.truncated
    assert len(found.paths) == 15
    assert found.considered == 500
    few = FlowOptions(threshold=Threshold(0.0), max_paths=20_000)
    assert not between(Subgraph.of(two_hubs), "st", mode, options=few).truncated


def test_too_many_relationships_between_the_same_nodes_are_reported() -> None:
    many = [Edge(f"{a}{b}{i:03}", a, b, "R") for a, b in ("st", "tu") for i in range(40)]
    found = between(Subgraph.of(many), "su", "paper", options=FlowOptions(max_paths=100))
    assert found.truncated
    assert len(found.paths) == 15


def test_seeds_beyond_the_limit_are_reported() -> None:
    graph = Subgraph.of(chain(3))
    found = between(graph, ["n0", "n1", "n1", "n2"], "paper", options=FlowOptions(max_seeds=2))
    assert found.seeds_left_out == 1
    assert [one.path.nodes for one in found.paths] == [("n0", "n1")]
    found = outward(graph, "n0", ["n1", "n0", "n2"], "paper", options=FlowOptions(max_seeds=1))
    assert found.seeds_left_out == 1
    assert [one.path.nodes for one in found.paths] == [("n0", "n1")]


SCRIPT = """
from tests.unit.test_flow import MODES, random_edges, simple_paths
from pathrag_gds.retrieve.flow import *
from pathrag_gds.retrieve.flow_between import between
import random
for seed in range(6):
    graph = Subgraph.of(random_edges(random.Random(seed), 8, 20))
    for mode in MODES:
        print(between(graph, "abcd", mode))
        print(score_paths(simple_paths(graph, "a", "d", 3), mode))
    print(paper_resource(graph, "a").amounts, walk_resource(graph, "a", 3), graph.degrees)
    print(between(graph, "abcdef", "reference", options=FlowOptions(max_paths=9)))
"""


def test_every_process_gives_the_same() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in (0, 1, 2)
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 1000


def test_duplicates_and_order_of_relationships_do_not_matter() -> None:
    made = random_edges(random.Random(5), 8, 20)
    graph = Subgraph.of(made)
    assert Subgraph.of([*made[::-1], *made]) == graph
    assert graph.hops["a"].keys() == graph.out["a"]
    one_way = Subgraph.of(edges("AB"), directed=True)
    assert (one_way.out["B"], one_way.into["B"]) == (frozenset(), frozenset("A"))
    assert one_way.degrees == {"A": 1, "B": 0}


# --- settings -------------------------------------------------------------------------------------


def test_presets_are_those_of_the_paper_and_of_the_code() -> None:
    table = {
        name: (o.decay, o.threshold, o.max_hops, o.max_seeds, o.per_pair, o.top_k)
        for name, o in FLOW_PRESETS.items()
    }
    assert table == {
        "paper": (0.8, Threshold(0.05), 3, 40, 1, 15),
        "lt": (0.8, Threshold(0.05), 3, 20, 1, 5),
        "reference": (0.8, Threshold(0.3), 3, 40, None, 15),
    }
    assert FlowOptions().threshold == Threshold(0.001)


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": -0.1},
        {"value": float("nan")},
        {"value": float("inf")},
        {"value": 0.0, "share": True},
        {"value": 1.1, "share": True},
        {"value": float("nan"), "share": True},
    ],
)
def test_wrong_thresholds_are_refused(wrong: Mapping[str, Any]) -> None:
    with pytest.raises(ConfigError, match="threshold"):
        Threshold(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"decay": 0.0},
        {"decay": 1.01},
        {"decay": float("nan")},
        {"max_hops": 0},
        {"max_seeds": 0},
        {"per_pair": 0},
        {"top_k": 0},
        {"max_paths": -1},
    ],
)
def test_wrong_options_are_refused(wrong: Mapping[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ConfigError, match=name):
        FlowOptions(**wrong)


def test_unknown_mode_is_refused() -> None:
    beam: Any = "beam"
    with pytest.raises(ConfigError, match="'beam'"):
        between(Subgraph.of([]), "AB", beam)
    with pytest.raises(ConfigError, match="'beam'"):
        outward(Subgraph.of([]), "A", "B", beam)
    with pytest.raises(ConfigError, match="'beam'"):
        prune_paths([], beam)
