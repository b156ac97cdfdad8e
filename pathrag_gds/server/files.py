"""Locks between processes, atomic writes and the messages for a folder that refuses them."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pathrag_gds.errors import EmbeddedServerError

__all__ = ["exclusive", "make_folder", "refused", "write_atomically"]

_POLL_S = 0.1


def refused(action: str, path: Path, error: OSError, *, hint: str) -> EmbeddedServerError:
    """Give the error for a file operation that the system refused."""
    reason = error.strerror or type(error).__name__
    return EmbeddedServerError(f"Cannot {action} {path}: {reason}.", hint=hint)


def make_folder(path: Path, *, hint: str, mode: int = 0o777) -> Path:
    """Create a folder and its parents, and check that files can be made in it.

    Args:
        mode: Rights of a new folder, less the user's umask.

    Raises:
        EmbeddedServerError: The system refuses, for instance on a read-only file system.
    """
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise refused("write in", path, error, hint=hint) from error
    return path


def write_atomically(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Replace a file as a whole, readable by others only as ``mode`` says from its first byte."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


@contextlib.contextmanager
def exclusive(path: Path, *, wait_s: float, doing: str, hint: str) -> Iterator[None]:
    """Hold a lock file for the time of the block; the system frees it if the process dies.

    Args:
        wait_s: Seconds to wait for another holder.
        doing: What the holder is about, for the message.

    Raises:
        EmbeddedServerError: Another process still holds it after that time, the file cannot be
            made, or the platform has no such locks.
    """
    try:
        import fcntl
    except ImportError as error:
        raise EmbeddedServerError(
            "The embedded server runs on Linux and macOS only.",
            hint="Use Docker (docker compose up) or another server, and set NEO4J_URI.",
        ) from error
    try:
        stream = path.open("a")
    except OSError as error:
        raise refused("write", path, error, hint=hint) from error
    with stream:
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise EmbeddedServerError(
                        f"Another process is still {doing} after {wait_s:.0f} s (it holds {path}).",
                        hint="Wait for it or end it, then run the command again.",
                    ) from None
                time.sleep(_POLL_S)
        yield
