"""What people see of a path: arrows, properties, breaks, nothing that moves the cursor."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from rich.console import Console

from pathrag_gds.serve.results import answer_text, nothing_passes, shape_text, show_result
from pathrag_gds.serve.terminal import plain, show_table
from pathrag_gds.types import (
    Answer,
    Edge,
    Entity,
    Hop,
    Path,
    RankedPath,
    ResultHop,
    SearchResult,
    SearchStats,
)


def shown(result: SearchResult, width: int = 80, encoding: str = "utf-8") -> list[str]:
    """Print a result as into a pipe of the given width and encoding, and give its lines."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace")
    console = Console(file=stream, width=width, markup=False, highlight=False, emoji=False)
    show_result(console, result)
    stream.flush()
    return raw.getvalue().decode(encoding).splitlines()


def chain(
    *names: str, properties: Mapping[str, Any] | None = None, forward: bool = True
) -> SearchResult:
    """Make a result whose one path leads through entities of these names."""
    hops = []
    for one, next_ in pairwise(names):
        source, target = (one, next_) if forward else (next_, one)
        hops.append(Hop(Edge("k", source, target, "leads_to", properties or {}), forward))
    path = Path(names, tuple(hops))
    ranked = RankedPath(
        rank=1,
        score=0.5,
        confidence=0.5,
        terms={},
        text="",
        path=path,
        nodes=tuple(Entity(name, name, ("place",), "A place.", {"age": 4}) for name in names),
        hops=tuple(ResultHop(hop) for hop in hops),
    )
    answer = Answer("entity", names[-1], names[-1], confidence=0.5, paths=(1,))
    return SearchResult(
        "?", "default", "path", "answered", (), (answer,), (ranked,), (), SearchStats(), {}
    )


def test_arrows_show_the_stored_direction() -> None:
    assert shown(chain("A", "B"))[2] == "1  0.500  A —[leads_to]→ B"
    assert shown(chain("A", "B", forward=False))[2] == "1  0.500  A ←[leads_to]— B"


def test_arrows_are_ascii_where_the_terminal_is() -> None:
    assert shown(chain("A", "B"), encoding="ascii")[2] == "1  0.500  A -[leads_to]-> B"
    lines = shown(chain("A", "Zoë", forward=False), encoding="ascii")
    assert lines[2] == "1  0.500  A <-[leads_to]- Zo\\xeb"


def test_relationship_properties_are_in_order_of_their_keys() -> None:
    lines = shown(chain("A", "B", properties={"z": [1, "x"], "a": True, "m": "it's"}))
    assert lines[2] == """1  0.500  A —[leads_to {a: true, m: it's, z: [1, "x"]}]→ B"""


def test_a_long_path_breaks_before_its_arrows() -> None:
    assert shown(chain("A" * 20, "B" * 20, "C" * 20), width=60)[2:5] == [
        "1  0.500  AAAAAAAAAAAAAAAAAAAA",
        "          —[leads_to]→ BBBBBBBBBBBBBBBBBBBB",
        "          —[leads_to]→ CCCCCCCCCCCCCCCCCCCC",
    ]


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_nothing_is_cut_off_at_any_width(width: int) -> None:
    names = ("a" * 30, "b" * 90, "猫" * 50)
    text = "".join(shown(chain(*names, properties={"why": "word " * 40}), width=width))
    for name in names:
        assert name in text.replace(" ", "")
    assert text.count("word") == 80


def test_a_path_of_no_hop_shows_its_facts() -> None:
    assert shown(chain("A"))[2:4] == ["1  0.500  A", "          (place) A place. {age: 4}"]


def test_names_cannot_move_the_cursor_or_bring_markup() -> None:
    lines = shown(chain("A\x1b[2J\r", "[red]B[/red]\u202e"))
    assert lines[2] == "1  0.500  A\\x1b[2J\\r —[leads_to]→ [red]B[/red]\\u202e"


def test_plain_keeps_what_is_text() -> None:
    assert plain("Zoë 猫 – [x]") == "Zoë 猫 – [x]"
    assert plain("a\nb\tc\x00") == "a\\nb\\tc\\x00"


def test_a_table_in_a_pipe_keeps_each_row_on_one_line() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=20, markup=False)
    show_table(console, ("name", "value"), [("a", "x" * 60), ("b", "[b]")])
    assert stream.getvalue().splitlines() == ["name  value", "a     " + "x" * 60, "b     [b]", ""]


def test_an_empty_table_says_so() -> None:
    stream = io.StringIO()
    show_table(Console(file=stream), ("name",), [], empty="nothing")
    assert stream.getvalue() == "(nothing)\n\n"


def test_answers_of_every_kind() -> None:
    told = [
        Answer("number", "", "", value=12, paths=(1,)),
        Answer("boolean", "", "", value=True),
        Answer("boolean", "heat", "Heat", "year", value=False),
        Answer("relation", "b", "B", value="A knows B."),
        Answer("value", "ada", "Ada", "born", 1950),
    ]
    assert [answer_text(answer) for answer in told] == [
        "12",
        "yes",
        "no",
        "A knows B.",
        "born of Ada: 1950",
    ]


def test_many_answers_are_cut_off() -> None:
    answers = tuple(Answer("entity", f"e{n}", f"E{n}", confidence=0.5) for n in range(25))
    lines = shown(replace(chain("a", "b"), answers=answers))
    assert lines[0] == "Answer  E0  (confidence 0.50)"
    assert lines[20] == "   and 5 more: --json lists them all"


def test_a_shape_in_one_line() -> None:
    shape = {
        "kind": "count",
        "properties": ["year"],
        "mentions": [["a", "b"], ["c"]],
        "time": {"start": "1991-01-01", "end": None},
        "larger": [True],
        "yes_no": True,
    }
    assert shape_text(shape) == (
        "count; properties: year; mentions: a/b, c; time: from 1991-01-01; yes_no"
    )
    assert shape_text({}) == ""


def test_what_is_not_answered_says_what_the_paths_are() -> None:
    result = replace(chain("a", "b"), answers=(), outcome="unsupported")
    assert nothing_passes(result).startswith("No answer as it is asked; these paths")
    assert nothing_passes(replace(result, paths=())) == "No answer as it is asked."
