"""Read nodes and relationships from CSV or TSV with neo4j-admin import headers.

Quoting is RFC 4180: ``"`` around a cell, doubled inside; a quoted cell may hold line ends. An
empty cell means that the property is absent. Rows must have as many cells as the header. Columns
of type ``point`` and ``duration`` are not read: call them ``string``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from pathrag_gds.errors import LoadError
from pathrag_gds.ingest.headers import Column, Header, parse_header, spaced_id
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.lines import Lines
from pathrag_gds.ingest.rows import (
    DataRow,
    Record,
    RowFault,
    node_row,
    relationship_row,
)
from pathrag_gds.ingest.values import check_text, parse_cell

__all__ = ["delimiter_of", "read_delimited", "split_line"]

_MAX_CELL = 2**31 - 1


def delimiter_of(source: Input, first_line: str) -> str:
    """Give the delimiter: what was said, else by the file's ending and first line."""
    if source.delimiter:
        return source.delimiter
    names = [suffix.lower() for suffix in source.path.suffixes if suffix.lower() != ".gz"]
    ending = names[-1] if names else ""
    tabbed = ending in (".tsv", ".tab") or (ending != ".csv" and "\t" in first_line)
    return "\t" if tabbed else ","


def split_line(line: str, delimiter: str) -> list[str]:
    """Split one line into cells; a line that breaks the quoting rules gives itself."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return [line]


def read_delimited(source: Input, lines: Lines) -> Iterator[Record]:
    """Read the records after the header.

    Raises:
        LoadError: The header cannot be used, or the file not be read.
    """
    csv.field_size_limit(_MAX_CELL)
    taken: list[str] = []

    def kept() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line

    feed = kept()
    first = next(feed, "")
    delimiter = delimiter_of(source, first)
    head: list[str] = []
    reader = csv.reader(_chain(first, feed), delimiter=delimiter, strict=True)
    try:
        head = next(reader, [])
        header = parse_header([check_text(cell) for cell in head])
        _check_kind(source, header)
    except RowFault as fault:
        raise LoadError(
            fault.message + ".", path=source.path, line=1, column=fault.column
        ) from None
    except (csv.Error, ValueError) as error:
        raise LoadError(f"the header cannot be read: {error}.", path=source.path, line=1) from None
    while True:
        taken.clear()
        line = lines.number + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raw = "".join(taken)
            yield Record.faulty(source.path, line, raw, RowFault(_explain(str(error))))
            continue
        if not cells:
            continue
        raw = "".join(taken).rstrip("\r\n")
        try:
            yield Record(line, raw, _row(source, header, cells))
        except RowFault as fault:
            yield Record.faulty(source.path, line, raw, fault)


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    if first:
        yield first
    yield from rest


def _explain(error: str) -> str:
    if "unexpected end of data" in error:
        return "a quoted cell that begins here is never closed"
    return f"the quoting is broken: {error}"


def _check_kind(source: Input, header: Header) -> None:
    wanted = source.kind if source.kind in ("nodes", "relationships") else header.kind
    if not wanted or wanted != header.kind:
        needed = ":START_ID and :END_ID" if wanted == "relationships" else "an :ID column"
        raise RowFault(f"the header has no {needed.removeprefix('an ')}")
    roles = {column.role for column in header.columns}
    if wanted == "relationships" and "type" not in roles and not source.rel_type:
        raise RowFault("the header has no :TYPE column and no type was given for the file")


def _row(source: Input, header: Header, cells: list[str]) -> DataRow:
    columns = header.columns
    if len(cells) != len(columns):
        raise RowFault(f"the row has {len(cells)} cells, the header {len(columns)}")
    special: dict[str, str] = {}
    names: dict[str, str] = {}
    labels: list[str] = list(source.labels)
    properties: dict[str, Any] = {}
    for column, cell in zip(columns, cells, strict=True):
        try:
            check_text(cell)
        except ValueError as error:
            raise RowFault(str(error), column.text) from None
        match column.role:
            case "ignore":
                pass
            case "label":
                labels += [part for part in cell.split(source.array_delimiter) if part]
            case "property":
                if cell:
                    properties[column.name] = _value(source, column, cell)
            case role:
                special[role] = spaced_id(cell, column.space)
                names[role] = column.text
                if role == "id" and column.name not in ("", "id") and cell:
                    properties[column.name] = cell
    if header.kind == "nodes":
        return node_row(
            special["id"],
            labels,
            properties,
            id_column=names["id"],
            label_column=":LABEL",
            name_properties=source.name_properties,
        )
    key = properties.pop("key", None)
    return relationship_row(
        special["start"],
        special.get("type") or source.rel_type,
        special["end"],
        properties,
        key=key,
        columns=(names["start"], names.get("type", ":TYPE"), names["end"]),
    )


def _value(source: Input, column: Column, cell: str) -> Any:
    try:
        if not column.array:
            return parse_cell(cell, column.cell_type)
        return [parse_cell(part, column.cell_type) for part in cell.split(source.array_delimiter)]
    except ValueError as error:
        raise RowFault(str(error), column.text) from None
