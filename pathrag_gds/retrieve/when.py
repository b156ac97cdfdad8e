"""Spans of time: the one that a question names, and the one that a value means. Pure.

A span is half open: "in 1999" is from 1999-01-01 to before 2000-01-01, and so is the year 1999 as a
value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

__all__ = ["MONTHS", "AskedSpan", "Span", "asked_span", "span_of_value"]

_MONTH_NAMES = (
    "january february march april may june july august september october november december"
)
_LONG = {name: number for number, name in enumerate(_MONTH_NAMES.split(), 1)}
MONTHS = _LONG | {name[:3]: number for name, number in _LONG.items()} | {"sept": 9}
"""Number of a month by its name or its short name, in small letters."""
_DECADE_NAMES = "thirties forties fifties sixties seventies eighties nineties"
_DECADES = {name: 1930 + 10 * number for number, name in enumerate(_DECADE_NAMES.split())}

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_YEAR = r"(?:1\d|2[01])\d\d"
_DAY = r"[0-3]?\d(?:st|nd|rd|th)?"
# What one date is in the wording of a question, most exact first. Two numbers alone are no date.
_DATE = (
    rf"(?:{_YEAR} [01]\d [0-3]\d"
    rf"|(?:the )?{_DAY}(?: of)? (?:{_MONTH})(?: of)? {_YEAR}"
    rf"|(?:{_MONTH}) (?:the )?{_DAY} {_YEAR}"
    rf"|(?:{_MONTH})(?: of)? {_YEAR}"
    rf"|(?:the )?(?:early |mid |late )?(?:(?:1\d|20)\d0s|[1-9]0s|{'|'.join(_DECADES)})"
    r"|the (?:early |mid |late )?\d\d(?:st|nd|rd|th) century"
    rf"|(?:the years? )?{_YEAR})"
)
_AFTER, _SINCE, _BEFORE, _UNTIL, _WITHIN, _ABOUT = "after", "since", "before", "until", "in", "~"
# Tried in turn; what one has taken is left to no other.
_FORMS = tuple(
    (kind, re.compile(rf"(?<!\S)(?:{form})(?!\S)"))
    for kind, form in (
        (_WITHIN, rf"(?:in the years )?between (?P<a>{_DATE}) and (?P<b>{_DATE})"),
        (_WITHIN, rf"from (?P<a>{_DATE}) (?:to|until|till|through|up to) (?P<b>{_DATE})"),
        (_SINCE, rf"(?:since|not before|no earlier than|from) (?P<a>{_DATE}) (?:on|onwards?)"),
        (_SINCE, rf"(?:ever )?(?:since|no earlier than|starting in|starting from) (?P<a>{_DATE})"),
        (_UNTIL, rf"(?:until|till|up to|through|by|no later than|not after) (?P<a>{_DATE})"),
        (_AFTER, rf"(?:after|later than|following|newer than|any time after) (?P<a>{_DATE})"),
        (_BEFORE, rf"(?:before|prior to|earlier than|older than|preceding) (?P<a>{_DATE})"),
        (_ABOUT, rf"(?:around|about|circa) (?P<a>{_DATE})"),
        (_WITHIN, rf"(?:in|during|on|within|throughout|of|from) (?P<a>{_DATE})"),
        (_WITHIN, rf"(?:(?<=which )|(?<=what )|(?<=the )|(?<=any ))(?P<a>{_YEAR})(?= [a-z])"),
    )
)
_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ].*)?)?)?$")
_VAGUE = frozenset({"early", "mid", "late"})


@dataclass(frozen=True, slots=True)
class Span:
    """A span of days.

    Attributes:
        start: Its first day; None where it is open to the past.
        end: The day after its last; None where it is open to the future.
    """

    start: date | None = None
    end: date | None = None

    def holds(self, other: Span) -> bool | None:
        """Say whether another span lies in this one: True, False, or None where it does in part.

        A year as a value lies partly in "after March 1997", and nothing says more of it.
        """
        starts = self.start is None or (other.start is not None and other.start >= self.start)
        ends = self.end is None or (other.end is not None and other.end <= self.end)
        if starts and ends:
            return True
        apart = (self.start is not None and other.end is not None and other.end <= self.start) or (
            self.end is not None and other.start is not None and other.start >= self.end
        )
        return False if apart else None

    def both(self, other: Span) -> Span:
        """Give what lies in this span and in the other."""
        starts = [s for s in (self.start, other.start) if s is not None]
        ends = [e for e in (self.end, other.end) if e is not None]
        return Span(max(starts, default=None), min(ends, default=None))

    def to_dict(self) -> dict[str, str | None]:
        """Give ISO dates: ``start`` is within, ``end`` is not; None for no bound."""
        return {
            "start": self.start.isoformat() if self.start else None,
            "end": self.end.isoformat() if self.end else None,
        }


@dataclass(frozen=True, slots=True)
class AskedSpan:
    """The time that a question is limited to.

    Attributes:
        vague: It says "around", "early" or the like: the bounds are wider than what is meant.
        places: Where it is said, as (start, end) in the wording, in order.
    """

    span: Span
    vague: bool
    places: tuple[tuple[int, int], ...]


def asked_span(text: str) -> AskedSpan | None:
    """Find the time that a question is limited to; None where it names none.

    ``"which films did @ make after 1990"`` starts at 1991-01-01; ``"until 1990"`` and ``"by 1990"``
    end with 1990; several bounds hold together.

    Args:
        text: Of :class:`~pathrag_gds.retrieve.wording.Wording`: names are signs, so a name that
            holds a year is no time.
    """
    found = Span()
    vague = False
    places: list[tuple[int, int]] = []
    for kind, form in _FORMS:
        for match in form.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in places):
                continue
            first = _span_of_words(match["a"])
            last = _span_of_words(match["b"]) if "b" in form.groupindex else first
            if first is None or last is None:
                continue
            found = found.both(_bounded(kind, first, last))
            vague = vague or kind == _ABOUT or not _VAGUE.isdisjoint(match[0].split())
            places.append(match.span())
    return AskedSpan(found, vague, tuple(sorted(places))) if places else None


def _bounded(kind: str, first: Span, last: Span) -> Span:
    if kind == _AFTER:
        return Span(first.end, None)
    if kind == _SINCE:
        return Span(first.start, None)
    if kind == _BEFORE:
        return Span(None, first.start)
    if kind == _UNTIL:
        return Span(None, first.end)
    return Span(first.start, last.end)


def _span_of_words(text: str) -> Span | None:
    """Give the span of what ``_DATE`` matches; None for a day that no calendar has."""
    tokens = [t for t in text.split() if t not in {"the", "of", "year", "years"} | _VAGUE]
    if tokens[-1] == "century":
        first = 100 * (int(tokens[0][:-2]) - 1) + 1
        return _years(first, first + 100)
    if len(tokens) == 1:
        if tokens[0] in _DECADES:
            return _years(_DECADES[tokens[0]], _DECADES[tokens[0]] + 10)
        if tokens[0].endswith("s"):
            year = int(tokens[0][:-1])
            year += 1900 if year < 100 else 0
            return _years(year, year + 10)
        return _years(int(tokens[0]), int(tokens[0]) + 1)
    month = next((MONTHS[t] for t in tokens if t in MONTHS), 0)
    numbers = [int(re.sub(r"\D", "", t)) for t in tokens if t[0].isdigit()]
    if not month:
        return _day(*numbers)
    year = next(n for n in numbers if n >= 1000)
    days = [n for n in numbers if n < 1000]
    return _day(year, month, days[0]) if days else _month(year, month)


def _years(first: int, end: int) -> Span:
    return Span(date(first, 1, 1), date(end, 1, 1))


def _month(year: int, month: int) -> Span | None:
    if not 1 <= month <= 12:
        return None
    return Span(date(year, month, 1), date(year + month // 12, month % 12 + 1, 1))


def _day(year: int, month: int, day: int) -> Span | None:
    try:
        start = date(year, month, day)
    except ValueError:
        return None
    return Span(start, start + timedelta(days=1))


def span_of_value(value: Any) -> Span | None:
    """Give the span that a property's value means; None where it is no date and no year.

    A year from 1000 to 2999 as a number; a year, a month, a date or a date and time as ISO text,
    which temporal values of the database come as. A list of them means all from the first to the
    last.
    """
    if isinstance(value, (list, tuple)):
        return _around(span_of_value(item) for item in value)
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        is_year = 1000 <= value < 3000 and value == int(value)
        return _years(int(value), int(value) + 1) if is_year else None
    match = _ISO.match(value.strip()) if isinstance(value, str) else None
    if match is None or not 1 <= int(match[1]) < 9999:
        return None
    year = int(match[1])
    if match[3]:
        return _day(year, int(match[2]), int(match[3]))
    return _month(year, int(match[2])) if match[2] else _years(year, year + 1)


def _around(spans: Iterable[Span | None]) -> Span | None:
    found = list(spans)
    starts = [s.start for s in found if s is not None and s.start is not None]
    ends = [s.end for s in found if s is not None and s.end is not None]
    if not found or len(starts) != len(found):
        return None
    return Span(min(starts), max(ends))
