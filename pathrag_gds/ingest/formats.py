"""Tell what a file holds, and read it with the reader of that kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from pathrag_gds.errors import LoadError
from pathrag_gds.ingest.delimited import delimiter_of, read_delimited, split_line
from pathrag_gds.ingest.headers import parse_header
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.jsonl import looks_like_chunk, read_json_lines
from pathrag_gds.ingest.lines import Lines
from pathrag_gds.ingest.rows import Record, RowFault
from pathrag_gds.ingest.triples import read_triples

__all__ = ["detect", "read"]

_KINDS_HINT = "Say what it is: nodes, relationships, triples, chunks or json."


def detect(source: Input) -> Input:
    """Give the input with its kind settled by the first line that is not empty.

    A JSON object begins a ``chunks`` file when it has the fields of a chunk and no others, else a
    ``json`` file. A header with ``:ID`` begins ``nodes``, one with ``:START_ID`` and ``:END_ID``
    ``relationships``; three cells between tabs without such a header are ``triples``. A kind that
    was given is kept.

    Raises:
        LoadError: The file is empty or none of these.
    """
    with Lines(source.path) as lines:
        first = next((line for line in lines if line.strip()), "")
        number = lines.number
    if source.kind != "auto":
        return source
    if not first:
        raise LoadError("the file is empty.", path=source.path)
    if first.lstrip().startswith("{"):
        try:
            row = json.loads(first)
        except ValueError:
            row = None
        return replace(source, kind="chunks" if looks_like_chunk(row) else "json")
    if first.lstrip().startswith("["):
        raise LoadError(
            "the file is a JSON array; JSON Lines holds one object a line.",
            path=source.path,
            line=number,
            hint="Convert it: jq -c '.[]' FILE",
        )
    cells = split_line(first.rstrip("\r\n"), delimiter_of(source, first))
    fault = ""
    try:
        kind = parse_header(cells).kind
    except RowFault as error:
        kind, fault = "", error.message
        if any(cell.endswith(("ID", "TYPE", "LABEL")) or ":ID(" in cell for cell in cells):
            raise LoadError(
                fault + ".", path=source.path, line=number, column=error.column
            ) from None
    if kind:
        return replace(source, kind=kind)
    if first.count("\t") == 2:
        return replace(source, kind="triples")
    raise LoadError(
        "cannot tell what the file holds: its first line is no import header, no JSON object "
        "and no triple.",
        path=source.path,
        line=number,
        hint=_KINDS_HINT,
    )


def read(source: Input, lines: Lines) -> Iterator[Record]:
    """Read the records of an input whose kind is settled, in file order.

    Rows that cannot be used come as records with a fault; what spoils the whole file is raised.

    Raises:
        LoadError: The header, a dictionary or the file itself cannot be read.
    """
    match source.kind:
        case "nodes" | "relationships":
            return read_delimited(source, lines)
        case "triples":
            return read_triples(source, lines)
        case "chunks":
            return read_json_lines(source, lines, chunks=True)
        case "json":
            return read_json_lines(source, lines, chunks=False)
        case "auto":
            raise LoadError("the kind of the file is not settled yet.", path=source.path)
