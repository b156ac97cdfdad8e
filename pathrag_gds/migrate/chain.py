"""What is recorded on the database: the chain of applied migrations.

It has the form of neo4j-migrations: ``(:__Neo4jMigration)-[:MIGRATED_TO]->`` in one unbranched line
from a BASELINE node. Our own property ``placeholders`` is ignored by that tool.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pathrag_gds.errors import MigrationError
from pathrag_gds.graph.database import QueryRunner, Row
from pathrag_gds.graph.queries import load
from pathrag_gds.migrate.files import Migration, is_version, version_key
from pathrag_gds.migrate.lock import Lock, hold, user

__all__ = [
    "BASELINE",
    "Chain",
    "Record",
    "build_chain",
    "clean_chain",
    "correct",
    "drop",
    "read_chain",
    "record",
    "record_repetition",
]

BASELINE = "BASELINE"


@dataclass(frozen=True, slots=True)
class Record:
    """An applied migration, as the database has it.

    Attributes:
        node: Element id; valid for a moment only.
        type: ``CYPHER``, or ``JAVA`` or ``CATALOG`` when neo4j-migrations applied it.
        placeholders: Values that the text was filled with.
        at: ISO 8601, UTC.
        duration: ISO 8601.
        by: User of the operating system.
        connected_as: User of the database.
    """

    node: str
    version: str
    description: str = ""
    type: str = "CYPHER"
    source: str = ""
    checksum: str = ""
    repeatable: bool = False
    placeholders: Mapping[str, str] = field(default_factory=dict, hash=False)
    at: str = ""
    duration: str = ""
    by: str = ""
    connected_as: str = ""


@dataclass(frozen=True, slots=True)
class Chain:
    """Records in the order of the chain, and what is wrong with it.

    Attributes:
        duplicates: Versions that are recorded more than once, sorted.
        broken: Why the records are not one line, or empty.
    """

    records: tuple[Record, ...] = ()
    duplicates: tuple[str, ...] = ()
    broken: str = ""


def read_chain(db: QueryRunner) -> Chain:
    """Read the records of the connected database."""
    return build_chain(db.run(load("migrate/read_chain")))


def build_chain(rows: Sequence[Row]) -> Chain:
    """Put the rows of ``migrate/read_chain`` in line.

    A row whose node has several predecessors comes several times. Records that hang loose come
    last, by version.
    """
    followers: dict[str, list[str]] = {}
    records: dict[str, Record] = {}
    starts: list[str] = []
    for row in rows:
        records.setdefault(row["node"], _record(row))
        if row["version"] == BASELINE:
            starts.append(row["node"])
        if row["previous"] is not None:
            followers.setdefault(row["previous"], []).append(row["node"])
    if not rows:
        return Chain()
    broken = ""
    if len(starts) != 1:
        broken = f"the chain has {len(starts)} nodes BASELINE instead of one"
    line: list[str] = []
    node = starts[0] if starts else None
    while node is not None:
        line.append(node)
        following = followers.get(node, [])
        if len(following) > 1:
            both = ", ".join(sorted(records[n].version for n in following))
            broken = broken or (
                f"the chain branches after {records[node].version}: {both} both follow"
            )
        node = min(following, key=lambda n: records[n].version, default=None)
        if node in line:
            broken = broken or "the chain runs in a circle"
            break
    loose = sorted(set(records) - set(line), key=lambda n: (records[n].version, n))
    if loose:
        broken = broken or f"version {records[loose[0]].version} is recorded outside the chain"
    ordered = [records[n] for n in (*line, *loose) if records[n].version != BASELINE]
    strange = [r.version for r in ordered if not is_version(r.version)]
    if strange:
        broken = broken or f"{strange[0]!r} is recorded as a version"
    keys = [_key(r.version) for r in ordered]
    duplicates = sorted({r.version for r in ordered if keys.count(_key(r.version)) > 1})
    return Chain(tuple(ordered), tuple(duplicates), broken)


def _key(version: str) -> str:
    # 001 and 1 are one version; what is no version at all stands for itself.
    return ".".join(map(str, version_key(version))) if is_version(version) else version


def _record(row: Row) -> Record:
    try:
        placeholders = json.loads(row["placeholders"] or "{}")
    except ValueError:
        placeholders = {}
    return Record(
        node=row["node"],
        version=row["version"] or "",
        description=row["description"] or "",
        type=row["type"] or "",
        source=row["source"] or "",
        checksum=row["checksum"] or "",
        repeatable=bool(row["repeatable"]),
        placeholders={k: str(v) for k, v in placeholders.items()},
        at=row["at"] or "",
        duration=row["duration"] or "",
        by=row["by"] or "",
        connected_as=row["connected_as"] or "",
    )


def record(
    tx: QueryRunner,
    migration: Migration,
    *,
    lock: Lock,
    previous: str,
    following: str | None,
    placeholders: Mapping[str, str],
    millis: int,
    connected_as: str,
) -> None:
    """Record a migration as applied, between two others; inside a transaction.

    Args:
        previous: Version that it follows, BASELINE at the start.
        following: Version that stands behind ``previous`` now, None at the end.
        placeholders: Values that its text was filled with.

    Raises:
        MigrationLocked: The lock is no longer ours.
        MigrationError: The chain is not what it was when it was read.
    """
    hold(tx, lock)
    tx.run(load("migrate/create_baseline"))
    rows = tx.run(
        load("migrate/record_migration"),
        previous=previous,
        next=following,
        migration={
            "version": migration.version,
            "description": migration.description,
            "type": "CYPHER",
            "repeatable": migration.repeatable,
            "source": migration.name,
            "checksum": migration.checksum,
            "placeholders": _as_json(placeholders),
        },
        millis=millis,
        by=user(),
        connected_as=connected_as,
    )
    if not rows[0]["recorded"]:
        raise MigrationError(
            f"Version {migration.version} could not be recorded: the chain on the database has "
            "changed since it was read.",
            hint="See how it stands: pathrag migrate status",
        )


def record_repetition(
    tx: QueryRunner,
    migration: Migration,
    *,
    version: str,
    lock: Lock,
    placeholders: Mapping[str, str],
    millis: int,
    connected_as: str,
) -> None:
    """Record that a repeatable migration was applied again; inside a transaction."""
    hold(tx, lock)
    tx.run(
        load("migrate/record_repetition"),
        version=version,
        checksum=migration.checksum,
        placeholders=_as_json(placeholders),
        millis=millis,
        by=user(),
        connected_as=connected_as,
    )


def correct(
    tx: QueryRunner, version: str, migration: Migration, placeholders: Mapping[str, str]
) -> None:
    """Make the record of a version agree with its file; inside a transaction."""
    tx.run(
        load("migrate/correct_record"),
        version=version,
        checksum=migration.checksum,
        description=migration.description,
        source=migration.name,
        placeholders=_as_json(placeholders),
    )


def drop(tx: QueryRunner, applied: Record) -> None:
    """Take a record out of the chain and close the gap; inside a transaction."""
    tx.run(load("migrate/drop_record"), node=applied.node)


def clean_chain(tx: QueryRunner) -> int:
    """Delete every record of the connected database and give their number."""
    return int(tx.run(load("migrate/delete_chain"))[0]["deleted"])


def _as_json(placeholders: Mapping[str, str]) -> str | None:
    return json.dumps(dict(sorted(placeholders.items()))) if placeholders else None
