"""Properties by the words that ask for them, and their values."""

from __future__ import annotations

from typing import Any

import pytest

from pathrag_gds.retrieve.attributes import (
    COMPARATIVES,
    SUPERLATIVES,
    extent,
    extents,
    keys_by_measure,
    keys_by_words,
    measure_of,
    measures_said,
)


@pytest.mark.parametrize(
    ("key", "measure"),
    [
        ("unitPrice", "price"),
        ("list_price_usd", "price"),
        ("born", "birth"),
        ("dateOfBirth", "birth"),
        ("released", "release"),
        ("height_cm", "height"),
        ("colour", ""),
        ("km", ""),
    ],
)
def test_measures_of_keys(key: str, measure: str) -> None:
    assert measure_of(key) == measure


def test_keys_by_measure_in_order_of_likelihood() -> None:
    keys = ["cost", "name", "unitPrice", "year", "price"]
    assert keys_by_measure(("price",), keys) == ("price", "unitPrice", "cost")
    assert keys_by_measure(("year", "price"), keys)[0] == "year"
    assert keys_by_measure((), keys) == keys_by_measure(("no such",), keys) == ()


@pytest.mark.parametrize(
    ("phrase", "keys", "found"),
    [
        ("fur colour", ["fur_color", "eye_color"], ("fur_color",)),
        ("colour", ["fur_color", "age"], ("fur_color",)),
        ("colour", ["fur_color", "eye_color"], ()),
        ("date of birth", ["born", "year"], ("born",)),
        ("birth year", ["year", "born"], ("born",)),
        ("year", ["year", "born"], ("year",)),
        ("units in stock", ["unitsInStock", "unitsOnOrder"], ("unitsInStock",)),
        ("phone number", ["home_phone"], ("home_phone",)),
        ("name", ["contact_name"], ()),
        ("the", ["x"], ()),
        ("", ["x"], ()),
    ],
)
def test_keys_by_words(phrase: str, keys: list[str], found: tuple[str, ...]) -> None:
    assert keys_by_words(phrase, keys) == found


def test_adjectives_of_age_run_against_dates() -> None:
    old, new = COMPARATIVES["older"], SUPERLATIVES["newest"]
    assert old.larger("age") is True
    assert old.larger("birth") is False
    assert new.larger("year") is True
    assert SUPERLATIVES["first"].larger("year") is False
    assert SUPERLATIVES["last"].larger("year") is True
    assert COMPARATIVES["less expensive"].larger("price") is False
    assert COMPARATIVES["more expensive"].larger("price") is True


def test_measures_said_by_verbs() -> None:
    assert measures_said("when was @ born") == ("birth",)
    assert measures_said("which came out first") == ("release", "year", "date")
    assert measures_said("who sells lamps") == ()


@pytest.mark.parametrize(
    ("value", "measure", "found"),
    [
        (12, "price", (12.0, 12.0)),
        ("1,250.50", "price", (1250.5, 1250.5)),
        ("$18.00", "price", (18.0, 18.0)),
        ("18 or so", "price", None),
        ("1,25", "price", None),
        (True, "", None),
        ([1], "", None),
        (1997, "year", (729025.0, 729389.0)),
        ("no year", "year", None),
    ],
)
def test_extents(value: Any, measure: str, found: tuple[float, float] | None) -> None:
    assert extent(value, measure) == found


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("980 m", "1.2 km"), [(980.0, 980.0), (1200.0, 1200.0)]),
        (("1,500 kg", "1 t"), [(1500.0, 1500.0), (1000.0, 1000.0)]),
        (("3", 4), [(3.0, 3.0), (4.0, 4.0)]),
        (("980 m", 980), None),
        (("980 m", "980 kg"), None),
        (("980 m", "high"), None),
        (("980 smoots", "970 smoots"), None),
        (("980 m", None), None),
    ],
)
def test_values_in_one_unit(values: tuple[Any, Any], expected: Any) -> None:
    found = extents(dict(zip("ab", values, strict=True)), "height")
    assert (found and [found["a"], found["b"]]) == expected


def test_nothing_to_compare() -> None:
    assert extents({}, "height") == {}
