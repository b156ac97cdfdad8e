"""Indexes and constraints: what the migrations ask for against what the database has.

``IF NOT EXISTS`` is silent when an index of the same name, or over the same properties, exists with
other settings. So what a migration asks for is read from its text and compared with what is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pathrag_gds.migrate.files import visible

__all__ = ["Definition", "Finding", "compare", "dropped_name", "existing", "read_definition"]

Problem = Literal["missing", "other_name", "different", "failed", "populating"]

_NAME = r"(`(?:``|[^`])*`|\w+)"
_HEAD = re.compile(
    rf"\s*(?:CYPHER\s+\S+\s+)?CREATE\s+(?:(?P<type>\w+)\s+)?(?P<what>INDEX|CONSTRAINT)\s+"
    rf"(?:(?P<name>(?!IF\s+NOT\b){_NAME})\s+)?IF\s+NOT\s+EXISTS\s+FOR\s+(?P<pattern>.*?)\s+"
    rf"(?:ON|REQUIRE)\s+(?P<rest>.*)",
    re.I | re.S,
)
_DROP = re.compile(
    rf"\s*(?:CYPHER\s+\S+\s+)?DROP\s+(?:INDEX|CONSTRAINT)\s+(?P<name>{_NAME})\s+IF\s+EXISTS", re.I
)
_LABELS = re.compile(rf":\s*({_NAME}(?:\s*\|\s*{_NAME})*)")
_PROPERTY = re.compile(rf"(?:\b\w+|`(?:``|[^`])*`)\s*\.\s*{_NAME}")
_SETTING = re.compile(r"`([\w.]+)`\s*:\s*('[^']*'|\"[^\"]*\"|[\w.+-]+)")
_COMMENT = re.compile(r"^\s*//[^\n]*\n?", re.M)


@dataclass(frozen=True, slots=True)
class Definition:
    """An index or a constraint.

    Attributes:
        name: Empty when the statement leaves it to the server.
        type: ``RANGE``, ``VECTOR``, ``FULLTEXT`` …, or for constraints ``UNIQUE``, ``KEY``,
            ``EXISTENCE``, ``TYPE``.
        constraint: Whether it is a constraint.
        labels: Labels or relationship types, sorted.
        properties: In order.
        settings: Those that are asked for, or all that there are, in lower case.
        statement: The one that makes it.
        state: ``ONLINE``, ``POPULATING`` or ``FAILED``; empty for what is only asked for.
    """

    name: str
    type: str
    constraint: bool
    labels: tuple[str, ...]
    properties: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    statement: str = ""
    state: str = ""
    percent: float = 100.0
    failure: str = ""

    @property
    def shape(self) -> tuple[str, bool, tuple[str, ...], tuple[str, ...]]:
        """Give what makes two of them the same but for name and settings."""
        return (self.type, self.constraint, self.labels, self.properties)

    def __str__(self) -> str:
        what = "constraint" if self.constraint else "index"
        return (
            f"{self.type.lower()} {what} {self.name or '(unnamed)'} on "
            f"{'|'.join(self.labels)}({', '.join(self.properties)})"
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """Where the database differs from what the migrations ask for.

    Attributes:
        name: Of the index or constraint that is asked for.
        problem: ``missing``; ``other_name``: the same thing exists under another name;
            ``different``: other properties or settings; ``failed`` or ``populating``.
        message: One sentence.
        hint: What to do.
        setting: Which setting differs, such as ``vector.dimensions``; else empty.
        wanted: Its value in the migration.
        found: Its value on the database.
        statement: The one that makes what is asked for.
    """

    name: str
    problem: Problem
    message: str
    hint: str = ""
    setting: str = ""
    wanted: str = ""
    found: str = ""
    statement: str = ""


def read_definition(statement: str) -> Definition | None:
    """Read what a filled-in CREATE statement asks for; None when it is another statement."""
    text = _COMMENT.sub("", statement)
    match = _HEAD.match(text)
    if match is None or (match["type"] or "").upper() == "LOOKUP":
        return None
    constraint = match["what"].upper() == "CONSTRAINT"
    rest = match["rest"]
    head, options = _at_options(rest)
    labels = _LABELS.search(match["pattern"])
    return Definition(
        name=_plain(match["name"] or ""),
        type=_constraint_type(visible(rest)) if constraint else (match["type"] or "RANGE").upper(),
        constraint=constraint,
        labels=tuple(sorted(map(_plain, re.findall(_NAME, labels.group(1))))) if labels else (),
        properties=tuple(map(_plain, _PROPERTY.findall(head))),
        settings={key: _setting(value) for key, value in _SETTING.findall(options)},
        statement=statement,
    )


def dropped_name(statement: str) -> str:
    """Give the name that a DROP statement removes, empty for other statements."""
    match = _DROP.match(_COMMENT.sub("", statement))
    return _plain(match["name"]) if match else ""


def existing(
    indexes: Iterable[Mapping[str, Any]], constraints: Iterable[Mapping[str, Any]]
) -> tuple[Definition, ...]:
    """Read the rows of ``migrate/show_indexes`` and ``migrate/show_constraints``."""
    found = [
        Definition(
            name=row["name"],
            type=row["type"],
            constraint=False,
            labels=tuple(sorted(row["labels"] or ())),
            properties=tuple(row["properties"] or ()),
            settings={key: _setting(value) for key, value in (row["settings"] or {}).items()},
            statement=row["statement"] or "",
            state=row["state"],
            percent=row["percent"],
            failure=row["failure"] or "",
        )
        for row in indexes
    ]
    found += [
        Definition(
            name=row["name"],
            type=_constraint_type(row["type"]),
            constraint=True,
            labels=tuple(sorted(row["labels"] or ())),
            properties=tuple(row["properties"] or ()),
            state="ONLINE",
        )
        for row in constraints
    ]
    return tuple(found)


def compare(wanted: Sequence[Definition], found: Sequence[Definition]) -> tuple[Finding, ...]:
    """List every difference, in the order of what is wanted; empty when all is there and ready.

    Only settings that a migration names are compared: servers add their own, with defaults that
    change from version to version.
    """
    return tuple(finding for one in wanted if (finding := _compare(one, found)) is not None)


def _compare(wanted: Definition, found: Sequence[Definition]) -> Finding | None:
    same_name = next((f for f in found if wanted.name and f.name == wanted.name), None)
    same_shape = next((f for f in found if f.shape == wanted.shape), None)
    what = "CONSTRAINT" if wanted.constraint else "INDEX"
    if same_name is None and same_shape is None:
        return Finding(
            wanted.name, "missing", f"There is no {wanted}.", "Run: pathrag migrate up",
            statement=wanted.statement,
        )  # fmt: skip
    if same_name is not None and same_name.shape != wanted.shape:
        kind = "CONSTRAINT" if same_name.constraint else "INDEX"
        return Finding(
            wanted.name, "different",
            f"The name {wanted.name} is taken: there is a {same_name}, wanted is a {wanted}.",
            f"If you do not need it: DROP {kind} {wanted.name}; then run: pathrag migrate up",
            statement=wanted.statement,
        )  # fmt: skip
    there = same_name or same_shape
    assert there is not None
    for key, value in wanted.settings.items():
        actual = there.settings.get(key, "")
        if actual != value:
            return Finding(
                wanted.name, "different",
                f"Index {there.name} has {key} {actual or 'unset'}, the migration asks for "
                f"{value}.",
                _different_hint(there.name, key, actual),
                setting=key, wanted=value, found=actual, statement=wanted.statement,
            )  # fmt: skip
    if same_name is None and wanted.name:
        return Finding(
            wanted.name, "other_name",
            f"{wanted} exists under another name, {there.name}.",
            f"Drop that one: DROP {what} {there.name}; then run: pathrag migrate up",
            statement=wanted.statement,
        )  # fmt: skip
    if there.state == "FAILED":
        return Finding(
            there.name, "failed", f"Index {there.name} has failed: {there.failure.strip()}",
            f"DROP INDEX {there.name}; then run: pathrag migrate up", statement=wanted.statement,
        )  # fmt: skip
    if there.state not in ("", "ONLINE"):
        return Finding(
            there.name, "populating",
            f"Index {there.name} is not ready yet: {there.percent:.0f} % done.",
            "Wait, then run: pathrag migrate status", statement=wanted.statement,
        )  # fmt: skip
    return None


def _different_hint(name: str, key: str, actual: str) -> str:
    placeholder = {
        "vector.dimensions": "vector_dimensions",
        "vector.similarity_function": "vector_similarity",
        "fulltext.analyzer": "fulltext_analyzer",
    }.get(key, "")
    if placeholder and actual:
        return (
            f"Keep it: pathrag migrate up --placeholder {placeholder}={actual}; "
            f"or drop it: DROP INDEX {name}; then: pathrag migrate up"
        )
    return f"Drop it: DROP INDEX {name}; then run: pathrag migrate up"


def _at_options(rest: str) -> tuple[str, str]:
    match = re.search(r"\bOPTIONS\b", visible(rest), re.I)
    return (rest, "") if match is None else (rest[: match.start()], rest[match.start() :])


def _constraint_type(text: str) -> str:
    text = text.upper().replace("_", " ")
    if re.search(r"\bKEY\b", text):
        return "KEY"
    if re.search(r"\bUNIQUE|UNIQUENESS\b", text):
        return "UNIQUE"
    if "EXISTENCE" in text or re.search(r"\bNOT\s+NULL\b", text):
        return "EXISTENCE"
    return "TYPE"


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _setting(value: Any) -> str:
    return str(value).strip("'\"").lower()
