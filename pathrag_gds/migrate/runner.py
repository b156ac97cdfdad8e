"""The commands of ``pathrag migrate`` as functions: status, up, validate, repair, baseline, clean.

Each compares the files with the records on the database; ``up`` runs what is pending. There is no
way down: neither Neo4j nor the format knows one; a wrong index is dropped by the next migration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from pathrag_gds.errors import InvalidMigration, MigrationError
from pathrag_gds.graph.database import Database
from pathrag_gds.migrate import apply, chain, plan
from pathrag_gds.migrate.chain import Chain, Lock, Progress, Record
from pathrag_gds.migrate.definitions import Definition, Finding
from pathrag_gds.migrate.files import (
    Migration,
    MigrationFolder,
    read_folders,
    version_key,
)
from pathrag_gds.migrate.plan import Entry
from pathrag_gds.migrate.results import (
    BaselineResult,
    Change,
    CleanResult,
    RepairResult,
    Status,
    Step,
    UnlockResult,
    UpResult,
    Validation,
)

__all__ = [
    "baseline",
    "clean",
    "migrations_folder",
    "repair",
    "status",
    "unlock",
    "up",
    "validate",
]

LOCK_WAIT_S = 30.0

Values = Mapping[str, object]


def _silent(_: str) -> None:
    """Report nothing."""


@lru_cache(maxsize=1)
def migrations_folder() -> Path:
    """Give the folder of our migrations: in the package in a wheel, beside it in a checkout."""
    packaged = Path(str(files("pathrag_gds"))) / "migrations"
    return packaged if packaged.is_dir() else packaged.parent.parent / "migrations"


@dataclass(frozen=True, slots=True)
class _Situation:
    """Files, records and values, read together."""

    folder: MigrationFolder
    chain: Chain
    entries: tuple[Entry, ...]
    values: Mapping[str, str]
    differences: tuple[str, ...]

    def wanted(self) -> tuple[Definition, ...]:
        """Give what the applied files leave in the schema, with the values of their time."""
        return apply.wanted_definitions(
            (entry.file, {**self.values, **entry.record.placeholders})
            for entry in self.entries
            if entry.file is not None and entry.record is not None
        )


def status(
    db: Database,
    *,
    placeholders: Values | None = None,
    folder: Path | None = None,
    packaged: bool = True,
) -> Status:
    """Say how files and database stand to each other; reads only, takes no lock.

    Args:
        placeholders: Values to compare with the recorded ones.
        folder: A folder of further migrations, beside the packaged ones.
        packaged: Whether the packaged migrations take part.

    Raises:
        InvalidMigration: A file or a placeholder breaks a rule.
        DatabaseError: The database cannot be read.
    """
    found = _read(db, placeholders, folder, packaged)
    return Status(
        outcome=plan.outcome(found.entries, found.chain, values_differ=bool(found.differences)),
        entries=found.entries,
        findings=_findings(db, found),
        placeholders=tuple(found.values.items()),
        lock=chain.read_lock(db),
        warnings=_warnings(found),
    )


def up(
    db: Database,
    *,
    target: str | None = None,
    dry_run: bool = False,
    placeholders: Values | None = None,
    folder: Path | None = None,
    packaged: bool = True,
    out_of_order: bool = False,
    wait_s: float = LOCK_WAIT_S,
    progress: Progress = _silent,
) -> UpResult:
    """Apply what is pending, restore what is missing, run the callbacks; safe to repeat.

    Args:
        target: ``latest`` (default), ``next``, ``current``, or a version.
        dry_run: Give the plan with the filled-in statements; nothing is changed, no lock taken.
        placeholders: Values by name; what is not given is as recorded, else the default.
        folder: A folder of further migrations, beside the packaged ones.
        packaged: Whether the packaged migrations take part.
        out_of_order: Apply files that are older than the newest applied one, in their place.
        wait_s: For so many seconds a lock that another runner holds is waited for.
        progress: Is told what happens, a sentence at a time.

    Raises:
        InvalidMigration: A file, a placeholder or the target breaks a rule.
        ChecksumDrift: An applied file was edited.
        MigrationMissing: An applied file is gone.
        OutOfOrder: A pending file is older than the newest applied one.
        MigrationLocked: Another runner holds the lock.
        ApplyFailed: A statement failed, or needs Enterprise Edition.
        DimensionMismatch: A vector index exists with other dimensions.
    """
    if dry_run:
        found = _read(db, placeholders, folder, packaged)
        return _plan_up(db, found, target, out_of_order)
    # Mistakes in the files are told before anything touches the database.
    read_folders(_folders(folder, packaged))
    with chain.locked(db, wait_s=wait_s, progress=progress) as lock:
        found = _read(db, placeholders, folder, packaged)
        due = _due(db, found, target, out_of_order)
        steps, warnings = apply.run_callbacks(
            db, found.folder.of_phase("beforeMigrate"), found.values, progress
        )
        restored, differing = apply.restore(db, found.wanted(), progress)
        steps += restored
        versions = [record.version for record in found.chain.records]
        for number, entry in enumerate(due, start=1):
            assert entry.file is not None
            progress(f"Applying {entry.file.name} ({number} of {len(due)}).")
            steps += (_apply(db, entry, entry.file, found.values, versions, lock, progress),)
        after, skipped = apply.run_callbacks(
            db, found.folder.of_phase("afterMigrate"), found.values, progress
        )
    return UpResult(
        dry_run=False,
        version=max(versions, key=version_key, default=""),
        steps=steps + after,
        placeholders=tuple(found.values.items()),
        warnings=(*_warnings(found), *differing, *warnings, *skipped),
    )


def validate(
    db: Database,
    *,
    placeholders: Values | None = None,
    folder: Path | None = None,
    packaged: bool = True,
) -> Validation:
    """Say whether every file is applied unchanged and the schema is as they say; reads only.

    Args and errors are those of :func:`status`.
    """
    found = status(db, placeholders=placeholders, folder=folder, packaged=packaged)
    told = list(found.warnings)
    for entry in found.entries:
        if entry.state != "applied":
            told.append(f"Version {entry.version} ({entry.description}) is {_in_words(entry)}.")
    return Validation(found.outcome, found.findings, tuple(told))


def repair(
    db: Database,
    *,
    dry_run: bool = False,
    placeholders: Values | None = None,
    folder: Path | None = None,
    packaged: bool = True,
    wait_s: float = LOCK_WAIT_S,
    progress: Progress = _silent,
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
    if not read_folders(_folders(folder, packaged)).migrations:
        raise InvalidMigration(
            "There are no migration files, so a repair would drop every record.",
            hint="To forget all records: pathrag migrate clean",
        )
    if dry_run:
        found = _read(db, placeholders, folder, packaged)
        return RepairResult(True, tuple(change for change, _ in _repairs(found)))
    with chain.locked(db, wait_s=wait_s, progress=progress) as lock:
        found = _read(db, placeholders, folder, packaged)
        repairs = _repairs(found)
        versions = [r.version for r in found.chain.records]
        with db.transaction("migrate/repair") as tx:
            chain.hold(tx, lock)
            for change, entry in repairs:
                if change.action == "drop" and isinstance(entry, Record):
                    chain.drop(tx, entry)
                    versions.remove(entry.version)
                elif isinstance(entry, Entry) and entry.file is not None:
                    file = entry.file
                    values = plan.values_of(file, found.values)
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
    progress: Progress = _silent,
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
        found = _read(db, placeholders, folder, packaged)
        due = _baseline_due(found, version)
        return BaselineResult(True, tuple(e.version for e in due))
    with chain.locked(db, wait_s=wait_s, progress=progress) as lock:
        found = _read(db, placeholders, folder, packaged)
        due = _baseline_due(found, version)
        versions = [r.version for r in found.chain.records]
        with db.transaction("migrate/baseline") as tx:
            for entry in due:
                assert entry.file is not None
                previous, following = plan.place(versions, entry.version)
                chain.record(
                    tx, entry.file, lock=lock, previous=previous, following=following,
                    placeholders=plan.values_of(entry.file, found.values), millis=0,
                    connected_as=db.connection.username,
                )  # fmt: skip
                versions.append(entry.version)
    findings = _findings(db, _read(db, placeholders, folder, packaged))
    return BaselineResult(False, tuple(e.version for e in due), findings)


def clean(
    db: Database,
    *,
    dry_run: bool = False,
    placeholders: Values | None = None,
    folder: Path | None = None,
    packaged: bool = True,
    wait_s: float = LOCK_WAIT_S,
    progress: Progress = _silent,
) -> CleanResult:
    """Forget which migrations were applied; data, indexes and constraints stay.

    Args:
        dry_run: Count the records, and delete nothing.

    Raises:
        MigrationLocked: Another runner holds the lock.
    """
    if dry_run:
        return CleanResult(True, len(chain.read_chain(db).records))
    with chain.locked(db, wait_s=wait_s, progress=progress) as lock:
        found = _read(db, placeholders, folder, packaged)
        _, before = apply.run_callbacks(
            db, found.folder.of_phase("beforeClean"), found.values, progress
        )
        with db.transaction("migrate/clean") as tx:
            chain.hold(tx, lock)
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
    held = chain.read_lock(db)
    removed = chain.remove_lock(db)
    return UnlockResult(held if removed else None)


def _folders(folder: Path | None, packaged: bool) -> list[Path]:
    return ([migrations_folder()] if packaged else []) + ([folder] if folder is not None else [])


def _read(
    db: Database, placeholders: Values | None, folder: Path | None, packaged: bool
) -> _Situation:
    local = read_folders(_folders(folder, packaged))
    recorded = chain.read_chain(db)
    values, differences = plan.resolve_placeholders(local, recorded, placeholders)
    return _Situation(
        local, recorded, plan.compare(local.migrations, recorded), values, differences
    )


def _findings(db: Database, found: _Situation) -> tuple[Finding, ...]:
    return apply.findings(db, found.wanted())


def _warnings(found: _Situation) -> tuple[str, ...]:
    told = list(found.differences)
    if found.chain.broken:
        told.append(f"The recorded migrations are not in one line: {found.chain.broken}.")
    told += [f"Version {v} is recorded more than once." for v in found.chain.duplicates]
    told += [
        f"{c.name} is not run: pathrag has no phase {c.phase}."
        for c in found.folder.callbacks
        if c.phase in _PHASES_NOT_RUN
    ]
    return tuple(told)


_PHASES_NOT_RUN = ("beforeFirstUse", "beforeValidate", "afterValidate", "beforeInfo", "afterInfo")


def _due(
    db: Database, found: _Situation, target: str | None, out_of_order: bool
) -> tuple[Entry, ...]:
    plan.check(found.entries, found.chain, out_of_order=out_of_order)
    if found.differences:
        raise InvalidMigration(
            found.differences[0],
            hint="Leave the placeholder out to keep the recorded value. For another model: "
            "pathrag embed --model NAME",
        )
    due = plan.select(found.entries, target)
    apply.refuse_enterprise(db, (e.file for e in due if e.file is not None))
    return due


def _plan_up(db: Database, found: _Situation, target: str | None, out_of_order: bool) -> UpResult:
    due = _due(db, found, target, out_of_order)
    steps: list[Step] = []
    warnings: list[str] = list(_warnings(found))

    def callbacks(phase: str) -> None:
        planned, skipped = apply.run_callbacks(
            db, found.folder.of_phase(phase), found.values, _silent, dry_run=True
        )
        steps.extend(planned)
        warnings.extend(skipped)

    callbacks("beforeMigrate")
    for finding in _findings(db, found):
        if finding.problem == "missing":
            steps.append(Step("", finding.name, "restore", (finding.statement,)))
        else:
            warnings.append(f"{finding.message} {finding.hint}".strip())
    for entry in due:
        assert entry.file is not None
        values = plan.values_of(entry.file, found.values)
        apply.refuse_conflicts(db, apply.wanted_definitions([(entry.file, values)]), entry.version)
        action = "repeat" if entry.state == "outdated" else "apply"
        steps.append(Step(entry.version, entry.file.name, action, apply.filled(entry.file, values)))
    callbacks("afterMigrate")
    return UpResult(
        dry_run=True,
        version=max((r.version for r in found.chain.records), key=version_key, default=""),
        steps=tuple(steps),
        placeholders=tuple(found.values.items()),
        warnings=tuple(warnings),
    )


def _apply(
    db: Database,
    entry: Entry,
    file: Migration,
    all_values: Mapping[str, str],
    versions: list[str],
    lock: Lock,
    progress: Progress,
) -> Step:
    values = plan.values_of(file, all_values)
    if entry.state == "outdated":
        record = apply.repeater(file, entry.version, values, lock, db.connection.username)
        return replace(apply.apply_migration(db, file, values, record, progress), action="repeat")
    between = plan.place(versions, file.version)
    record = apply.recorder(file, values, lock, between, db.connection.username)
    step = apply.apply_migration(db, file, values, record, progress)
    versions.append(file.version)
    return step


def _repairs(found: _Situation) -> list[tuple[Change, Entry | Record]]:
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
    entry: Entry, file: Migration, recorded: Record, found: _Situation
) -> list[tuple[Change, Entry | Record]]:
    if entry.state == "changed":
        message = f"{file.name}: checksum {recorded.checksum} becomes {file.checksum}."
        return [(Change(entry.version, "correct", message), entry)]
    used = plan.values_of(file, found.values)
    if entry.state == "applied" and found.differences and used != dict(recorded.placeholders):
        message = f"{file.name}: placeholders {dict(recorded.placeholders)} become {used}."
        return [(Change(entry.version, "correct", message), entry)]
    if entry.state == "retyped":
        raise MigrationError(
            f"{file.path} was {'repeatable' if recorded.repeatable else 'versioned'} when it was "
            "applied; that cannot be repaired.",
            hint=f"Name it {'R' if recorded.repeatable else 'V'}… again.",
        )
    return []


def _baseline_due(found: _Situation, version: str) -> tuple[Entry, ...]:
    plan.check(found.entries, found.chain)
    return tuple(e for e in plan.select(found.entries, version) if e.state == "pending")


def _in_words(entry: Entry) -> str:
    return {
        "pending": "pending",
        "out_of_order": "pending, but older than the newest applied one",
        "outdated": "repeatable and changed since it was applied",
        "changed": "edited since it was applied",
        "retyped": "of another type than when it was applied",
        "missing": "applied, but its file is gone",
    }[entry.state]
