"""Values as they leave the database: plain Python that JSON can hold. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["plain", "size_of"]

_NUMBER_BYTES = 8


def plain(value: Any) -> Any:
    """Turn what JSON cannot hold into what it can.

    Temporal values and durations become ISO 8601 text, points maps of ``srid`` and
    ``coordinates``, bytes hexadecimal text, numbers that are none (NaN, infinities) their names.
    Lists and maps are gone through. Everything else stays as it is.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    # Points and durations are tuples of numbers, too, so they are asked first.
    if hasattr(value, "srid"):
        return {"srid": value.srid, "coordinates": list(value)}
    iso = getattr(value, "iso_format", None)
    if iso is not None:
        return iso()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)


def size_of(value: Any) -> int:
    """Give about how many bytes a plain value takes on the wire: texts in UTF-8, 8 for others."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, Mapping):
        return sum(len(key) + size_of(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return sum(map(size_of, value))
    return _NUMBER_BYTES
