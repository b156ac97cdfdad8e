"""What Neo4j can store, what becomes JSON text, and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Any

import pytest

from pathrag_gds.ingest.values import check_text, json_text, parse_cell, storable


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (None, None),
        (True, True),
        (2**63 - 1, 2**63 - 1),
        (1.5, 1.5),
        ('O\'Brien \\ Sons\n\t"hi"', 'O\'Brien \\ Sons\n\t"hi"'),
        ([], []),
        (["a", "b"], ["a", "b"]),
        ([1, 2.5], [1.0, 2.5]),
        ({"city": "Oslo"}, '{"city":"Oslo"}'),
        ({"b": 1, "a": [1, None]}, '{"a":[1,null],"b":1}'),
        ([{"t": 1}, {"t": 2}], '[{"t":1},{"t":2}]'),
        ([1, "a"], '[1,"a"]'),
        ([1, True], "[1,true]"),
        (["a", None], '["a",null]'),
        ([["a"]], '[["a"]]'),
        ({"由": "東京"}, '{"由":"東京"}'),
    ],
)
def test_a_json_value_is_stored_as_what_neo4j_can_hold(value: Any, stored: Any) -> None:
    found = storable(value)
    assert found == stored
    assert type(found) is type(stored)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "NaN"),
        (float("-inf"), "infinity"),
        ([1.0, float("nan")], "NaN"),
        ({"x": float("nan")}, "NaN"),
        (2**63, "64 bits"),
        ([2**70], "64 bits"),
        ("\ud800", "surrogate"),
        (b"x", "bytes"),
    ],
)
def test_what_cannot_be_stored_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        storable(value)


@pytest.mark.parametrize(
    ("text", "cell_type", "value"),
    [
        ("42", "int", 42),
        (" -1 ", "long", -1),
        ("127", "byte", 127),
        ("1e3", "float", 1000.0),
        ("TRUE", "boolean", True),
        (" a ", "string", " a "),
        ("é", "char", "é"),
        ("2014-06-12", "date", date(2014, 6, 12)),
        ("12:50", "localtime", time(12, 50)),
        ("12:50:01Z", "time", time(12, 50, 1, tzinfo=UTC)),
        ("2014-06-12T12:50", "localdatetime", datetime(2014, 6, 12, 12, 50)),
        (
            "2014-06-12T12:50:00+00:00",
            "datetime",
            datetime(2014, 6, 12, 12, 50, tzinfo=UTC),
        ),
    ],
)
def test_a_cell_is_read_by_the_type_of_its_column(text: str, cell_type: str, value: Any) -> None:
    found = parse_cell(text, cell_type)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "cell_type", "message"),
    [
        ("4.2", "int", "not a whole number"),
        ("128", "byte", "8 bits"),
        ("9223372036854775808", "long", "64 bits"),
        ("x", "double", "not a number"),
        ("NaN", "float", "NaN"),
        ("yes", "boolean", "neither true nor false"),
        ("ab", "char", "one character"),
        ("12.6.2014", "date", "ISO 8601 date"),
        ("12:50", "time", "no time zone"),
        ("12:50Z", "localtime", "a time zone"),
        ("2014-06-12T12:50:00.1234567", "localdatetime", "microsecond"),
    ],
)
def test_a_cell_of_another_type_is_refused(text: str, cell_type: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_cell(text, cell_type)


def test_bytes_that_are_not_utf8_are_named() -> None:
    with pytest.raises(ValueError, match="byte 0xE9 is not UTF-8"):
        check_text(b"Caf\xe9".decode("utf-8", "surrogateescape"))


def test_json_text_does_not_depend_on_the_order_of_keys() -> None:
    assert json_text({"b": 1, "a": 2}) == json_text({"a": 2, "b": 1})
