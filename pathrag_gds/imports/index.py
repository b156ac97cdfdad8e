"""The index of another system, in our rows: what can be taken over, and what cannot."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pathrag_gds.errors import LoadError
from pathrag_gds.ingest.rows import ChunkRow, NodeRow, RelationshipRow, RowFault

__all__ = [
    "RELATED_TO",
    "DanglingEnd",
    "ForeignCommunity",
    "ForeignIndex",
    "checked",
    "folder_of",
    "parallel_pairs",
    "shared_names",
    "split_dangling",
]

RELATED_TO = "RELATED_TO"
"""Type of relationships of systems that have no types; what they say is their description."""

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class ForeignCommunity:
    """A community as another system found it.

    Attributes:
        key: Its name there, unique together with the level.
        node_ids: Ids of entities, strictly ascending, at least one.
        parent: Key of the community one level up; None where there is none.
        report: What is told about it, as text of JSON or not; empty where nothing is.
    """

    key: str
    level: int
    node_ids: tuple[str, ...]
    parent: str | None = None
    report: str = ""


@dataclass(frozen=True, slots=True)
class DanglingEnd:
    """A relationship that names an entity which there is not.

    Attributes:
        missing: The ends that are missing, as the relationship names them.
    """

    source: str
    target: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ForeignIndex:
    """What another system's index holds.

    Attributes:
        system: Whose it is.
        relationships: Those with both ends.
        dangling: Those without; no entity is made up for them.
        duplicates: Names that several entities have once they are folded, each with their ids.
        parallel: Pairs of entities with several relationships, in either direction.
        warnings: What else was left out or changed.
    """

    system: str
    nodes: tuple[NodeRow, ...]
    relationships: tuple[RelationshipRow, ...]
    chunks: tuple[ChunkRow, ...] = ()
    communities: tuple[ForeignCommunity, ...] = ()
    dangling: tuple[DanglingEnd, ...] = ()
    duplicates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parallel: int = 0
    warnings: tuple[str, ...] = ()


def folder_of(folder: Path | str, wanted: Iterable[str], system: str) -> Path:
    """Give the folder, or its ``output``, that holds one of the files.

    Raises:
        LoadError: There is none of them.
    """
    names = tuple(wanted)
    for place in (Path(folder), Path(folder) / "output"):
        if any((place / name).is_file() for name in names):
            return place
    raise LoadError(
        f"there is no {' or '.join(names)}, so this is no index of {system}.",
        path=Path(folder),
        hint="Name the folder that holds its files.",
    )


def checked(path: Path, number: int, make: Callable[..., Made], *args: Any, **kwargs: Any) -> Made:
    """Make a row; what is wrong with it becomes an error with its place.

    Args:
        number: Of the row in the file, from 1.

    Raises:
        LoadError: The row cannot be loaded.
    """
    try:
        return make(*args, **kwargs)
    except RowFault as fault:
        raise LoadError(
            f"{fault.message}.", path=path, line=number, column=fault.column, hint=fault.hint
        ) from None


def split_dangling(
    rows: Iterable[RelationshipRow], ids: Iterable[str]
) -> tuple[tuple[RelationshipRow, ...], tuple[DanglingEnd, ...]]:
    """Part relationships with both ends among the ids from those without."""
    known = frozenset(ids)
    whole: list[RelationshipRow] = []
    dangling: list[DanglingEnd] = []
    for row in rows:
        missing = tuple(end for end in dict.fromkeys((row.source, row.target)) if end not in known)
        if missing:
            dangling.append(DanglingEnd(row.source, row.target, missing))
        else:
            whole.append(row)
    return tuple(whole), tuple(dangling)


def shared_names(nodes: Iterable[NodeRow]) -> dict[str, tuple[str, ...]]:
    """Find names that several entities have once they are folded, in their order."""
    ids: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        ids[node.properties.get("name_key", node.id)].append(node.id)
    return {name: tuple(found) for name, found in ids.items() if len(found) > 1}


def parallel_pairs(rows: Sequence[RelationshipRow]) -> int:
    """Count the pairs of entities with several relationships, in either direction."""
    pairs = Counter(frozenset((row.source, row.target)) for row in rows)
    return sum(count > 1 for count in pairs.values())
