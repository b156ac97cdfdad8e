"""Which file, and how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pathrag_gds.errors import ConfigError
from pathrag_gds.ingest.rows import DEFAULT_NAME_PROPERTIES

__all__ = ["Input", "Kind"]

Kind = Literal["auto", "nodes", "relationships", "triples", "chunks", "json"]


@dataclass(frozen=True, slots=True)
class Input:
    """One file to load.

    Attributes:
        path: The file, gzipped or not.
        kind: ``nodes`` and ``relationships`` are CSV or TSV with neo4j-admin import headers;
            ``triples`` are head, relation and tail between tabs; ``json`` and ``chunks`` are JSON
            Lines. ``auto`` looks at the first row.
        delimiter: Between the cells of CSV; empty takes a tab for ``.tsv``, ``.tab`` and a first
            line of a ``.txt`` file that has one, else a comma.
        array_delimiter: Between the values of a list and between labels, one character.
        labels: Given to every node of the file, besides its own.
        rel_type: Type of relationships whose row has none.
        entities: For triples of codes: the file that says what each code means, code and text
            between a tab.
        relations: The same for the middle column.
        name_properties: The first of these properties that a node has is its name.
    """

    path: Path
    kind: Kind = "auto"
    delimiter: str = ""
    array_delimiter: str = ";"
    labels: tuple[str, ...] = ()
    rel_type: str = ""
    entities: Path | None = None
    relations: Path | None = None
    name_properties: tuple[str, ...] = DEFAULT_NAME_PROPERTIES

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ConfigError(
                f"There is no kind of input {self.kind!r}.",
                hint="Kinds: " + ", ".join(get_args(Kind)),
            )
        for name, value in (
            ("delimiter", self.delimiter),
            ("array_delimiter", self.array_delimiter),
        ):
            if len(value) > 1 or value in ("\n", "\r", '"'):
                raise ConfigError(f"{name} must be one character, no quote, not {value!r}.")
        if not self.array_delimiter:
            raise ConfigError("array_delimiter must not be empty.")
        if self.delimiter == self.array_delimiter:
            raise ConfigError(f"delimiter and array_delimiter are both {self.delimiter!r}.")
