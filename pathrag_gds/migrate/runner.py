"""The commands of ``pathrag migrate`` as functions: status, up, validate, repair, baseline, clean.

Each compares the files with the records on the database; ``up`` runs what is pending. There is no
way down: neither Neo4j nor the format knows one; a wrong index is dropped by the next migration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pathrag_gds.errors import InvalidMigration
from pathrag_gds.graph.database import Database
from pathrag_gds.migrate import apply, plan, schema
from pathrag_gds.migrate.bookkeeping import baseline, clean, repair, unlock
from pathrag_gds.migrate.files import Migration, version_key
from pathrag_gds.migrate.folder import migrations_folder, read_folders
from pathrag_gds.migrate.lock import Lock, Progress, locked, read_lock
from pathrag_gds.migrate.placeholders import filled, values_of
from pathrag_gds.migrate.plan import Entry
from pathrag_gds.migrate.results import Status, Step, UpResult, Validation
from pathrag_gds.migrate.situation import (
    LOCK_WAIT_S,
    Situation,
    Values,
    folders,
    read_situation,
    silent,
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
    found = read_situation(db, placeholders, folder, packaged)
    return Status(
        outcome=plan.outcome(found.entries, found.chain, values_differ=bool(found.differences)),
        entries=found.entries,
        findings=schema.findings(db, found.wanted()),
        placeholders=tuple(found.values.items()),
        lock=read_lock(db),
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
    progress: Progress = silent,
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
        found = read_situation(db, placeholders, folder, packaged)
        return _plan_up(db, found, target, out_of_order)
    # Mistakes in the files are told before anything touches the database.
    read_folders(folders(folder, packaged))
    with locked(db, wait_s=wait_s, progress=progress) as lock:
        found = read_situation(db, placeholders, folder, packaged)
        due = _due(db, found, target, out_of_order)
        steps, warnings = apply.run_callbacks(
            db, found.folder.of_phase("beforeMigrate"), found.values, progress
        )
        restored, differing = schema.restore(db, found.wanted(), progress)
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


def _warnings(found: Situation) -> tuple[str, ...]:
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
    db: Database, found: Situation, target: str | None, out_of_order: bool
) -> tuple[Entry, ...]:
    plan.check(found.entries, found.chain, out_of_order=out_of_order)
    if found.differences:
        raise InvalidMigration(
            found.differences[0],
            hint="Leave the placeholder out to keep the recorded value. For another model: "
            "pathrag embed --model NAME",
        )
    due = plan.select(found.entries, target)
    schema.refuse_enterprise(db, (e.file for e in due if e.file is not None))
    return due


def _plan_up(db: Database, found: Situation, target: str | None, out_of_order: bool) -> UpResult:
    due = _due(db, found, target, out_of_order)
    steps: list[Step] = []
    warnings: list[str] = list(_warnings(found))

    def callbacks(phase: str) -> None:
        planned, skipped = apply.run_callbacks(
            db, found.folder.of_phase(phase), found.values, silent, dry_run=True
        )
        steps.extend(planned)
        warnings.extend(skipped)

    callbacks("beforeMigrate")
    for finding in schema.findings(db, found.wanted()):
        if finding.problem == "missing":
            steps.append(Step("", finding.name, "restore", (finding.statement,)))
        else:
            warnings.append(f"{finding.message} {finding.hint}".strip())
    dropped: frozenset[str] = frozenset()
    for entry in due:
        assert entry.file is not None
        values = values_of(entry.file, found.values)
        dropped |= schema.dropped_names(entry.file, values)
        wanted = schema.wanted_definitions([(entry.file, values)])
        schema.refuse_conflicts(db, wanted, entry.version, dropped)
        action = "repeat" if entry.state == "outdated" else "apply"
        steps.append(Step(entry.version, entry.file.name, action, filled(entry.file, values)))
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
    values = values_of(file, all_values)
    if entry.state == "outdated":
        record = apply.repeater(file, entry.version, values, lock, db.connection.username)
        return replace(apply.apply_migration(db, file, values, record, progress), action="repeat")
    between = plan.place(versions, file.version)
    record = apply.recorder(file, values, lock, between, db.connection.username)
    step = apply.apply_migration(db, file, values, record, progress)
    versions.append(file.version)
    return step


def _in_words(entry: Entry) -> str:
    return {
        "pending": "pending",
        "out_of_order": "pending, but older than the newest applied one",
        "outdated": "repeatable and changed since it was applied",
        "changed": "edited since it was applied",
        "retyped": "of another type than when it was applied",
        "missing": "applied, but its file is gone",
    }[entry.state]
