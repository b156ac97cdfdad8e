"""What is recorded on the database: the chain of applied migrations, and the lock.

Both have the form of neo4j-migrations: records are ``(:__Neo4jMigration)-[:MIGRATED_TO]->`` in one
unbranched line from a BASELINE node, the lock a node under a uniqueness constraint. Properties of
our own (``placeholders``; ``by``, ``host``, ``pid``, ``at``, ``seen`` on the lock) are ignored by
that tool.
"""

from __future__ import annotations

import getpass
import json
import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from pathrag_gds.errors import DatabaseError, MigrationError, MigrationLocked
from pathrag_gds.graph.database import Database, QueryRunner, Row
from pathrag_gds.graph.queries import load
from pathrag_gds.migrate.files import Migration, version_key

__all__ = [
    "BASELINE",
    "Chain",
    "Lock",
    "Record",
    "build_chain",
    "clean_chain",
    "correct",
    "drop",
    "hold",
    "lock_name",
    "locked",
    "read_chain",
    "read_lock",
    "record",
    "record_repetition",
    "remove_lock",
]

BASELINE = "BASELINE"
DEFAULT_LOCK_NAME = "John Doe"
POLL_S = 0.25

Progress = Callable[[str], None]


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


@dataclass(frozen=True, slots=True)
class Lock:
    """Who holds the migration lock; empty fields when neo4j-migrations took it."""

    id: str
    by: str = ""
    host: str = ""
    pid: int | None = None
    since: str = ""

    def __str__(self) -> str:
        who = f"by {self.by} on {self.host}, process {self.pid}" if self.by else "by another runner"
        return f"{who}, since {self.since}" if self.since else who

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {"by": self.by, "host": self.host, "pid": self.pid, "since": self.since}


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
    keys = [_key(r.version) for r in ordered]
    duplicates = sorted({r.version for r in ordered if keys.count(_key(r.version)) > 1})
    return Chain(tuple(ordered), tuple(duplicates), broken)


def _key(version: str) -> str:
    # 001 and 1 are one version; what is no version at all stands for itself.
    numeric = version.replace(".", "").isdecimal()
    return ".".join(map(str, version_key(version))) if numeric else version


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


def hold(tx: QueryRunner, lock: Lock) -> None:
    """Make sure inside a transaction that the lock is still ours until it commits.

    Raises:
        MigrationLocked: Somebody removed the lock meanwhile.
    """
    if not tx.run(load("migrate/hold_lock"), id=lock.id)[0]["held"]:
        raise MigrationLocked(
            "The migration lock of this run was removed meanwhile, so nothing more is recorded.",
            hint="See what another runner did: pathrag migrate status",
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
        by=_user(),
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
        by=_user(),
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


def lock_name(database: str) -> str:
    """Give the name of the lock of a database; the default one has a name by tradition."""
    name = database.lower()
    return DEFAULT_LOCK_NAME if name in ("", "neo4j") else name


def read_lock(db: Database) -> Lock | None:
    """Say who holds the lock of the connected database, None when nobody does."""
    rows = db.run(load("migrate/read_lock"), name=lock_name(db.connection.database))
    if not rows:
        return None
    row = rows[0]
    return Lock(row["id"] or "", row["by"] or "", row["host"] or "", row["pid"], row["at"] or "")


def remove_lock(db: Database) -> bool:
    """Remove the lock whoever holds it; say whether there was one."""
    rows = db.run(load("migrate/remove_lock"), name=lock_name(db.connection.database))
    return bool(rows[0]["removed"])


@contextmanager
def locked(db: Database, *, wait_s: float, progress: Progress) -> Iterator[Lock]:
    """Hold the migration lock; it is released however the block ends, by SIGTERM too.

    Args:
        wait_s: For so long a lock that another runner holds is waited for.

    Raises:
        MigrationLocked: It was not free in time; the message names the holder.
    """
    _ensure_constraints(db)
    lock = Lock(str(uuid.uuid4()), _user(), socket.gethostname(), os.getpid())
    with _sigterm_as_exception():
        try:
            _acquire(db, lock, wait_s, progress)
            yield lock
        finally:
            # Also after an interrupt inside _acquire, whose statement may have been committed.
            _release(db, lock, progress)


def _release(db: Database, lock: Lock, progress: Progress) -> None:
    try:
        db.run(load("migrate/release_lock"), id=lock.id)
    except DatabaseError as error:
        # The error that ended the run matters more; the next runner is told what to do.
        progress(f"The migration lock could not be released: {error.message}")


def _acquire(db: Database, lock: Lock, wait_s: float, progress: Progress) -> None:
    deadline = time.monotonic() + wait_s
    told = False
    while True:
        try:
            db.run(
                load("migrate/acquire_lock"),
                id=lock.id,
                name=lock_name(db.connection.database),
                by=lock.by,
                host=lock.host,
                pid=lock.pid,
            )
            return
        except DatabaseError as error:
            if not error.code.endswith("ConstraintValidationFailed"):
                raise
        holder = read_lock(db)
        if holder is not None and holder.id == lock.id:
            return  # the answer to the first try was lost, and the driver tried again
        if holder is not None and time.monotonic() >= deadline:
            raise MigrationLocked(
                f"The migration lock is held {holder}.",
                hint="Wait for that run. If it is dead for certain: pathrag migrate unlock",
            )
        if holder is not None and not told:
            progress(f"Waiting for the migration lock, held {holder}.")
            told = True
        time.sleep(POLL_S)


def _ensure_constraints(db: Database) -> None:
    for name in (
        "create_lock_id_constraint",
        "create_lock_name_constraint",
        "create_version_constraint",
        "create_repeated_index",
    ):
        for attempt in range(5):
            try:
                db.run(load(f"migrate/{name}"))
                break
            except DatabaseError as error:
                # Two first runs at once: the other one made it between our look and our creation.
                racing = "AlreadyExists" in error.code or "Transient" in error.code
                if not racing or attempt == 4:
                    raise
                time.sleep(POLL_S)


@contextmanager
def _sigterm_as_exception() -> Iterator[None]:
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def _as_json(placeholders: Mapping[str, str]) -> str | None:
    return json.dumps(dict(sorted(placeholders.items()))) if placeholders else None
