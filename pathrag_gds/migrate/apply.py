"""Run the text of migrations and callbacks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from pathrag_gds.errors import ApplyFailed, DatabaseError
from pathrag_gds.graph.database import Database, Transaction
from pathrag_gds.graph.queries import Mode, Query
from pathrag_gds.migrate import chain
from pathrag_gds.migrate.files import Callback, Migration
from pathrag_gds.migrate.lock import Lock, Progress
from pathrag_gds.migrate.placeholders import filled
from pathrag_gds.migrate.results import Step
from pathrag_gds.migrate.schema import (
    STATEMENT_TIMEOUT_S,
    await_indexes,
    dropped_names,
    refuse_conflicts,
    wanted_definitions,
)

__all__ = ["Recorder", "apply_migration", "recorder", "repeater", "run_callbacks"]

Recorder = Callable[[Transaction, int], None]


def apply_migration(
    db: Database,
    file: Migration,
    values: Mapping[str, str],
    record: Recorder,
    progress: Progress,
) -> Step:
    """Run one file and have it recorded.

    A schema file is one transaction, then its indexes are waited for and compared with what was
    asked for, then it is recorded in a second one: a crash between leaves it pending, and running
    it again is harmless. A data file is one transaction with its record. Batches commit one by one
    and are recorded after the last.

    Args:
        record: Writes the record, given the transaction and the milliseconds that it took.

    Raises:
        ApplyFailed: A statement failed.
        DimensionMismatch: An index exists with other dimensions.
        MigrationError: An index or constraint exists in another form.
    """
    statements = filled(file, values)
    started = time.monotonic()
    if file.kind == "schema":
        wanted = wanted_definitions([(file, values)])
        refuse_conflicts(db, wanted, file.version, dropped_names(file, values))
        with db.transaction(f"migrate/{file.name}", timeout_s=STATEMENT_TIMEOUT_S) as tx:
            _run_all(tx, file, statements)
        await_indexes(db, wanted, progress)
        refuse_conflicts(db, wanted, file.version)
        millis = _millis_since(started)
        with db.transaction("migrate/record") as tx:
            record(tx, millis)
    elif file.kind == "data":
        with db.transaction(f"migrate/{file.name}", timeout_s=STATEMENT_TIMEOUT_S) as tx:
            _run_all(tx, file, statements)
            millis = _millis_since(started)
            record(tx, millis)
    else:
        for number, statement in enumerate(statements, start=1):
            try:
                db.run(_query(file, statement, "auto"))
            except DatabaseError as error:
                raise _failed(file, number, error) from error
        millis = _millis_since(started)
        with db.transaction("migrate/record") as tx:
            record(tx, millis)
    return Step(file.version, file.name, "apply", statements, millis)


def run_callbacks(
    db: Database,
    callbacks: Iterable[Callback],
    values: Mapping[str, str],
    progress: Progress,
    *,
    dry_run: bool = False,
) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """Run the callbacks of a phase, each statement in a transaction of its own.

    Returns:
        A step per file, and the warnings: one for each file that was skipped for want of GDS, and
        what the statements gave in a column ``warning``.

    Raises:
        ApplyFailed: A statement failed; ``version`` is the name of the file.
    """
    steps = []
    warnings = []
    for callback in callbacks:
        statements = filled(callback, values)
        if callback.needs_gds and not db.capabilities.gds_version:
            reason = "the server has no Graph Data Science plugin"
            steps.append(Step("", callback.name, "skip", statements, 0, reason))
            warnings.append(f"{callback.name} was skipped: {reason}.")
            continue
        started = time.monotonic()
        if not dry_run:
            progress(f"Running {callback.name}.")
            for number, statement in enumerate(statements, start=1):
                try:
                    rows = db.run(_query(callback, statement, "auto"))
                except DatabaseError as error:
                    raise ApplyFailed(
                        f"{callback.path}: statement {number} failed: {error.message}",
                        version=callback.name,
                        statement=number,
                        hint="The migrations themselves are applied and recorded; the callback "
                        "runs again with: pathrag migrate up",
                    ) from error
                warnings += [str(row["warning"]) for row in rows if row.get("warning")]
        millis = 0 if dry_run else _millis_since(started)
        steps.append(Step("", callback.name, "callback", statements, millis))
    return tuple(steps), tuple(warnings)


def _run_all(tx: Transaction, file: Migration, statements: Sequence[str]) -> None:
    mode: Mode = "schema" if file.kind == "schema" else "write"
    for number, statement in enumerate(statements, start=1):
        try:
            tx.run(_query(file, statement, mode))
        except DatabaseError as error:
            raise _failed(file, number, error) from error


def _query(file: Migration | Callback, statement: str, mode: Mode) -> Query:
    return Query(f"migrate/{file.name}", statement, mode, timeout_s=STATEMENT_TIMEOUT_S)


def _failed(file: Migration, number: int, error: DatabaseError) -> ApplyFailed:
    stays = (
        "Earlier batches stay committed."
        if file.kind == "batches"
        else "Nothing of this file was kept."
    )
    return ApplyFailed(
        f"{file.path}: statement {number} failed: {error.message} {stays}",
        version=file.version,
        statement=number,
        hint="Correct the file and run it again: pathrag migrate up",
    )


def _millis_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def recorder(
    file: Migration,
    values: Mapping[str, str],
    lock: Lock,
    between: tuple[str, str | None],
    connected_as: str,
) -> Recorder:
    """Give what records a new migration between two others."""

    def write(tx: Transaction, millis: int) -> None:
        chain.record(
            tx, file, lock=lock, previous=between[0], following=between[1], placeholders=values,
            millis=millis, connected_as=connected_as,
        )  # fmt: skip

    return write


def repeater(
    file: Migration, version: str, values: Mapping[str, str], lock: Lock, connected_as: str
) -> Recorder:
    """Give what records that a repeatable migration was applied again.

    Args:
        version: As recorded; its width may differ from the file's.
    """

    def write(tx: Transaction, millis: int) -> None:
        chain.record_repetition(
            tx, file, version=version, lock=lock, placeholders=values, millis=millis,
            connected_as=connected_as,
        )  # fmt: skip

    return write
