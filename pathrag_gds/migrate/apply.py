"""Run the text of migrations and callbacks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from pathrag_gds.errors import (
    ApplyFailed,
    DatabaseError,
    DimensionMismatch,
    IndexMissing,
    MigrationError,
)
from pathrag_gds.graph.database import Database, Transaction
from pathrag_gds.graph.queries import Mode, Query, load
from pathrag_gds.migrate import chain
from pathrag_gds.migrate.chain import Lock, Progress
from pathrag_gds.migrate.definitions import (
    Definition,
    Finding,
    compare,
    dropped_name,
    existing,
    read_definition,
)
from pathrag_gds.migrate.files import Callback, Migration, enterprise_feature, fill
from pathrag_gds.migrate.results import Step

__all__ = [
    "apply_migration",
    "await_indexes",
    "filled",
    "findings",
    "read_schema",
    "recorder",
    "refuse_conflicts",
    "refuse_enterprise",
    "repeater",
    "restore",
    "run_callbacks",
    "wanted_definitions",
]

INDEX_TIMEOUT_S = 3600.0
STATEMENT_TIMEOUT_S = 3600.0

Recorder = Callable[[Transaction, int], None]


def filled(file: Migration | Callback, values: Mapping[str, str]) -> tuple[str, ...]:
    """Give the statements of a file with the placeholders filled in."""
    return tuple(fill(statement, values) for statement in file.statements)


def refuse_enterprise(db: Database, files: Iterable[Migration]) -> None:
    """Refuse files that need Enterprise Edition on a Community server, before anything is run.

    Raises:
        ApplyFailed: The first such statement.
    """
    for file in files:
        for number, statement in enumerate(file.statements, start=1):
            feature = enterprise_feature(statement)
            if feature and db.capabilities.edition.lower() == "community":
                raise ApplyFailed(
                    f"{file.path}: statement {number} makes {feature}, which needs Neo4j "
                    f"Enterprise; this server is Community {db.capabilities.version}.",
                    version=file.version,
                    statement=number,
                    hint="Take the statement out, or run the migrations on Enterprise or Aura. "
                    "Nothing was applied.",
                )


def wanted_definitions(
    files: Iterable[tuple[Migration, Mapping[str, str]]],
) -> tuple[Definition, ...]:
    """Give what the files, run one after the other, leave in the schema.

    Args:
        files: Each with the values of its placeholders.
    """
    wanted: list[Definition] = []
    for file, values in files:
        if file.kind != "schema":
            continue
        for statement in filled(file, values):
            definition = read_definition(statement)
            if definition is not None:
                wanted = [w for w in wanted if not w.name or w.name != definition.name]
                wanted.append(definition)
            dropped = dropped_name(statement)
            wanted = [w for w in wanted if not dropped or w.name != dropped]
    return tuple(wanted)


def read_schema(db: Database) -> tuple[Definition, ...]:
    """Read the indexes and constraints of the database."""
    return existing(db.run(load("migrate/show_indexes")), db.run(load("migrate/show_constraints")))


def findings(db: Database, wanted: Sequence[Definition]) -> tuple[Finding, ...]:
    """List how the schema differs from what applied migrations left.

    A vector index that ``pathrag embed --model`` made anew with other dimensions, and that is in
    use, is no difference.
    """
    live = {
        (row["name"], str(row["dimension"])) for row in db.run(load("migrate/live_vector_indexes"))
    }
    return tuple(
        finding
        for finding in compare(wanted, read_schema(db))
        if finding.setting != "vector.dimensions" or (finding.name, finding.found) not in live
    )


def refuse_conflicts(db: Database, wanted: Sequence[Definition], version: str) -> None:
    """Refuse what exists already in another form, which IF NOT EXISTS would pass over in silence.

    Raises:
        DimensionMismatch: A vector index has other dimensions.
        MigrationError: A name is taken, or a setting is another.
    """
    for finding in compare(wanted, read_schema(db)):
        if finding.problem in ("different", "other_name", "failed"):
            raise _as_error(finding, version)


def _as_error(finding: Finding, version: str = "") -> DimensionMismatch | MigrationError:
    message = f"Migration {version}: {finding.message}" if version else finding.message
    if finding.setting == "vector.dimensions" and finding.found.isdigit():
        return DimensionMismatch(
            message, expected=int(finding.found), found=int(finding.wanted), hint=finding.hint
        )
    return MigrationError(message, hint=finding.hint)


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
        refuse_conflicts(db, wanted, file.version)
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


def await_indexes(
    db: Database, wanted: Sequence[Definition], progress: Progress, *,
    timeout_s: float = INDEX_TIMEOUT_S,
) -> None:  # fmt: skip
    """Wait until the wanted indexes are online, reporting how far they are.

    Raises:
        IndexMissing: One failed, or is not ready after ``timeout_s``.
    """
    deadline = time.monotonic() + timeout_s
    pause = 0.02
    told: dict[str, str] = {}
    while True:
        waiting = []
        for finding in compare(wanted, read_schema(db)):
            if finding.problem == "failed":
                raise IndexMissing(finding.message, hint=finding.hint)
            if finding.problem == "populating":
                waiting.append(finding)
        if not waiting:
            return
        if time.monotonic() >= deadline:
            raise IndexMissing(waiting[0].message, hint=waiting[0].hint)
        for finding in waiting:
            if pause >= 1.0 and told.get(finding.name) != finding.message:
                told[finding.name] = finding.message
                progress(finding.message)
        time.sleep(pause)
        pause = min(1.0, pause * 2)


def restore(
    db: Database, wanted: Sequence[Definition], progress: Progress
) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """Make again what applied migrations made and somebody dropped.

    Returns:
        A step per statement, and a warning for everything that differs otherwise.

    Raises:
        DimensionMismatch: A vector index has other dimensions than its migration asks for.
    """
    steps = []
    warnings = []
    for finding in findings(db, wanted):
        if finding.setting == "vector.dimensions":
            raise _as_error(finding)
        if finding.problem != "missing":
            if finding.problem != "populating":
                warnings.append(f"{finding.message} {finding.hint}".strip())
            continue
        progress(f"Restoring {finding.name or 'an unnamed index'}.")
        started = time.monotonic()
        db.run(
            Query(
                f"migrate/restore {finding.name}",
                finding.statement,
                "schema",
                timeout_s=STATEMENT_TIMEOUT_S,
            )
        )
        steps.append(
            Step("", finding.name, "restore", (finding.statement,), _millis_since(started))
        )
    if steps:
        await_indexes(db, wanted, progress)
    return tuple(steps), tuple(warnings)


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
        A step per file, and a warning for each that was skipped for want of GDS.

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
                    db.run(_query(callback, statement, "auto"))
                except DatabaseError as error:
                    raise ApplyFailed(
                        f"{callback.path}: statement {number} failed: {error.message}",
                        version=callback.name,
                        statement=number,
                        hint="The migrations themselves are applied and recorded; the callback "
                        "runs again with: pathrag migrate up",
                    ) from error
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
