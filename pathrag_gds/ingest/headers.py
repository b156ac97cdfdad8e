"""Read the header line of neo4j-admin import: ``id:ID(Person)``, ``age:int``, ``:LABEL``. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pathrag_gds.ingest.rows import RowFault
from pathrag_gds.ingest.values import CELL_TYPES

__all__ = ["Column", "Header", "parse_header", "spaced_id"]

Role = Literal["property", "id", "label", "start", "end", "type", "ignore"]

_ROLES: dict[str, Role] = {
    "ID": "id",
    "LABEL": "label",
    "START_ID": "start",
    "END_ID": "end",
    "TYPE": "type",
    "IGNORE": "ignore",
}
_TYPE = re.compile(r"(?P<type>[A-Za-z_]+)(?P<array>\[\])?(?:\((?P<space>[^)]*)\))?(?:\{.*\})?")
# Lists by their meaning, so that a plain column of this name is one too.
_LISTS = frozenset({"aliases", "chunk_ids"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        text: The header cell, for messages.
        name: Property key; empty for a column that is no property.
        space: Id space of an ``ID``, ``START_ID`` or ``END_ID`` column.
        cell_type: Type of a property's values.
    """

    text: str
    role: Role
    name: str = ""
    space: str = ""
    cell_type: str = "string"
    array: bool = False


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of a file, in order."""

    columns: tuple[Column, ...]

    @property
    def kind(self) -> Literal["nodes", "relationships", ""]:
        """What the rows are; empty when the header does not say."""
        roles = {column.role for column in self.columns}
        if {"start", "end"} <= roles:
            return "relationships"
        return "nodes" if "id" in roles else ""


def parse_header(cells: Sequence[str]) -> Header:
    """Read the cells of a header line.

    Raises:
        RowFault: A type is unknown, a column has neither name nor role, or stands twice.
    """
    columns = tuple(_column(cell) for cell in cells)
    seen: set[str] = set()
    for column in columns:
        names = {column.name} if column.role == "property" else set()
        if column.role in ("start", "end", "type"):
            names = {f":{column.role}"}
        if column.role == "id" and column.name:
            names = {column.name}
        if names & seen:
            raise RowFault(f"the header has two columns {column.text!r}", column.text)
        seen |= names
    if sum(column.role == "id" for column in columns) > 1:
        raise RowFault("the header has two :ID columns; join them into one first", ":ID")
    return Header(columns)


def _column(cell: str) -> Column:
    name, colon, spec = cell.rpartition(":")
    if not colon:
        name, spec = cell, "string"
    match = _TYPE.fullmatch(spec.strip())
    kind = match["type"] if match else ""
    role = _ROLES.get(kind.upper()) if colon else None
    if match and role:
        return Column(cell, role, name, match["space"] or "")
    if match is None or kind.lower() not in CELL_TYPES:
        known = ", ".join([*_ROLES, *CELL_TYPES])
        raise RowFault(f"{spec!r} is no column type; known: {known}", cell)
    if not name:
        raise RowFault("the column has no name", cell)
    array = bool(match["array"]) or name in _LISTS
    return Column(cell, "property", name, "", kind.lower(), array)


def spaced_id(text: str, space: str) -> str:
    """Give the entity id of an id in an id space: ``Person:1``; without a space the id itself.

    Ids of different spaces may be equal, entity ids of one tenant may not.
    """
    return f"{space}:{text}" if space and text else text
