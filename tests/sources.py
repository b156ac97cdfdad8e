"""Which Neo4j servers the integration tests run on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from pathrag_gds.config import Connection
from pathrag_gds.errors import EmbeddedServerError, PathRAGError
from pathrag_gds.server import find_java, install, start, stop
from pathrag_gds.server.artifacts import LANES

__all__ = ["GIVEN", "OTHER_LANE", "Source", "choose_sources", "describe", "embedded"]

# Begins the reason of a skip that another lane makes good: never a failure.
OTHER_LANE = "for another lane: "
GIVEN = "given"


@dataclass(frozen=True, slots=True)
class Source:
    """One server to test on.

    Attributes:
        name: Lane of an embedded server, or ``given`` for the developer's own.
        connection: Of the developer's own; an embedded server has none before it is started.
        wipe: Whether data without our marker may be deleted there.
    """

    name: str
    connection: Connection | None = None
    wipe: bool = False


def choose_sources(
    environment: Mapping[str, str], *, lane: str | None = None, uri: str | None = None
) -> tuple[Source, ...]:
    """Choose the servers: the one that is named, else the embedded ones of the chosen lanes.

    Raises:
        ValueError: ``PATHRAG_TEST_LANE`` is not a lane.
    """
    uri = uri or environment.get("PATHRAG_TEST_NEO4J_URI")
    if uri:
        connection = Connection(
            uri,
            environment.get("PATHRAG_TEST_NEO4J_USERNAME") or "neo4j",
            environment.get("PATHRAG_TEST_NEO4J_PASSWORD", ""),
            environment.get("PATHRAG_TEST_NEO4J_DATABASE", ""),
        )
        wipe = environment.get("PATHRAG_TEST_NEO4J_WIPE") == "1"
        return (Source(GIVEN, connection, wipe),)
    lane = lane or environment.get("PATHRAG_TEST_LANE") or "all"
    if lane == "all":
        return tuple(map(Source, LANES))
    if lane not in LANES:
        raise ValueError(f"PATHRAG_TEST_LANE must be {', '.join(LANES)} or all, not {lane!r}")
    return (Source(lane),)


def describe(source: Source) -> str:
    """Say which server it is, for the header of the report."""
    if source.connection is None:
        lane = LANES[source.name]
        return f"embedded, lane {lane.name}: {lane.neo4j} community, GDS {lane.gds}"
    from pathrag_gds.graph.database import Database

    address = f"{source.connection.uri} (PATHRAG_TEST_NEO4J_URI)"
    try:
        with Database(source.connection, retry_s=1.0, connect_timeout_s=3.0) as database:
            server = database.capabilities
    except PathRAGError as error:
        return f"{address}: none, {error.message}"
    return f"{address}: {server.version} {server.edition}, GDS {server.gds_version or 'none'}"


@contextmanager
def embedded(lane: str, home: Path) -> Iterator[Connection]:
    """Run an embedded server for the time of a block.

    The tests are skipped where it cannot be had: no jars and no network, or no Java. A server that
    is there and does not start is an error.
    """
    from pathrag_gds.graph.database import probe_gds

    try:
        install(lane)
        find_java(LANES[lane])
    except EmbeddedServerError as error:
        pytest.skip(f"no server of lane {lane}: {error}")
    connection = start(home, lane, probe=probe_gds)
    try:
        yield connection
    finally:
        stop(home)
