"""Answers from numbered sources, by map and reduce, and the method that a question is given to."""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import pytest

from pathrag_gds.answer.choose import about_a_whole, after_search
from pathrag_gds.answer.overview import (
    MAP_SYSTEM,
    REDUCE_SYSTEM,
    Point,
    answer_from_reports,
    batches_of,
    read_points,
)
from pathrag_gds.answer.prompt import NOT_IN_GRAPH
from pathrag_gds.answer.sources import (
    SYSTEM,
    Source,
    answer_from_sources,
    build_source_prompt,
    sources_of_communities,
)
from pathrag_gds.communities.retrieve import CommunityScore
from pathrag_gds.communities.search import FoundCommunity
from pathrag_gds.communities.types import CommunityReport, Finding
from pathrag_gds.errors import ConfigError, LLMError
from tests.unit.test_generate import Parrot, searched

QUESTION = "What are the main themes?"


def count(text: str) -> int:
    return len(text.split())


def sources(*texts: str) -> tuple[Source, ...]:
    return tuple(
        Source(number, "report", f"c{number}", f"Title {number}", text)
        for number, text in enumerate(texts, start=1)
    )


class Script:
    """Answers by what stands in the prompt; counts how many answers are written at a time."""

    name = "script"

    def __init__(self, answers: Mapping[str, str | LLMError], reduced: str = "") -> None:
        self.answers = answers
        self.reduced = reduced
        self.asked: list[Sequence[Mapping[str, str]]] = []
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()

    def chat(
        self, messages: Sequence[Mapping[str, str]], *, stream: bool = True
    ) -> Generator[str, None, str]:
        with self._lock:
            self.asked.append(messages)
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            if messages[0]["content"] != MAP_SYSTEM:
                yield self.reduced
                return "stop"
            user = messages[1]["content"]
            for part, answer in self.answers.items():
                if part in user:
                    if isinstance(answer, LLMError):
                        raise answer
                    yield answer
                    return "stop"
            yield "NONE"
            return "stop"
        finally:
            with self._lock:
                self._now -= 1


def overview(llm: Any, given: Sequence[Source], **changes: Any) -> Any:
    options: dict[str, Any] = {"budget": 150, "concurrency": 2, **changes}
    return answer_from_reports(QUESTION, given, llm, tenant="t", count_tokens=count, **options)


# Sources


def test_reports_are_told_with_their_findings_as_data() -> None:
    report = CommunityReport(
        "c1",
        "t",
        "Ghosts <b>",
        "They come [1].",
        ("e",),
        "llm",
        "strict",
        "answer",
        "h",
        findings=(Finding("Three", "of them"), Finding("Night")),
    )
    found = FoundCommunity(1, CommunityScore("c1", 1.0, "cosine"), report, 0, 3)
    given = sources_of_communities([found], [("x", "A </sources> text."), ("y", " ")])
    assert [source.line for source in given] == [
        "[1] (report) Ghosts ‹b›: They come (1). Three of them Night",
        "[2] (text) A ‹/sources› text.",
    ]
    assert [(source.kind, source.id) for source in given] == [("report", "c1"), ("text", "x")]


def test_a_source_that_does_not_fit_is_left_out_whole() -> None:
    given = sources("short", "long " * 50, "brief")
    empty = build_source_prompt(QUESTION, (), count_tokens=count, budget=1000).tokens
    prompt = build_source_prompt(QUESTION, given, count_tokens=count, budget=empty + 10)
    assert [source.number for source in prompt.sources] == [1, 3]
    assert prompt.left_out == (2,)
    assert prompt.tokens == count(SYSTEM) + count(prompt.user) <= empty + 10
    with pytest.raises(ConfigError, match="too small"):
        build_source_prompt(QUESTION, given, count_tokens=count, budget=empty - 1)


def test_citations_of_sources_are_checked() -> None:
    prompt = build_source_prompt(QUESTION, sources("a", "b"), count_tokens=count, budget=1000)
    llm = Parrot("Ghosts [2]. ", "Money. ", "The moon [9].")
    answer = answer_from_sources(prompt, llm, tenant="t", method="community")
    assert [source.id for source in answer.cited] == ["c2"]
    assert (answer.unknown, answer.uncited) == ((9,), ("Money.", "The moon [9]."))
    assert answer.warnings == (
        "The answer cites [9], which the sources do not have.",
        "2 of 3 sentences of the answer cite no source.",
    )
    told = answer.to_dict()
    assert (told["method"], told["outcome"]) == ("community", "answered")
    assert told["generated"]["cited"] == [2]
    assert told["sources"][1] == {"number": 2, "kind": "report", "id": "c2", "title": "Title 2"}


def test_without_sources_no_model_is_asked() -> None:
    prompt = build_source_prompt(QUESTION, (), count_tokens=count, budget=1000)
    llm = Parrot("never")
    pieces: list[str] = []
    answer = answer_from_sources(prompt, llm, tenant="t", method="hybrid", on_text=pieces.append)
    assert (answer.text, answer.outcome, llm.asked) == (NOT_IN_GRAPH, "not_in_graph", [])
    assert pieces == [NOT_IN_GRAPH]


# Map and reduce


def test_points_are_read_with_the_reports_that_they_cite() -> None:
    text = """\
- 90: Ghosts teach him [1][2].
(40) - Money rules the town [2, 9].
100: A point of nobody.
70: Foreign [9].
0: Of no importance [1].
101: Too much [1].
NONE
Some words [1]."""
    points, refused = read_points(text, (1, 2))
    assert points == (
        Point(90, "Ghosts teach him.", (1, 2)),
        Point(40, "Money rules the town.", (2,)),
    )
    assert refused == 2
    assert points[0].line == "Ghosts teach him. [1][2]"
    assert read_points("NONE", (1,)) == ((), 0)


def test_batches_keep_the_order_and_the_budget() -> None:
    given = sources(*("word " * 20 for _ in range(5)))
    room = count(MAP_SYSTEM) + 60
    batches = batches_of(QUESTION, given, count_tokens=count, budget=room)
    assert [[source.number for source in batch] for batch in batches] == [[1, 2], [3, 4], [5]]
    assert batches_of(QUESTION, given, count_tokens=count, budget=10) == ()
    assert batches_of(QUESTION, (), count_tokens=count, budget=room) == ()


def budget_for_one() -> int:
    return count(MAP_SYSTEM) + 40


def test_parts_are_asked_for_points_and_these_for_the_answer() -> None:
    given = sources("ghosts " * 20, "money " * 20, "sea " * 20)
    llm = Script(
        {"ghosts": "30: Ghosts [1].\n80: Fear [1].", "money": "50: Greed [2].\n60: Foreign [1]."},
        "Fear [1] and greed [2]. Nothing of the sea [3].",
    )
    answer = overview(llm, given, budget=budget_for_one())
    assert len(llm.asked) == 4
    system, user = (message["content"] for message in llm.asked[-1])
    assert system == REDUCE_SYSTEM
    # The most important first. What cites a report of another part is refused.
    assert user.splitlines()[2:] == [
        "<points>",
        "Fear. [1]",
        "Greed. [2]",
        "Ghosts. [1]",
        "</points>",
    ]
    assert (answer.method, answer.requests) == ("global", 4)
    assert [source.id for source in answer.cited] == ["c1", "c2"]
    assert answer.unknown == (3,)
    assert answer.warnings[0] == "1 points cite no report that was shown, and were left out."
    assert answer.outcome == "answered"


@pytest.mark.parametrize("concurrency", [1, 2, 4])
def test_no_more_are_asked_at_a_time_and_the_answer_is_the_same(concurrency: int) -> None:
    given = sources(*(f"topic{n} " * 45 for n in range(8)))
    llm = Script({f"topic{n} ": f"{n + 10}: Topic {n} [{n + 1}]." for n in range(8)}, "All [8].")
    answer = overview(llm, given, budget=budget_for_one() + 30, concurrency=concurrency)
    assert llm.most <= concurrency
    points = re.findall(r"\[(\d)\]", llm.asked[-1][1]["content"])
    assert points == [str(n) for n in range(8, 0, -1)]
    assert answer.text == "All [8]."


def test_where_all_fits_one_prompt_is_asked() -> None:
    llm = Parrot("Ghosts [1].")
    answer = overview(llm, sources("ghosts", "money"), budget=1000)
    assert (answer.requests, answer.method, len(llm.asked)) == (1, "global", 1)
    assert llm.asked[0][0]["content"] == SYSTEM


def test_a_part_that_is_not_answered_makes_it_partial() -> None:
    given = sources("ghosts " * 20, "money " * 20)
    llm = Script(
        {"ghosts": LLMError("The endpoint is gone."), "money": "50: Greed [2]."}, "Yes [2]."
    )
    answer = overview(llm, given, budget=budget_for_one())
    assert (answer.outcome, answer.requests) == ("partial", 2)
    assert answer.warnings == (
        "1 of 2 parts of the reports were not answered: The endpoint is gone.",
    )
    nobody = Script({"ghosts": LLMError("Gone."), "money": LLMError("Gone.")})
    with pytest.raises(LLMError, match="Gone"):
        overview(nobody, given, budget=budget_for_one())


def test_no_point_is_no_answer() -> None:
    given = sources("ghosts " * 20, "money " * 20)
    llm = Script({})
    answer = overview(llm, given, budget=budget_for_one())
    assert (answer.text, answer.outcome, len(llm.asked)) == (NOT_IN_GRAPH, "not_in_graph", 2)
    with pytest.raises(ConfigError, match="concurrency must be at least 1"):
        overview(llm, given, concurrency=0)
    with pytest.raises(ConfigError, match="too small"):
        overview(llm, given, budget=10)


# Which method


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Summarise everything we know about topic Z", "Summarise"),
        ("What are the main themes of the story?", "main themes"),
        ("What are the most important political topics?", "important political topics"),
        ("What is this dataset about?", "What is this dataset about"),
        ("Which feelings are there across the chapters?", "across the chapters"),
        ("Where does Bob sleep?", ""),
        ("Who wrote the book?", ""),
        ("What is the main town of the county?", ""),
    ],
)
def test_a_question_about_a_whole_is_known_by_its_words(question: str, words: str) -> None:
    reason = about_a_whole(question)
    assert (f'("{words}")' in reason) if words else reason == ""


def test_the_choice_says_why() -> None:
    found, nothing = searched(2), searched(0)
    whole = "What are the main themes?"
    assert after_search(whole, None, has_reports=True).method == "global"
    choice = after_search(whole, nothing, has_reports=False)
    assert choice.method == "hybrid"
    assert choice.reason.endswith("no reports on communities, so texts and paths are read together")
    choice = after_search("Where does Bob sleep?", found, has_reports=True)
    assert (choice.method, choice.reason) == (
        "path",
        "paths answer it with a confidence of 0.1 or more",
    )
    assert after_search("Where does Bob sleep?", nothing, has_reports=True).method == "hybrid"
