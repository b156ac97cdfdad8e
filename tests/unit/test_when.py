"""Spans of time in questions and in values."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from pathrag_gds.retrieve.when import Span, asked_span, span_of_value


def span(start: str, end: str) -> Span:
    return Span(*(date.fromisoformat(day) if day else None for day in (start, end)))


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("films after 1990", "1991-01-01", ""),
        ("films since 1990", "1990-01-01", ""),
        ("films from 1990 on", "1990-01-01", ""),
        ("films from 1990", "1990-01-01", "1991-01-01"),
        ("films before the year 1990", "", "1990-01-01"),
        ("films until 1990", "", "1991-01-01"),
        ("films by 1990", "", "1991-01-01"),
        ("films no later than 1990", "", "1991-01-01"),
        ("films between 1990 and 1995", "1990-01-01", "1996-01-01"),
        ("films from march 1990 to may 1995", "1990-03-01", "1995-06-01"),
        ("films in december 1999", "1999-12-01", "2000-01-01"),
        ("films after march 1997", "1997-04-01", ""),
        ("films on 5 march 1997", "1997-03-05", "1997-03-06"),
        ("films on the 5th of march 1997", "1997-03-05", "1997-03-06"),
        ("films on march 5th 1997", "1997-03-05", "1997-03-06"),
        ("films after 1997 03 05", "1997-03-06", ""),
        ("films during the 1990s", "1990-01-01", "2000-01-01"),
        ("films in the 90s", "1990-01-01", "2000-01-01"),
        ("films of the nineties", "1990-01-01", "2000-01-01"),
        ("ships of the 19th century", "1801-01-01", "1901-01-01"),
        ("which 1999 film", "1999-01-01", "2000-01-01"),
        ("after 1990 and before 1995", "1991-01-01", "1995-01-01"),
    ],
)
def test_asked_spans(text: str, start: str, end: str) -> None:
    found = asked_span(text)
    assert found is not None
    assert (found.span, found.vague) == (span(start, end), False)


@pytest.mark.parametrize("text", ["around 1990", "in the late 1990s", "in the early nineties"])
def test_vague_spans(text: str) -> None:
    found = asked_span(text)
    assert found is not None
    assert found.vague


@pytest.mark.parametrize(
    "text",
    [
        "",
        "films after @",
        "after the storm",
        "before noon",
        "order 10248",
        "in room 12",
        "flight 1999 landed",
        "on 31 february 1999",
        "by the director of 12 films",
    ],
)
def test_no_span(text: str) -> None:
    assert asked_span(text) is None


def test_places_are_where_it_is_said() -> None:
    found = asked_span("films after 1990 by @ before 1995")
    assert found is not None
    assert found.places == ((6, 16), (22, 33))


@pytest.mark.parametrize(
    ("value", "start", "end"),
    [
        (1997, "1997-01-01", "1998-01-01"),
        (1997.0, "1997-01-01", "1998-01-01"),
        ("1997", "1997-01-01", "1998-01-01"),
        ("1997-12", "1997-12-01", "1998-01-01"),
        ("1997-03-05", "1997-03-05", "1997-03-06"),
        ("1997-03-05T10:00:00+01:00", "1997-03-05", "1997-03-06"),
        ("1996-07-04 00:00:00.000", "1996-07-04", "1996-07-05"),
        ([1990, 1995], "1990-01-01", "1996-01-01"),
    ],
)
def test_values(value: Any, start: str, end: str) -> None:
    assert span_of_value(value) == span(start, end)


@pytest.mark.parametrize(
    "value", [None, True, 12, 19970305, 1997.5, "", "May 1997", "1997-13", "1997-02-30", [], ["x"]]
)
def test_values_that_are_no_time(value: Any) -> None:
    assert span_of_value(value) is None


def test_a_span_holds_another_or_not_or_in_part() -> None:
    year = span("1997-01-01", "1998-01-01")
    assert span("1990-01-01", "").holds(year) is True
    assert span("", "1998-01-01").holds(year) is True
    assert span("1998-01-01", "").holds(year) is False
    assert span("", "1997-01-01").holds(year) is False
    assert span("1997-03-01", "").holds(year) is None
    assert Span().holds(year) is True
