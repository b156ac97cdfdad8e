"""The catalog of Graph Data Science: what lies in it, what fits, what is dropped again.

Graphs in the catalog live in the server's memory and are snapshots of the store: they go with a
restart and grow stale with writes. There are two kinds:

- of a tenant, ``pathrag_<tenant>``: made by the migrations (``afterMigrate``) where it fits, and
  made anew by :func:`ensure_projection` where it is gone or anything was written since. It has one
  type of relationship: GDS keeps a list per type with room for each node, 1.2 MB at 20,000 nodes,
  and a graph whose relations a model named has thousands of types;
- of one question, with a name that no other has: sent along with the statement that uses it, so it
  cannot be stale, and dropped by the same statement; :func:`drop_graph` after one that failed.

:class:`GdsClient` is the only user of the package ``graphdatascience``. Importing that takes most
of a second, so what a search needs is asked by statements of ours instead.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pathrag_gds.config import Connection
from pathrag_gds.errors import DatabaseError, GdsMemory, ServerUnavailable
from pathrag_gds.graph.database import Database, QueryRunner, Row
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import STRUCTURAL_TYPES

if TYPE_CHECKING:
    from graphdatascience import GraphDataScience

__all__ = [
    "PROJECTION_PREFIX",
    "QUESTION_PREFIX",
    "CommunityAlgorithm",
    "GdsClient",
    "Projection",
    "check_memory",
    "drop_graph",
    "drop_parameters",
    "ensure_projection",
    "projection_name",
    "question_graph",
]

PROJECTION_PREFIX = "pathrag_"
CommunityAlgorithm = Literal["louvain", "leiden"]
Result = TypeVar("Result")
# Must not begin with the other: a migration drops all tenants' graphs, and questions may be going
# on meanwhile.
QUESTION_PREFIX = "pathrag-question-"
# No statement takes as long, so after it a question's graph is what a killed process left.
_ABANDONED_MINUTES = 60
# A graph is made anew so often when other processes make or drop it at the same time.
_ATTEMPTS = 3
# What GDS says to a name that is in use when a projection begins, and to one taken before it ends.
_TAKEN = ("already exists", "already loaded")


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


def question_graph() -> str:
    """Give a name for the graph of one question, which no other question has."""
    return QUESTION_PREFIX + uuid.uuid4().hex


def drop_parameters(name: str) -> Row:
    """Give the parameters of ``gds/drop`` for a graph."""
    return {"graph": name, "prefix": QUESTION_PREFIX, "minutes": _ABANDONED_MINUTES}


def drop_graph(db: QueryRunner, name: str) -> bool:
    """Drop a graph, and what questions of killed processes left; say whether any was there."""
    return bool(db.run(load("gds/drop"), **drop_parameters(name)))


def check_memory(rows: Sequence[Row], *, nodes: int, relationships: int) -> None:
    """Refuse a graph that does not fit.

    Args:
        rows: Of ``gds/memory``.
        nodes: How many the graph has, for the message; so with ``relationships``.

    Raises:
        GdsMemory: It would take more than is free; names both figures.
    """
    needed, free = int(rows[0]["needed"]), int(rows[0]["free"])
    if needed > free:
        raise GdsMemory(
            f"A graph of {nodes:,} nodes and {relationships:,} relationships takes up to "
            f"{_megabytes(needed)} in the catalog of Graph Data Science, and the server has "
            f"{_megabytes(free)} free.",
            needed=needed,
            free=free,
            hint="Give the server more heap, or use a flow that needs no projection of it: "
            "--pruner flow:paper",
        )


def _megabytes(size: int) -> str:
    return f"{max(size, 0) / 2**20:,.1f} MB"


def ensure_projection(db: Database, tenant: str) -> str:
    """Give the name of a tenant's graph in the catalog, which shows all that is committed by now.

    It is made anew where it is not there, as after a restart of the server, and where anybody wrote
    anything since it was made. Threads and processes may do this at the same time.

    Returns:
        ``pathrag_<tenant>``: undirected, parallel relationships each, without types and properties.

    Raises:
        GdsMissing: The server has no plugin.
        GdsMemory: It would not fit.
        DatabaseError: The tenant has no entities, so there is nothing to project.
    """
    db.capabilities.require_gds("A projection of a tenant's graph", "gds.graph.list")
    name = projection_name(tenant)
    structural = list(STRUCTURAL_TYPES)
    for attempt in range(_ATTEMPTS):
        # Before the graph is read, so that what is written meanwhile makes it stale.
        mark = "pathrag-" + sha256(db.change_stamp().encode()).hexdigest()[:32]
        if any(
            row["mark"].startswith(mark) for row in db.run(load("gds/catalog_entry"), graph=name)
        ):
            return name
        size = db.run(load("gds/tenant_counts"), tenant=tenant, structural=structural)[0]
        shape = {"nodes": size["nodes"], "relationships": 2 * size["relationships"]}
        check_memory(db.run(load("gds/memory"), **shape, properties=[]), **shape)
        drop_graph(db, name)
        try:
            made = db.run(
                load("gds/project_tenant"),
                tenant=tenant,
                graph=name,
                # No two jobs that run may have the same id.
                mark=f"{mark}-{uuid.uuid4().hex}",
                structural=structural,
            )
        except DatabaseError as error:
            # Somebody else was quicker; whether theirs is new enough is seen by looking again.
            quicker = any(told in error.message for told in _TAKEN)
            if not quicker or attempt == _ATTEMPTS - 1:
                raise
            continue
        if made and made[0]["nodes"]:
            return name
        raise DatabaseError(
            f"Tenant {tenant!r} has no entities, so it has no graph to project.",
            hint="Run: pathrag load FILES",
        )
    raise DatabaseError(
        f"The graph {name!r} was made anew by others {_ATTEMPTS} times while it was needed.",
        hint="Ask again.",
    )


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
