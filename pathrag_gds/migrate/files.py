"""One migration file: its name, statements, checksum, and the rules that it must keep.

The rules of names, of where a statement ends and of the checksum are those of neo4j-migrations
(https://michael-simons.github.io/neo4j-migrations/), so one folder serves both tools. What that
tool would misread in silence is an error here: see :func:`parse`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pathrag_gds.errors import InvalidMigration

__all__ = [
    "PHASES",
    "PLACEHOLDER",
    "Callback",
    "Migration",
    "checksum",
    "is_version",
    "parse",
    "split_statements",
    "version_key",
    "visible",
]

Kind = Literal["schema", "data", "batches"]

PHASES = (
    "beforeFirstUse",
    "beforeMigrate",
    "afterMigrate",
    "beforeClean",
    "afterClean",
    "beforeValidate",
    "afterValidate",
    "beforeInfo",
    "afterInfo",
)

_VERSIONED = re.compile(
    r"(?P<type>[VR])(?P<version>[0-9]+(?:_[0-9]+)*|[0-9]+(?:\.[0-9]+)*)"
    r"__(?P<description>[A-Za-z0-9_ ]+)\.cypher"
)
_CALLBACK = re.compile(
    rf"(?P<phase>{'|'.join(PHASES)})(?:__(?P<description>[A-Za-z0-9_ ]+))?\.cypher"
)
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_STATEMENT_END = re.compile(r";(?:\r\n|\r|\n)")
_JAVA_SPACE = "".join(map(chr, range(0x21)))  # what Java's trim() removes
_HIDDEN = re.compile(
    r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`(?:``|[^`])*`|//[^\n]*|/\*.*?\*/", re.DOTALL
)
PLACEHOLDER = re.compile(r"\$\{nm:([A-Za-z0-9_.-]+)\}")
_SCHEMA = re.compile(
    r"(?:CYPHER\s+\S+\s+)?(?:(?P<create>CREATE)\s+(?:\w+\s+)?(?:INDEX|CONSTRAINT)"
    r"|DROP\s+(?:INDEX|CONSTRAINT))\b",
    re.I,
)
_BATCHES = re.compile(r"\bIN\s+(?:\d+\s+|\$\w+\s+)?(?:CONCURRENT\s+)?TRANSACTIONS\b", re.I)
_NOT_TRANSACTIONAL = re.compile(r"^//\s*transactional\s*:\s*no\s*$", re.I | re.M)
_PRECONDITION = re.compile(r"^\s*//\s*(?:assert|assume)\s+(?:that|q')", re.I | re.M)


@dataclass(frozen=True, slots=True)
class Migration:
    """One versioned or repeatable migration file.

    Attributes:
        path: Where it lies.
        version: As recorded on the database, such as ``001`` or ``1.2``.
        description: Words of the name.
        repeatable: Applied again whenever its checksum changes.
        kind: ``schema`` changes indexes and constraints only; ``data`` is one transaction with its
            record; ``batches`` commits on its own, statement by statement.
        statements: What is run, in order, placeholders unfilled.
        checksum: CRC-32 of the unfilled statements, as neo4j-migrations computes it.
        placeholders: Names that the text asks for, sorted.
    """

    path: Path
    version: str
    description: str
    repeatable: bool
    kind: Kind
    statements: tuple[str, ...]
    checksum: str
    placeholders: tuple[str, ...]

    @property
    def name(self) -> str:
        """File name, recorded as the source."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class Callback:
    """A file that runs at a phase of the work; neither recorded nor checked for changes.

    Attributes:
        phase: One of :data:`PHASES`.
        description: Orders the callbacks of a phase; may be empty.
        statements: What is run, each in a transaction of its own, placeholders unfilled.
        needs_gds: Whether it calls anything of ``gds.``.
    """

    path: Path
    phase: str
    description: str
    statements: tuple[str, ...]
    placeholders: tuple[str, ...]
    needs_gds: bool

    @property
    def name(self) -> str:
        """File name."""
        return self.path.name


def is_version(text: str) -> bool:
    """Say whether a text is a version: numbers with dots between."""
    return re.fullmatch(r"[0-9]+(?:\.[0-9]+)*", text) is not None


def version_key(version: str) -> tuple[int, ...]:
    """Give what versions are ordered by: their numbers, so 2 < 10, 001 = 1 and 1.0 = 1."""
    numbers = [int(part) for part in version.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def split_statements(text: str) -> tuple[str, ...]:
    """Cut a file at every ``;`` that a line break follows, wherever it stands.

    Strings and comments are not understood, as in neo4j-migrations; :func:`parse` refuses files
    where that would matter. Chunks that hold only comments are kept: they count for the checksum.
    """
    chunks = (chunk.strip(_JAVA_SPACE) for chunk in _STATEMENT_END.split(text))
    trimmed = (chunk.removesuffix(";").strip(_JAVA_SPACE) for chunk in chunks)
    return tuple(chunk for chunk in trimmed if chunk)


def checksum(statements: Iterable[str]) -> str:
    """Give the CRC-32 over the UTF-8 bytes of the statements, as an unsigned decimal."""
    value = 0
    for statement in statements:
        value = zlib.crc32(statement.encode(), value)
    return str(value)


def visible(text: str) -> str:
    """Give the text with strings, quoted names and comments blanked out, same length and lines."""
    return _HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def parse(path: Path, content: bytes) -> Migration | Callback:
    """Read one file and check it against the rules.

    Args:
        path: Its name decides what it is.
        content: UTF-8 without a byte order mark; CRLF and CR count as LF.

    Raises:
        InvalidMigration: The name is neither a version's nor a phase's; the text is not UTF-8,
            empty, or would be cut inside a string or comment; a ``;`` does not end its line; it
            has a precondition or ``:use``; schema and data are mixed; a schema statement cannot be
            repeated; batches are not declared.
    """
    named = _VERSIONED.fullmatch(path.name)
    callback = _CALLBACK.fullmatch(path.name)
    if named is None and callback is None:
        raise InvalidMigration(
            f"{path}: the name is neither that of a migration nor that of a callback.",
            hint="Names look like V001__create_index.cypher, R002__refresh_names.cypher or "
            "afterMigrate__project.cypher; descriptions have letters, digits and underscores only.",
        )
    text = _decode(path, content)
    _check_cuts(path, text)
    chunks = split_statements(text)
    statements = tuple(chunk for chunk in chunks if _without_comments(chunk))
    if not statements:
        raise InvalidMigration(f"{path}: there is no statement in it.")
    _check_forbidden(path, text, statements)
    placeholders = tuple(sorted(set(PLACEHOLDER.findall(text))))
    if named is None:
        assert callback is not None
        return Callback(
            path=path,
            phase=callback["phase"],
            description=(callback["description"] or "").replace("_", " "),
            statements=statements,
            placeholders=placeholders,
            needs_gds=any(re.search(r"\bgds\s*\.", visible(s), re.I) for s in statements),
        )
    return Migration(
        path=path,
        version=named["version"].replace("_", "."),
        description=named["description"].replace("_", " "),
        repeatable=named["type"] == "R",
        kind=_kind(path, text, statements),
        statements=statements,
        checksum=checksum(chunks),
        placeholders=placeholders,
    )


def _decode(path: Path, content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InvalidMigration(f"{path} is not UTF-8 (byte {error.start}).") from error
    if text.startswith("\ufeff"):
        raise InvalidMigration(f"{path} begins with a byte order mark.", hint="Save it without.")
    return _LINE_BREAK.sub("\n", text)


def _check_cuts(path: Path, text: str) -> None:
    open_text = visible(text)
    for match in re.finditer(";", text):
        at = match.start()
        line = text.count("\n", 0, at) + 1
        ends_line = text[at + 1 : at + 2] in ("", "\n")
        shown = open_text[at] == ";"
        if ends_line and not shown:
            raise InvalidMigration(
                f"{path}:{line}: a ';' at the end of a line inside a string or a comment would "
                "cut the statement there.",
                hint="Move the ';' or break the line elsewhere.",
            )
        if shown and not ends_line:
            raise InvalidMigration(
                f"{path}:{line}: a ';' ends a statement only as the last character of its line.",
                hint="Put the next statement or comment on a line of its own.",
            )


def _without_comments(chunk: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", _strings_blanked(chunk), flags=re.S).strip()


def _strings_blanked(chunk: str) -> str:
    # A string may hold "//": it must not look like a comment, but must stay something.
    return _HIDDEN.sub(lambda m: m.group() if m.group()[0] == "/" else "_" * len(m.group()), chunk)


def _check_forbidden(path: Path, text: str, statements: tuple[str, ...]) -> None:
    match = _PRECONDITION.search(text)
    if match:
        line = text.count("\n", 0, match.end()) + 1
        raise InvalidMigration(
            f"{path}:{line}: preconditions are not supported here.",
            hint="Begin the comment with another word, or run the folder with neo4j-migrations.",
        )
    if any(_without_comments(statement).startswith(":") for statement in statements):
        raise InvalidMigration(
            f"{path}: ':use' and other shell commands are not supported.",
            hint="Choose the database with --database.",
        )


def _kind(path: Path, text: str, statements: tuple[str, ...]) -> Kind:
    schema: list[int] = []
    other: list[int] = []
    batches: list[int] = []
    for number, statement in enumerate(statements, start=1):
        shown = visible(statement).strip()
        match = _SCHEMA.match(shown)
        if match is None:
            other.append(number)
            if _BATCHES.search(shown):
                batches.append(number)
            continue
        schema.append(number)
        guard = r"\bIF\s+NOT\s+EXISTS\b" if match["create"] else r"\bIF\s+EXISTS\b"
        if not re.search(guard, shown, re.I):
            wanted = "IF NOT EXISTS" if match["create"] else "IF EXISTS"
            raise InvalidMigration(
                f"{path}: statement {number} must say {wanted}, so that it may run again after a "
                "crash."
            )
    declared = bool(_NOT_TRANSACTIONAL.search(text))
    if schema and other:
        fewer = schema if len(schema) < len(other) else other
        raise InvalidMigration(
            f"{path}: it mixes changes of the schema with other statements, which Neo4j does not "
            f"allow in one transaction; statement {fewer[0]} belongs in a file of its own."
        )
    if batches and not declared:
        raise InvalidMigration(
            f"{path}: statement {batches[0]} commits in batches, so a failure leaves part of it "
            "done.",
            hint="If it may be run again then, say so with the comment: // transactional: no",
        )
    if schema:
        return "schema"
    return "batches" if declared else "data"
