"""Flow by Graph Data Science: what it computes, and that it leaves nothing in the catalog."""

from __future__ import annotations

import math
import random
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.errors import ConfigError, DatabaseError, GdsMemory, GdsMissing
from pathrag_gds.graph.database import Database, Row, probe_gds
from pathrag_gds.graph.gds_client import (
    PROJECTION_PREFIX,
    QUESTION_PREFIX,
    check_memory,
    drop_graph,
    ensure_projection,
    question_graph,
)
from pathrag_gds.graph.queries import Query, load
from pathrag_gds.migrate import up
from pathrag_gds.retrieve.flow import FlowOptions, Subgraph, Threshold, walk_resource
from pathrag_gds.retrieve.flow_between import between
from pathrag_gds.retrieve.flow_gds import (
    MOST_PAIRS,
    GdsMode,
    gds_between,
    gds_flow,
    gds_outward,
    tenant_resource,
)
from pathrag_gds.retrieve.statements import Request, perform
from pathrag_gds.types import Edge
from tests.integration.content import Content
from tests.sources import OTHER_LANE
from tests.statements import statement

pytestmark = pytest.mark.integration

FREE = FlowOptions(threshold=Threshold(0.0))
GRAPHS = statement("CALL gds.graph.list() YIELD graphName RETURN graphName ORDER BY graphName")
MADE = statement(
    "CALL gds.graph.list($graph) YIELD creationTime, relationshipCount "
    "RETURN toString(creationTime) AS made, relationshipCount AS relationships"
)


def edges(*pairs: str) -> list[Edge]:
    return [Edge(f"{p}-R", p[0], p[1], "R") for p in pairs]


def catalog(db: Database) -> list[str]:
    return [row["graphName"] for row in db.run(GRAPHS)]


@pytest.fixture
def gds(connection: Database) -> Iterator[Database]:
    """Give a server with the plugin; afterwards the catalog must be as it was."""
    if not connection.capabilities.gds_version:
        pytest.skip("this server has no Graph Data Science")
    before = catalog(connection)
    yield connection
    assert catalog(connection) == before


@pytest.fixture
def max_flow(gds: Database) -> Database:
    if "gds.maxFlow.stream" not in gds.capabilities.procedures:
        pytest.skip(f"{OTHER_LANE}this server has no maximum flow")
    return gds


# --- PageRank ------------------------------------------------------------------------------------


def random_graph(rng: random.Random) -> Subgraph:
    """Make a graph with parallels, self-loops and nodes of which not all is known."""
    names = [f"n{i}" for i in range(rng.randint(3, 12))]
    made = [
        Edge(str(i), rng.choice(names), rng.choice(names), "R") for i in range(rng.randint(3, 30))
    ]
    degrees = {name: rng.randint(1, 20) for name in names if rng.random() < 0.4}
    return Subgraph.of(made, directed=rng.random() < 0.5, degrees=degrees)


def test_pagerank_is_the_walk_on_100_random_graphs(gds: Database) -> None:
    rng = random.Random(6)
    for _ in range(100):
        graph = random_graph(rng)
        hops, decay = rng.randint(1, 5), rng.choice((0.3, 0.8, 0.95))
        seeds = rng.sample(sorted(graph.out), 3 if len(graph.out) > 2 else 1)
        pairs = [(seed, other) for seed in seeds for other in sorted(graph.out) if other != seed]
        options = FlowOptions(decay=decay, max_hops=hops)
        found = gds_flow(gds, graph, pairs, "pagerank", options=options).nodes
        assert found.keys() == {start for start, _ in pairs}
        for seed, amounts in found.items():
            expected = walk_resource(graph, seed, hops, decay=decay)
            assert amounts == pytest.approx(expected, rel=0, abs=1e-9)


def test_pagerank_rates_paths_as_the_walk_does(gds: Database) -> None:
    graph = Subgraph.of(edges("ab", "bc", "ad", "dc", "ce", "ae"), degrees={"d": 9})
    found = gds_between(gds, graph, "ac", "pagerank", options=FREE)
    expected = between(graph, "ac", "walk", options=FREE)
    assert [one.path for one in found.paths] == [one.path for one in expected.paths]
    assert [one.reliability for one in found.paths] == pytest.approx(
        [one.reliability for one in expected.paths], abs=1e-9
    )
    from_one = gds_outward(gds, graph, "a", "ce", "pagerank", options=FREE)
    assert {one.path.start for one in from_one.paths} == {"a"}
    assert {one.path.tail for one in from_one.paths} == {"c", "e"}


def test_pagerank_refuses_that_nothing_is_lost(gds: Database) -> None:
    with pytest.raises(ConfigError, match="decay below 1"):
        gds_between(gds, Subgraph.of(edges("ab")), "ab", "pagerank", options=FlowOptions(decay=1))


# --- Yen -----------------------------------------------------------------------------------------


def products(
    graph: Subgraph, start: str, target: str, decay: float
) -> dict[tuple[str, ...], float]:
    """Rate every simple path by the product of what each of its nodes passes on."""
    found: dict[tuple[str, ...], float] = {}

    def further(nodes: tuple[str, ...], amount: float) -> None:
        if nodes[-1] == target:
            found[nodes] = amount
            return
        part = amount * decay / max(graph.degrees[nodes[-1]], 1)
        for node in sorted(graph.out[nodes[-1]]):
            if node not in nodes:
                further((*nodes, node), part)

    further((start,), 1.0)
    return found


def test_yens_gives_the_best_products_on_random_graphs(gds: Database) -> None:
    rng = random.Random(7)
    compared = 0
    for _ in range(15):
        graph = random_graph(rng)
        start, target = rng.sample(sorted(graph.out), 2)
        options = FlowOptions(max_hops=12, per_pair=4)
        found = gds_flow(gds, graph, [(start, target)], "yens", options=options).paths
        expected = products(graph, start, target, 0.8)
        best = sorted(expected.values(), reverse=True)[: len(found)]
        assert sorted(found.values(), reverse=True) == pytest.approx(best, rel=1e-9)
        for nodes, amount in found.items():
            assert amount == pytest.approx(expected[nodes], rel=1e-9)
        assert len(found) == min(len(expected), 12)
        compared += len(found)
    assert compared > 30


def test_yens_keeps_to_the_hops_and_prefers_narrow_nodes(gds: Database) -> None:
    # a-b-c by a node of 2 neighbours, a-h-c by one that has 50, a-d-e-c in three hops.
    graph = Subgraph.of(edges("ab", "bc", "ah", "hc", "ad", "de", "ec"), degrees={"h": 50})
    two = gds_outward(gds, graph, "a", "c", "yens", options=replace(FREE, max_hops=2))
    assert ["".join(one.path.nodes) for one in two.paths] == ["abc", "ahc"]
    assert [one.reliability for one in two.paths] == pytest.approx(
        [0.8 / 3 * 0.8 / 2, 0.8 / 3 * 0.8 / 50]
    )
    three = gds_outward(gds, graph, "a", "c", "yens", options=FREE)
    assert ["".join(one.path.nodes) for one in three.paths] == ["abc", "adec", "ahc"]


def test_parallel_relationships_are_paths_of_their_own(gds: Database) -> None:
    graph = Subgraph.of([Edge("1", "a", "b", "R"), Edge("2", "b", "a", "S")])
    found = gds_outward(gds, graph, "a", "b", "yens", options=FREE)
    assert [(o.path.hops[0].edge.type, o.path.hops[0].forward) for o in found.paths] == [
        ("R", True),
        ("S", False),
    ]


@pytest.mark.parametrize("mode", ["yens", "steiner"])
def test_a_sure_step_costs_nothing(gds: Database, mode: GdsMode) -> None:
    graph = Subgraph.of(edges("ab", "bc"), directed=True)
    options = replace(FREE, decay=1.0)
    found = gds_between(gds, graph, "ac", mode, options=options)
    assert [one.reliability for one in found.paths] == [1.0]


def test_too_many_pairs_are_reported(gds: Database) -> None:
    ids = "abcdefgh"
    graph = Subgraph.of(edges(*(a + b for a, b in pairwise(ids))))
    pairs = [(a, b) for a in ids for b in ids if a != b]
    assert len(pairs) > MOST_PAIRS
    assert gds_flow(gds, graph, pairs, "yens").pairs_left_out == len(pairs) - MOST_PAIRS
    assert gds_between(gds, graph, ids, "yens", options=replace(FREE, per_pair=1)).truncated


# --- Steiner -------------------------------------------------------------------------------------


def test_steiner_links_all_nodes_by_a_tree(gds: Database) -> None:
    # The middle m links a, b and c; a hub h does so, too, at a higher price.
    graph = Subgraph.of(edges("am", "bm", "cm", "ah", "bh", "ch"), degrees={"h": 40})
    found = gds_between(gds, graph, "abc", "steiner", options=FREE)
    assert ["".join(one.path.nodes) for one in found.paths] == ["amb", "amc"]
    assert [one.reliability for one in found.paths] == pytest.approx([0.8 / 2 * 0.8 / 3] * 2)


def test_steiner_leaves_out_what_cannot_be_reached(gds: Database) -> None:
    graph = Subgraph.of(edges("ab", "xy"))
    found = gds_between(gds, graph, "abx", "steiner", options=FREE)
    assert ["".join(one.path.nodes) for one in found.paths] == ["ab"]
    assert gds_between(gds, graph, "ax", "steiner", options=FREE).outcome == "not_linked"


# --- maximum flow --------------------------------------------------------------------------------


def test_maxflow_is_worked_by_hand(max_flow: Database) -> None:
    # a has 3 neighbours, so each holds 0.8/3 at most; d passes on 0.8/10 to t.
    graph = Subgraph.of(edges("ab", "bt", "ac", "ct", "ad", "dt"), degrees={"d": 10})
    flow = gds_flow(max_flow, graph, [("a", "t")], "maxflow")
    out = {head: amount for (tail, head), amount in flow.edges["a", "t"].items() if tail == "a"}
    assert out == pytest.approx({"b": 0.8 / 3, "c": 0.8 / 3, "d": 0.08})
    assert flow.paths == pytest.approx(
        {("a", "b", "t"): 0.8 / 3, ("a", "c", "t"): 0.8 / 3, ("a", "d", "t"): 0.08}
    )
    found = gds_between(max_flow, graph, "at", "maxflow", options=FREE)
    assert ["".join(one.path.nodes) for one in found.paths][:2] == ["abt", "act"]


def test_maxflow_conserves_flow_on_random_graphs(max_flow: Database) -> None:
    rng = random.Random(8)
    for _ in range(15):
        graph = random_graph(rng)
        start, target = rng.sample(sorted(graph.out), 2)
        flow = gds_flow(max_flow, graph, [(start, target)], "maxflow")
        net: dict[str, float] = {}
        for (tail, head), amount in flow.edges.get((start, target), {}).items():
            assert amount <= 0.8 / graph.degrees[tail] + 1e-9
            net[tail] = net.get(tail, 0.0) + amount
            net[head] = net.get(head, 0.0) - amount
        inner = {node: amount for node, amount in net.items() if node not in (start, target)}
        assert inner == pytest.approx(dict.fromkeys(inner, 0.0), abs=1e-9)


def test_maxflow_is_refused_where_there_is_none(gds: Database) -> None:
    if "gds.maxFlow.stream" in gds.capabilities.procedures:
        pytest.skip(f"{OTHER_LANE}this server has it")
    version = gds.capabilities.gds_version.replace(".", r"\.")
    with pytest.raises(GdsMissing, match=rf"maxflow needs gds\.maxFlow\.stream.* {version}") as no:
        gds_between(gds, Subgraph.of(edges("ab")), "ab", "maxflow")
    assert "--lane current" in no.value.hint


# --- the inputs that broke others ----------------------------------------------------------------


@pytest.mark.parametrize("mode", ["pagerank", "yens", "steiner"])
@pytest.mark.parametrize(
    ("pairs", "seeds", "outcome"),
    [
        ((), "ab", "not_linked"),
        (("ab",), "", "no_pair"),
        (("ab",), "a", "no_pair"),
        (("ab",), "aa", "no_pair"),
        (("ab",), "ax", "not_linked"),
        (("ab", "xy"), "ax", "not_linked"),
        (("aa",), "ab", "not_linked"),
    ],
)
def test_nothing_found_says_why(
    gds: Database, mode: GdsMode, pairs: Sequence[str], seeds: str, outcome: str
) -> None:
    found = gds_between(gds, Subgraph.of(edges(*pairs)), seeds, mode, options=FREE)
    assert (found.paths, found.outcome) == ((), outcome)
    assert found.explanation


@pytest.mark.parametrize("mode", ["pagerank", "yens", "steiner"])
def test_any_name_and_direction_survives(gds: Database, mode: GdsMode) -> None:
    names = ["`", "straße", "a'b\"", "$x", ""]
    made = [Edge(str(i), b, a, "R") for i, (a, b) in enumerate(pairwise(names))]
    found = gds_between(
        gds, Subgraph.of(made), [names[0], names[-1]], mode, options=replace(FREE, max_hops=4)
    )
    assert found.paths[0].path.nodes in (tuple(names), tuple(reversed(names)))
    stored = {hop.forward for hop in found.paths[0].path.hops}
    assert stored == {found.paths[0].path.start != names[0]}


@pytest.mark.parametrize("mode", ["pagerank", "yens", "steiner"])
def test_the_same_again(gds: Database, mode: GdsMode) -> None:
    graph = random_graph(random.Random(9))
    seeds = sorted(graph.out)[:4]
    first = gds_between(gds, graph, seeds, mode)
    assert gds_between(gds, graph, seeds, mode) == first


# --- the catalog ---------------------------------------------------------------------------------


def test_concurrent_questions_do_not_meet(gds: Database) -> None:
    graphs = [random_graph(random.Random(seed)) for seed in range(24)]

    def ask(graph: Subgraph) -> dict[str, float]:
        start, target, *_ = sorted(graph.out)
        return dict(gds_flow(gds, graph, [(start, target)], "pagerank").nodes[start])

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, graphs))
    for graph, amounts in zip(graphs, found, strict=True):
        assert amounts == pytest.approx(walk_resource(graph, min(graph.out), 3), abs=1e-9)


def slow_request(name: str, seeds: Sequence[int]) -> Request:
    parameters = {"graph": name, "neighbours": [[1], [0]], "lost": [0.0, 0.0], "seeds": list(seeds)}
    return Request(
        load("gds/pagerank"),
        {**parameters, "damping": 0.99, "iterations": 100_000},
        undo=Request(load("gds/drop"), {"graph": name, "prefix": QUESTION_PREFIX, "minutes": 60}),
    )


def test_an_error_leaves_nothing(gds: Database) -> None:
    name = question_graph()
    request = slow_request(name, [77])
    with pytest.raises(DatabaseError, match="77"):
        perform(gds, request)
    # Without the undoing, it would have been left: the test can fail.
    with pytest.raises(DatabaseError, match="77"):
        gds.run(request.query, **request.parameters)
    assert name in catalog(gds)
    assert drop_graph(gds, name)


def test_a_time_limit_leaves_nothing(gds: Database) -> None:
    request = slow_request(question_graph(), [0] * 5000)
    with pytest.raises(DatabaseError):
        perform(gds, replace(request, query=replace(request.query, timeout_s=1.0)))


def test_an_interrupt_leaves_nothing(gds: Database) -> None:
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(1.0, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        perform(gds, slow_request(question_graph(), [0] * 5000))
    timer.join()


def test_graphs_of_killed_processes_are_dropped_in_time(gds: Database) -> None:
    name = question_graph()
    gds.run(statement("RETURN gds.graph.project($graph, 0, 1).nodeCount AS n"), graph=name)
    # Another question, which may be going on, is left alone until its time is over.
    assert not drop_graph(gds, question_graph())
    assert name in catalog(gds)
    old = {"graph": question_graph(), "prefix": QUESTION_PREFIX, "minutes": 0}
    assert gds.run(load("gds/drop"), **old) == [{"graph": name}]


def test_a_graph_that_does_not_fit_is_refused_with_the_figures(gds: Database) -> None:
    size = {"nodes": 10**9, "relationships": 10**10}
    rows = gds.run(load("gds/memory"), **size, properties=["value"])
    with pytest.raises(
        GdsMemory, match=r"1,000,000,000 nodes .* takes up to [\d,.]+ MB"
    ) as refused:
        check_memory(rows, **size)
    assert refused.value.needed > 80 * 10**9 > refused.value.free > 2**20


def test_memory_is_asked_for_before_anything_is_projected(gds: Database) -> None:
    class Small:
        """The server, with too little memory."""

        capabilities = gds.capabilities
        asked: list[str] = []  # noqa: RUF012

        def run(self, query: Query, /, **parameters: Any) -> list[Row]:
            self.asked.append(query.name)
            return [{"needed": 4 * 2**20, "free": 2**20}]

    small: Any = Small()
    with pytest.raises(GdsMemory, match=r"4\.0 MB .* 1\.0 MB free"):
        gds_between(small, Subgraph.of(edges("ab")), "ab", "yens")
    assert small.asked == ["gds/memory"]


# --- the graph of a tenant -----------------------------------------------------------------------

CREATE = statement(
    "UNWIND $pairs AS pair "
    "MERGE (a:__Entity__ {tenant: $tenant, id: pair[0]}) "
    "MERGE (b:__Entity__ {tenant: $tenant, id: pair[1]}) "
    "CREATE (a)-[:R {key: pair[0] + pair[1]}]->(b)"
)
DELETE = statement("MATCH (:__Entity__ {tenant: $tenant})-[r:R {key: $key}]->() DELETE r")


def test_a_tenants_graph_is_always_of_now(migrated: Database) -> None:
    if not migrated.capabilities.gds_version:
        pytest.skip("this server has no Graph Data Science")

    def resource() -> dict[str, float]:
        return tenant_resource(migrated, "t", ["a", "nobody"], hops=2)["a"]

    migrated.run(CREATE, tenant="t", pairs=[["a", "b"], ["b", "c"]])
    migrated.run(CREATE, tenant="other", pairs=[["a", "x"], ["a", "y"]])
    name = ensure_projection(migrated, "t")
    assert name == PROJECTION_PREFIX + "t"
    # a passes on 0.8 to b, which gives half of 0.64 back and half to c.
    assert resource() == pytest.approx({"a": 1.32, "b": 0.8, "c": 0.32})
    # Nothing was written, so the same graph serves again, in this process or another.
    made = migrated.run(MADE, graph=name)
    resource()
    with Database(migrated.connection) as another:
        ensure_projection(another, "t")
    assert migrated.run(MADE, graph=name) == made

    migrated.run(DELETE, tenant="t", key="bc")
    assert resource() == pytest.approx({"a": 1.64, "b": 0.8})
    migrated.run(CREATE, tenant="t", pairs=[["a", "d"]])
    assert resource() == pytest.approx({"a": 1.64, "b": 0.4, "d": 0.4})
    # One less and one more: no count tells.
    migrated.run(DELETE, tenant="t", key="ad")
    migrated.run(CREATE, tenant="t", pairs=[["b", "d"]])
    assert resource() == pytest.approx({"a": 1.32, "b": 0.8, "d": 0.32})
    drop_graph(migrated, name)
    assert resource() == pytest.approx({"a": 1.32, "b": 0.8, "d": 0.32})
    up(migrated)
    assert resource() == pytest.approx({"a": 1.32, "b": 0.8, "d": 0.32})


def test_a_tenants_graph_is_made_by_one_of_many(migrated: Database) -> None:
    if not migrated.capabilities.gds_version:
        pytest.skip("this server has no Graph Data Science")
    migrated.run(CREATE, tenant="t", pairs=[["a", "b"], ["b", "c"]])
    with ThreadPoolExecutor(6) as pool:
        found = list(
            pool.map(lambda _: tenant_resource(migrated, "t", ["a"], hops=1)["a"], range(12))
        )
    assert found == [{"a": 1.0, "b": pytest.approx(0.8)}] * 12
    assert catalog(migrated) == [PROJECTION_PREFIX + "t"]


def test_a_tenant_without_entities_has_no_graph(migrated: Database) -> None:
    if not migrated.capabilities.gds_version:
        pytest.skip("this server has no Graph Data Science")
    with pytest.raises(DatabaseError, match="'nobody' has no entities"):
        ensure_projection(migrated, "nobody")
    assert catalog(migrated) == []


def test_a_tenants_graph_survives_a_restart_of_the_server(
    content: Content, lane: str, tmp_path: Path
) -> None:
    from pathrag_gds.server import start, stop
    from pathrag_gds.server.artifacts import LANES

    if lane not in LANES:
        pytest.skip("the server is not ours to restart")
    try:
        with Database(start(tmp_path, lane, probe=probe_gds)) as db:
            up(db)
            db.run(CREATE, tenant="t", pairs=[["a", "b"]])
            before = tenant_resource(db, "t", ["a"])
        stop(tmp_path)
        with Database(start(tmp_path, lane, probe=probe_gds)) as db:
            assert catalog(db) == []
            assert tenant_resource(db, "t", ["a"]) == before
            assert math.isclose(before["a"]["b"], 0.8 + 0.8**3)
    finally:
        stop(tmp_path)
