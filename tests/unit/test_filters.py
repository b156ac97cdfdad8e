"""Filters in neo4j-graphrag's syntax: what text they become, what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from pathrag_gds.errors import ConfigError
from pathrag_gds.retrieve.filters import Predicate, compile_filter


def compiled(filter_: dict[str, Any]) -> Predicate:
    return compile_filter(filter_, variable="m", parameter="$filters")


@pytest.mark.parametrize(
    ("condition", "text", "values"),
    [
        (5, "m.`a` = $filters.m0", [5]),
        ({"$eq": 5}, "m.`a` = $filters.m0", [5]),
        ({"$ne": 5}, "m.`a` <> $filters.m0", [5]),
        ({"$lt": 5}, "m.`a` < $filters.m0", [5]),
        ({"$lte": 5}, "m.`a` <= $filters.m0", [5]),
        ({"$gt": 5}, "m.`a` > $filters.m0", [5]),
        ({"$gte": 5}, "m.`a` >= $filters.m0", [5]),
        ({"$between": [1, 9]}, "$filters.m0 <= m.`a` <= $filters.m1", [1, 9]),
        ({"$in": ("x", "y")}, "m.`a` IN $filters.m0", [["x", "y"]]),
        ({"$nin": ["x"]}, "NOT m.`a` IN $filters.m0", [["x"]]),
        ({"$like": "Ab"}, "m.`a` CONTAINS $filters.m0", ["Ab"]),
        ({"$ilike": "Ab"}, "toLower(m.`a`) CONTAINS $filters.m0", ["ab"]),
        ({"$exists": True}, "m.`a` IS NOT NULL", []),
        ({"$exists": False}, "m.`a` IS NULL", []),
        ({"$gt": 1, "$lt": 9}, "(m.`a` > $filters.m0 AND m.`a` < $filters.m1)", [1, 9]),
    ],
)
def test_operator(condition: Any, text: str, values: list[Any]) -> None:
    predicate = compiled({"a": condition})
    assert predicate.text == text
    assert predicate.values == {f"m{i}": value for i, value in enumerate(values)}


def test_keys_and_logic_nest_with_parentheses() -> None:
    predicate = compiled(
        {"year": {"$gte": 1990}, "$or": [{"a": 1, "b": 2}, {"$not": {"c": {"$in": [3]}}}]}
    )
    assert predicate.text == (
        "(m.`year` >= $filters.m0 AND ((m.`a` = $filters.m1 AND m.`b` = $filters.m2) "
        "OR NOT coalesce(m.`c` IN $filters.m3, false)))"
    )
    assert predicate.values == {"m0": 1990, "m1": 1, "m2": 2, "m3": [3]}


def test_and_of_one_filter_is_that_filter() -> None:
    assert compiled({"$and": [{"a": 1}]}).text == "(m.`a` = $filters.m0)"


def test_variable_names_the_values_so_that_two_filters_share_a_map() -> None:
    hop = compile_filter({"since": 3}, variable="r", parameter="$filters")
    assert (hop.text, hop.values) == ("r.`since` = $filters.r0", {"r0": 3})


def test_empty_filter_is_no_predicate() -> None:
    assert compiled({}) == Predicate("", {})


@pytest.mark.parametrize(
    ("key", "quoted"),
    [
        ("a`b", "`a``b`"),
        ("a b", "`a b`"),
        ("a\\u0060b", "`a\\u005Cu0060b`"),
        ("x} RETURN 1 //", "`x} RETURN 1 //`"),
    ],
)
def test_odd_key_is_itself_and_nothing_else(key: str, quoted: str) -> None:
    assert compiled({key: 1}).text == f"m.{quoted} = $filters.m0"


def test_text_of_a_value_never_enters_the_statement() -> None:
    predicate = compiled({"a": "x' OR true //"})
    assert predicate.text == "m.`a` = $filters.m0"
    assert predicate.values == {"m0": "x' OR true //"}


@pytest.mark.parametrize(
    ("filter_", "message"),
    [
        ({"a": {"$regex": "x"}}, "unknown operator '$regex'"),
        ({"$nor": [{"a": 1}]}, "stands where a property is expected"),
        ({"$and": {"a": 1}}, "takes a list of filters"),
        ({"$or": []}, "takes a list of filters"),
        ({"$or": [5]}, "takes a filter"),
        ({"$not": 5}, "takes a filter"),
        ({"a": {}}, "has no condition"),
        ({"a": {"$eq": {"b": 1}}}, "is not a value"),
        ({"a": {"$between": [1]}}, "takes two values"),
        ({"a": {"$in": "xy"}}, "takes a list"),
        ({"a": {"$nin": 5}}, "takes a list"),
        ({"a": {"$like": 5}}, "takes text"),
        ({"a": {"$ilike": None}}, "takes text"),
        ({"a": {"$exists": 1}}, "takes true or false"),
        ({"": 1}, "is not a name"),
        ({"a\0": 1}, "is not a name"),
    ],
)
def test_wrong_shape_is_named(filter_: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("$", r"\$")):
        compiled(filter_)


def test_filter_must_be_a_mapping() -> None:
    with pytest.raises(ConfigError, match="takes a filter"):
        compile_filter([{"a": 1}], variable="m", parameter="$filters")  # type: ignore[arg-type]
