"""The catalog of Graph Data Science, through its Python client: the only user of that package.

Graphs in the catalog live in the server's memory and are snapshots of the store: they go with a
restart and grow stale with writes. Migrations make them anew (``afterMigrate``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pathrag_gds.config import Connection
from pathrag_gds.errors import ServerUnavailable

if TYPE_CHECKING:
    from graphdatascience import GraphDataScience

__all__ = ["PROJECTION_PREFIX", "GdsClient", "Projection", "projection_name"]

PROJECTION_PREFIX = "pathrag_"


@dataclass(frozen=True, slots=True)
class Projection:
    """A graph of the catalog.

    Attributes:
        bytes: Memory that it takes on the server.
        created: ISO 8601.
    """

    name: str
    nodes: int
    relationships: int
    bytes: int
    created: str


def projection_name(tenant: str) -> str:
    """Give the name of a tenant's graph in the catalog."""
    return PROJECTION_PREFIX + tenant


class GdsClient:
    """The catalog of one server and user; close it, or use it as a context manager.

    Importing the client takes most of a second, so it is made only where the catalog is needed.

    Raises:
        ServerUnavailable: The client cannot connect, or the server has no plugin.
    """

    def __init__(self, connection: Connection) -> None:
        from graphdatascience import GraphDataScience

        try:
            # arrow and aura_ds are off because an open plugin has neither and asking costs trips.
            self._gds: GraphDataScience = GraphDataScience(
                connection.uri,
                auth=(connection.username, connection.password),
                database=connection.database or None,
                arrow=False,
                aura_ds=False,
                show_progress=False,
            )
        except Exception as error:  # the client raises bare exceptions of many kinds
            raise ServerUnavailable(
                f"The Graph Data Science client cannot use {connection.uri}: "
                f"{type(error).__name__}.",
                hint="Run: pathrag doctor",
            ) from error

    def __enter__(self) -> GdsClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the client's connections."""
        self._gds.close()

    def projections(self) -> tuple[Projection, ...]:
        """List this package's graphs in the catalog, by name in ascending order."""
        found = [
            Projection(
                name=info.graph_name,
                nodes=info.node_count,
                relationships=info.relationship_count,
                bytes=info.size_in_bytes,
                created=info.creation_time.isoformat(),
            )
            for info in self._gds.graph.list()
            if info.graph_name.startswith(PROJECTION_PREFIX)
        ]
        return tuple(sorted(found, key=lambda projection: projection.name))

    def drop(self, name: str) -> bool:
        """Drop a graph from the catalog; say whether it was there."""
        return bool(self._gds.graph.drop(name, fail_if_missing=False))
