"""Commands that change the records and run no migration: repair, baseline, clean, unlock."""

from __future__ import annotations

from pathlib import Path

from pathrag_gds.errors import InvalidMigration, MigrationError
from pathrag_gds.graph.database import Database
from pathrag_gds.migrate import apply, chain, plan, schema
from pathrag_gds.migrate.chain import Record
from pathrag_gds.migrate.files import Migration
from pathrag_gds.migrate.folder import read_folders
from pathrag_gds.migrate.lock import Progress, hold, locked, read_lock, remove_lock
from pathrag_gds.migrate.placeholders import values_of
from pathrag_gds.migrate.plan import Entry
from pathrag_gds.migrate.results import (
    BaselineResult,
    Change,
    CleanResult,
    RepairResult,
    UnlockResult,
)
from pathrag_gds.migrate.situation import (
    LOCK_WAIT_S,
    Situation,
    Values,
    folders,
    read_situation,
    silent,
)

__all__ = ["baseline", "clean", "repair", "unlock"]


def repair(
    db: Database,
    *,
    dry_run: bool = False,
    placeholders: Values | None = None,
    folder: Path | None = None,
    packaged: bool = True,
    wait_s: float = LOCK_WAIT_S,
    progress: Progress = silent,
) -> RepairResult:
    """Make the records agree with the files; runs no migration.

    Checksums of edited files are corrected, records whose file is gone are dropped, later copies of
    a version are dropped, files older than the newest applied one are recorded as applied, and
    placeholders that are given replace the recorded values.

    Args:
        dry_run: Say what would change, and change nothing.

    Raises:
        InvalidMigration: A file breaks a rule, or there is none.
        MigrationError: The records are not in one line.
        MigrationLocked: Another runner holds the lock.
    """
    if not read_folders(folders(folder, packaged)).migrations:
        raise InvalidMigration(
            "There are no migration files, so a repair would drop every record.",
            hint="To forget all records: pathrag migrate clean",
        )
    if dry_run:
        found = read_situation(db, placeholders, folder, packaged)
        return RepairResult(True, tuple(change for change, _ in _repairs(found)))
    with locked(db, wait_s=wait_s, progress=progress) as lock:
        found = read_situation(db, placeholders, folder, packaged)
        repairs = _repairs(found)
        versions = [r.version for r in found.chain.records]
        with db.transaction("migrate/repair") as tx:
            hold(tx, lock)
            for change, entry in repairs:
                if change.action == "drop" and isinstance(entry, Record):
                    chain.drop(tx, entry)
                    versions.remove(entry.version)
                elif isinstance(entry, Entry) and entry.file is not None:
                    file = entry.file
                    values = values_of(file, found.values)
                    if change.action == "correct":
                        chain.correct(tx, entry.version, file, values)
                        continue
                    previous, following = plan.place(versions, file.version)
                    chain.record(
                        tx, file, lock=lock, previous=previous, following=following,
                        placeholders=values, millis=0, connected_as=db.connection.username,
                    )  # fmt: skip
                    versions.append(file.version)
    return RepairResult(False, tuple(change for change, _ in repairs))


def baseline(
    db: Database,
    version: str,
    *,
    dry_run: bool = False,
    placeholders: Values | None = None,
    folder: Path | None = None,
    packaged: bool = True,
    wait_s: float = LOCK_WAIT_S,
    progress: Progress = silent,
) -> BaselineResult:
    """Record every file up to a version as applied without running it.

    For a database whose indexes were made by hand. What the recorded files would have made and is
    not there is listed; ``up`` makes it.

    Args:
        version: Last version to record; ``latest`` for all.

    Raises:
        InvalidMigration: There is no such version, or a file breaks a rule.
        MigrationError: The records are faulty already.
        MigrationLocked: Another runner holds the lock.
    """
    if dry_run:
        found = read_situation(db, placeholders, folder, packaged)
        due = _baseline_due(found, version)
        return BaselineResult(True, tuple(e.version for e in due))
    with locked(db, wait_s=wait_s, progress=progress) as lock:
        found = read_situation(db, placeholders, folder, packaged)
        due = _baseline_due(found, version)
        versions = [r.version for r in found.chain.records]
        with db.transaction("migrate/baseline") as tx:
            for entry in due:
                assert entry.file is not None
                previous, following = plan.place(versions, entry.version)
                chain.record(
                    tx, entry.file, lock=lock, previous=previous, following=following,
                    placeholders=values_of(entry.file, found.values), millis=0,
                    connected_as=db.connection.username,
                )  # fmt: skip
                versions.append(entry.version)
    findings = schema.findings(db, read_situation(db, placeholders, folder, packaged).wanted())
    return BaselineResult(False, tuple(e.version for e in due), findings)


def clean(
    db: Database,
    *,
    dry_run: bool = False,
    placeholders: Values | None = None,
    folder: Path | None = None,
    packaged: bool = True,
    wait_s: float = LOCK_WAIT_S,
    progress: Progress = silent,
) -> CleanResult:
    """Forget which migrations were applied; data, indexes and constraints stay.

    Args:
        dry_run: Count the records, and delete nothing.

    Raises:
        MigrationLocked: Another runner holds the lock.
    """
    if dry_run:
        return CleanResult(True, len(chain.read_chain(db).records))
    with locked(db, wait_s=wait_s, progress=progress) as lock:
        found = read_situation(db, placeholders, folder, packaged)
        _, before = apply.run_callbacks(
            db, found.folder.of_phase("beforeClean"), found.values, progress
        )
        with db.transaction("migrate/clean") as tx:
            hold(tx, lock)
            chain.clean_chain(tx)
        _, after = apply.run_callbacks(
            db, found.folder.of_phase("afterClean"), found.values, progress
        )
    return CleanResult(False, len(found.chain.records), before + after)


def unlock(db: Database) -> UnlockResult:
    """Remove the migration lock, whoever holds it.

    Only for a lock that a dead runner left behind; a living one stops at its next record. The age
    of a lock says nothing: a slow migration holds it just as long.
    """
    held = read_lock(db)
    removed = remove_lock(db)
    return UnlockResult(held if removed else None)


def _repairs(found: Situation) -> list[tuple[Change, Entry | Record]]:
    if found.chain.broken and not found.chain.duplicates:
        plan.check((), found.chain)
    repairs: list[tuple[Change, Entry | Record]] = []
    seen: set[str] = set()
    for record in found.chain.records:
        if record.version in seen:
            message = f"A second record of version {record.version} is dropped."
            repairs.append((Change(record.version, "drop", message), record))
        seen.add(record.version)
    for entry in found.entries:
        file, recorded = entry.file, entry.record
        if file is None and recorded is not None:
            message = f"The record of {entry.source or entry.version} is dropped: its file is gone."
            repairs.append((Change(entry.version, "drop", message), recorded))
        elif file is not None and recorded is None and entry.state == "out_of_order":
            message = f"{file.name} is recorded as applied in its place; it is not run."
            repairs.append((Change(entry.version, "insert", message), entry))
        elif file is not None and recorded is not None:
            repairs += _corrections(entry, file, recorded, found)
    return repairs


def _corrections(
    entry: Entry, file: Migration, recorded: Record, found: Situation
) -> list[tuple[Change, Entry | Record]]:
    if entry.state == "changed":
        message = f"{file.name}: checksum {recorded.checksum} becomes {file.checksum}."
        return [(Change(entry.version, "correct", message), entry)]
    used = values_of(file, found.values)
    for name in sorted(found.given & set(used)):
        before = recorded.placeholders.get(name)
        if entry.state == "applied" and before != used[name]:
            was = f"{before} becomes" if before else "is now recorded as"
            message = f"{file.name}: {name} {was} {used[name]}."
            return [(Change(entry.version, "correct", message), entry)]
    if entry.state == "retyped":
        raise MigrationError(
            f"{file.path} was {'repeatable' if recorded.repeatable else 'versioned'} when it was "
            "applied; that cannot be repaired.",
            hint=f"Name it {'R' if recorded.repeatable else 'V'}… again.",
        )
    return []


def _baseline_due(found: Situation, version: str) -> tuple[Entry, ...]:
    plan.check(found.entries, found.chain)
    return tuple(e for e in plan.select(found.entries, version) if e.state == "pending")
