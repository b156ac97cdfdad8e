"""Start, watch and stop the embedded server of a home."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pathrag_gds.config import Connection
from pathrag_gds.errors import AuthFailed, DatabaseError, EmbeddedServerError, GdsMissing
from pathrag_gds.server.artifacts import find_lane
from pathrag_gds.server.files import exclusive, refused
from pathrag_gds.server.home import HOME_HINT, HOST, Home, Record, free_port, port_is_free
from pathrag_gds.server.install import Installation, Progress, install
from pathrag_gds.server.java import find_java
from pathrag_gds.server.jvm import Process, admin, check_memory, spawn, tail

__all__ = ["Notify", "Probe", "ServerStatus", "logs", "start", "status", "stop"]

Probe = Callable[[Connection], object]
"""Returns when ``RETURN gds.version()`` answers, raises a ``DatabaseError`` while it does not."""
Notify = Callable[[str], None]
"""Receives one plain sentence for the user."""

State = Literal["running", "starting", "stopped", "stale"]

_LOG_LINES = 15


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What can be seen of a home's server without asking it anything.

    Attributes:
        state: ``running``: its process lives and listens; ``starting``: it lives and does not
            listen yet; ``stale``: it ended without being stopped; ``stopped``.
        lane: Empty when the home is new.
        pid: None when no process lives.
        connection: None when the home is new.
    """

    state: State
    home: Path
    lane: str = ""
    pid: int | None = None
    connection: Connection | None = None


def status(home: Path | str | None = None) -> ServerStatus:
    """Look at the server of a home.

    Raises:
        EmbeddedServerError: ``server.json`` of the home is damaged.
    """
    place = Home.at(home)
    record = place.read()
    process = Process.read(place)
    state: State = "stopped"
    alive = process is not None and process.alive()
    if alive and record is not None:
        state = "running" if _listens(record.port) else "starting"
    elif (place.run / "server.pid").exists():
        state = "stale"
    return ServerStatus(
        state=state,
        home=place.path,
        lane=record.lane if record else "",
        pid=process.pid if process and alive else None,
        connection=record.connection if record else None,
    )


def start(
    home: Path | str | None = None,
    lane: str | None = None,
    *,
    probe: Probe,
    port: int | None = None,
    heap: str = "1g",
    page_cache: str = "256m",
    timeout_s: float = 180.0,
    cache: Path | None = None,
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> Connection:
    """Start the server of a home, or find it running, and wait until the probe is content.

    Jars that are missing or damaged are fetched first. The first start makes the home and its
    password. Several calls at once end in one server. If the call is interrupted, the server
    that it started is ended.

    Args:
        home: ``default_home()`` when not given.
        lane: ``lts`` or ``current``; that of the home when not given, ``lts`` for a new one.
        probe: ``pathrag_gds.graph.database.probe_gds``, given by the caller as rooms to the right
            are not imported here.
        port: Bolt port on the loopback address; kept from the last start, or a free one.
        heap: Java heap of the server, such as ``1g``; has no effect on one that runs.
        page_cache: Memory for the store's pages; the same holds.
        timeout_s: Seconds to wait for readiness.
        cache: Where the jars are; ``default_cache()`` when not given.
        progress: Called while jars are fetched.
        notify: Called with sentences such as that a port had to be changed.

    Raises:
        ConfigError: The lane or a size is unknown.
        EmbeddedServerError: Anything else; says what happened and what to do.
    """
    place = Home.at(home)
    tell = notify or (lambda sentence: None)
    heap, page_cache = check_memory("--heap", heap), check_memory("--page-cache", page_cache)
    if lane:
        find_lane(lane)
    place.make()
    with alone(place, timeout_s):
        chosen = place.check_lane(lane)
        running = Process.read(place)
        record = place.read()
        if running and running.alive() and record:
            _check_port_of_running(place, record, port)
            _wait(place, running, record.connection, probe, timeout_s)
            return record.connection
        if running:
            tell(f"The server of {place.path} (pid {running.pid}) had ended without being stopped.")
            Process.forget(place)
        _refuse_half_restored(place)
        installation = install(chosen, progress, cache=cache)
        java = find_java(installation.lane)
        record = settle_record(place, record, chosen, port, tell)
        lay_out(place, record, installation, page_cache)
        set_password(place, record, installation, java)
        try:
            process = spawn(place, installation, java, heap)
        except OSError as error:
            raise refused("start the server of", place.path, error, hint=HOME_HINT) from error
        try:
            _wait(place, process, record.connection, probe, timeout_s)
        except BaseException:
            process.end(timeout_s=5.0)
            Process.forget(place)
            raise
        return record.connection


def alone(place: Home, timeout_s: float) -> AbstractContextManager[None]:
    """Hold the home for the time of a block, so that only one command changes it."""
    return exclusive(
        place.lock_file,
        wait_s=timeout_s,
        doing="starting, stopping or copying this server",
        hint=HOME_HINT,
    )


def _check_port_of_running(place: Home, record: Record, port: int | None) -> None:
    if port and port != record.port:
        raise EmbeddedServerError(
            f"The server of {place.path} already runs, on port {record.port}.",
            hint=f"Run: pathrag server stop --home {place.path}   (then start it with --port)",
        )


def _refuse_half_restored(place: Home) -> None:
    if any(place.restoring.glob("old-*")):
        raise EmbeddedServerError(
            f"A restore into {place.path} was cut off while it exchanged the database.",
            hint=f"Run it again: pathrag server restore FILE --overwrite --home {place.path}",
        )


def settle_record(
    place: Home, record: Record | None, lane: str, port: int | None, tell: Notify
) -> Record:
    """Choose password and port where they are open, and keep them in the home."""
    if port and not port_is_free(port):
        raise EmbeddedServerError(
            f"Port {port} of {HOST} is taken by another program.",
            hint="Choose another with --port, or leave --port out to get a free one.",
        )
    if record is None:
        record = place.new_record(lane, port or free_port())
    elif port:
        record = replace(record, port=port)
    elif not port_is_free(record.port):
        taken, record = record.port, replace(record, port=free_port())
        tell(f"Port {taken} is taken by another program; the server now uses {record.port}.")
    place.write(record)
    return record


def lay_out(place: Home, record: Record, installation: Installation, page_cache: str) -> None:
    """Write the settings and the links to the plugins."""
    try:
        place.write_conf(record.port, page_cache)
        place.link_plugins(installation.plugins)
    except OSError as error:
        raise refused("write in", place.path, error, hint=HOME_HINT) from error


def set_password(place: Home, record: Record, installation: Installation, java: Path) -> None:
    """Make the password of a new home that of its record; a home that has users is left alone."""
    if place.has_password:
        return
    arguments = ["dbms", "set-initial-password", record.password]
    admin(place, installation, java, arguments, doing="Setting the server's first password")


def _wait(
    place: Home, process: Process, connection: Connection, probe: Probe, timeout_s: float
) -> None:
    """Wait until the probe returns."""
    deadline = time.monotonic() + timeout_s
    port = int(connection.uri.rpartition(":")[2])
    last = "it does not listen yet"
    while process.alive():
        if _listens(port):
            try:
                probe(connection)
                return
            except (AuthFailed, GdsMissing) as error:
                raise EmbeddedServerError(
                    f"The server of {place.path} runs but refuses to work with us: {error.message}",
                    hint=f"Run: pathrag server logs --home {place.path}",
                ) from error
            except DatabaseError as error:
                last = error.message
        if time.monotonic() >= deadline:
            raise _failed(place, f"was not ready after {timeout_s:.0f} s ({last})")
        time.sleep(0.1)
    raise _failed(place, "ended while it started")


def _failed(place: Home, what: str) -> EmbeddedServerError:
    shown = "\n".join(f"  {line}" for line in tail(place.console_log, _LOG_LINES))
    return EmbeddedServerError(
        f"The server of {place.path} {what}. Its last output:\n{shown or '  (none)'}",
        hint=f"More: pathrag server logs --home {place.path}   "
        "Jars are checked by: pathrag server install",
    )


def _listens(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=1.0):
            return True
    except OSError:
        return False


def stop(home: Path | str | None = None, *, timeout_s: float = 60.0) -> bool:
    """Stop the server of a home and wait until it has ended; a stopped one is left alone.

    Args:
        timeout_s: Seconds after which it is killed; committed data are safe then, too.

    Returns:
        Whether a server was running.

    Raises:
        EmbeddedServerError: It belongs to another user, or another command holds the home.
    """
    place = Home.at(home)
    if not place.lock_file.exists():
        return False
    with alone(place, timeout_s):
        process = Process.read(place)
        running = process is not None and process.alive()
        if process is not None and running:
            try:
                process.end(timeout_s)
            except PermissionError as error:
                raise EmbeddedServerError(
                    f"The server of {place.path} (pid {process.pid}) belongs to another user.",
                    hint="Stop it as the user who started it.",
                ) from error
        Process.forget(place)
    return running


def logs(home: Path | str | None = None, *, lines: int = 50) -> list[str]:
    """Give the last lines that the server of a home printed, none when it never ran."""
    return tail(Home.at(home).console_log, lines)
