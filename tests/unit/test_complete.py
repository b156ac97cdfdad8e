"""Answers of patterns among those of the paths: in which order, and marked as whose."""

from __future__ import annotations

from typing import Any

from pathrag_gds.graph.database import Row
from pathrag_gds.types import SearchResult
from tests.fakes import MemoryGraph, RecordingDatabase
from tests.searching import ask

# s has three R-neighbours and one Q-neighbour, which is an R-neighbour, too.
FAN = [("s", "R", "a"), ("s", "R", "b"), ("s", "R", "c"), ("s", "Q", "c")]
SCORES = {"s.": 0.4, "s r A.": 0.9, "s q A.": 0.8}


def row(index: int, total: int, *ids: str) -> Row:
    node = {"labels": ["__Entity__"], "properties": {}, "similarity": 0.5}
    answers = [{"id": id_, "name": id_.upper(), **node} for id_ in ids]
    return {"index": index, "total": total, "answers": answers, "examples": []}


def complete(rows: list[Row], **options: Any) -> tuple[SearchResult, RecordingDatabase]:
    graph = MemoryGraph(FAN, seeds=["s"])
    database = RecordingDatabase({**graph.answers, "retrieve/answers": rows})
    merged: dict[str, Any] = {"strategy": "chains", "max_depth": 1, "patterns": 2, **options}
    return ask(graph, SCORES, database=database, **merged), database


def told(result: SearchResult) -> list[tuple[str, float, tuple[int, ...], int | None]]:
    return [(a.id, a.confidence, a.paths, a.pattern) for a in result.answers]


def test_all_answers_of_the_best_pattern_come_first() -> None:
    rows = [row(0, 4, "d", "c", "b", "a"), row(1, 1, "c")]
    result, database = complete(rows, top_k=2)
    assert told(result) == [
        # Paths are shown of two; the others follow as the statement gave them.
        ("a", 0.9, (1,), 0),
        ("b", 0.9, (2,), 0),
        ("d", 0.9, (), 0),
        ("c", 0.9, (), 0),
        # The path of no hop is no pattern, and is not shown.
    ]
    assert [answer.name for answer in result.answers] == ["a", "b", "D", "C"]
    assert [(p.total, p.complete) for p in result.patterns] == [(4, True), (1, True)]
    assert [p.text for p in result.patterns] == [
        "s r A. The answer is A.",
        "s q A. The answer is A.",
    ]
    assert result.stats.round_trips == result.stats.depth + 4
    assert database.names[-1] == "retrieve/answers"


def test_what_only_a_worse_group_shows_belongs_to_the_best_pattern_that_has_it() -> None:
    rows = [row(0, 3, "a", "b", "c"), row(1, 1, "c")]
    # Four paths: a, b, c by R; c by Q.
    result, _ = complete(rows, top_k=4)
    assert told(result) == [
        ("a", 0.9, (1,), 0),
        ("b", 0.9, (2,), 0),
        ("c", 0.9, (3, 4), 0),
    ]


def test_a_pattern_with_more_answers_than_are_given_is_not_complete() -> None:
    result, _ = complete([row(0, 9, "a", "b"), row(1, 1, "c")], top_k=1)
    assert [(p.total, p.complete) for p in result.patterns] == [(9, False), (1, True)]


def test_nothing_came_of_a_pattern() -> None:
    result, _ = complete([], top_k=1)
    assert told(result) == [("a", 0.9, (1,), None)]
    assert [(p.total, p.complete) for p in result.patterns] == [(None, False), (None, False)]


def test_without_patterns_nothing_is_asked() -> None:
    result, database = complete([], patterns=0)
    assert "retrieve/answers" not in database.names
    assert result.patterns == ()
    assert result.stats.round_trips == result.stats.depth + 3


def test_paths_keep_their_answers_and_are_counted() -> None:
    rows = [row(0, 3, "a", "b", "c")]
    scores = {"s r a.": 0.9, "s": 0.1}
    graph = MemoryGraph(FAN, seeds=["s"])
    database = RecordingDatabase({**graph.answers, "retrieve/answers": rows})
    result = ask(graph, scores, database=database, top_k=1, max_depth=1, patterns=1)
    assert told(result) == [("a", 0.9, (1,), 0)]
    assert [(p.total, p.complete) for p in result.patterns] == [(3, False)]


def test_patterns_are_asked_with_the_filters_and_limits_of_the_search() -> None:
    _, database = complete(
        [row(0, 1, "a")], patterns=1, max_answers=7, node_filter={"year": 1}, top_k=1
    )
    name, parameters = database.calls[-1]
    assert name == "retrieve/answers"
    assert (parameters["limit"], parameters["patterns"]) == (7, [{"start": "s"}])
    assert 1 in parameters["filters"].values()
