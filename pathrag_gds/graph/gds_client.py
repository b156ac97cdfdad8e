"""The catalog of Graph Data Science, through its Python client: the only user of that package.

Graphs in the catalog live in the server's memory and are snapshots of the store: they go with a
restart and grow stale with writes. Migrations make them anew (``afterMigrate``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pathrag_gds.config import Connection
from pathrag_gds.errors import DatabaseError, ServerUnavailable

if TYPE_CHECKING:
    from graphdatascience import GraphDataScience

__all__ = [
    "PROJECTION_PREFIX",
    "CommunityAlgorithm",
    "GdsClient",
    "Projection",
    "projection_name",
]

PROJECTION_PREFIX = "pathrag_"
CommunityAlgorithm = Literal["louvain", "leiden"]
Result = TypeVar("Result")


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

    def drop_all(self, prefix: str) -> None:
        """Drop the graphs from the catalog whose name begins with this."""
        for info in self._gds.graph.list():
            if info.graph_name.startswith(prefix):
                self.drop(info.graph_name)

    def communities(
        self,
        graph: str,
        algorithm: CommunityAlgorithm,
        *,
        weight_property: str | None = None,
        seed: int | None = None,
        gamma: float | None = None,
    ) -> list[tuple[int, tuple[int, ...]]]:
        """Find communities on one thread, so that the same graph gives the same ones.

        Args:
            graph: Name in the catalog; undirected.
            weight_property: Of its relationships; None where each counts 1.
            seed: For Leiden, which takes random choices; None for 0.
            gamma: For Leiden; larger gives smaller communities; None for 1.

        Returns:
            Each node's id in the catalog and its community at each level, the finest first.

        Raises:
            DatabaseError: The server failed.
        """
        common: dict[str, Any] = {
            "concurrency": 1,
            "include_intermediate_communities": True,
            "log_progress": False,
            "relationship_weight_property": weight_property,
        }

        def stream() -> Any:
            projected = self._gds.graph.get(graph)
            if algorithm == "louvain":
                return self._gds.louvain.stream(projected, **common)
            return self._gds.leiden.stream(
                projected,
                random_seed=0 if seed is None else seed,
                gamma=1.0 if gamma is None else gamma,
                **common,
            )

        frame = _asked(f"gds.{algorithm}.stream", stream)
        columns = zip(frame["nodeId"], frame["intermediateCommunityIds"], strict=True)
        return [(int(node), tuple(map(int, levels))) for node, levels in columns]


def _asked(what: str, ask: Callable[[], Result]) -> Result:
    """Ask the client; its errors become one of ours."""
    try:
        return ask()
    except Exception as error:  # the client raises the driver's errors and bare ones
        lines = str(error).strip().splitlines() or [""]
        raise DatabaseError(
            f"{what}: {type(error).__name__}: {lines[0]}", hint="Run: pathrag doctor"
        ) from error
