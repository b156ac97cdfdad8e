"""Compile filters in neo4j-graphrag's syntax to a predicate whose values are parameters. Pure.

``{"year": {"$gte": 1990}, "$or": [{"genre": "noir"}, {"genre": {"$in": ["crime", "film"]}}]}``:
several keys are joined by AND. Operators: ``$eq $ne $lt $lte $gt $gte $between $in $nin $like
$ilike $exists``, and ``$and $or $not``. ``$like`` means contains, as it does there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.queries import escape_identifier

__all__ = ["Predicate", "all_of", "compile_filter"]

_COMPARISONS = {"$eq": "=", "$ne": "<>", "$lt": "<", "$lte": "<=", "$gt": ">", "$gte": ">="}
_OPERATORS = (*_COMPARISONS, "$between", "$in", "$nin", "$like", "$ilike", "$exists")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate and its values: ``text`` is empty when the filter is."""

    text: str
    values: Mapping[str, Any]


def all_of(parts: Iterable[Predicate]) -> Predicate:
    """Join predicates by AND, those without a text left out; none gives an empty one.

    A key that two of them have must have one value in both: keys of filters over different
    variables are distinct.
    """
    parts = tuple(parts)
    values = {key: value for part in parts for key, value in part.values.items()}
    return Predicate(" AND ".join(part.text for part in parts if part.text), values)


def compile_filter(filter_: Mapping[str, Any], *, variable: str, parameter: str) -> Predicate:
    """Compile a filter.

    Args:
        filter_: The filter; empty gives an empty predicate.
        variable: The node or relationship of the statement that it is about.
        parameter: The map parameter that holds the values, such as ``$filters``; keys begin with
            the variable's name, so that two predicates can share it.

    Raises:
        ConfigError: An operator is unknown, or a value has the wrong shape for its operator.
    """
    values: dict[str, Any] = {}

    def bind(value: Any) -> str:
        if isinstance(value, Mapping):
            raise ConfigError(f"Filter: {value!r} is not a value.")
        # n1's eleventh value is not n11's first.
        key = f"{variable}{'_' if variable[-1].isdigit() else ''}{len(values)}"
        values[key] = value
        return f"{parameter}.{key}"

    def conjunction(condition: Mapping[str, Any]) -> str:
        parts = [one(key, value) for key, value in condition.items()]
        return parts[0] if len(parts) == 1 else "(" + " AND ".join(parts) + ")"

    def one(key: str, value: Any) -> str:
        if key in ("$and", "$or"):
            if not isinstance(value, (list, tuple)) or not value:
                raise ConfigError(f"Filter: {key} takes a list of filters, not {value!r}.")
            inner = [conjunction(_mapping(key, item)) for item in value]
            return "(" + f" {key[1:].upper()} ".join(inner) + ")"
        if key == "$not":
            return f"NOT coalesce({conjunction(_mapping(key, value))}, false)"
        if key.startswith("$"):
            raise ConfigError(
                f"Filter: {key!r} stands where a property is expected.",
                hint="Only $and, $or and $not may stand there.",
            )
        subject = f"{variable}.{escape_identifier(key)}"
        if not isinstance(value, Mapping):
            return f"{subject} = {bind(value)}"
        parts = [comparison(subject, key, operator, v) for operator, v in value.items()]
        if not parts:
            raise ConfigError(f"Filter: {key!r} has no condition.")
        return parts[0] if len(parts) == 1 else "(" + " AND ".join(parts) + ")"

    def comparison(subject: str, key: str, operator: str, value: Any) -> str:
        if operator in _COMPARISONS:
            return f"{subject} {_COMPARISONS[operator]} {bind(value)}"
        if operator == "$between":
            if not isinstance(value, (list, tuple)) or len(value) != 2:
                raise ConfigError(f"Filter: {key!r}: $between takes two values, not {value!r}.")
            low, high = bind(value[0]), bind(value[1])
            return f"{low} <= {subject} <= {high}"
        if operator in ("$in", "$nin"):
            if not isinstance(value, (list, tuple)):
                raise ConfigError(f"Filter: {key!r}: {operator} takes a list, not {value!r}.")
            test = f"{subject} IN {bind(list(value))}"
            return f"NOT {test}" if operator == "$nin" else test
        if operator in ("$like", "$ilike"):
            if not isinstance(value, str):
                raise ConfigError(f"Filter: {key!r}: {operator} takes text, not {value!r}.")
            if operator == "$like":
                return f"{subject} CONTAINS {bind(value)}"
            return f"toLower({subject}) CONTAINS {bind(value.lower())}"
        if operator == "$exists":
            if not isinstance(value, bool):
                raise ConfigError(f"Filter: {key!r}: $exists takes true or false, not {value!r}.")
            return f"{subject} IS {'NOT ' if value else ''}NULL"
        raise ConfigError(
            f"Filter: {key!r}: unknown operator {operator!r}.",
            hint="Operators: " + " ".join(_OPERATORS),
        )

    if not filter_:
        return Predicate("", {})
    return Predicate(conjunction(_mapping("the filter", filter_)), values)


def _mapping(key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not value:
        raise ConfigError(f"Filter: {key} takes a filter, not {value!r}.")
    return value
