"""What the commands of ``pathrag migrate`` give back; every one has a JSON shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pathrag_gds.migrate.definitions import Finding
from pathrag_gds.migrate.lock import Lock
from pathrag_gds.migrate.plan import Entry, Outcome

__all__ = [
    "BaselineResult",
    "Change",
    "CleanResult",
    "RepairResult",
    "Status",
    "Step",
    "UnlockResult",
    "UpResult",
    "Validation",
]


@dataclass(frozen=True, slots=True)
class Step:
    """One file that was run, or would be.

    Attributes:
        version: Empty for callbacks.
        source: Name of the file.
        action: ``apply``, ``repeat``, ``restore`` (what an applied file made was missing),
            ``callback``, or ``skip``.
        statements: The text that was sent, placeholders filled in.
        millis: How long it took; 0 in a dry run.
        reason: Why it was skipped.
    """

    version: str
    source: str
    action: str
    statements: tuple[str, ...] = ()
    millis: int = 0
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {
            "version": self.version,
            "source": self.source,
            "action": self.action,
            "statements": list(self.statements),
            "millis": self.millis,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class UpResult:
    """What ``migrate up`` did.

    Attributes:
        dry_run: Nothing was done; ``steps`` is the plan.
        version: Newest applied version afterwards, empty when there is none.
        steps: In the order in which they ran.
        placeholders: Values in use.
        warnings: Sentences.
    """

    dry_run: bool
    version: str
    steps: tuple[Step, ...]
    placeholders: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def applied(self) -> tuple[str, ...]:
        """Versions that were applied or repeated."""
        return tuple(s.version for s in self.steps if s.action in ("apply", "repeat"))

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {
            "dry_run": self.dry_run,
            "version": self.version,
            "applied": list(self.applied),
            "steps": [step.to_dict() for step in self.steps],
            "placeholders": dict(self.placeholders),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class Status:
    """How files and database stand to each other.

    Attributes:
        outcome: A word of neo4j-migrations.
        entries: By version.
        findings: Indexes and constraints of applied migrations that are not as they should be.
        placeholders: Values in use.
        lock: Who holds the lock now, or None.
        warnings: Sentences.
    """

    outcome: Outcome
    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...] = ()
    placeholders: tuple[tuple[str, str], ...] = ()
    lock: Lock | None = None
    warnings: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """Newest applied version, empty when there is none."""
        return next((e.version for e in reversed(self.entries) if e.record is not None), "")

    @property
    def is_current(self) -> bool:
        """Whether nothing is pending, changed or missing, and every index is ready."""
        return self.outcome == "VALID" and not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {
            "outcome": self.outcome,
            "current": self.is_current,
            "version": self.version,
            "migrations": [_entry_dict(entry) for entry in self.entries],
            "findings": [_finding_dict(finding) for finding in self.findings],
            "placeholders": dict(self.placeholders),
            "lock": self.lock.to_dict() if self.lock else None,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class Validation:
    """Whether database and files agree.

    Attributes:
        outcome: A word of neo4j-migrations.
        findings: As in :class:`Status`.
        warnings: What is wrong, a sentence each.
    """

    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Whether every file is applied unchanged and every index is as its file says."""
        return self.outcome == "VALID" and not self.findings

    @property
    def needs_repair(self) -> bool:
        """Whether applying what is pending is not enough."""
        return self.outcome not in ("VALID", "INCOMPLETE_DATABASE")

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {
            "outcome": self.outcome,
            "valid": self.is_valid,
            "needs_repair": self.needs_repair,
            "findings": [_finding_dict(finding) for finding in self.findings],
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class Change:
    """One correction of the records.

    Attributes:
        action: ``correct`` (checksum, name, placeholders), ``drop`` or ``insert`` a record.
        message: What changes, from what to what.
    """

    version: str
    action: str
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {"version": self.version, "action": self.action, "message": self.message}


@dataclass(frozen=True, slots=True)
class RepairResult:
    """What ``migrate repair`` changed, or would change in a dry run; no migration was run."""

    dry_run: bool
    changes: tuple[Change, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {"dry_run": self.dry_run, "changes": [c.to_dict() for c in self.changes]}


@dataclass(frozen=True, slots=True)
class BaselineResult:
    """Versions that were recorded as applied, or would be in a dry run; none was run.

    Attributes:
        findings: What the recorded files make but the database lacks; ``migrate up`` makes it.
    """

    dry_run: bool
    recorded: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {
            "dry_run": self.dry_run,
            "recorded": list(self.recorded),
            "findings": [_finding_dict(finding) for finding in self.findings],
        }


@dataclass(frozen=True, slots=True)
class CleanResult:
    """How many records were deleted, or would be in a dry run; data and indexes stay.

    Attributes:
        records: Applied migrations that are forgotten.
        warnings: Sentences.
    """

    dry_run: bool
    records: int
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {"dry_run": self.dry_run, "records": self.records, "warnings": list(self.warnings)}


@dataclass(frozen=True, slots=True)
class UnlockResult:
    """Whose lock was removed; None when there was none."""

    removed: Lock | None

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {"removed": self.removed.to_dict() if self.removed else None}


def _entry_dict(entry: Entry) -> dict[str, Any]:
    found = entry.record
    return {
        "version": entry.version,
        "description": entry.description,
        "state": entry.state,
        "kind": entry.file.kind if entry.file else None,
        "repeatable": entry.file.repeatable if entry.file else bool(found and found.repeatable),
        "source": entry.source,
        "checksum": entry.file.checksum if entry.file else None,
        "recorded_checksum": found.checksum if found else None,
        "placeholders": dict(sorted(found.placeholders.items())) if found else {},
        "at": found.at if found else None,
        "duration": found.duration if found else None,
        "by": found.by if found else None,
        "connected_as": found.connected_as if found else None,
    }


def _finding_dict(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "problem": finding.problem,
        "message": finding.message,
        "hint": finding.hint,
        "setting": finding.setting,
        "wanted": finding.wanted,
        "found": finding.found,
    }
