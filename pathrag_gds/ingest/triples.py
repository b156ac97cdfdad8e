"""Read triples: head, relation and tail between tabs, one a line, no header, no quoting.

The text of an end is the entity's id and name, exactly; the middle is the relationship's type,
exactly. In a file of codes, dictionaries say what each code means; an entity whose text is empty
keeps its code as its id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pathrag_gds.errors import LoadError
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.lines import Lines
from pathrag_gds.ingest.rows import DataRow, Record, RowFault, relationship_row
from pathrag_gds.ingest.values import check_text

__all__ = ["read_dictionary", "read_triples"]

_COLUMNS = ("head", "relation", "tail")


def read_dictionary(path: Path) -> dict[str, str]:
    """Read a file of code, tab, text.

    Raises:
        LoadError: A line has no tab, a code stands twice, or a line is not UTF-8.
    """
    texts: dict[str, str] = {}
    with Lines(path) as lines:
        for line in lines:
            code, tab, text = _stripped(line).partition("\t")
            if not tab:
                raise LoadError("the line has no tab.", path=path, line=lines.number)
            if code in texts:
                raise LoadError(f"the code {code!r} stands twice.", path=path, line=lines.number)
            try:
                texts[code] = check_text(text)
            except ValueError as error:
                raise LoadError(f"{error}.", path=path, line=lines.number) from None
    return texts


def read_triples(source: Input, lines: Lines) -> Iterator[Record]:
    """Read every line but empty ones.

    Raises:
        LoadError: A dictionary cannot be used, or the file not be read.
    """
    entities = read_dictionary(source.entities) if source.entities else None
    relations = read_dictionary(source.relations) if source.relations else None
    for text in lines:
        line, raw = lines.number, _stripped(text)
        if not raw:
            continue
        try:
            yield Record(line, raw, _row(raw, entities, relations))
        except RowFault as fault:
            yield Record.faulty(source.path, line, raw, fault)


def _stripped(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _row(
    raw: str, entities: Mapping[str, str] | None, relations: Mapping[str, str] | None
) -> DataRow:
    cells = raw.split("\t")
    if len(cells) != 3:
        raise RowFault(f"a triple has 3 cells between tabs, this line {len(cells)}")
    head, relation, tail = cells
    if entities is not None:
        head = _meaning(head, entities, "head") or head
        tail = _meaning(tail, entities, "tail") or tail
    if relations is not None:
        relation = _meaning(relation, relations, "relation")
    return relationship_row(head, relation, tail, {}, columns=_COLUMNS, creates_ends=True)


def _meaning(code: str, texts: Mapping[str, str], column: str) -> str:
    try:
        return texts[code]
    except KeyError:
        raise RowFault(f"the code {code!r} is not in the dictionary", column) from None
