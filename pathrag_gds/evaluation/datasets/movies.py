"""Neo4j's movies: their script becomes CSV with import headers.

Reads the CREATE clauses of the script, which is all that it has beside constraints: nodes
``(name:Label {…})`` and relationships ``(a)-[:TYPE {…}]->(b)`` with text, number and list values.
The script's own node names serve as ids.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

__all__ = ["convert", "parse"]

Value = str | int | list[str]
Node = tuple[str, str, dict[str, Value]]
Edge = tuple[str, str, str, dict[str, Value]]

_TOKEN = re.compile(
    r"""(?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
    r"|(?P<number>-?\d+)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<mark>->|<-|[-(){}\[\]:,;])"
    r"|(?P<space>\s+|//[^\n]*)"
)
_SCHEMA = re.compile(r"^\w+ (?:CONSTRAINT|INDEX)\b[^;]*;", re.MULTILINE)


def parse(script: str) -> tuple[list[Node], list[Edge]]:
    """Read nodes (name, label, properties) and relationships (start, type, end, properties).

    Raises:
        ValueError: The script has something else in a CREATE clause.
    """
    nodes: list[Node] = []
    edges: list[Edge] = []
    data = _SCHEMA.sub("", script)
    tokens = _Tokens([(m.lastgroup or "", m.group()) for m in _TOKEN.finditer(data)])
    while tokens.kind:
        if tokens.take_if("CREATE") or tokens.take_if(",") or tokens.take_if(";"):
            continue
        tokens.take("(")
        name = tokens.take()
        if tokens.take_if(":"):
            nodes.append((name, tokens.take(), _properties(tokens)))
            tokens.take(")")
            continue
        tokens.take(")")
        backwards = tokens.take_if("<-")
        if not backwards:
            tokens.take("-")
        tokens.take("[")
        tokens.take(":")
        relationship_type = tokens.take()
        properties = _properties(tokens)
        tokens.take("]")
        tokens.take("-" if backwards else "->")
        tokens.take("(")
        other = tokens.take()
        tokens.take(")")
        start, end = (other, name) if backwards else (name, other)
        edges.append((start, relationship_type, end, properties))
    return nodes, edges


class _Tokens:
    def __init__(self, found: Sequence[tuple[str, str]]) -> None:
        self._rest: Iterator[tuple[str, str]] = (t for t in found if t[0] != "space")
        self.kind, self.text = next(self._rest, ("", ""))

    def take(self, expected: str = "") -> str:
        text = self.text
        if not self.kind or (expected and text != expected):
            raise ValueError(f"expected {expected or 'more'}, found {text!r}")
        self.kind, self.text = next(self._rest, ("", ""))
        return text

    def take_if(self, expected: str) -> bool:
        if self.text != expected:
            return False
        self.take()
        return True


def _properties(tokens: _Tokens) -> dict[str, Value]:
    found: dict[str, Value] = {}
    if not tokens.take_if("{"):
        return found
    while not tokens.take_if("}"):
        key = tokens.take()
        tokens.take(":")
        found[key] = _value(tokens)
        tokens.take_if(",")
    return found


def _value(tokens: _Tokens) -> Value:
    if tokens.take_if("["):
        values: list[str] = []
        while not tokens.take_if("]"):
            values.append(str(_value(tokens)))
            tokens.take_if(",")
        return values
    kind, text = tokens.kind, tokens.take()
    if kind == "number":
        return int(text)
    if kind != "text":
        raise ValueError(f"expected a value, found {text!r}")
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def convert(script: Path, folder: Path) -> list[Path]:
    """Write ``movies.csv``, ``people.csv`` and ``relationships.csv``, and give their paths."""
    nodes, edges = parse(script.read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    movies = [node for node in nodes if node[1] == "Movie"]
    people = [node for node in nodes if node[1] == "Person"]
    return [
        _write(folder / "movies.csv", ["title", "released:int", "tagline"], movies),
        _write(folder / "people.csv", ["name", "born:int"], people),
        _write_edges(folder / "relationships.csv", edges),
    ]


def _write(path: Path, columns: Sequence[str], nodes: Sequence[Node]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["id:ID", *columns, ":LABEL"])
        for name, label, properties in nodes:
            rows.writerow([name, *_cells(properties, columns), label])
    return path


def _write_edges(path: Path, edges: Sequence[Edge]) -> Path:
    columns = ["roles:string[]", "summary", "rating:int"]
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([":START_ID", ":TYPE", ":END_ID", *columns])
        for start, relationship_type, end, properties in edges:
            rows.writerow([start, relationship_type, end, *_cells(properties, columns)])
    return path


def _cells(properties: Mapping[str, Value], columns: Sequence[str]) -> list[str]:
    values = (properties.get(column.split(":")[0], "") for column in columns)
    return [";".join(value) if isinstance(value, list) else str(value) for value in values]
