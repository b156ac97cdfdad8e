"""Which Neo4j servers the integration tests run on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pathrag_gds.config import Connection
from pathrag_gds.errors import PathRAGError
from pathrag_gds.server.artifacts import LANES

__all__ = ["GIVEN", "Source", "choose_sources", "describe"]

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
