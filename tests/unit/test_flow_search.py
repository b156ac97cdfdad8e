"""A search in which flow chooses the paths: what it asks, keeps, ranks and says."""

from __future__ import annotations

from typing import Any

import pytest

from pathrag_gds.config import Pruner, SearchConfig
from pathrag_gds.errors import ConfigError, GdsMemory, GdsMissing
from pathrag_gds.graph.database import Capabilities
from pathrag_gds.graph.schema import Ontology, RelationType
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.flow_search import check_pruner, parts_of
from pathrag_gds.retrieve.subgraph import read_subgraph, subgraph_request
from pathrag_gds.types import Edge, Hop, Path
from tests.fakes import MemoryGraph, RecordingDatabase
from tests.searching import ask, cuts, nodes

# a and b meet in x, and by a longer way in y and z; w hangs off b.
EDGES = [
    ("a", "R", "x"),
    ("b", "S", "x"),
    ("a", "R", "y"),
    ("y", "T", "z"),
    ("z", "T", "b"),
    ("b", "U", "w"),
]
GRAPH = MemoryGraph(EDGES, seeds=[])


def test_between_two_starts_their_paths_and_the_parts_of_these_are_read() -> None:
    result = ask(GRAPH, start_ids=["a", "b"], pruner="flow:paper", top_k=50)
    found = set(nodes(result))
    assert {"axb", "ax", "bx", "ayzb", "ay", "ayz", "bz", "bzy"} <= found
    assert not any("w" in path for path in found)
    assert "flow:paper between 2 starts kept 2 paths of a subgraph of" in (
        result.stats.strategy_reason
    )
    # What lies between is an answer, the ends are not.
    assert {answer.id for answer in result.answers} == {"x", "y", "z"}


def test_outward_leads_to_all_that_is_reached() -> None:
    result = ask(GRAPH, start_ids=["b"], pruner="flow:paper", top_k=50, flow_hops=2)
    assert {p for p in nodes(result) if len(p) > 1} == {"bx", "bz", "bw", "bxa", "bzy"}
    assert "outward" in result.stats.strategy_reason
    both = ask(GRAPH, start_ids=["a", "b"], pruner="flow:paper", flow_ends="outward", top_k=90)
    assert {"bw", "axbw"} <= set(nodes(both))
    assert "outward from 2 starts" in both.stats.strategy_reason


@pytest.mark.parametrize("pruner", ["flow:paper", "flow:reference"])
def test_one_statement_reads_the_subgraph(pruner: str) -> None:
    database = RecordingDatabase(GRAPH.answers)
    result = ask(GRAPH, start_ids=["a", "b"], pruner=pruner, database=database)
    assert database.names == [
        "retrieve/seeds",
        "retrieve/subgraph",
        "retrieve/hydrate",
        "retrieve/hydrate",
        "retrieve/provenance",
    ]
    assert result.stats.round_trips == 5


def test_the_reranker_ranks_what_flow_keeps() -> None:
    scores = {"a r y. |||": 0.9, "a r x. |||": 0.2}
    result = ask(GRAPH, scores, start_ids=["a"], pruner="flow:paper", top_k=50, strategy="paths")
    ranked = [path for path in nodes(result) if path in ("ax", "ay")]
    assert ranked == ["ay", "ax"]


def test_flow_is_a_term_that_counts_only_with_a_weight() -> None:
    hub = [("a", "R", "h"), ("h", "R", "p"), ("a", "R", "n"), ("n", "R", "q")]
    hub += [("h", "R", f"leaf{i}") for i in range(9)]
    graph = MemoryGraph(hub, seeds=[])
    scores = {"": 0.5}
    terms = {
        "".join(ranked.path.nodes): ranked.terms["flow"]
        for ranked in ask(graph, scores, start_ids=["a"], pruner="flow:paper", top_k=90).paths
    }
    # One hop: 1 + 0.4. Two: (1 + 0.4 + 0.16) / 2 by n with 2 neighbours, 0.32 / 11 for 0.16 by h.
    assert terms["an"] == 1.0
    assert terms["anq"] == pytest.approx(0.78 / 1.4, abs=1e-6)
    assert terms["ahp"] == pytest.approx((1.4 + 0.32 / 11) / 2.8, abs=1e-6)
    assert terms["a"] == 0.0
    plain = ask(graph, scores, start_ids=["a"], pruner="flow:paper", top_k=90)
    assert {ranked.score for ranked in plain.paths} == {0.5}
    heavy = ask(graph, scores, start_ids=["a"], pruner="flow:paper", weight_flow=1.0, top_k=90)
    order = nodes(heavy)
    assert order.index("anq") < order.index("ahp")
    assert heavy.paths[0].score == 1.5


def test_what_flow_leaves_out_is_told() -> None:
    star = MemoryGraph([("a", "R", f"n{i:02}") for i in range(30)], seeds=[])
    result = ask(star, start_ids=["a"], pruner="flow:paper", flow_paths=10, top_k=90)
    assert len([p for p in result.paths if p.path.hops]) == 10
    assert cuts(result)[1, "flow_paths"] == 20


def test_nothing_between_says_why() -> None:
    graph = MemoryGraph([("a", "R", "x"), ("b", "R", "y")], seeds=[])
    result = ask(graph, start_ids=["a", "b"], pruner="flow:paper")
    assert result.outcome == "not_in_graph"
    assert "(no path of the allowed length links any of the nodes)" in result.stats.strategy_reason
    empty = ask(MemoryGraph([], seeds=[]), pruner="flow:paper")
    assert (empty.paths, empty.outcome) == ((), "not_in_graph")


def test_a_flow_of_gds_is_asked_for_and_read() -> None:
    answers: dict[str, Any] = {
        **GRAPH.answers,
        "gds/memory": [{"needed": 1, "free": 2}],
        # Numbered by name: a, b, w, x, y, z.
        "gds/yens": [{"nodes": [0, 3, 1], "cost": 0.0}],
    }
    database = RecordingDatabase(answers)
    result = ask(GRAPH, start_ids=["a", "b"], pruner="flow:yens", database=database, top_k=90)
    assert database.names[1:4] == ["retrieve/subgraph", "gds/memory", "gds/yens"]
    assert {path for path in nodes(result) if len(path) > 1} == {"axb", "ax", "bx"}
    small = {**answers, "gds/memory": [{"needed": 3, "free": 2}]}
    with pytest.raises(GdsMemory):
        ask(GRAPH, start_ids=["a", "b"], pruner="flow:yens", database=RecordingDatabase(small))


def test_without_gds_its_flows_are_refused_and_others_are_not() -> None:
    class Server:
        capabilities = Capabilities("5.26.30", "community")

    server: Any = Server()
    here: tuple[Pruner, ...] = ("beam", "flow:paper", "flow:reference")
    there: tuple[Pruner, ...] = ("flow:pagerank", "flow:yens", "flow:maxflow", "flow:steiner")
    for pruner in here:
        check_pruner(server, pruner)
    for pruner in there:
        with pytest.raises(GdsMissing, match="Graph Data Science plugin"):
            check_pruner(server, pruner)


def test_the_parts_of_a_path_end_in_between_from_either_side() -> None:
    first, second = Edge("1", "a", "x", "R"), Edge("2", "b", "x", "S")
    path = Path(("a", "x", "b"), (Hop(first, True), Hop(second, False)))
    assert parts_of(path) == [
        path,
        Path(("a", "x"), (Hop(first, True),)),
        Path(("b", "x"), (Hop(second, True),)),
    ]


def request(*names: str, restriction: tuple[str, ...] = ()) -> Any:
    types = tuple(RelationType(name, 1) for name in names)
    return subgraph_request(
        ["a"],
        rounds=1,
        tenant="t",
        ontology=Ontology("t", types),
        restriction=restriction,
        cap=2,
        predicate=Predicate("", {}),
    )


def test_types_are_named_while_they_are_few() -> None:
    assert "[r:`A`|`B c`]" in request("A", "B c").query.text
    many = request(*(f"T{i}" for i in range(30)))
    assert "[r]" in many.query.text
    assert "[r:`T3`]" in request(*(f"T{i}" for i in range(30)), restriction=("T3",)).query.text


def test_cut_nodes_keep_their_degree_and_are_told() -> None:
    asked = request("R")
    asked.parameters["start_cap"] = 3
    row = {"forward": True, "type": "R", "relationship": {}, "left_out": 4}
    rows = [
        {**row, "tail": "a", "id": f"n{i}", "key": f"{i}", "tail_degree": 50, "head_degree": 1}
        for i in range(3)
    ]
    around = read_subgraph(asked, rows)
    assert around.graph.degrees == {"a": 50, "n0": 1, "n1": 1, "n2": 1}
    assert (around.truncated, around.not_expanded, around.relationships) == (("a",), 4, 3)
    nothing = read_subgraph(asked, [])
    assert (nothing.truncated, nothing.not_expanded, dict(nothing.graph.out)) == ((), 0, {})


@pytest.mark.parametrize(
    "wrong",
    [
        {"pruner": "flow"},
        {"pruner": "flow:none"},
        {"flow_hops": 0},
        {"flow_hops": 5},
        {"flow_paths": 0},
        {"flow_decay": 0.0},
        {"flow_decay": 1.1},
        {"flow_threshold": -0.1},
        {"flow_ends": "inward"},
        {"weight_flow": -1.0, "pruner": "flow:paper"},
    ],
)
def test_wrong_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong)).split("_")[0]):
        SearchConfig(**wrong)


# --- flow as a prior of the beam -----------------------------------------------------------------

# From a: one hop to h, a hub of 11 neighbours, and to n, which has 2.
HUB = [("a", "R", "h"), ("h", "R", "p"), ("a", "R", "n"), ("n", "R", "q")] + [
    ("h", "R", f"leaf{i}") for i in range(9)
]
# S(P) / 1.8. One hop: 1 + 0.4. Two: (1 + 0.4 + 0.16) / 2 by n, 0.4 * 0.8 / 11 for 0.16 by h.
SHARES = {
    "a": 0.0,
    "an": 1.4 / 1.8,
    "ah": 1.4 / 1.8,
    "anq": 0.78 / 1.8,
    "ahp": (1.4 + 0.32 / 11) / 3.6,
}


@pytest.mark.parametrize("strategy", ["paths", "both"])
def test_flow_is_a_term_of_the_beam(strategy: str) -> None:
    graph = MemoryGraph(HUB, seeds=[])
    database = RecordingDatabase(graph.answers)
    result = ask(
        graph,
        {"": 0.5},
        start_ids=["a"],
        weight_flow=2.0,
        max_depth=2,
        top_k=90,
        strategy=strategy,
        database=database,
    )
    assert database.names[:3] == ["retrieve/seeds", "retrieve/subgraph", "retrieve/expand"]
    # Seeds, what flow needs, two depths, hydrate, provenance.
    assert result.stats.round_trips == 6
    told = {"".join(ranked.path.nodes): ranked for ranked in result.paths}
    for path, share in SHARES.items():
        assert told[path].terms["flow"] == pytest.approx(share, abs=1e-6)
        assert told[path].score == pytest.approx(told[path].terms["rerank"] + 2 * share, abs=1e-5)
        assert told[path].confidence == told[path].terms["rerank"]
    assert nodes(result).index("anq") < nodes(result).index("ahp")


def test_flow_steers_the_beam() -> None:
    graph = MemoryGraph([*HUB, ("q", "R", "r"), ("leaf0", "R", "s")], seeds=[])
    narrow: dict[str, Any] = {"start_ids": ["a"], "max_depth": 3, "top_k": 90, "beam_width": 2}
    narrow |= {"strategy": "paths", "local_keep": 0}
    # All read alike, so of two hops the first by key go on: those by the hub.
    assert "anqr" not in nodes(ask(graph, {"": 0.5}, **narrow))
    assert "anqr" in nodes(ask(graph, {"": 0.5}, weight_flow=1.0, **narrow))


def test_flow_of_a_chain_is_that_of_its_best_way() -> None:
    graph = MemoryGraph(HUB, seeds=[])
    result = ask(
        graph, {"": 0.5}, start_ids=["a"], weight_flow=2.0, max_depth=2, top_k=90, strategy="chains"
    )
    flows = {ranked.path.depth: ranked.terms["flow"] for ranked in result.paths}
    assert flows == pytest.approx({0: 0.0, 1: SHARES["an"], 2: SHARES["anq"]}, abs=1e-6)


def test_without_a_weight_nothing_is_read_for_flow() -> None:
    graph = MemoryGraph(HUB, seeds=[])
    database = RecordingDatabase(graph.answers)
    result = ask(graph, start_ids=["a"], database=database)
    assert "retrieve/subgraph" not in database.names
    assert all("flow" not in ranked.terms for ranked in result.paths)


def test_flow_beyond_its_hops_and_threshold_is_none() -> None:
    graph = MemoryGraph(HUB, seeds=[])
    near = ask(graph, {"": 0.5}, start_ids=["a"], weight_flow=1.0, flow_hops=1, top_k=90)
    terms = {"".join(r.path.nodes): r.terms["flow"] for r in near.paths}
    assert terms["anq"] == pytest.approx(1.4 / 2 / 1.8, abs=1e-6)
    # 0.4 / 11 leaves the hub, 0.4 / 2 the other.
    cut = ask(graph, {"": 0.5}, start_ids=["a"], weight_flow=1.0, flow_threshold=0.1, top_k=90)
    terms = {"".join(r.path.nodes): r.terms["flow"] for r in cut.paths}
    assert terms["ahp"] == pytest.approx(1.4 / 2 / 1.8, abs=1e-6)
    assert terms["anq"] == pytest.approx(SHARES["anq"], abs=1e-6)
