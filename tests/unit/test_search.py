"""The search as a generator: what it asks, in which order, and what it makes of the rows."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from pathrag_gds.config import SearchConfig
from pathrag_gds.graph.database import Row
from pathrag_gds.graph.schema import Ontology, RelationType
from pathrag_gds.retrieve.search import SearchContext, run, search
from pathrag_gds.types import Cut, DepthTrace, SearchResult
from tests.fakes import MemoryGraph, RecordingDatabase, WordOverlapReranker

QUESTION = "Which red thing?"
CHAIN = [("a", "R", "b"), ("b", "S", "c"), ("c", "T", "d")]


def context(graph: MemoryGraph, reranker: WordOverlapReranker, **changes: Any) -> SearchContext:
    types = {type_ for _, type_, *_ in graph.relationships}
    ontology = Ontology("t", tuple(RelationType(name, 1, max_out=1) for name in sorted(types)))
    made = SearchContext(
        tenant="t", ontology=ontology, reranker=reranker, question_vector=(1.0, 0.0)
    )
    return replace(made, **changes)


def ask(
    graph: MemoryGraph,
    scores: Mapping[str, float] | None = None,
    *,
    question: str = QUESTION,
    trace: list[DepthTrace] | None = None,
    database: RecordingDatabase | None = None,
    config: SearchConfig | None = None,
    changes: Mapping[str, Any] | None = None,
    **overrides: Any,
) -> SearchResult:
    made = context(graph, WordOverlapReranker(scores), **(changes or {}))
    config = (config or SearchConfig(min_score=0.0)).with_(**overrides)
    return run(database or RecordingDatabase(graph.answers), search(question, config, made, trace))


def nodes(result: SearchResult) -> list[str]:
    return ["".join(ranked.path.nodes) for ranked in result.paths]


def cuts(result: SearchResult) -> dict[tuple[int, str], int]:
    return {(c.depth, c.reason): c.count for c in result.cut}


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


# Scores

RAW = {"a r b. b s c.": 0.9, "a r b. |||": 0.3, "a.": 0.5, "z.": 0.1}


def test_option_d_orders_by_the_raw_score() -> None:
    graph = MemoryGraph(CHAIN[:2], seeds=["a", "z"])
    result = ask(graph, RAW, config=SearchConfig.preset("option_d"))
    assert [(n, p.score) for n, p in zip(nodes(result), result.paths, strict=True)] == [
        ("abc", 0.9),
        ("a", 0.5),
        ("ab", 0.3),
        ("z", 0.1),
    ]


def test_a3_scales_each_depth_and_takes_off_per_hop() -> None:
    graph = MemoryGraph(CHAIN[:2], seeds=["a", "z"])
    result = ask(graph, RAW, config=SearchConfig.preset("a3"))
    # Depth 0: 0.5 and 0.1 become 1 and 0. One path alone is 1, less 0.2 per hop.
    assert [
        (n, p.score, p.confidence) for n, p in zip(nodes(result), result.paths, strict=True)
    ] == [
        ("a", 1.0, 0.5),
        ("ab", 0.8, 0.3),
        ("abc", 0.6, 0.9),
        ("z", 0.0, 0.1),
    ]


def test_link_score_of_an_anchor_counts_with_its_weight() -> None:
    graph = MemoryGraph([], seeds=["y"], nodes={"x": {}})
    scores = {"x.": 0.4, "y.": 0.5}
    question = "where is x"
    assert nodes(ask(graph, scores, question=question)) == ["y", "x"]
    result = ask(graph, scores, question=question, weight_link=0.2)
    assert [(p.path.start, p.score) for p in result.paths] == [("x", 0.6), ("y", 0.5)]
    assert result.paths[0].terms == {"rerank": 0.4, "link": 1.0}
    assert [a.id for a in result.anchors] == ["x"]


def test_same_path_from_both_ends_keeps_the_better_score() -> None:
    graph = MemoryGraph([("a", "R", "b")], seeds=["a", "b"])
    scores = {"a r b. ||| b. a.": 0.3, "a r b. ||| a. b.": 0.8, "a.": 0.1, "b.": 0.1}
    assert nodes(ask(graph, scores, max_depth=1)) == ["ba", "a", "b"]


def test_same_path_from_both_ends_with_one_score_keeps_the_better_start() -> None:
    for seeds in (["a", "b"], ["b", "a"]):
        graph = MemoryGraph([("a", "R", "b")], seeds=seeds)
        result = ask(graph, {"a r b.": 0.3, "a.": 0.1, "b.": 0.1}, max_depth=1)
        assert nodes(result) == ["".join(seeds), *seeds]


def test_ties_break_by_key() -> None:
    graph = MemoryGraph([("s", "R", x) for x in "cab"], seeds=["s"])
    result = ask(graph, {"s r": 0.5, "s.": 0.1}, max_depth=1)
    assert nodes(result) == ["sa", "sb", "sc", "s"]


def test_order_of_rows_does_not_matter() -> None:
    edges = [(f"n{i}", "RST"[i % 3], f"n{(i * 7 + 3) % 20}") for i in range(20)]
    graph = MemoryGraph(edges, seeds=["n1", "n2", "n3"])

    def shuffled(name: str) -> Any:
        def rows(parameters: Mapping[str, Any]) -> Sequence[Row]:
            found: list[Row] = list(graph.answers[name](parameters))  # type: ignore[operator]
            random.Random(7).shuffle(found)
            return found

        return rows

    plain = ask(graph, max_depth=3).to_dict()
    answers = {**graph.answers, "retrieve/expand": shuffled("retrieve/expand")}
    mixed = ask(graph, max_depth=3, database=RecordingDatabase(answers)).to_dict()
    for result in (plain, mixed):
        result["stats"].pop("millis")
    assert json.dumps(mixed) == json.dumps(plain)


def test_text_is_scored_once() -> None:
    # Parallel relationships read alike.
    edges = [("a", "R", "b", {"key": "1"}), ("a", "R", "b", {"key": "2"})]
    result = ask(MemoryGraph(edges, seeds=["a"]), {"a.": 0.9}, max_depth=1)
    assert nodes(result) == ["a", "ab", "ab"]
    assert (result.stats.candidates, result.stats.texts_scored, result.stats.cache_hits) == (
        3,
        2,
        1,
    )


# What is left out


def test_low_confidence_is_left_out_and_counted() -> None:
    graph = MemoryGraph([("a", "R", "b"), ("a", "R", "c")], seeds=["a"])
    scores = {"a r b.": 0.6, "a r c.": 0.05, "a.": 0.5}
    result = ask(graph, scores, max_depth=1, min_score=0.1)
    assert nodes(result) == ["ab", "a"]
    assert cuts(result) == {(1, "min_score"): 1}


def test_no_threshold_applies_below_the_least_depth() -> None:
    graph = MemoryGraph(CHAIN, seeds=["a"])
    scores = {"a r b. b s c.": 0.01, "a r b. |||": 0.02, "a.": 0.03}
    assert nodes(ask(graph, scores, max_depth=2, min_score=0.1, min_depth=2)) == ["a", "ab"]
    assert nodes(ask(graph, scores, max_depth=2, min_score=0.1, min_depth=0)) == []


def test_nothing_confident_is_not_in_graph() -> None:
    result = ask(MemoryGraph(CHAIN, seeds=["a"]), {"a": 0.01}, min_score=0.1, min_depth=0)
    assert (result.outcome, result.paths) == ("not_in_graph", ())


@pytest.mark.parametrize(("min_depth", "guaranteed"), [(1, ["s1"]), (2, ["s1", "s2"])])
def test_twice_the_local_keep_below_the_least_depth(min_depth: int, guaranteed: list[str]) -> None:
    # Both children of s are weaker than all of t's; half of the beam of six is guaranteed.
    edges = [("s", "R", "s1"), ("s", "Q", "s2"), *(("t", "R", f"t{i}") for i in range(6))]
    graph = MemoryGraph(edges, seeds=["s", "t"])
    scores = {"s r": 0.2, "s q": 0.1, "s.": 0.9, "t.": 0.8, "t r": 0.7}
    trace: list[DepthTrace] = []
    ask(graph, scores, trace=trace, max_depth=1, beam_width=6, local_keep=1, min_depth=min_depth)
    kept = sorted(t.path.tail for t in trace[1].paths if not t.reason)
    assert kept == [*guaranteed, *(f"t{i}" for i in range(6 - len(guaranteed)))]


def test_too_many_texts_are_cut_and_counted() -> None:
    edges = [("s", "R", f"x{i}") for i in range(5)]
    similarity = {f"x{i}": i / 10 for i in range(5)}
    graph = MemoryGraph(edges, seeds=["s"], similarity=similarity)
    result = ask(graph, max_depth=1, rerank_limit=2)
    assert cuts(result) == {(1, "rerank_limit"): 3}
    assert result.stats.texts_scored == 3
    assert {p.path.tail for p in result.paths} == {"s", "x4", "x3"}


def test_too_many_extensions_of_a_path_are_cut_and_counted() -> None:
    graph = MemoryGraph([("s", "R", f"x{i}") for i in range(5)], seeds=["s"])
    assert cuts(ask(graph, max_depth=1, expand_per_path=2)) == {(1, "expand_per_path"): 3}


def test_beam_is_cut_and_counted() -> None:
    graph = MemoryGraph([("s", "R", f"x{i}") for i in range(5)], seeds=["s"])
    result = ask(graph, max_depth=1, beam_width=2)
    assert cuts(result) == {(1, "beam_width"): 3}
    assert len(result.paths) == 5  # of six that were scored, top_k are shown


# Time


def test_time_limit_gives_the_best_so_far() -> None:
    ticks = count()
    graph = MemoryGraph(CHAIN, seeds=["a"])
    changes = {"clock": lambda: float(next(ticks))}
    database = RecordingDatabase(graph.answers)
    result = ask(graph, RAW, database=database, changes=changes, time_limit_s=1)
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


def test_warnings_and_setup_are_passed_on() -> None:
    changes = {"warnings": ("careful",), "setup_round_trips": 5}
    result = ask(MemoryGraph(CHAIN, seeds=["a"]), changes=changes)
    assert (result.warnings, result.stats.setup_round_trips) == (("careful",), 5)


def test_error_of_the_database_is_passed_on() -> None:
    with pytest.raises(KeyError):
        ask(MemoryGraph(CHAIN, seeds=["a"]), database=RecordingDatabase({}))
