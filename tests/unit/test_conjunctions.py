"""Chains from different names that meet in a node: which are tried, and how they are answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from pathrag_gds.graph.database import Row
from pathrag_gds.retrieve.conjoin import Condition, conjoin
from pathrag_gds.retrieve.serialize import meeting_text
from pathrag_gds.types import Chain, Entity, Path, SearchResult, Step
from tests.fakes import MemoryGraph, RecordingDatabase
from tests.searching import ask, cuts, nodes

# Ann directed x and y, Bob stars in y and z; z leads on to w.
FILMS = [
    ("ann", "DIRECTED", "x"),
    ("ann", "DIRECTED", "y"),
    ("bob", "STARS_IN", "y"),
    ("bob", "STARS_IN", "z"),
    ("z", "INSPIRED", "w"),
    ("ann", "LIKES", "w"),
]
BOTH = "ann directed A. bob stars in A. The answer is A."
SCORES = {"ann directed A. The": 0.6, "bob stars in A. The": 0.5, BOTH: 0.4}
QUESTION = "Which film did Ann direct with Bob in it?"


def condition(
    start: str, *types: str, ends: Iterable[str], answer: float = 0.5, **options: Any
) -> Condition:
    label = options.pop("label", "")
    steps = tuple(Step(type_, True, label if type_ == types[-1] else "") for type_ in types)
    made = {"sampled": False, "path_to": lambda end: Path((start, end)), **options}
    return Condition(Chain(start, steps), answer, frozenset(ends), **made)


def conjoined(*conditions: Condition, most: int = 10, **options: Any) -> list[tuple[str, str]]:
    mentions = options.pop("mentions", [["a"], ["b"], ["c"]])
    found = conjoin(conditions, mentions, [id_ for ids in mentions for id_ in ids], most)
    return [
        (" ".join(c.start + "".join(s.type for s in c.steps) for c in one.chains), "".join(one.met))
        for one in found
    ]


def test_chains_of_different_mentions_that_have_ends_in_common_are_joined() -> None:
    first = condition("a", "R", ends="xy")
    assert conjoined(first, condition("b", "S", ends="yz")) == [("aR bS", "y")]
    assert conjoined(first, condition("b", "S", ends="z")) == []
    # Two chains of one name, or of two candidates of one mention, are no conjunction.
    assert conjoined(first, condition("a", "S", ends="xy")) == []
    two = condition("b", "S", ends="xy")
    assert conjoined(first, two, mentions=[["a", "b"], ["c"]]) == []


def test_the_order_is_that_of_the_question_then_of_the_likeliest() -> None:
    found = conjoined(
        condition("b", "S", ends="y", answer=0.1),
        condition("b", "T", ends="y", answer=0.2),
        condition("a", "R", ends="y", answer=0.3),
    )
    assert found == [("aR bT", "y"), ("aR bS", "y")]
    assert conjoined(condition("b", "S", ends="y"), condition("a", "R", ends="y"), most=0) == []


def test_a_sample_may_meet_what_it_is_not_known_to() -> None:
    hub = condition("b", "S", ends="z", sampled=True)
    assert conjoined(condition("a", "R", ends="xy"), hub) == [("aR bS", "")]


def test_chains_that_end_in_names_or_in_other_labels_never_meet() -> None:
    assert conjoined(condition("a", "R", ends="c"), condition("b", "S", ends="c")) == []
    assert conjoined(condition("a", "R", ends="b"), condition("b", "S", ends="a")) == []
    film = condition("a", "R", ends="x", label="Film")
    assert conjoined(film, condition("b", "S", ends="x", label="Book")) == []


def test_one_chain_of_a_pair_may_have_two_hops() -> None:
    short, long = condition("a", "R", ends="x"), condition("b", "S", "T", ends="x")
    assert conjoined(short, long) == [("aR bST", "x")]
    assert conjoined(condition("a", "R", "T", ends="x"), long) == []


def test_three_names_and_any_two_of_them() -> None:
    three = [condition(start, "R", ends=ends) for start, ends in [("a", "xy"), ("b", "xy")]]
    assert conjoined(*three, condition("c", "R", ends="yz")) == [
        ("aR bR cR", "y"),
        ("aR bR", "xy"),
        ("aR cR", "y"),
        ("bR cR", "y"),
    ]
    # A name that meets nothing takes nothing from the others.
    assert conjoined(*three, condition("c", "R", ends="z")) == [("aR bR", "xy")]


def test_text_of_a_meeting() -> None:
    heat = Chain("h", (Step("STARRED", True, "Person"), Step("KNOWS", True, "Person")))
    ronin = Chain("r", (Step("DIRECTED", False, "Person"),))
    entities = [Entity("h", "Heat", ("Film",)), Entity("r", "Ronin", ("Film",))]
    assert meeting_text([heat, ronin], entities) == (
        "Heat starred person B. person B knows person A. person A directed Ronin. "
        "The answer is person A."
    )
    told = meeting_text([ronin, ronin], [entities[1]] * 2, phrasing={"DIRECTED": ("made", "")})
    assert told == "person A made Ronin. person A made Ronin. The answer is person A."


def example(index: int, chains: list[list[tuple[str, str, str]]], *ids: str, key: str = "k") -> Row:
    """Give a row of the statement of patterns, the first answer with a path of each chain."""
    node = {"labels": ["__Entity__"], "properties": {}, "similarity": 0.0}
    walked = [
        [
            {"source": s, "type": t, "target": e, "key": (key := f"{s}-{t}-{e}")}
            | {"relationship": {"key": key}}
            for s, t, e in chain
        ]
        for chain in chains
    ]
    return {
        "index": index,
        "total": len(ids),
        "answers": [{"id": id_, "name": id_, **node} for id_ in ids],
        "examples": [{"id": ids[0], "chains": walked}] if walked else [],
    }


def search(
    rows: Sequence[Row] = (),
    question: str = QUESTION,
    **options: Any,
) -> tuple[SearchResult, RecordingDatabase]:
    graph = MemoryGraph(FILMS, seeds=[])
    database = RecordingDatabase({**graph.answers, "retrieve/answers": rows})
    merged: dict[str, Any] = {"strategy": "chains", "max_depth": 2, "patterns": 1, **options}
    return ask(graph, SCORES, question=question, database=database, **merged), database


def test_what_meets_goes_before_chains_that_leave_a_name_out() -> None:
    ways = [[("ann", "DIRECTED", "y")], [("bob", "STARS_IN", "y")]]
    result, database = search([example(0, ways, "y")], top_k=3)
    assert result.shape["kind"] == "conjunction"
    assert result.answers[0].id == "y"
    assert (result.answers[0].paths, result.answers[0].pattern) == ((1, 2), 0)
    # What is shown first is a path of each; the third is of the next best chain.
    assert nodes(result) == ["anny", "boby", "annx"]
    assert [p.text for p in result.paths][:2] == [BOTH] * 2
    (pattern,) = result.patterns
    assert (pattern.text, pattern.total, pattern.complete) == (BOTH, 1, True)
    assert [chain.start for chain in pattern.chains] == ["ann", "bob"]
    assert pattern.parameters["start2"] == "bob"
    # Asked before what is shown is read, so as many statements as ever.
    assert result.stats.round_trips == result.stats.depth + 4
    assert database.names[-3:] == [
        "retrieve/answers",
        "retrieve/hydrate_hops",
        "retrieve/provenance",
    ]


def test_chains_that_turn_out_not_to_meet_are_dropped() -> None:
    # Of ann's two films one was read, so that it cannot be seen whether any is one of bob's.
    options: dict[str, Any] = {"cap_per_relation": 1, "frontier_width": 1, "max_depth": 1}
    nothing = [{"index": i, "total": 0, "answers": [], "examples": []} for i in range(2)]
    result, _ = search(nothing, **options)
    assert not any(len(pattern.chains) > 1 for pattern in result.patterns)
    assert cuts(result)[1, "no_meeting"] == 2
    assert {a.id for a in result.answers} <= {"w", "x", "y", "z"}


def test_without_patterns_the_frontiers_alone_tell_where_chains_meet() -> None:
    result, database = search(patterns=0, top_k=2)
    assert "retrieve/answers" not in database.names
    assert nodes(result) == ["anny", "boby"]
    assert [(a.id, a.paths, a.pattern) for a in result.answers] == [("y", (1, 2), None)]
    assert result.stats.round_trips == result.stats.depth + 3


def test_paths_of_one_meeting_are_shown_together() -> None:
    # There is room for one path, so the pair gives way to a chain alone.
    result, _ = search(patterns=0, top_k=1)
    assert len(result.paths) == 1
    assert [p.text for p in result.paths] == ["ann directed A. The answer is A."]


def test_a_name_that_is_not_left_out_makes_a_conjunction_surer() -> None:
    result, _ = search(patterns=0, top_k=2)
    # 3 more on the logit of 0.4: 1 / (1 + 1.5 exp(-3)).
    assert (result.paths[0].score, result.paths[0].terms["rerank"]) == (0.930509, 0.4)
    scores = {**SCORES, BOTH: 0.01}
    graph = MemoryGraph(FILMS, seeds=[])
    result = ask(graph, scores, question=QUESTION, strategy="chains", max_depth=1, top_k=2)
    # One that hardly fits stays behind chains that do.
    assert [p.text for p in result.paths] == ["ann directed A. The answer is A."] * 2


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Which film did Ann direct?", {}),
        ("How are Ann and Bob related?", {}),
        (QUESTION, {"intent": "off"}),
    ],
)
def test_other_questions_are_searched_for_as_ever(
    question: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("no conjunction is asked for")

    monkeypatch.setattr("pathrag_gds.retrieve.meet.conjoin", fail)
    graph = MemoryGraph(FILMS, seeds=[])
    database = RecordingDatabase({**graph.answers, "retrieve/between": ()})
    result = ask(graph, SCORES, question=question, database=database, strategy="chains", **options)
    assert result.outcome in ("answered", "not_in_graph")


def test_what_meets_is_counted() -> None:
    ways = [[("ann", "DIRECTED", "y")], [("bob", "STARS_IN", "y")]]
    question = "How many films did Ann direct with Bob in it?"
    result, database = search([example(0, ways, "y")], question, top_k=2, max_depth=1)
    assert result.shape["kind"] == "count"
    assert [(a.kind, a.value, a.paths) for a in result.answers] == [("number", 1, (1, 2))]
    assert [chain.start for chain in result.patterns[0].chains] == ["ann", "bob"]
    # Once to see what meets, once to count it.
    assert database.names.count("retrieve/answers") == 2
    assert not any("ann" in warning or "bob" in warning for warning in result.warnings)


def test_paths_that_are_read_whole_meet_too() -> None:
    ways = [[("ann", "DIRECTED", "y")], [("bob", "STARS_IN", "y")]]
    result, _ = search([example(0, ways, "y", "v")], strategy="both", top_k=3, max_depth=1)
    assert nodes(result) == ["anny", "boby", "bobz"]
    # All of them are given, also where no path is shown.
    assert [(a.id, a.paths, a.pattern) for a in result.answers][:2] == [
        ("y", (1, 2), 0),
        ("v", (), 0),
    ]
    assert result.stats.round_trips == result.stats.depth + 4
    # Without chains read, none are joined.
    result, _ = search(strategy="paths", patterns=0)
    assert BOTH not in {p.text for p in result.paths}


@pytest.mark.parametrize("cut", [{}, {"expand_per_path": 1}])
def test_paths_that_were_not_read_may_meet(cut: dict[str, Any]) -> None:
    result, _ = search(strategy="both", patterns=0, max_depth=1, top_k=2, **cut)
    # With one extension each, ann's is x and bob's is y: where they meet only a pattern would tell.
    assert (nodes(result) == ["anny", "boby"]) == (not cut)


def test_what_tells_something_of_itself_is_no_surer_for_the_names_it_meets() -> None:
    options: dict[str, Any] = {"strategy": "both", "max_depth": 1, "patterns": 0, "min_score": 0.0}
    scores = {BOTH: 0.4}
    films = {film: {"description": "A film of the sea."} for film in "xyz"}
    found = []
    for told in ({}, films):
        graph = MemoryGraph(FILMS, seeds=[], nodes=told)
        result = ask(graph, scores, question=QUESTION, top_k=2, **options)
        found.append({p.score for p in result.paths if p.text == BOTH})
    # 3 more on the logit of 0.4, and none.
    assert found == [{0.930509}, {0.4}]
