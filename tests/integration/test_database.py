"""The seam on a real server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from pathrag_gds.config import Connection
from pathrag_gds.errors import (
    AuthFailed,
    ConfigError,
    DatabaseError,
    DimensionMismatch,
    IndexMissing,
    QueryTimeout,
)
from pathrag_gds.graph.database import Database, Transaction, operators, probe_gds
from tests.statements import statement

COUNT = statement("MATCH (n:A) RETURN count(n) AS n", "read")
ADD = statement("CREATE (:A {x: $x})")


def test_probe_tells_the_version_of_the_plugin(database: Database) -> None:
    assert probe_gds(database.connection) == database.capabilities.gds_version


def test_a_read_statement_cannot_write(database: Database) -> None:
    with pytest.raises(DatabaseError, match=r"(?i)write"):
        database.run(statement("CREATE (:A)", "read"))
    assert database.run(COUNT) == [{"n": 0}]


def test_reading_ends_with_the_row_that_goes_beyond_the_bytes(database: Database) -> None:
    many = replace(statement("UNWIND range(1, 100000) AS x RETURN x", "read"), max_bytes=36)
    # A name of one character and a number of eight bytes, 9 a row.
    assert database.run(many) == [{"x": x} for x in (1, 2, 3, 4)]
    # The connection that was left in the middle of its rows serves on.
    assert database.run(COUNT) == [{"n": 0}]
    assert len(database.run(replace(many, max_bytes=None))) == 100_000


def test_a_transaction_is_whole_or_nothing(database: Database) -> None:
    with database.transaction("two") as transaction:
        transaction.run(ADD, x=1)
        assert transaction.run(COUNT) == [{"n": 1}]
        assert database.run(COUNT) == [{"n": 0}]
        transaction.run(ADD, x=2)
    assert database.run(COUNT) == [{"n": 2}]

    def add_and(last: Callable[[Transaction], object]) -> None:
        with database.transaction("lost") as transaction:
            transaction.run(ADD, x=3)
            last(transaction)

    def fail_with(error: BaseException, _: Transaction) -> None:
        raise error

    for error in (ValueError("mine"), OSError("mine"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught:
            add_and(partial(fail_with, error))
        assert caught.value is error
    with pytest.raises(DatabaseError):
        add_and(lambda transaction: transaction.run(statement("RETURN 1 / 0 AS x")))
    assert database.run(COUNT) == [{"n": 2}]


def test_values_come_back_plain(database: Database) -> None:
    query = statement(
        "RETURN date('2020-01-02') AS day, duration('P1DT2H') AS span, "
        "point({longitude: 12.5, latitude: 55}) AS place, {a: [1, null]} AS map, $text AS text",
        "read",
    )
    assert database.run(query, text="Zoë ` \\ 猫 \u2028") == [
        {
            "day": "2020-01-02",
            "span": "P1DT2H",
            "place": {"srid": 4326, "coordinates": [12.5, 55.0]},
            "map": {"a": [1, None]},
            "text": "Zoë ` \\ 猫 \u2028",
        }
    ]


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, {1: 2}, {1, 2}, "\ud800"])
def test_a_value_that_cannot_be_sent_is_named_and_harms_nothing(
    database: Database, value: object
) -> None:
    echo = statement("RETURN $value AS value", "read", name="test/echo")
    with pytest.raises(ConfigError, match=r"test/echo: a parameter cannot be sent"):
        database.run(echo, value=value)
    with (
        pytest.raises(ConfigError, match="cannot be sent"),
        database.transaction("x") as transaction,
    ):
        transaction.run(echo, value=value)
    assert database.run(echo, value=2**63 - 1) == [{"value": 2**63 - 1}]


def test_the_server_stops_a_statement_at_its_time(database: Database) -> None:
    slow = statement(
        "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b "
        "WITH a, b WHERE a % 7 = b % 11 RETURN count(*) AS n",
        "read",
        name="test/slow",
    )
    with Database(database.connection, timeout_s=1.0, retry_s=0.0) as impatient:
        with pytest.raises(QueryTimeout, match="test/slow"):
            impatient.run(slow)
        assert impatient.run(statement("RETURN 1 AS one", "read")) == [{"one": 1}]


def test_wrong_credentials(database: Database) -> None:
    given = database.connection
    wrong = Connection(given.uri, given.username, "wrong-password", given.database)
    with Database(wrong) as other, pytest.raises(AuthFailed) as caught:
        other.run(COUNT)
    assert "wrong-password" not in str(caught.value)


def test_indexes_that_are_absent_or_of_another_length(database: Database) -> None:
    for call in (
        "CALL db.index.vector.queryNodes('absent', 1, [1.0]) YIELD node RETURN node",
        "CALL db.index.fulltext.queryNodes('absent', 'x') YIELD node RETURN node",
    ):
        with pytest.raises(IndexMissing) as caught:
            database.run(statement(call, "read"))
        assert caught.value.hint == "Run: pathrag migrate up"
    database.run(
        statement(
            "CREATE VECTOR INDEX short FOR (n:A) ON n.v "
            "OPTIONS {indexConfig: {`vector.dimensions`: 3}}",
            "schema",
        )
    )
    database.run(statement("CALL db.awaitIndexes(60)", "read"))
    with pytest.raises(DimensionMismatch) as mismatch:
        database.run(
            statement(
                "CALL db.index.vector.queryNodes('short', 1, [1.0, 2.0]) YIELD node RETURN node",
                "read",
            )
        )
    assert (mismatch.value.found, mismatch.value.expected) == (2, 3)


def test_statements_carry_their_name(database: Database) -> None:
    query = statement(
        "SHOW TRANSACTIONS YIELD metaData, currentQuery "
        "WHERE currentQuery CONTAINS 'YIELD metaData' RETURN metaData AS data",
        "read",
        name="test/named",
    )
    assert database.run(query) == [{"data": {"app": "pathrag-gds", "query": "test/named"}}]


def test_plans_are_read_without_running(database: Database) -> None:
    plan = database.explain(ADD, x=1)
    assert database.run(COUNT) == [{"n": 0}]
    assert plan["keys"] == []
    assert any("Create" in o["operatorType"] for o in operators(plan["plan"]))
    database.run(ADD, x=1)
    profile = database.profile(COUNT)
    assert profile["keys"] == ["n"]
    assert sum(o["dbHits"] for o in operators(profile["plan"])) >= 1
    notified = database.explain(statement("MATCH (n:Absent) RETURN n", "read"))["notifications"]
    assert any("Absent" in n["description"] for n in notified)
