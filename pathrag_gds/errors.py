"""Every error this package raises on purpose.

PathRAGError                     exit 1
├── ConfigError                  exit 2   a setting, option or file of ours is wrong
│   └── TenantError                       a call crosses from one tenant into another
├── DatabaseError                exit 3   query, code, cause
│   ├── ServerUnavailable                 nothing answers at the address
│   ├── AuthFailed                        the server refused the credentials
│   ├── QueryTimeout                      the server stopped the statement at its time limit
│   ├── IndexMissing                      an index is absent or not ONLINE
│   ├── DimensionMismatch                 expected, found
│   ├── EncoderMismatch                   the index was filled by another encoder
│   ├── GdsMissing                        the server has no Graph Data Science plugin
│   └── GdsMemory                         a graph is too large for it; needed, free
├── EmbeddedServerError          exit 4   install, start, stop, dump, restore of the embedded server
├── MigrationError               exit 5
│   ├── InvalidMigration                  name, text or placeholder of a file breaks a rule
│   ├── ChecksumDrift                     an applied file was edited
│   ├── MigrationMissing                  an applied file is gone
│   ├── OutOfOrder                        a pending file is older than the newest applied one
│   ├── MigrationLocked                   another runner holds the lock
│   └── ApplyFailed                       a statement failed
├── LoadError                    exit 6   file, line, column
├── ModelError                   exit 7   a model cannot be loaded or run
│   ├── LLMError                          the endpoint of a language model; HTTP status
│   └── MissingExtra                      an optional dependency is not installed
├── PartialError                 exit 8   some of the work was done; says which part was not
│   └── GraphRAGError                     a community could not be reported, or several
└── QueryFileError               exit 9   a .cypher file breaks the rules of its header (file, line)

Each message says what happened, on what, and names the command that helps. Exit codes are stable:
scripts may rely on them. 0 is success, 2 also click's own usage errors, 130 an interrupt,
143 SIGTERM.
"""

from __future__ import annotations

from pathlib import Path

__all__ = [
    "ApplyFailed",
    "AuthFailed",
    "ChecksumDrift",
    "ConfigError",
    "DatabaseError",
    "DimensionMismatch",
    "EmbeddedServerError",
    "EncoderMismatch",
    "GdsMemory",
    "GdsMissing",
    "GraphRAGError",
    "IndexMissing",
    "InvalidMigration",
    "LLMError",
    "LoadError",
    "MigrationError",
    "MigrationLocked",
    "MigrationMissing",
    "MissingExtra",
    "ModelError",
    "OutOfOrder",
    "PartialError",
    "PathRAGError",
    "QueryFileError",
    "QueryTimeout",
    "ServerUnavailable",
    "TenantError",
]


class PathRAGError(Exception):
    """Base of all errors of this package.

    Args:
        message: What happened, and on what. One or two sentences.
        hint: What to do next, usually a command; shown on a line of its own.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class ConfigError(PathRAGError):
    """A setting, an option or one of our files is wrong."""

    exit_code = 2


class TenantError(ConfigError):
    """A call crosses from one tenant into another, or names an impossible tenant."""


class DatabaseError(PathRAGError):
    """The database refused or failed a statement.

    Attributes:
        query: Name of the statement (its file under cypher/), empty when none was running.
        code: Neo4j status code such as ``Neo.ClientError.Statement.SyntaxError``, or empty.
    """

    exit_code = 3

    def __init__(self, message: str, *, hint: str = "", query: str = "", code: str = "") -> None:
        super().__init__(message, hint=hint)
        self.query = query
        self.code = code


class ServerUnavailable(DatabaseError):
    """Nothing answers at the address, or the server went away and did not come back in time."""


class AuthFailed(DatabaseError):
    """The server refused the user name or the password."""


class QueryTimeout(DatabaseError):
    """The server stopped a statement at its time limit."""


class IndexMissing(DatabaseError):
    """An index that a statement needs is absent or not ONLINE yet."""


class DimensionMismatch(DatabaseError):
    """A vector has another length than the index expects.

    Attributes:
        expected: Length that the index holds.
        found: Length that was given.
    """

    def __init__(
        self, message: str, *, expected: int, found: int, hint: str = "", query: str = ""
    ) -> None:
        super().__init__(message, hint=hint, query=query)
        self.expected = expected
        self.found = found


class EncoderMismatch(DatabaseError):
    """The vectors in the index were made by another encoder than the one in use."""


class GdsMissing(DatabaseError):
    """The server has no Graph Data Science plugin, or not the procedure that is needed."""


class GdsMemory(DatabaseError):
    """A graph would take more memory in the catalog of Graph Data Science than is free.

    Attributes:
        needed: Bytes, as the server estimates them.
        free: Bytes of its heap.
    """

    def __init__(self, message: str, *, needed: int, free: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.needed = needed
        self.free = free


class EmbeddedServerError(PathRAGError):
    """The embedded server could not be installed, started, stopped, dumped or restored."""

    exit_code = 4


class MigrationError(PathRAGError):
    """Base of what can go wrong with migrations."""

    exit_code = 5


class InvalidMigration(MigrationError):
    """The name, the text or a placeholder of a migration file breaks a rule."""


class ChecksumDrift(MigrationError):
    """An applied migration file was edited since.

    Attributes:
        version: Version of the migration, as recorded.
        recorded: Checksum on the database.
        local: Checksum of the file.
    """

    def __init__(
        self, message: str, *, version: str, recorded: str, local: str, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.version = version
        self.recorded = recorded
        self.local = local


class MigrationMissing(MigrationError):
    """A migration is recorded as applied but its file is gone."""


class OutOfOrder(MigrationError):
    """A pending migration is older than the newest applied one."""


class MigrationLocked(MigrationError):
    """Another runner holds the migration lock."""


class ApplyFailed(MigrationError):
    """A statement of a migration failed.

    Attributes:
        version: Version of the migration.
        statement: Number of the statement in the file, from 1.
    """

    def __init__(self, message: str, *, version: str, statement: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.version = version
        self.statement = statement


class LoadError(PathRAGError):
    """A row of an input file cannot be loaded.

    Attributes:
        path: The file, or None when the fault is in no file.
        line: Line in the file, from 1; 0 when the whole file is meant.
        column: Name of the column, empty when the whole row is meant.
    """

    exit_code = 6

    def __init__(
        self,
        message: str,
        *,
        path: Path | None = None,
        line: int = 0,
        column: str = "",
        hint: str = "",
    ) -> None:
        place = "" if path is None else f"{path}"
        if line:
            place += f":{line}"
        if column:
            place += f", column {column!r}"
        super().__init__(f"{place}: {message}" if place else message, hint=hint)
        self.path = path
        self.line = line
        self.column = column


class ModelError(PathRAGError):
    """A model cannot be loaded or run."""

    exit_code = 7


class LLMError(ModelError):
    """The endpoint of a language model does not answer, refuses, or breaks off.

    Attributes:
        status: HTTP status that it answered with; 0 where there was no answer, or a broken one.
    """

    def __init__(self, message: str, *, hint: str = "", status: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class MissingExtra(ModelError):
    """An optional dependency is not installed; the message names the extra."""

    def __init__(self, extra: str, *, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the extra {extra!r}, which is not installed.",
            hint=f'Run: pip install "pathrag-gds[{extra}]"',
        )
        self.extra = extra


class PartialError(PathRAGError):
    """Some of the work was done; the message says which part was not."""

    exit_code = 8


class GraphRAGError(PartialError):
    """Communities could not be reported; what was done for the others is kept.

    Attributes:
        failures: Id of each such community and what is wrong, in the order of the work.
    """

    def __init__(
        self, message: str, *, failures: tuple[tuple[str, str], ...] = (), hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.failures = failures


class QueryFileError(PathRAGError):
    """A .cypher file breaks the rules of its header.

    Attributes:
        path: The file.
        line: Line in the file, from 1.
    """

    exit_code = 9

    def __init__(self, message: str, *, path: Path | str, line: int) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line
