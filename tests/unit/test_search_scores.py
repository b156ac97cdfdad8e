"""The search as a generator: how paths are ordered, and which are left out."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pathrag_gds.config import SearchConfig
from pathrag_gds.graph.database import Row
from pathrag_gds.models.reranker import CachedReranker
from pathrag_gds.retrieve.search import run, search
from pathrag_gds.types import DepthTrace
from tests.fakes import MemoryGraph, RecordingDatabase, WordOverlapReranker
from tests.searching import CHAIN, QUESTION, ask, context, cuts, nodes

RAW = {"a r b. b s c.": 0.9, "a r b. |||": 0.3, "a.": 0.5, "z.": 0.1}


def test_option_d_orders_by_the_raw_score() -> None:
    graph = MemoryGraph(CHAIN[:2], seeds=["a", "z"])
    result = ask(graph, RAW, config=SearchConfig.preset("option_d", min_score=0.1))
    assert [(n, p.score) for n, p in zip(nodes(result), result.paths, strict=True)] == [
        ("abc", 0.9),
        ("a", 0.5),
        ("ab", 0.3),
        ("z", 0.1),
    ]


def test_a3_scales_each_depth_and_takes_off_per_hop() -> None:
    graph = MemoryGraph(CHAIN[:2], seeds=["a", "z"])
    result = ask(graph, RAW, config=SearchConfig.preset("a3", min_score=0.1))
    # Depth 0: 0.5 and 0.1 become 1 and 0. One path alone is 1, less 0.2 per hop.
    assert [
        (n, p.score, p.confidence) for n, p in zip(nodes(result), result.paths, strict=True)
    ] == [
        ("a", 1.0, 0.5),
        ("ab", 0.8, 0.3),
        ("abc", 0.6, 0.9),
        ("z", 0.0, 0.1),
    ]


class Doubting(WordOverlapReranker):
    """Is right half as often as it says."""

    def confidence(self, answer: float) -> float:
        return answer / 2


@pytest.mark.parametrize("cached", [False, True])
def test_thresholds_apply_to_what_a_score_is_worth(cached: bool) -> None:
    doubting = Doubting(RAW)
    graph = MemoryGraph(CHAIN[:2], seeds=["a", "z"])
    made = context(graph, doubting)
    if cached:
        made = replace(made, reranker=CachedReranker(doubting))
    trace: list[DepthTrace] = []
    steps = search(QUESTION, SearchConfig(min_score=0.2), made, trace)
    result = run(RecordingDatabase(graph.answers), steps)
    assert nodes(result) == ["abc", "a"]
    assert [(p.score, p.confidence) for p in result.paths] == [(0.9, 0.45), (0.5, 0.25)]
    assert cuts(result)[0, "min_score"] == 1
    assert cuts(result)[1, "min_score"] == 1
    assert [p.confidence for p in trace[0].paths] == [0.25, 0.05]


def test_link_score_of_an_anchor_counts_with_its_weight() -> None:
    graph = MemoryGraph([], seeds=["y"], nodes={"x": {}})
    scores = {"x.": 0.4, "y.": 0.5}
    question = "where is x"
    assert nodes(ask(graph, scores, question=question, start_from="both")) == ["y", "x"]
    result = ask(graph, scores, question=question, start_from="both", weight_link=0.2)
    assert [(p.path.start, p.score) for p in result.paths] == [("x", 0.6), ("y", 0.5)]
    assert result.paths[0].terms == {
        "rerank": 0.4,
        "similarity": 0.0,
        "type": 0.0,
        "link": 1.0,
        "coverage": 0.0,
        "relation_prior": 0.0,
    }
    assert [a.id for a in result.anchors] == ["x"]


@pytest.mark.parametrize("strategy", ["paths", "chains"])
@pytest.mark.parametrize("term", ["coverage", "relation_prior"])
def test_words_of_the_question_count_with_their_weight(term: str, strategy: str) -> None:
    graph = MemoryGraph([("s", "OWNS", "b"), ("s", "SINGS", "c")], seeds=["s"])
    scores = {"s owns": 0.5, "s sings": 0.4}
    asked: dict[str, Any] = {"question": "what was it singing", "strategy": strategy}
    asked |= {"max_depth": 1, "top_k": 2}
    weighted: dict[str, Any] = {**asked, f"weight_{term}": 0.25}
    assert [(p.path.tail, p.score) for p in ask(graph, scores, **asked).paths] == [
        ("b", 0.5),
        ("c", 0.4),
    ]
    result = ask(graph, scores, **weighted)
    assert [(p.path.tail, p.score, p.confidence) for p in result.paths] == [
        ("c", 0.65, 0.4),
        ("b", 0.5, 0.5),
    ]
    assert [p.terms[term] for p in result.paths] == [1.0, 0.0]
    # Without intent the words tell nothing.
    off = ask(graph, scores, **weighted, intent="off")
    assert [(p.path.tail, p.terms[term]) for p in off.paths] == [("b", 0.0), ("c", 0.0)]


@pytest.mark.parametrize(
    ("start_from", "starts"), [("anchors", ["x"]), ("both", ["y", "x"]), ("seeds", ["y"])]
)
def test_paths_start_where_the_policy_says(start_from: str, starts: list[str]) -> None:
    graph = MemoryGraph([], seeds=["y"], nodes={"x": {}})
    scores = {"x.": 0.4, "y.": 0.5}
    assert nodes(ask(graph, scores, question="where is x", start_from=start_from)) == starts
    # A question that names nothing starts at seeds whatever the policy.
    assert nodes(ask(graph, scores, question="where is it", start_from=start_from)) == ["y"]


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


def test_the_threshold_applies_at_every_depth() -> None:
    graph = MemoryGraph(CHAIN, seeds=["a"])
    scores = {"a r b. b s c.": 0.01, "a r b. |||": 0.1, "a.": 0.03}
    for min_depth in (0, 2):
        result = ask(graph, scores, max_depth=2, min_score=0.1, min_depth=min_depth)
        assert nodes(result) == ["ab"]


def test_nothing_confident_is_not_in_graph() -> None:
    result = ask(MemoryGraph(CHAIN, seeds=["a"]), {"a": 0.01}, min_score=0.1)
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
    # Of six that were scored, five are shown.
    assert cuts(result) == {(1, "beam_width"): 3, (1, "top_k"): 1}
    assert len(result.paths) == 5


def test_cuts_at_the_end_are_told_by_the_depth_of_the_path() -> None:
    graph = MemoryGraph(CHAIN, seeds=["a"])
    scores = {"a r b. b s c.": 0.5, "a r b. |||": 0.05, "a.": 0.6}
    result = ask(graph, scores, max_depth=2, min_score=0.1, top_k=1)
    assert nodes(result) == ["a"]
    assert cuts(result) == {(1, "min_score"): 1, (2, "revisit"): 1, (2, "top_k"): 1}


def test_a_path_to_what_was_asked_about_answers_nothing() -> None:
    graph = MemoryGraph([("rome", "R", "b")], seeds=[])
    result = ask(graph, {"rome.": 0.9}, question="Where is rome?", max_depth=0)
    assert nodes(result) == ["rome"]
    assert result.answers == ()
    assert result.outcome == "not_in_graph"
