"""Turn what a file says into values that Neo4j can store. Pure.

Neo4j stores booleans, 64-bit integers, finite floats, text, temporal values and lists of one kind
of them. What it cannot store becomes JSON text: maps, lists that hold a list, a map or a null, and
lists of several kinds (whole numbers beside floats become floats). NaN and infinity are refused,
since JSON cannot carry them back. Null means that the property is absent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any

__all__ = ["CELL_TYPES", "check_text", "json_text", "parse_cell", "storable"]

_INT_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}
_MAX_INT = 2**63
_SURROGATE = re.compile("[\ud800-\udfff]")
_FINE_FRACTION = re.compile(r"\.\d{7,}")


def check_text(text: str) -> str:
    """Give the text back, or refuse what is no Unicode text.

    Raises:
        ValueError: It holds bytes that are not UTF-8, or half of a surrogate pair.
    """
    if not text.isascii():
        match = _SURROGATE.search(text)
        if match:
            code = ord(match.group())
            if 0xDC80 <= code <= 0xDCFF:
                raise ValueError(f"byte 0x{code - 0xDC00:02X} is not UTF-8")
            raise ValueError(f"\\u{code:04X} is half of a surrogate pair")
    return text


def storable(value: Any) -> Any:
    """Give what Neo4j can store for a JSON value; None where the property is to be absent.

    Raises:
        ValueError: NaN, infinity, a whole number beyond 64 bits, or text that is not Unicode.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(value)
    if isinstance(value, int):
        if not -_MAX_INT <= value < _MAX_INT:
            raise ValueError(f"{value} does not fit into 64 bits")
        return value
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, (date, time)):
        return value
    if isinstance(value, Mapping):
        return json_text(value)
    if isinstance(value, list):
        return _storable_list(value)
    raise ValueError(f"{type(value).__name__} is not a JSON value")


def _storable_list(values: list[Any]) -> Any:
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        return [_finite(float(value)) for value in values]
    if len(kinds) > 1 or kinds & {list, dict, type(None)}:
        return json_text(values)
    return [storable(value) for value in values]


def json_text(value: Any) -> str:
    """Write a value as compact JSON with sorted keys.

    Raises:
        ValueError: NaN, infinity, or text that is not Unicode.
    """
    try:
        text = json.dumps(
            value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
        )
    except ValueError:
        raise ValueError("NaN and infinity cannot be stored") from None
    return check_text(text)


def _finite(value: float) -> float:
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError("NaN and infinity cannot be stored")
    return value


def parse_cell(text: str, cell_type: str) -> Any:
    """Read one cell of a typed column.

    Args:
        cell_type: One of :data:`CELL_TYPES`.

    Raises:
        ValueError: The text is not of that type, or out of its range.
    """
    return CELL_TYPES[cell_type](text)


def _integer(bits: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text.strip())
        except ValueError:
            raise ValueError(f"{text!r} is not a whole number") from None
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise ValueError(f"{value} does not fit into {bits} bits")
        return value

    return parse


def _float(text: str) -> float:
    try:
        value = float(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    return _finite(value)


def _boolean(text: str) -> bool:
    value = {"true": True, "false": False}.get(text.strip().lower())
    if value is None:
        raise ValueError(f"{text!r} is neither true nor false")
    return value


def _char(text: str) -> str:
    if len(text) != 1:
        raise ValueError(f"{text!r} is not one character")
    return text


def _temporal(parse: Callable[[str], Any], kind: str, zoned: bool | None) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        text = text.strip()
        if _FINE_FRACTION.search(text):
            raise ValueError(f"{text!r} is finer than a microsecond")
        try:
            value = parse(text)
        except ValueError:
            raise ValueError(f"{text!r} is not an ISO 8601 {kind}") from None
        if zoned is not None and (value.tzinfo is not None) != zoned:
            raise ValueError(f"{text!r} {'has no' if zoned else 'has a'} time zone")
        return value

    return read


CELL_TYPES: Mapping[str, Callable[[str], Any]] = {
    **{name: _integer(bits) for name, bits in _INT_BITS.items()},
    "float": _float,
    "double": _float,
    "boolean": _boolean,
    "string": str,
    "char": _char,
    "date": _temporal(date.fromisoformat, "date", None),
    "localtime": _temporal(time.fromisoformat, "time", False),
    "time": _temporal(time.fromisoformat, "time", True),
    "localdatetime": _temporal(datetime.fromisoformat, "date and time", False),
    "datetime": _temporal(datetime.fromisoformat, "date and time", True),
}
