"""The search as a generator: what it asks, in which order, and what it makes of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import pytest

from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import QueryTimeout
from pathrag_gds.graph.database import Row
from pathrag_gds.graph.queries import Query
from pathrag_gds.graph.schema import Ontology, RelationType
from pathrag_gds.retrieve.search import run, search
from pathrag_gds.types import Cut, DepthTrace
from tests.fakes import MemoryGraph, RecordingDatabase, WordOverlapReranker
from tests.searching import CHAIN, QUESTION, ask, context, cuts, nodes

# Statements


@pytest.mark.parametrize("beam_width", [1, 100])
def test_one_statement_per_depth_whatever_the_width(beam_width: int) -> None:
    fan = [(f"s{i}", "R", f"m{i}") for i in range(30)] + [
        (f"m{i}", "S", f"e{i}") for i in range(30)
    ]
    graph = MemoryGraph(fan, seeds=[f"s{i}" for i in range(30)])
    database = RecordingDatabase(graph.answers)
    result = ask(graph, database=database, beam_width=beam_width, max_depth=2)
    assert database.names == [
        "retrieve/seeds",
        "retrieve/expand",
        "retrieve/expand",
        "retrieve/hydrate",
        "retrieve/provenance",
    ]
    assert (result.stats.depth, result.stats.round_trips) == (2, 5)


def test_frontier_holds_each_tail_once() -> None:
    graph = MemoryGraph([("a", "R", "x"), ("b", "R", "x"), ("x", "S", "y")], seeds=["a", "b"])
    database = RecordingDatabase(graph.answers)
    ask(graph, database=database, max_depth=2)
    frontiers = [p["frontier"] for name, p in database.calls if name == "retrieve/expand"]
    assert frontiers == [["a", "b"], ["x"]]


def test_hubs_are_searched_for_seeds_and_frontier() -> None:
    graph = MemoryGraph(CHAIN, seeds=["a"])
    hub = Ontology("t", (RelationType("R", 99, max_out=99),))
    database = RecordingDatabase(graph.answers)
    ask(graph, database=database, changes={"ontology": hub}, max_depth=2)
    targets = [p["targets"] for name, p in database.calls if name == "retrieve/expand"]
    assert targets == [["a"], ["a", "b"]]


def test_paths_start_where_the_caller_says_and_nowhere_else() -> None:
    graph = MemoryGraph(CHAIN, seeds=["d"])
    result = ask(graph, question="What of a?", start_ids=["b", "nobody"], max_depth=1, top_k=9)
    assert [anchor.id for anchor in result.anchors] == ["b"]
    assert {ranked.path.start for ranked in result.paths} == {"b"}
    assert result.warnings == ("The graph has no entity 'nobody'.",)


def test_a_start_that_the_graph_does_not_have_leaves_the_seeds() -> None:
    result = ask(MemoryGraph(CHAIN, seeds=["d"]), start_ids=["nobody"], max_depth=0)
    assert nodes(result) == ["d"]


def test_empty_beam_is_not_expanded() -> None:
    graph = MemoryGraph(CHAIN, seeds=[])
    database = RecordingDatabase(graph.answers)
    result = ask(graph, database=database)
    assert database.names == ["retrieve/seeds"]
    assert (result.outcome, result.paths, result.answers) == ("not_in_graph", (), ())
    assert result.stats.round_trips == 1


def test_search_ends_when_no_path_can_be_extended() -> None:
    result = ask(MemoryGraph(CHAIN, seeds=["a"]), max_depth=6)
    # Three hops lead to the end of the chain, a fourth expansion finds nothing new.
    assert (result.stats.depth, result.stats.round_trips) == (4, 7)
    assert cuts(result)[4, "revisit"] == 1


def test_depth_of_zero_ranks_the_seeds() -> None:
    result = ask(MemoryGraph(CHAIN, seeds=["b", "a"]), {"a.": 0.9, "b.": 0.2}, max_depth=0)
    assert nodes(result) == ["a", "b"]
    assert (result.stats.depth, result.stats.round_trips) == (0, 3)


def test_types_that_the_graph_does_not_have_are_not_asked_for() -> None:
    database = RecordingDatabase(MemoryGraph(CHAIN, seeds=["a"]).answers)
    result = ask(MemoryGraph(CHAIN, seeds=["a"]), database=database, rel_types=("UNKNOWN",))
    assert "retrieve/expand" not in database.names
    assert nodes(result) == ["a"]


def test_filters_reach_seeds_and_hops() -> None:
    graph = MemoryGraph(CHAIN, seeds=["a"])
    database = RecordingDatabase(graph.answers)
    ask(
        graph,
        database=database,
        max_depth=1,
        labels=("Place",),
        node_filter={"year": 1},
        relationship_filter={"since": {"$gt": 2}},
    )
    parameters = dict(database.calls)
    assert parameters["retrieve/seeds"]["filters"] == {"e0": 1, "labels": ["Place"]}
    assert parameters["retrieve/expand"]["filters"] == {"m0": 1, "r0": 2, "labels": ["Place"]}
    assert (
        "AND m.`year` = $filters.m0 AND r.`since` > $filters.r0 "
        "AND any(label IN labels(m) WHERE label IN $filters.labels)" in database.texts[1]
    )


def test_index_is_asked_again_while_other_tenants_crowd_in() -> None:
    graph = MemoryGraph([], seeds=[f"s{i}" for i in range(4)])

    def seeds(parameters: Mapping[str, Any]) -> Sequence[Row]:
        rows: list[Row] = graph.answers["retrieve/seeds"](parameters)  # type: ignore[operator,assignment]
        return rows[: parameters["over"] // 8]  # every eighth row is ours

    database = RecordingDatabase({**graph.answers, "retrieve/seeds": seeds})
    result = ask(graph, database=database, changes={"small": False}, seed_k=4, max_depth=0)
    reaches = [p["over"] for name, p in database.calls if name == "retrieve/seeds"]
    # 2 of 16 passed, so that 64 would do on average: twice that is asked for.
    assert reaches == [16, 64]
    assert len(result.seeds) == 4
    assert result.stats.round_trips == 4


def test_small_tenant_is_scanned_once() -> None:
    database = RecordingDatabase(MemoryGraph([], seeds=["a"]).answers)
    ask(MemoryGraph([], seeds=["a"]), database=database, seed_k=4)
    assert database.names.count("retrieve/seeds") == 1


# Time


def test_time_limit_gives_the_best_so_far() -> None:
    ticks = count()
    graph = MemoryGraph(CHAIN, seeds=["a"])
    changes = {"clock": lambda: float(next(ticks))}
    database = RecordingDatabase(graph.answers)
    result = ask(graph, database=database, changes=changes, time_limit_s=1)
    assert (result.outcome, nodes(result)) == ("partial", ["a"])
    assert database.names == ["retrieve/seeds", "retrieve/hydrate", "retrieve/provenance"]


def test_time_limit_is_seen_between_batches_of_texts() -> None:
    now = [0.0]

    class Slow(WordOverlapReranker):
        def score(self, question: str, texts: Sequence[str]) -> Any:
            now[0] += 1
            return super().score(question, texts)

    graph = MemoryGraph([], seeds=[f"s{i:03}" for i in range(200)])
    made = context(graph, Slow(), clock=lambda: now[0])
    config = SearchConfig(seed_k=200, time_limit_s=1.5)
    result = run(RecordingDatabase(graph.answers), search(QUESTION, config, made))
    assert result.outcome == "partial"
    assert result.stats.texts_scored == 128


class Stopped(RecordingDatabase):
    """Stop one statement at its time limit, and keep the limits that were given."""

    def __init__(self, graph: MemoryGraph, name: str) -> None:
        super().__init__(graph.answers)
        self.name = name
        self.limits: list[float | None] = []

    def run(self, query: Query, /, **parameters: Any) -> list[Row]:
        self.limits.append(query.timeout_s)
        rows = super().run(query, **parameters)
        if query.name == self.name:
            raise QueryTimeout("stopped", query=query.name)
        return rows


def test_a_statement_gets_the_time_that_is_left_and_the_best_so_far_is_given() -> None:
    graph = MemoryGraph(CHAIN, seeds=["a"])
    ticks = iter(range(1000))
    database = Stopped(graph, "retrieve/expand")
    changes = {"clock": lambda: float(next(ticks))}
    result = ask(graph, database=database, changes=changes, time_limit_s=40)
    assert (result.outcome, nodes(result)) == ("partial", ["a"])
    assert database.names == [
        "retrieve/seeds",
        "retrieve/expand",
        "retrieve/hydrate",
        "retrieve/provenance",
    ]
    seeds, expand, *shown = database.limits
    assert seeds is not None
    assert expand is not None
    assert 1 < expand < seeds < 40
    assert shown == [None, None]  # what is shown is fetched whatever the time


def test_without_a_time_limit_of_ours_a_stopped_statement_is_an_error() -> None:
    graph = MemoryGraph(CHAIN, seeds=["a"])
    with pytest.raises(QueryTimeout):
        ask(graph, database=Stopped(graph, "retrieve/expand"))


def test_a_crowded_index_is_asked_for_more_at_once() -> None:
    graph = MemoryGraph(CHAIN, seeds=["a"])
    database = RecordingDatabase(graph.answers)
    ask(graph, database=database, changes={"small": False, "crowding": 3}, seed_k=10, max_depth=0)
    assert database.calls[0][1]["over"] == 10 * 4 * 3


def test_time_enough_is_not_partial() -> None:
    assert ask(MemoryGraph(CHAIN, seeds=["a"]), time_limit_s=60).outcome == "answered"


# What comes back


def test_result_is_hydrated_and_names_its_sources() -> None:
    edges = [("a", "R", "b", {"since": 3, "chunk_ids": ["c2", "c1"], "key": "k"})]
    graph = MemoryGraph(
        edges,
        seeds=["a"],
        nodes={"b": {"colour": "red", "labels": ["Place"], "tenant": "t"}},
        documents={"c1": "doc"},
    )
    result = ask(graph, max_depth=1)
    best = result.to_dict()["paths"][0]
    assert best["nodes"][1] == {
        "id": "b",
        "name": "b",
        "labels": ["Place"],
        "properties": {"colour": "red"},
    }
    assert best["hops"] == [
        {
            "id": "k",
            "type": "R",
            "source": "a",
            "target": "b",
            "forward": True,
            "properties": {"since": 3},
            "sources": [{"document": "doc", "chunk": "c1"}, {"document": "", "chunk": "c2"}],
        }
    ]
    assert best["text"] == "a r b (since is 3). ||| b is a place. b's colour is red. a."
    assert result.outcome == "answered"


def test_trace_tells_what_was_kept_and_cut_at_each_depth() -> None:
    graph = MemoryGraph([("a", "R", "b"), ("a", "R", "c"), ("b", "S", "d")], seeds=["a"])
    scores = {"a r b. b s d.": 0.9, "a r b.": 0.6, "a r c.": 0.2, "a.": 0.5}
    trace: list[DepthTrace] = []
    ask(graph, scores, trace=trace, max_depth=2, beam_width=1)
    told = [
        (t.depth, [("".join(p.path.nodes), p.confidence, p.reason) for p in t.paths]) for t in trace
    ]
    assert told == [
        (0, [("a", 0.5, "")]),
        (1, [("ab", 0.6, ""), ("ac", 0.2, "beam_width")]),
        (2, [("abd", 0.9, "")]),
    ]
    assert trace[1].names == {"a": "a", "b": "b", "c": "c"}
    assert trace[1].cut == (Cut(1, "beam_width", 1),)
    assert trace[2].cut == (Cut(2, "revisit", 1),)


def test_truncated_hubs_are_counted_and_named() -> None:
    graph = MemoryGraph([("s", "R", f"x{i}") for i in range(5)], seeds=["s"])
    trace: list[DepthTrace] = []
    result = ask(graph, trace=trace, max_depth=1, cap_per_relation=3)
    assert result.stats.truncated == 1
    assert trace[1].truncated == ("s",)


def test_what_a_cap_on_rows_left_out_is_told_per_depth() -> None:
    graph = MemoryGraph([("s", "R", f"x{i}") for i in range(5)], seeds=["s"])
    trace: list[DepthTrace] = []
    result = ask(graph, trace=trace, max_depth=1, max_rows=2)
    assert cuts(result) == {(1, "row_cap"): 3}
    assert trace[1].cut == (Cut(1, "row_cap", 3),)
    assert cuts(ask(graph, max_depth=1, max_rows=5, top_k=9)) == {}


def test_the_cap_on_bytes_goes_with_each_expansion() -> None:
    caps: dict[str, int | None] = {}

    class Watched(RecordingDatabase):
        def run(self, query: Query, /, **parameters: Any) -> list[Row]:
            caps[query.name] = query.max_bytes
            return super().run(query, **parameters)

    graph = MemoryGraph(CHAIN, seeds=["a"])
    ask(graph, database=Watched(graph.answers), max_depth=1, max_bytes=9)
    assert caps == {
        "retrieve/seeds": None,
        "retrieve/expand": 9,
        "retrieve/hydrate": None,
        "retrieve/provenance": None,
    }


def test_warnings_and_setup_are_passed_on() -> None:
    changes = {"warnings": ("careful",), "setup_round_trips": 5}
    result = ask(MemoryGraph(CHAIN, seeds=["a"]), changes=changes)
    assert (result.warnings, result.stats.setup_round_trips) == (("careful",), 5)


def test_error_of_the_database_is_passed_on() -> None:
    with pytest.raises(KeyError):
        ask(MemoryGraph(CHAIN, seeds=["a"]), database=RecordingDatabase({}))
