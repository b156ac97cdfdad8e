"""Batches are repeated, halved or searched for their bad row, by what the server says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from pathrag_gds.errors import DatabaseError, LoadError, QueryTimeout, ServerUnavailable
from pathrag_gds.graph.database import Database, Row
from pathrag_gds.graph.queries import Query
from pathrag_gds.ingest.batches import BatchWriter, Numbered
from pathrag_gds.ingest.rows import Record, node_row, relationship_row

Verdict = Callable[[list[str]], DatabaseError | None]


class FakeServer:
    """Keep the ids of committed nodes; a verdict on the ids of a transaction may fail it."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.committed: list[list[str]] = []
        self.noted: list[tuple[int, bool]] = []
        self.witnesses: list[str | None] = []
        self.tried: list[list[str]] = []

    @contextmanager
    def transaction(self, name: str) -> Iterator[FakeTransaction]:
        transaction = FakeTransaction(self)
        yield transaction
        self.committed.append(transaction.ids)
        self.noted.append(transaction.note)


class FakeTransaction:
    def __init__(self, server: FakeServer) -> None:
        self.server = server
        self.ids: list[str] = []
        self.note = (0, False)

    def run(self, query: Query, /, **parameters: Any) -> list[Row]:
        if query.name == "ingest/write_progress":
            self.note = (parameters["records"], parameters["finished"])
            self.server.witnesses.append(parameters["witness"])
            return []
        assert query.name == "ingest/merge_nodes"
        self.ids += [row["id"] for row in parameters["rows"]]
        self.server.tried.append(self.ids)
        error = self.server.verdict(self.ids)
        if error:
            raise error
        return []


def batch(*ids: str) -> list[Numbered]:
    return [(i, Record(i + 1, x, node_row(x, [], {}))) for i, x in enumerate(ids, start=1)]


def writer(server: FakeServer, *, skip: bool = False) -> BatchWriter:
    return BatchWriter(cast(Database, server), "t", Path("n.csv"), "file", skip=skip)


def test_a_batch_is_one_transaction_with_its_note() -> None:
    server = FakeServer(lambda _: None)
    assert writer(server).write(batch("a", "b"), 7, finished=True) == []
    assert server.committed == [["a", "b"]]
    assert server.noted == [(7, True)]
    assert server.witnesses == ["b"]


@pytest.mark.parametrize(
    "error",
    [
        DatabaseError("too much", code="Neo.TransientError.General.MemoryPoolOutOfMemoryError"),
        QueryTimeout("too long"),
    ],
)
def test_a_batch_that_is_too_much_is_halved(error: DatabaseError) -> None:
    server = FakeServer(lambda ids: error if len(ids) > 2 else None)
    writer(server).write(batch("a", "b", "c", "d", "e"), 9, finished=True)
    assert server.committed == [["a", "b"], ["c"], ["d", "e"]]
    assert server.noted == [(2, False), (3, False), (9, True)]


def test_one_row_that_is_too_much_fails() -> None:
    error = QueryTimeout("too long")
    with pytest.raises(QueryTimeout):
        writer(FakeServer(lambda _: error)).write(batch("a"), 1, finished=True)


def test_a_passing_failure_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathrag_gds.ingest.batches.time.sleep", lambda _: None)
    deadlock = DatabaseError("x", code="Neo.TransientError.Transaction.DeadlockDetected")
    answers: list[DatabaseError | None] = [deadlock, deadlock, None]
    server = FakeServer(lambda _: answers.pop(0))
    writer(server).write(batch("a"), 1, finished=True)
    assert server.committed == [["a"]]

    server = FakeServer(lambda _: deadlock)
    with pytest.raises(DatabaseError):
        writer(server).write(batch("a"), 1, finished=True)
    assert len(server.tried) == 4


def refuse_twins(ids: list[str]) -> DatabaseError | None:
    if len(set(ids)) < len(ids) or "bad" in ids:
        return DatabaseError("refused", code="Neo.ClientError.Schema.ConstraintValidationFailed")
    return None


@pytest.mark.parametrize("ids", [("a", "bad", "c"), ("a", "b", "c", "b"), ("bad",), ("a", "bad")])
def test_the_first_refused_row_is_named(ids: tuple[str, ...]) -> None:
    server = FakeServer(refuse_twins)
    with pytest.raises(LoadError, match="the server refuses the row: refused") as caught:
        writer(server).write(batch(*ids), 4, finished=True)
    first = next(i for i in range(len(ids)) if refuse_twins(list(ids[: i + 1])))
    assert caught.value.line == first + 2
    assert server.committed == []


def test_refused_rows_are_left_out_when_wanted() -> None:
    server = FakeServer(refuse_twins)
    left_out = writer(server, skip=True).write(batch("a", "bad", "b", "bad"), 4, finished=True)
    assert [record.raw for record in left_out] == ["bad", "bad"]
    assert server.committed == [["a", "b"]]
    assert server.noted == [(4, True)]


def test_a_lost_server_is_no_fault_of_a_row() -> None:
    server = FakeServer(lambda _: ServerUnavailable("gone"))
    with pytest.raises(ServerUnavailable):
        writer(server, skip=True).write(batch("a", "b"), 2, finished=True)
    assert len(server.tried) == 1


def test_a_failure_that_does_not_come_back_is_raised() -> None:
    answers = [DatabaseError("odd", code="Neo.DatabaseError.General.UnknownError"), None]
    server = FakeServer(lambda _: answers.pop(0))
    with pytest.raises(DatabaseError, match="odd"):
        writer(server).write(batch("a", "b"), 2, finished=True)


def test_relationships_are_counted_against_their_ends() -> None:
    row = relationship_row("a", "R", "ghost", {})

    class Ends(FakeServer):
        def run(self, query: Query, /, **parameters: Any) -> list[Row]:
            assert (query.name, parameters["ids"]) == ("ingest/missing_entities", ["a", "ghost"])
            return [{"id": "ghost"}]

    class NoRows(FakeTransaction):
        def run(self, query: Query, /, **parameters: Any) -> list[Row]:
            return [{"written": 0}]

    server = Ends(lambda _: None)

    @contextmanager
    def transaction(name: str) -> Iterator[FakeTransaction]:
        yield NoRows(server)

    server.transaction = transaction  # type: ignore[method-assign]
    with pytest.raises(LoadError, match="no node has the id 'ghost'") as caught:
        writer(server).write([(1, Record(5, "raw", row))], 1, finished=True)
    assert (caught.value.line, caught.value.column) == (5, "target")
