"""Rows as every reader gives them: nodes, relationships and chunks, with our property rules. Pure.

Keys of ours that a file may use for something else: ``id`` and ``tenant`` of a node and ``key`` of
a relationship are stored with ``_`` behind (``id_``); what is computed here (``name_key``, vectors,
hashes) is left out. Both are reported as warnings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pathrag_gds.errors import LoadError
from pathrag_gds.ingest.values import check_text, json_text, storable
from pathrag_gds.text import fold, name_forms

__all__ = [
    "ChunkRow",
    "DataRow",
    "NodeRow",
    "Record",
    "RelationshipRow",
    "RowFault",
    "check_name",
    "chunk_row",
    "name_key",
    "node_row",
    "other_forms",
    "outdated_forms",
    "relationship_key",
    "relationship_row",
]

COMPUTED_KEYS = frozenset(
    {
        "alias_forms",
        "alias_keys",
        "embedding",
        "embedding_alt",
        "name_forms",
        "name_key",
        "text_hash",
        "text_hash_alt",
    }
)
# A node that is an entity and a chunk at once would have one place for two vectors.
_TEXT_LABELS = frozenset({"Chunk", "Document"})
RESERVED_LABELS = _TEXT_LABELS | {
    "__CommunityRun__",
    "__Community__",
    "__EntityType__",
    "__Load__",
    "__Neo4jMigration",
    "__Neo4jMigrationsLock",
    "__RelationType__",
    "__VectorIndex__",
}
# A range index holds keys up to about 8 kB: tenant and id together must stay below it.
MAX_ID_BYTES = 4000
MAX_KEY_CHARACTERS = 1000
DEFAULT_NAME_PROPERTIES = ("name", "title")


class RowFault(ValueError):
    """What is wrong with a row, and in which column, before the place in the file is known.

    Args:
        hint: What to do, empty where the message says enough.
    """

    def __init__(self, message: str, column: str = "", *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.hint = hint


@dataclass(frozen=True, slots=True)
class NodeRow:
    """An entity.

    Attributes:
        labels: Its own type labels, sorted.
        properties: As they are stored, ours included; ``name`` is absent when the row has none.
        warnings: What was changed about the row.
    """

    id: str
    labels: tuple[str, ...] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RelationshipRow:
    """A relationship between two entities.

    Attributes:
        key: Tells it from others of its type between the same two entities.
        creates_ends: Whether its ends are made when nothing else defines them.
        end_columns: What the file calls its two ends, for messages.
    """

    source: str
    type: str
    target: str
    key: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    creates_ends: bool = False
    end_columns: tuple[str, str] = ("source", "target")
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A piece of a document.

    Attributes:
        document: Id of the document, empty when the row names none.
        position: Place in the document, from 0; 0 when the row does not say.
        title: Of the document, empty when the row does not say.
    """

    id: str
    text: str
    document: str = ""
    position: int = 0
    title: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


DataRow = NodeRow | RelationshipRow | ChunkRow


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a file: a row, or what is wrong with it.

    Attributes:
        line: Where it begins, from 1.
        raw: Its text without the line end, for the reject file.
        row: None when it is at fault, or of no interest.
        fault: What is wrong and where, None when nothing is.
        reason: What is wrong, for the reject file.
    """

    line: int
    raw: str
    row: DataRow | None
    fault: LoadError | None = None
    reason: str = ""

    @classmethod
    def faulty(cls, path: Path, line: int, raw: str, fault: RowFault) -> Record:
        """Give the record of a row that cannot be used."""
        error = LoadError(
            f"{fault.message}.", path=path, line=line, column=fault.column, hint=fault.hint
        )
        reason = f"{fault.column}: {fault.message}" if fault.column else fault.message
        return cls(line, raw, None, error, reason)


def check_name(value: Any, column: str, *, what: str) -> str:
    """Give an id, label or type as text; whole numbers are written out.

    Raises:
        RowFault: It is empty, holds a NUL, is too long, or is neither text nor a whole number.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise RowFault(f"{what} must be text, not {value!r}", column)
    if not value:
        raise RowFault(f"{what} is empty", column)
    if "\0" in value:
        raise RowFault(f"{what} holds a NUL character", column)
    try:
        size = len(check_text(value).encode())
    except ValueError as error:
        raise RowFault(str(error), column) from None
    if size > MAX_ID_BYTES:
        raise RowFault(f"{what} is {size} bytes long, more than {MAX_ID_BYTES}", column)
    return value


def node_row(
    id: Any,
    labels: Iterable[Any],
    properties: Mapping[str, Any],
    *,
    id_column: str = "id",
    label_column: str = "labels",
    name_properties: Sequence[str] = DEFAULT_NAME_PROPERTIES,
) -> NodeRow:
    """Make a node row from what a reader found.

    Args:
        name_properties: The first of them that the row has becomes its ``name``.

    Raises:
        RowFault: The id, a label, a key or a value cannot be stored.
    """
    node_id = check_name(id, id_column, what="the id")
    own = {check_name(label, label_column, what="a label") for label in labels} - {"__Entity__"}
    if own & RESERVED_LABELS:
        raise _label_fault(min(own & RESERVED_LABELS), label_column)
    kept, warnings = _properties(properties, {"id", "tenant"})
    name = next((kept[p] for p in name_properties if kept.get(p) not in (None, "")), None)
    kept.pop("name", None)
    if name is not None:
        kept["name"] = name if isinstance(name, str) else _as_text(name)
        kept["name_key"] = name_key(kept["name"])
        if forms := other_forms([kept["name"]]):
            kept["name_forms"] = forms
    if "description" in kept and not isinstance(kept["description"], str):
        kept["description"] = _as_text(kept["description"])
    for key in ("aliases", "chunk_ids"):
        if key in kept:
            kept[key] = _texts(kept[key])
    if "aliases" in kept:
        kept["alias_keys"] = [name_key(alias) for alias in kept["aliases"]]
        if forms := other_forms(kept["aliases"]):
            kept["alias_forms"] = forms
    return NodeRow(node_id, tuple(sorted(own)), kept, warnings)


def relationship_row(
    source: Any,
    relationship_type: Any,
    target: Any,
    properties: Mapping[str, Any],
    *,
    key: Any = None,
    columns: tuple[str, str, str] = ("source", "type", "target"),
    creates_ends: bool = False,
) -> RelationshipRow:
    """Make a relationship row from what a reader found.

    Args:
        key: Given id; None or empty for the key that its ends and type make.
        columns: What the file calls source, type and target, for messages.

    Raises:
        RowFault: An end, the type, a key or a value cannot be stored.
    """
    start = check_name(source, columns[0], what="the start")
    name = check_name(relationship_type, columns[1], what="the type")
    end = check_name(target, columns[2], what="the end")
    kept, warnings = _properties(properties, {"key"})
    if "chunk_ids" in kept:
        kept["chunk_ids"] = _texts(kept["chunk_ids"])
    if "description" in kept and not isinstance(kept["description"], str):
        kept["description"] = _as_text(kept["description"])
    given = (
        relationship_key(start, name, end)
        if key in (None, "")
        else check_name(key, "key", what="the key")
    )
    return RelationshipRow(
        start, name, end, given, kept, creates_ends, (columns[0], columns[2]), warnings
    )


def chunk_row(
    id: Any,
    text: Any,
    *,
    document: Any = None,
    position: Any = None,
    title: Any = None,
    properties: Mapping[str, Any] | None = None,
) -> ChunkRow:
    """Make a chunk row from what a reader found.

    Raises:
        RowFault: The id is empty, the text is no text, the position no whole number.
    """
    chunk_id = check_name(id, "id", what="the id")
    if not isinstance(text, str):
        raise RowFault(f"the text must be text, not {text!r}", "text")
    if position is None:
        position = 0
    if not isinstance(position, int) or isinstance(position, bool):
        raise RowFault(f"the position must be a whole number, not {position!r}", "position")
    if title is not None and not isinstance(title, str):
        raise RowFault(f"the title must be text, not {title!r}", "title")
    try:
        check_text(text)
        check_text(title or "")
    except ValueError as error:
        raise RowFault(str(error), "text") from None
    owner = "" if document is None else check_name(document, "document", what="the document")
    kept, warnings = _properties(properties or {}, {"tenant"})
    return ChunkRow(chunk_id, text, owner, position, title or "", kept, warnings)


def relationship_key(source: str, relationship_type: str, target: str) -> str:
    """Give the key of a relationship that was given none: JSON of start, type and end."""
    return json_text([source, relationship_type, target])


def name_key(name: str) -> str:
    """Fold a name to what it is looked up by, cut where an index could not hold it."""
    return fold(name)[:MAX_KEY_CHARACTERS]


def other_forms(names: Iterable[str]) -> list[str]:
    """List the forms besides their keys in which names are looked up, each once, cut as keys are.

    See :func:`pathrag_gds.text.name_forms`; most names have none.
    """
    forms = {
        form[:MAX_KEY_CHARACTERS]: None
        for name in names
        for form in name_forms(name)
        if form != fold(name)
    }
    return list(forms)


def outdated_forms(properties: Mapping[str, Any]) -> list[str]:
    """List the keys of forms that went with earlier names and that a row's names have none of."""
    of_names = {"name_key": "name_forms", "alias_keys": "alias_forms"}
    return [
        forms for key, forms in of_names.items() if key in properties and forms not in properties
    ]


def _properties(
    properties: Mapping[str, Any], renamed: set[str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    kept: dict[str, Any] = {}
    warnings = []
    for key, value in properties.items():
        if key in COMPUTED_KEYS:
            warnings.append(f"property {key!r} is computed here and was left out")
            continue
        if not key or "\0" in key:
            raise RowFault(f"{key!r} is not a property key that Neo4j allows", key)
        try:
            check_text(key)
            stored = storable(value)
        except ValueError as error:
            raise RowFault(str(error), key) from None
        if stored is None:
            continue
        if key in renamed:
            warnings.append(f"property {key!r} is stored as {key + '_'!r}")
            key += "_"
            if key in properties:
                raise RowFault(f"there is a property {key!r} too", key)
        kept[key] = stored
    return kept, tuple(warnings)


def _label_fault(label: str, column: str) -> RowFault:
    hint = "Give the entities another label, or leave these rows out."
    if label in _TEXT_LABELS:
        hint = (
            "Load texts from a file of their own with pathrag load --chunks FILE; "
            "or give the entities another label."
        )
    return RowFault(f"an entity cannot have the label {label!r}, it is ours", column, hint=hint)


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [item if isinstance(item, str) else _as_text(item) for item in values]


def _as_text(value: Any) -> str:
    iso = getattr(value, "isoformat", None)
    return str(iso()) if iso else json_text(value)
