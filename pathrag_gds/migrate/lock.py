"""The migration lock: one runner at a time, neo4j-migrations included.

A node under a uniqueness constraint, as that tool makes it; our own properties (``by``, ``host``,
``pid``, ``at``, ``seen``) are ignored there.
"""

from __future__ import annotations

import getpass
import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from pathrag_gds.errors import DatabaseError, MigrationLocked
from pathrag_gds.graph.database import Database, QueryRunner
from pathrag_gds.graph.queries import load

__all__ = ["Lock", "Progress", "hold", "lock_name", "locked", "read_lock", "remove_lock", "user"]

DEFAULT_LOCK_NAME = "John Doe"
POLL_S = 0.25

Progress = Callable[[str], None]


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
    lock = Lock(str(uuid.uuid4()), user(), socket.gethostname(), os.getpid())
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


def user() -> str:
    """Name the user of the operating system."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"
