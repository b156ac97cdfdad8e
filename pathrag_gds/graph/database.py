"""The seam to Neo4j: the only module that imports the driver.

Everything above it calls :meth:`Database.run` with a :class:`~pathrag_gds.graph.queries.Query` and
gets rows of plain Python values. Errors of the driver become errors of this package; parameters and
credentials never appear in them.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, LiteralString, Protocol

from pathrag_gds.config import Connection
from pathrag_gds.errors import (
    AuthFailed,
    ConfigError,
    DatabaseError,
    DimensionMismatch,
    GdsMissing,
    IndexMissing,
    PathRAGError,
    QueryTimeout,
    ServerUnavailable,
)
from pathrag_gds.graph.queries import Query, load
from pathrag_gds.graph.values import plain, size_of

if TYPE_CHECKING:
    import neo4j

__all__ = ["Capabilities", "Database", "QueryRunner", "Row", "Transaction", "probe_gds"]

Row = dict[str, Any]

APPLICATION = "pathrag-gds"
DEFAULT_TIMEOUT_S = 120.0
_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")

logger = logging.getLogger("pathrag_gds.database")


class QueryRunner(Protocol):
    """What can run a statement: a database, an open transaction, or the fake of the tests."""

    def run(self, query: Query, /, **parameters: Any) -> list[Row]:
        """Run the statement and give its rows, in the order of the server."""
        ...


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the server can do; asked once per process.

    Attributes:
        version: Such as ``5.26.30``.
        edition: ``community`` or ``enterprise``.
        gds_version: Empty without the plugin.
        procedures: Names of its ``gds.`` procedures, sorted.
    """

    version: str
    edition: str
    gds_version: str = ""
    procedures: tuple[str, ...] = ()

    def require_gds(self, needed_for: str, procedure: str = "") -> None:
        """Refuse what this server cannot do.

        Raises:
            GdsMissing: There is no plugin, or not this procedure.
        """
        if not self.gds_version:
            raise GdsMissing(
                f"{needed_for} needs the Graph Data Science plugin, which this Neo4j "
                f"{self.version} does not have.",
                hint="Install the plugin, or use the embedded server: pathrag server start",
            )
        if procedure and procedure not in self.procedures:
            raise GdsMissing(
                f"{needed_for} needs {procedure}, which Graph Data Science {self.gds_version} "
                "does not have.",
                hint="The embedded server of lane 'current' has it: "
                "pathrag server start --lane current",
            )


class Transaction:
    """Statements that are committed together; made by :meth:`Database.transaction`."""

    def __init__(self, transaction: neo4j.Transaction) -> None:
        self._transaction = transaction

    def run(self, query: Query, /, **parameters: Any) -> list[Row]:
        """Run one statement inside the transaction; same contract as :meth:`Database.run`."""
        query.check(parameters)
        with _mapped_errors(query.name), _sent_values(query.name), _in_flight():
            result = self._transaction.run(query.text, parameters)
            return [_plain_row(record) for record in result]


class Database:
    """A connection pool to one database. Thread safe; close it, or use it as a context manager.

    Args:
        connection: Where the server is.
        timeout_s: The server stops a statement after so many seconds.
        retry_s: For so long the driver repeats what failed for a passing reason.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        retry_s: float = 15.0,
        connect_timeout_s: float = 10.0,
    ) -> None:
        import neo4j

        self.connection = connection
        self.timeout_s = timeout_s
        self._lock = Lock()
        self._capabilities: Capabilities | None = None
        if connection.uri.partition("://")[0] not in _SCHEMES:
            # The driver has a preview of HTTP, which lacks what we use.
            raise _refused_address(connection, "its scheme is not one of Bolt.")
        with _mapped_errors("", connection):
            self._driver = neo4j.GraphDatabase.driver(
                connection.uri,
                auth=(connection.username, connection.password) if connection.password else None,
                user_agent=APPLICATION,
                connection_timeout=connect_timeout_s,
                connection_acquisition_timeout=30.0,
                max_transaction_retry_time=retry_s,
                liveness_check_timeout=60.0,
                notifications_min_severity="OFF",
            )

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Database({self.connection.uri!r}, database={self.connection.database!r})"

    def close(self) -> None:
        """Close the pool; closing twice is harmless."""
        self._driver.close()

    def run(self, query: Query, /, **parameters: Any) -> list[Row]:
        """Run a statement in a transaction of its own and give its rows.

        Reads and writes are repeated by the driver while the failure is a passing one; ``schema``
        and ``auto`` statements run once.

        Args:
            query: The statement, rendered.
            **parameters: Exactly the parameters that it declares.

        Returns:
            All rows, or, under ``max_bytes`` of a statement that reads, the first of them: the row
            that goes beyond is the last, and the server is told to send no more.

        Raises:
            ConfigError: A parameter is missing or unknown, or the statement is not rendered.
            DatabaseError: The server refused or failed it.
        """
        query.check(parameters)
        began = time.perf_counter()
        rows = self._run(query, parameters)
        millis = (time.perf_counter() - began) * 1000
        logger.info("%s: %d rows in %.1f ms", query.name, len(rows), millis)
        return rows

    def _run(self, query: Query, parameters: dict[str, Any]) -> list[Row]:
        text = query.text
        timeout_s = query.timeout_s or self.timeout_s
        with (
            _mapped_errors(query.name, self.connection),
            _interrupts_restored(),
            _sent_values(query.name),
            self._session(query) as session,
            # Around the beginning and the commit; of the statement itself the driver must know
            # sooner.
            _in_flight(),
        ):
            if query.mode in ("schema", "auto"):
                import neo4j

                statement = neo4j.Query(
                    text, metadata=self._metadata(query.name), timeout=timeout_s
                )
                return [_plain_row(record) for record in session.run(statement, parameters)]
            work = self._unit_of_work(text, parameters, query.name, timeout_s, query.max_bytes)
            if query.mode == "read":
                return session.execute_read(work)
            return session.execute_write(work)

    @contextmanager
    def transaction(self, name: str, *, timeout_s: float | None = None) -> Iterator[Transaction]:
        """Open a write transaction: committed when the block ends, rolled back when it raises.

        It is not repeated on failure.

        Args:
            name: Shown in SHOW TRANSACTIONS and in errors.
        """
        with (
            _mapped_errors(name, self.connection),
            _interrupts_restored(),
            self._session() as session,
        ):
            with _in_flight():
                transaction = session.begin_transaction(
                    metadata=self._metadata(name), timeout=timeout_s or self.timeout_s
                )
            try:
                yield Transaction(transaction)
                with _in_flight():
                    transaction.commit()
            except BaseException as error:
                # After an interrupt the session drops the connection instead: see _in_flight.
                if not _is_interrupt(error):
                    transaction.close()
                raise

    def explain(self, query: Query, /, **parameters: Any) -> Mapping[str, Any]:
        """Give the plan of a statement without running it: ``plan``, ``keys``, ``notifications``.

        ``plan`` is the driver's nested map (``operatorType``, ``args``, ``children``);
        ``notifications`` a list of the server's codes and descriptions.
        """
        return self._planned("EXPLAIN", query, parameters)

    def profile(self, query: Query, /, **parameters: Any) -> Mapping[str, Any]:
        """Run a statement and give its plan with ``dbHits`` and ``rows`` per operator."""
        return self._planned("PROFILE", query, parameters)

    @contextmanager
    def lent_driver(self, name: str) -> Iterator[neo4j.Driver]:
        """Lend the driver, open until this is closed, to a package with statements of its own.

        Inside the block the driver's errors become errors of this package.

        Args:
            name: What the driver is lent for, shown in errors.
        """
        with _mapped_errors(name, self.connection):
            yield self._driver

    def verify(self) -> None:
        """Check that the server answers and accepts the credentials.

        Raises:
            ServerUnavailable: Nothing answers.
            AuthFailed: The credentials are refused.
        """
        with _mapped_errors("", self.connection):
            self._driver.verify_connectivity()

    @property
    def capabilities(self) -> Capabilities:
        """Version, edition and GDS of the server; asked at first use and kept."""
        with self._lock:
            if self._capabilities is None:
                component = self.run(load("server/components"))[0]
                rows = self.run(load("server/gds_procedures"))
                procedures = tuple(sorted(rows[0]["names"]))
                version = self.run(load("server/gds_version"))[0]["version"] if procedures else ""
                self._capabilities = Capabilities(
                    component["version"], component["edition"], version, procedures
                )
            return self._capabilities

    def change_stamp(self) -> str:
        """Give a text that is another one after every write that anybody committed.

        It is the bookmark of the newest transaction, so it says nothing of what was written: a
        write into another tenant changes it, too. Takes one round trip.
        """
        with (
            _mapped_errors("change_stamp", self.connection),
            _interrupts_restored(),
            self._session(load("server/newest")) as session,
        ):
            work = self._unit_of_work(load("server/newest").text, {}, "change_stamp", 30.0, None)
            session.execute_read(work)
            return " ".join(sorted(session.last_bookmarks().raw_values))

    def _planned(self, how: str, query: Query, parameters: Mapping[str, Any]) -> dict[str, Any]:
        import neo4j

        with _mapped_errors(query.name, self.connection), self._session(query, "INFORMATION") as s:
            statement = neo4j.Query(f"{how} {query.text}", timeout=self.timeout_s)
            result = s.run(statement, dict(parameters))
            keys = list(result.keys())
            # The server has no statistics of rows that it was not asked for.
            for _ in result:
                pass
            summary = result.consume()
            notifications = [
                {"code": n.gql_status, "description": n.status_description}
                for n in summary.gql_status_objects
                if n.is_notification
            ]
            return {
                "plan": summary.profile or summary.plan,
                "keys": keys,
                "notifications": notifications,
                "query_type": summary.query_type,
            }

    def _session(self, query: Query | None = None, severity: str | None = None) -> neo4j.Session:
        import neo4j

        read = query is not None and query.mode == "read"
        options: dict[str, Any] = {"notifications_min_severity": severity} if severity else {}
        return self._driver.session(
            database=self.connection.database or None,
            default_access_mode=neo4j.READ_ACCESS if read else neo4j.WRITE_ACCESS,
            **options,
        )

    def _unit_of_work(
        self,
        text: LiteralString,
        parameters: Mapping[str, Any],
        name: str,
        timeout_s: float,
        max_bytes: int | None,
    ) -> Callable[[neo4j.ManagedTransaction], list[Row]]:
        import neo4j

        @neo4j.unit_of_work(metadata=self._metadata(name), timeout=timeout_s)
        def work(transaction: neo4j.ManagedTransaction) -> list[Row]:
            with _in_flight():
                records = transaction.run(text, dict(parameters))
                return list(_within(max_bytes, map(_plain_row, records)))

        return work

    @staticmethod
    def _metadata(name: str) -> dict[str, str]:
        return {"app": APPLICATION, "query": name}


@contextmanager
def _in_flight() -> Iterator[None]:
    """Let an interrupt pass through the driver as a cancellation.

    When a block ends, the driver waits for the answer to the statement in flight, however long that
    takes; only on a cancellation does it drop the connection, which ends the statement on the
    server too.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as interrupt:
        import asyncio

        raise asyncio.CancelledError from interrupt


@contextmanager
def _interrupts_restored() -> Iterator[None]:
    """Give back, outside the driver, the interrupt that passed through it.

    One that comes while a session is closed is no cancellation: the driver goes on tidying up, and
    fails to enlarge the buffer that the read, broken off, still holds.
    """
    try:
        yield
    except BaseException as error:
        found: BaseException | None = error
        while isinstance(found, BufferError):
            found = found.__context__
        if found is not None and _is_interrupt(found):
            found = found.__cause__
        if found is not error and isinstance(found, (KeyboardInterrupt, SystemExit)):
            raise found from None
        raise


def _is_interrupt(error: BaseException) -> bool:
    return not isinstance(error, Exception) and isinstance(
        error.__cause__, (KeyboardInterrupt, SystemExit)
    )


def probe_gds(connection: Connection, *, timeout_s: float = 3.0) -> str:
    """Ask a server for the version of Graph Data Science: it is ready when this answers.

    Raises:
        ServerUnavailable: Nothing answers yet.
        AuthFailed: The credentials are refused.
        GdsMissing: It answers but has no plugin.
    """
    with Database(
        connection, timeout_s=timeout_s, retry_s=0.0, connect_timeout_s=timeout_s
    ) as database:
        database.verify()
        try:
            return str(database.run(load("server/gds_version"))[0]["version"])
        except DatabaseError as error:
            if "gds.version" in error.message:
                raise GdsMissing(
                    f"The server at {connection.uri} has no Graph Data Science plugin."
                ) from error
            raise


def _within(max_bytes: int | None, rows: Iterable[Row]) -> Iterator[Row]:
    """Give rows until they hold so many bytes; the row that goes beyond is the last."""
    if max_bytes is None:
        yield from rows
        return
    left = max_bytes
    for row in rows:
        yield row
        left -= size_of(row)
        if left <= 0:
            return


def _plain_row(record: neo4j.Record) -> Row:
    return dict(zip(record.keys(), map(plain, record.values()), strict=True))


_QUOTED_VALUE = re.compile(r"(password|credentials)\S*\s*[=:]\s*\S+", re.IGNORECASE)


@contextmanager
def _mapped_errors(query: str, connection: Connection | None = None) -> Iterator[None]:
    import neo4j.exceptions as driver_errors

    try:
        yield
    except PathRAGError:
        raise
    except driver_errors.AuthError as error:
        who = f" for user {connection.username!r} at {connection.uri}" if connection else ""
        raise AuthFailed(
            f"The server refused the credentials{who}.",
            hint="Set NEO4J_USERNAME and NEO4J_PASSWORD.",
            query=query,
            code=error.code or "",
        ) from None
    except driver_errors.Neo4jError as error:
        raise _server_error(error.code or "", error.message or "", query) from error
    except driver_errors.ConfigurationError as error:
        raise _refused_address(connection, _redacted(str(error))) from None
    except driver_errors.DriverError as error:
        raise _no_answer(connection, query, error) from error
    except ValueError as error:
        if not _is_unresolved(error):
            raise
        raise _no_answer(connection, query, error) from error


def _is_unresolved(error: Exception) -> bool:
    """Tell whether a ValueError of the driver means a host or port that the system cannot find."""
    return isinstance(error.__cause__, OSError) and "resolve address" in str(error)


def _no_answer(connection: Connection | None, query: str, error: Exception) -> ServerUnavailable:
    where = f" at {connection.uri}" if connection else ""
    return ServerUnavailable(
        f"No Neo4j answers{where}: {_redacted(_first_line(str(error)))}",
        hint="Is it running? For the embedded server: pathrag server start",
        query=query,
    )


def _refused_address(connection: Connection | None, reason: str) -> ConfigError:
    return ConfigError(
        f"The driver refuses the address {connection.uri if connection else ''!r}: {reason}",
        hint="An address looks like bolt://localhost:7687 or neo4j+s://host.",
    )


@contextmanager
def _sent_values(query: str) -> Iterator[None]:
    """Map what the driver raises when it cannot send a parameter; only its calls stand inside."""
    try:
        yield
    except (OverflowError, TypeError, ValueError) as error:
        if _is_unresolved(error):
            raise
        if isinstance(error, OverflowError):
            what = "an integer of more than 64 bits"
        elif isinstance(error, UnicodeError):
            what = "text that is not valid Unicode"
        else:
            what = _first_line(str(error))
        raise ConfigError(f"{query}: a parameter cannot be sent to Neo4j: {what}.") from None


# The question's vector comes first in both wordings: of 5.26 and of 2026.
_DIMENSIONS = re.compile(
    r"(?:has|dimensionality of) (\d+)(?: dimensions?)?, "
    r"but (?:indexed vectors have|provided vector has) (\d+)"
)


def _server_error(code: str, message: str, query: str) -> DatabaseError:
    message = _redacted(_first_line(message))
    where = f"{query}: " if query else ""
    match = _DIMENSIONS.search(message)
    if match:
        found, expected = int(match.group(1)), int(match.group(2))
        return DimensionMismatch(
            f"{where}the vector has {found} dimensions, the index holds {expected}.",
            expected=expected,
            found=found,
            hint="Embed again with the model in use: pathrag embed",
            query=query,
        )
    if "There is no such fulltext schema index" in message or "no such vector schema" in message:
        return IndexMissing(
            f"{where}{message}", hint="Run: pathrag migrate up", query=query, code=code
        )
    if code in (
        "Neo.ClientError.Transaction.TransactionTimedOut",
        "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
    ):
        return QueryTimeout(
            f"{where}the server stopped the statement at its time limit.",
            hint="Ask for less: a smaller --beam-width or --max-depth, or a filter.",
            query=query,
            code=code,
        )
    return DatabaseError(f"{where}{message}", hint="Run: pathrag doctor", query=query, code=code)


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]


def _redacted(text: str) -> str:
    return _QUOTED_VALUE.sub(r"\1=…", text)


def operators(plan: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """List the operators of a plan from :meth:`Database.explain`, root first, depth first."""
    found: list[Mapping[str, Any]] = [plan]
    for child in plan.get("children", ()):
        found.extend(operators(child))
    return found
