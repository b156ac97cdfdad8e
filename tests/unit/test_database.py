"""The seam without a server: parameters, errors, values."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import neo4j.exceptions
import neo4j.spatial
import neo4j.time
import pytest

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
from pathrag_gds.graph.database import (
    Capabilities,
    Database,
    Row,
    _in_flight,
    _interrupts_restored,
    _mapped_errors,
    _sent_values,
    operators,
    probe_gds,
)
from pathrag_gds.graph.queries import Branch, Query, parse
from pathrag_gds.graph.values import plain, size_of
from pathrag_gds.retrieve.statements import Request, perform
from tests.fakes import RecordingDatabase
from tests.statements import statement

# Port 1 is reserved and nobody listens there.
NOWHERE = Connection("bolt://127.0.0.1:1", "neo4j", "geheim-geheim")
FIND = statement("RETURN $a + $b AS c", "read", name="retrieve/find")


def neo4j_error(code: str, message: str) -> neo4j.exceptions.Neo4jError:
    """Make the error that the driver would make of a server's answer."""
    kind = neo4j.exceptions.Neo4jError
    # Drivers 5 and 6 name it differently; both make the subclass that fits the code.
    hydrate = getattr(kind, "_hydrate_neo4j", None) or vars(kind)["hydrate"].__get__(None, kind)
    error: neo4j.exceptions.Neo4jError = hydrate(code=code, message=message)
    assert error.code == code
    return error


def mapped(error: Exception, connection: Connection | None = None) -> PathRAGError:
    with pytest.raises(PathRAGError) as caught, _mapped_errors("retrieve/find", connection):
        raise error
    return caught.value


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"a": 1}, "retrieve/find: parameter 'b' is missing."),
        ({}, "retrieve/find: parameter 'a' is missing."),
        ({"a": 1, "b": 2, "c": 3}, "retrieve/find: there is no parameter 'c'."),
    ],
)
def test_parameters_must_be_the_declared_ones(parameters: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        FIND.check(parameters)
    assert str(caught.value) == message
    with pytest.raises(ConfigError, match="parameter"):
        RecordingDatabase({"retrieve/find": []}).run(FIND, **parameters)
    with Database(NOWHERE) as database, pytest.raises(ConfigError, match="parameter"):
        database.run(FIND, **parameters)


def test_the_fake_keeps_calls_and_answers_by_name() -> None:
    fake = RecordingDatabase({"retrieve/find": lambda p: [{"c": p["a"] + p["b"]}]})
    assert fake.run(FIND, a=1, b=2) == [{"c": 3}]
    assert fake.calls == [("retrieve/find", {"a": 1, "b": 2})]
    with pytest.raises(KeyError):
        fake.run(statement("RETURN 1 AS x", name="other"))


@pytest.mark.parametrize(
    "body",
    [
        "RETURN ${key} AS x",
        "MATCH (n)\n// branch a\nMATCH (n)${left}[${type}]${right}()\n// end branch",
    ],
)
def test_an_unrendered_statement_is_refused(body: str) -> None:
    slot = "// slot key: x\n" if "${key}" in body else ""
    query = parse(f"// find: x\n// mode: read\n{slot}{body}", name="find", path="find.cypher")
    with pytest.raises(ConfigError, match="rendered"):
        query.check({})
    filled = query.render({"key": "1"}) if slot else query.render({}, {"a": [Branch()]})
    filled.check({})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (1.5, 1.5),
        ("x", "x"),
        (b"\x01\xff", "01ff"),
        (bytearray(b"\x00"), "00"),
        ([1, [2, None]], [1, [2, None]]),
        ((1, 2), [1, 2]),
        ({"a": {"b": (1,)}}, {"a": {"b": [1]}}),
        (neo4j.time.Date(2020, 1, 2), "2020-01-02"),
        (neo4j.time.Time(1, 2, 3), "01:02:03.000000000"),
        (neo4j.time.DateTime(2020, 1, 2, 3, 4, 5), "2020-01-02T03:04:05.000000000"),
        (
            neo4j.time.DateTime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
            "2020-01-02T03:04:05.000000000+00:00",
        ),
        (neo4j.time.Duration(months=14, days=3, seconds=5), "P1Y2M3DT5S"),
        ([neo4j.time.Date(1, 1, 1)], ["0001-01-01"]),
        (
            neo4j.spatial.WGS84Point((12.5, 55.0)),
            {"srid": 4326, "coordinates": [12.5, 55.0]},
        ),
        (
            neo4j.spatial.CartesianPoint((1.0, 2.0, 3.0)),
            {"srid": 9157, "coordinates": [1.0, 2.0, 3.0]},
        ),
    ],
)
def test_values_become_plain(value: Any, expected: Any) -> None:
    result = plain(value)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("abc", 3),
        ("été", 5),
        (1.5, 8),
        (None, 8),
        ([1, "ab"], 10),
        ({"key": {"k": "value"}, "b": []}, 10),
    ],
)
def test_the_size_of_a_value_is_about_that_on_the_wire(value: Any, size: int) -> None:
    assert size_of(value) == size


def test_what_is_no_number_becomes_its_name() -> None:
    inside = {"list": [float("nan"), float("inf"), -float("inf"), 1.5]}
    assert plain(inside) == {"list": ["NaN", "Infinity", "-Infinity", 1.5]}


@pytest.mark.parametrize(
    ("code", "message", "kind", "text"),
    [
        (
            "Neo.ClientError.Statement.SyntaxError",
            "Invalid input 'X'\n  second line",
            DatabaseError,
            "retrieve/find: Invalid input 'X'",
        ),
        (
            "Neo.ClientError.Procedure.ProcedureCallFailed",
            "Index query vector has 3 dimensions, but indexed vectors have 384.",
            DimensionMismatch,
            "the vector has 3 dimensions, the index holds 384",
        ),
        (
            "Neo.ClientError.Procedure.ProcedureCallFailed",
            "Caused by: There is no such fulltext schema index: entity_text",
            IndexMissing,
            "pathrag migrate up",
        ),
        (
            "Neo.ClientError.Procedure.ProcedureCallFailed",
            "Caused by: There is no such vector schema index: entity_embedding",
            IndexMissing,
            "entity_embedding",
        ),
        (
            "Neo.ClientError.Transaction.TransactionTimedOut",
            "The transaction has been terminated.",
            QueryTimeout,
            "time limit",
        ),
        (
            "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
            "The transaction has been terminated.",
            QueryTimeout,
            "time limit",
        ),
    ],
)
def test_server_errors_become_ours(
    code: str, message: str, kind: type[DatabaseError], text: str
) -> None:
    error = mapped(neo4j_error(code, message))
    assert type(error) is kind
    assert isinstance(error, DatabaseError)
    assert text in str(error)
    assert "second line" not in str(error)
    assert error.query == "retrieve/find"
    assert error.exit_code == 3


@pytest.mark.parametrize(
    "message",
    [
        "Index query vector has 3 dimensions, but indexed vectors have 384.",
        "Index query vector has a dimensionality of 3, but provided vector has 384.",
    ],
)
def test_dimensions_are_kept_as_numbers(message: str) -> None:
    error = mapped(neo4j_error("Neo.ClientError.Statement.TypeError", message))
    assert isinstance(error, DimensionMismatch)
    assert (error.found, error.expected) == (3, 384)


def test_refused_credentials_name_user_and_address_but_no_password() -> None:
    error = mapped(
        neo4j_error("Neo.ClientError.Security.Unauthorized", "password: geheim-geheim is wrong"),
        NOWHERE,
    )
    assert isinstance(error, AuthFailed)
    assert "'neo4j'" in str(error)
    assert NOWHERE.uri in str(error)
    assert "geheim" not in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__


@pytest.mark.parametrize(
    "message",
    [
        "password=geheim-geheim",
        "password: geheim-geheim",
        "Password = geheim-geheim, more",
        "credentials=geheim-geheim",
    ],
)
def test_credentials_in_messages_are_blotted_out(message: str) -> None:
    for error in (
        mapped(neo4j_error("Neo.ClientError.Statement.SyntaxError", message)),
        mapped(neo4j.exceptions.ServiceUnavailable(message), NOWHERE),
        mapped(neo4j.exceptions.ConfigurationError(message), NOWHERE),
    ):
        assert "geheim" not in str(error)
        assert "…" in str(error)


def test_repr_shows_no_password() -> None:
    with Database(NOWHERE) as database:
        assert "geheim" not in repr(database) + repr(database.connection)
        assert NOWHERE.uri in repr(database)


def test_nobody_answers() -> None:
    with Database(NOWHERE, retry_s=0.0, connect_timeout_s=1.0) as database:
        for call in (database.verify, lambda: database.run(FIND, a=1, b=2)):
            with pytest.raises(ServerUnavailable) as caught:
                call()
            assert NOWHERE.uri in str(caught.value)
            assert "pathrag server start" in caught.value.hint
            assert "geheim" not in str(caught.value)
    with pytest.raises(ServerUnavailable):
        probe_gds(NOWHERE, timeout_s=1.0)


@pytest.mark.parametrize("uri", ["", "localhost:7687", "http://localhost", "ftp://h", "bolt+x://h"])
def test_an_impossible_address_is_a_setting_to_correct(uri: str) -> None:
    with pytest.raises(ConfigError, match="refuses the address") as caught:
        Database(Connection(uri, "neo4j", "geheim-geheim"))
    assert repr(uri) in str(caught.value)
    assert "bolt://localhost:7687" in caught.value.hint
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("uri", ["bolt://h:x", "bolt://no-such-host.invalid", "neo4j://h.invalid"])
def test_a_host_that_cannot_be_found_is_a_server_that_is_not_there(uri: str) -> None:
    with Database(Connection(uri), retry_s=0.0, connect_timeout_s=2.0) as database:

        def in_transaction() -> None:
            with database.transaction("x") as transaction:
                transaction.run(FIND, a=1, b=2)

        for call in (database.verify, lambda: database.run(FIND, a=1, b=2), in_transaction):
            with pytest.raises(ServerUnavailable, match="No Neo4j answers at ") as caught:
                call()
            assert uri in str(caught.value)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OverflowError("Integer 9 out of range"), "an integer of more than 64 bits"),
        (UnicodeEncodeError("utf-8", "x", 0, 1, "surrogates"), "text that is not valid Unicode"),
        (TypeError("Map keys must be strings\nmore"), "Map keys must be strings"),
        (ValueError("Values of type <class 'set'> no"), "Values of type <class 'set'> no"),
    ],
)
def test_a_value_that_cannot_be_sent_is_named(error: Exception, text: str) -> None:
    with pytest.raises(ConfigError) as caught, _sent_values("retrieve/find"):
        raise error
    assert str(caught.value) == f"retrieve/find: a parameter cannot be sent to Neo4j: {text}."


@pytest.mark.parametrize("error", [ValueError("mine"), OSError("mine"), KeyError("mine")])
def test_errors_of_others_pass_through(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, _mapped_errors("x", NOWHERE):
        raise error
    assert caught.value is error
    ours = DatabaseError("ours")
    with pytest.raises(DatabaseError) as again, _mapped_errors("x", NOWHERE):
        raise ours
    assert again.value is ours


def test_capabilities_refuse_what_is_not_there() -> None:
    bare = Capabilities("5.26.30", "community")
    with pytest.raises(GdsMissing, match=r"Flow needs the Graph Data Science plugin.*5\.26\.30"):
        bare.require_gds("Flow")
    lts = Capabilities("5.26.30", "community", "2.13.9", ("gds.pageRank.stream",))
    lts.require_gds("Flow")
    lts.require_gds("Flow", "gds.pageRank.stream")
    with pytest.raises(GdsMissing, match=r"Flow needs gds\.maxFlow\.stream") as caught:
        lts.require_gds("Flow", "gds.maxFlow.stream")
    assert "--lane current" in caught.value.hint


def test_capabilities_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = RecordingDatabase(
        {
            "server/components": [{"version": "5.26.30", "edition": "community"}],
            "server/gds_procedures": [{"names": ["gds.b", "gds.a"]}],
            "server/gds_version": [{"version": "2.13.9"}],
        }
    )
    with Database(NOWHERE) as database:
        monkeypatch.setattr(database, "run", fake.run)
        first, second = database.capabilities, database.capabilities
    assert first is second
    assert first == Capabilities("5.26.30", "community", "2.13.9", ("gds.a", "gds.b"))
    assert len(fake.calls) == 3


def test_without_the_plugin_its_version_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = RecordingDatabase(
        {
            "server/components": [{"version": "5.26.30", "edition": "enterprise"}],
            "server/gds_procedures": [{"names": []}],
        }
    )
    with Database(NOWHERE) as database:
        monkeypatch.setattr(database, "run", fake.run)
        assert database.capabilities == Capabilities("5.26.30", "enterprise")


def test_operators_are_listed_root_first() -> None:
    plan = {
        "operatorType": "A",
        "children": [
            {"operatorType": "B", "children": [{"operatorType": "C"}]},
            {"operatorType": "D"},
        ],
    }
    assert [o["operatorType"] for o in operators(plan)] == ["A", "B", "C", "D"]


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), SystemExit(143)], ids=repr)
def test_an_interrupt_of_a_statement_comes_out_as_itself(interrupt: BaseException) -> None:
    with pytest.raises(type(interrupt)) as caught, _interrupts_restored(), _in_flight():
        raise interrupt
    assert caught.value is interrupt


def test_an_interrupt_that_the_driver_cannot_tidy_up_after_comes_out_as_itself() -> None:
    interrupt = KeyboardInterrupt()
    transaction, session = BufferError("the transaction"), BufferError("the session")
    transaction.__context__, session.__context__ = interrupt, transaction
    with pytest.raises(KeyboardInterrupt) as caught, _interrupts_restored():
        raise session
    assert caught.value is interrupt


@pytest.mark.parametrize("error", [BufferError("full"), ValueError("wrong")], ids=repr)
def test_an_error_of_its_own_is_no_interrupt(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, _interrupts_restored():
        raise error
    assert caught.value is error


class BrokenInto:
    """A session of the driver at which Ctrl-C is pressed at once."""

    left_by: type[BaseException] | None = None

    def __enter__(self) -> BrokenInto:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.left_by = kind

    def broken(self, *_: object, **__: object) -> None:
        raise KeyboardInterrupt

    run = execute_read = execute_write = begin_transaction = broken


@pytest.mark.parametrize(
    "ask",
    [
        lambda database: database.run(statement("RETURN 1 AS one", "read")),
        lambda database: database.run(statement("RETURN 1 AS one", "write")),
        lambda database: database.run(statement("RETURN 1 AS one", "auto")),
        lambda database: database.transaction("test").__enter__(),
    ],
    ids=["read", "write", "auto", "transaction"],
)
def test_the_driver_takes_an_interrupt_for_a_cancellation(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[[Database], object]
) -> None:
    session = BrokenInto()
    monkeypatch.setattr(Database, "_session", lambda *_: session)
    with Database(NOWHERE) as database, pytest.raises(KeyboardInterrupt):
        ask(database)
    assert session.left_by is asyncio.CancelledError


class _Failing:
    """A database at which one statement fails, and perhaps all that follow."""

    def __init__(self, *, gone: bool = False) -> None:
        self.gone = gone
        self.asked: list[str] = []

    def run(self, query: Query, /, **parameters: Any) -> list[Row]:
        self.asked.append(query.name)
        if query.name == "work":
            raise KeyboardInterrupt
        if self.gone:
            raise ServerUnavailable("gone")
        return [{"done": True}]


@pytest.mark.parametrize("gone", [False, True])
def test_what_does_not_end_is_undone(gone: bool) -> None:
    work = Request(Query("work", "", "read"), undo=Request(Query("undo", "", "read")))
    db = _Failing(gone=gone)
    with pytest.raises(KeyboardInterrupt):
        perform(db, work)
    assert db.asked == ["work", "undo"]
    fine = _Failing()
    assert perform(fine, replace(work, query=Query("other", "", "read"))) == [{"done": True}]
    assert fine.asked == ["other"]
