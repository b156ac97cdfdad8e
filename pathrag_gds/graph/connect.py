"""Find the server to talk to: the one that was named, else the embedded one if it runs."""

from __future__ import annotations

from pathlib import Path

from pathrag_gds import server
from pathrag_gds.config import Connection, Settings
from pathrag_gds.errors import ServerUnavailable
from pathrag_gds.graph.database import Database

__all__ = ["open_database", "resolve"]


def resolve(settings: Settings) -> Connection:
    """Give the connection that settings mean.

    Raises:
        ServerUnavailable: No server was named and the embedded one does not run.
    """
    named = settings.connection()
    if named is not None:
        return named
    home = Path(settings.home) if settings.home else None
    status = server.status(home)
    if status.state == "running" and status.connection is not None:
        return status.connection
    raise ServerUnavailable(
        f"No server was named, and the embedded server at {status.home} is {status.state}.",
        hint="Run: pathrag server start\nOr set NEO4J_URI, NEO4J_USERNAME and NEO4J_PASSWORD.",
    )


def open_database(settings: Settings, *, timeout_s: float | None = None) -> Database:
    """Open the database that settings mean and check that it answers.

    Raises:
        ServerUnavailable: Nothing answers there.
        AuthFailed: The credentials are refused.
    """
    connection = resolve(settings)
    database = (
        Database(connection) if timeout_s is None else Database(connection, timeout_s=timeout_s)
    )
    try:
        database.verify()
    except BaseException:
        database.close()
        raise
    return database
