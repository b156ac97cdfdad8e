"""Compare files with records and decide what is to be run; without a database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pathrag_gds.errors import (
    ChecksumDrift,
    InvalidMigration,
    MigrationError,
    MigrationMissing,
    OutOfOrder,
)
from pathrag_gds.migrate.chain import BASELINE, Chain, Record
from pathrag_gds.migrate.files import Migration, is_version, version_key

__all__ = [
    "Entry",
    "Outcome",
    "check",
    "compare",
    "outcome",
    "place",
    "select",
]

State = Literal["applied", "pending", "out_of_order", "outdated", "changed", "retyped", "missing"]
Outcome = Literal[
    "VALID",
    "INCOMPLETE_DATABASE",
    "INCOMPLETE_MIGRATIONS",
    "DIFFERENT_CONTENT",
    "DUPLICATE_VERSION",
    "UNDEFINED",
]


@dataclass(frozen=True, slots=True)
class Entry:
    """One version: its file, its record, and how they stand.

    Attributes:
        state: ``applied``; ``pending``; ``out_of_order``: pending but older than the newest
            applied; ``outdated``: a repeatable one that changed; ``changed``: edited since;
            ``retyped``: was versioned and is repeatable now, or the other way round;
            ``missing``: the file is gone.
    """

    version: str
    state: State
    file: Migration | None = None
    record: Record | None = None

    @property
    def description(self) -> str:
        """Words of the file's name, or of the record's."""
        if self.file is not None:
            return self.file.description
        return self.record.description if self.record else ""

    @property
    def source(self) -> str:
        """Name of the file."""
        if self.file is not None:
            return self.file.name
        return self.record.source if self.record else ""


def compare(files: Sequence[Migration], chain: Chain) -> tuple[Entry, ...]:
    """Pair files with records by version; the result is ordered by version."""
    records = {version_key(r.version): r for r in reversed(chain.records) if is_version(r.version)}
    newest = max(records, default=())
    entries: dict[tuple[int, ...], Entry] = {}
    for file in files:
        key = version_key(file.version)
        found = records.get(key)
        state: State
        if found is None:
            state = "out_of_order" if key < newest else "pending"
        elif found.repeatable != file.repeatable:
            state = "retyped"
        elif found.checksum != file.checksum:
            state = "outdated" if file.repeatable else "changed"
        else:
            state = "applied"
        entries[key] = Entry(file.version if found is None else found.version, state, file, found)
    for key, found in records.items():
        if key not in entries:
            entries[key] = Entry(found.version, "missing", None, found)
    return tuple(entries[key] for key in sorted(entries))


def outcome(entries: Sequence[Entry], chain: Chain, *, values_differ: bool = False) -> Outcome:
    """Sum up in the words of neo4j-migrations; the gravest comes first.

    Args:
        values_differ: A placeholder was given another value than the recorded one.
    """
    states = {entry.state for entry in entries}
    if chain.duplicates:
        return "DUPLICATE_VERSION"
    if chain.broken:
        return "UNDEFINED"
    if values_differ or states & {"changed", "retyped", "out_of_order"}:
        return "DIFFERENT_CONTENT"
    if "missing" in states:
        return "INCOMPLETE_MIGRATIONS"
    return "INCOMPLETE_DATABASE" if states & {"pending", "outdated"} else "VALID"


def check(entries: Sequence[Entry], chain: Chain, *, out_of_order: bool = False) -> None:
    """Refuse to go on from a state that needs a person.

    Args:
        out_of_order: Allow files that are older than the newest applied one.

    Raises:
        MigrationError: The chain is broken or has a version twice.
        ChecksumDrift: An applied file was edited.
        MigrationMissing: An applied file is gone.
        OutOfOrder: A pending file is older than the newest applied one.
    """
    if chain.duplicates:
        raise MigrationError(
            f"Version {chain.duplicates[0]} is recorded more than once.",
            hint="Keep the first record of each: pathrag migrate repair",
        )
    if chain.broken:
        raise MigrationError(
            f"The recorded migrations are not in one line: {chain.broken}.",
            hint="Forget the records and make them anew: pathrag migrate clean; "
            "then: pathrag migrate baseline VERSION",
        )
    for entry in entries:
        _check_entry(entry, out_of_order)


def _check_entry(entry: Entry, out_of_order: bool) -> None:
    file, found = entry.file, entry.record
    if entry.state == "missing" and found is not None:
        raise MigrationMissing(
            f"Version {entry.version} ({entry.source or entry.description}) was "
            f"applied{_when(found)}, but its file is gone.",
            hint="Restore the file, or name the folder that it is in; to forget the record: "
            "pathrag migrate repair",
        )
    if entry.state in ("changed", "retyped") and file is not None and found is not None:
        how = (
            f"was edited since it was applied{_when(found)}: recorded checksum {found.checksum}, "
            f"now {file.checksum}"
            if entry.state == "changed"
            else f"was applied{_when(found)} as a "
            f"{'repeatable' if found.repeatable else 'versioned'} migration and is "
            f"{'repeatable' if file.repeatable else 'versioned'} now"
        )
        raise ChecksumDrift(
            f"{file.path} {how}.",
            version=entry.version,
            recorded=found.checksum,
            local=file.checksum,
            hint="Restore the file; if the database is as the file says: pathrag migrate repair",
        )
    if entry.state == "out_of_order" and file is not None and not out_of_order:
        raise OutOfOrder(
            f"{file.path} is older than a migration that is applied already.",
            hint="Give it a higher version, or apply it in its place: "
            "pathrag migrate up --out-of-order",
        )


def select(entries: Sequence[Entry], target: str | None) -> tuple[Entry, ...]:
    """Choose what is to be run, in order.

    Args:
        target: ``latest`` or None; ``next``: the first pending one; ``current``: no versioned one,
            changed repeatable ones only; or a version such as ``V003``, ``003`` or ``3``. A ``?``
            at its end allows a version that there is no file of.

    Raises:
        InvalidMigration: The target is none of these, or there is no such version.
    """
    due = [e for e in entries if e.state in ("pending", "out_of_order", "outdated")]
    word = (target or "latest").strip()
    optional = word.endswith("?")
    word = word.removesuffix("?")
    if word.lower() == "latest":
        return tuple(due)
    if word.lower() == "current":
        return tuple(e for e in due if e.state == "outdated")
    if word.lower() == "next":
        new = [version_key(e.version) for e in due if e.state != "outdated"]
        last = min(new, default=())
    else:
        match = re.fullmatch(r"[VvRr]?([0-9]+(?:[._][0-9]+)*)", word)
        if match is None:
            raise InvalidMigration(
                f"{target!r} is not a version.",
                hint="A target is latest, next, current, or a version such as V003.",
            )
        last = version_key(match.group(1).replace("_", "."))
        known = {version_key(e.version) for e in entries}
        if last not in known and not optional:
            versions = ", ".join(e.version for e in entries) or "none"
            raise InvalidMigration(
                f"There is no migration of version {word}.", hint=f"Versions: {versions}"
            )
    return tuple(e for e in due if version_key(e.version) <= last)


def place(chain_versions: Sequence[str], version: str) -> tuple[str, str | None]:
    """Say between which recorded versions a new one belongs: (previous, following).

    ``previous`` is BASELINE at the start, ``following`` None at the end.
    """
    key = version_key(version)
    older = [v for v in chain_versions if version_key(v) < key]
    newer = [v for v in chain_versions if version_key(v) > key]
    previous = max(older, key=version_key) if older else BASELINE
    return previous, (min(newer, key=version_key) if newer else None)


def _when(found: Record) -> str:
    at = f" on {found.at[:19].replace('T', ' at ')} UTC" if found.at else ""
    return f"{at} by {found.by}" if found.by else at
