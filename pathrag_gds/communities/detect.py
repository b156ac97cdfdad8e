"""Find the communities of a tenant with Graph Data Science, and put them in force."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

from pathrag_gds import telemetry
from pathrag_gds.communities.partition import (
    Cell,
    LevelFigures,
    Links,
    communities_of,
    level_figures,
    link_up,
    nested_cells,
)
from pathrag_gds.communities.read import read_entities
from pathrag_gds.communities.store import RunWriter, require_schema
from pathrag_gds.config import DEFAULT_TENANT, check_tenant
from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import Database, QueryRunner
from pathrag_gds.graph.gds_client import CommunityAlgorithm, GdsClient
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import STRUCTURAL_TYPES
from pathrag_gds.types import Entity

__all__ = [
    "DEFAULT_MIN_SIZE",
    "Detection",
    "NodeFilter",
    "detect_communities",
    "find_cells",
    "read_links",
    "without",
]

DEFAULT_MIN_SIZE = 3
"""Smaller groups are no communities: there is nothing to report about them."""

NodeFilter = Callable[[Entity], bool] | Collection[str]
"""Which entities may be looked at: a function of the entity, or the ids."""

Progress = Callable[[int, int, str], None]
_PAGE = 2000
_STRENGTH = "strength"


@dataclass(frozen=True, slots=True)
class Detection:
    """What a detection found and wrote.

    Attributes:
        run: Id of the run that is in force now.
        seed: Of Leiden; None for Louvain, which takes no random choices.
        gamma: Of Leiden; None for Louvain.
        weight_property: Of relationships; empty where each counts 1.
        min_size: Entities that a community has at least.
        entities: Looked at.
        relationships: Looked at; those of an entity to itself are not.
        filtered: Entities that were not to be looked at.
        unplaced: Entities that are in no community, since their group is too small.
        levels: From the coarsest to the finest; none where no group is large enough.
        carried: Reports that were taken over from communities with the same entities.
        seconds: Wall time.
    """

    tenant: str
    run: str
    algorithm: CommunityAlgorithm
    seed: int | None
    gamma: float | None
    weight_property: str
    min_size: int
    entities: int
    relationships: int
    filtered: int
    unplaced: int
    levels: tuple[LevelFigures, ...]
    carried: int
    seconds: float

    @property
    def communities(self) -> int:
        """How many there are, of all levels together."""
        return sum(level.communities for level in self.levels)

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return asdict(self) | {
            "communities": self.communities,
            "levels": [asdict(level) for level in self.levels],
        }


def detect_communities(
    db: Database,
    *,
    tenant: str = DEFAULT_TENANT,
    algorithm: CommunityAlgorithm = "louvain",
    seed: int | None = None,
    gamma: float | None = None,
    weight_property: str = "",
    min_size: int = DEFAULT_MIN_SIZE,
    keep: NodeFilter | None = None,
    progress: Progress | None = None,
) -> Detection:
    """Find communities, and put them in the place of those that the tenant has.

    The same graph gives the same communities: the algorithm runs on one thread, on a projection in
    the order of the ids. The communities of Leiden hang together on every level; those of Louvain
    may not, and are counted. A report on a community whose entities are the same as before is
    taken over; whether it is still true is seen when reports are written.

    Args:
        algorithm: ``louvain`` (Blondel et al. 2008) or ``leiden`` (Traag et al. 2019).
        seed: For Leiden's random choices; 0 by default.
        gamma: For Leiden, above 0: larger gives smaller communities; 1 by default.
        weight_property: Property of relationships with a number from 0 up; one without it counts 1.
        min_size: Entities that a community has at least, from 1.
        keep: Which entities may be looked at; what somebody may see is for the caller to say.
        progress: Called with how many entities were read, 0 for an unknown total, and what is
            done.

    Raises:
        ConfigError: ``seed`` or ``gamma`` with Louvain, an option out of range, no entities, or
            weights that are no numbers.
        TenantError: The tenant has an impossible name.
        GdsMissing: The server has no Graph Data Science.
        IndexMissing: The database has not our schema.
        DatabaseError: The server failed, or another detection began; what was in force stays.
    """
    check_tenant(tenant)
    _check(algorithm, seed, gamma, min_size)
    started = time.monotonic()
    require_schema(db)
    db.capabilities.require_gds("Detecting communities", f"gds.{algorithm}.stream")
    with telemetry.span(
        "graphrag.detect",
        tenant=tenant,
        algorithm=algorithm,
        resolution=1.0 if gamma is None else gamma,
    ) as span:
        found = _detect(
            db,
            tenant,
            algorithm=algorithm,
            seed=seed,
            gamma=gamma,
            weight_property=weight_property,
            min_size=min_size,
            keep=keep,
            told=progress or (lambda done, total, what: None),
        )
        span.set(
            nodes_in=found.entities,
            edges_in=found.relationships,
            communities_out=found.communities,
            levels=len(found.levels),
        )
        return replace(found, seconds=round(time.monotonic() - started, 3))


def _detect(
    db: Database,
    tenant: str,
    *,
    algorithm: CommunityAlgorithm,
    seed: int | None,
    gamma: float | None,
    weight_property: str,
    min_size: int,
    keep: NodeFilter | None,
    told: Progress,
) -> Detection:
    """Find communities and put them in force; the seconds are for the caller to count."""
    links = read_links(db, tenant, weight_property, lambda done: told(done, 0, "entities read"))
    if not links:
        raise ConfigError(
            f"Tenant {tenant!r} has no entities.", hint="Load some: pathrag load FILES"
        )
    left_out = _left_out(db, tenant, links, keep)
    shown = without(links, left_out)
    writer = RunWriter.begin(db, tenant, algorithm)
    told(len(shown), 0, f"entities: {algorithm}")
    # No other tenant's name can begin like this, and no other run has this number.
    prefix = f"communities/{len(tenant)}/{tenant}/"
    cells, relationships = find_cells(
        db,
        tenant,
        shown,
        prefix + writer.run,
        algorithm=algorithm,
        left_out=left_out,
        weight_property=weight_property,
        seed=seed,
        gamma=gamma,
        leftovers=prefix,
    )
    communities = communities_of(cells, tenant=tenant, run=writer.run, min_size=min_size)
    levels = level_figures(cells, shown, min_size=min_size)
    told(len(shown), 0, f"entities: writing {len(communities)} communities")
    writer.write(communities)
    carried = writer.carry_reports()
    unplaced = _unplaced(cells, shown, min_size)
    is_leiden = algorithm == "leiden"
    found = Detection(
        tenant=tenant,
        run=writer.run,
        algorithm=algorithm,
        seed=(seed or 0) if is_leiden else None,
        gamma=(1.0 if gamma is None else gamma) if is_leiden else None,
        weight_property=weight_property,
        min_size=min_size,
        entities=len(shown),
        relationships=relationships,
        filtered=len(left_out),
        unplaced=len(unplaced),
        levels=levels,
        carried=carried,
        seconds=0.0,
    )
    writer.put_in_force(_noted(found, unplaced, left_out))
    return found


def read_links(
    db: QueryRunner,
    tenant: str,
    weight_property: str = "",
    progress: Callable[[int], None] | None = None,
) -> dict[str, dict[str, float]]:
    """Read how strongly the entities of a tenant are linked, in pages.

    Args:
        weight_property: Property of relationships with a number from 0 up; one without it counts
            1, and so does each where this is empty.
        progress: Called with how many entities were read.

    Returns:
        By id of every entity, ascending, the ends and weights of its links in both directions.

    Raises:
        ConfigError: No relationship has the weight, or some have none that is a number from 0 up.
    """
    rows: list[tuple[str, list[tuple[str, float]]]] = []
    weighted = refused = 0
    after = ""
    while True:
        page = db.run(
            load("communities/page_links"),
            tenant=tenant,
            after=after,
            page=_PAGE,
            structural=list(STRUCTURAL_TYPES),
            weight=weight_property or None,
        )
        if not page:
            break
        for row in page:
            rows.append((row["id"], [(id_, weight) for id_, weight in row["links"] if weight]))
            weighted += row["weighted"]
            refused += row["refused"]
        after = page[-1]["id"]
        if progress:
            progress(len(rows))
    if weight_property and refused:
        raise ConfigError(
            f"The property {weight_property!r} of {refused} relationships of tenant {tenant!r} "
            "is no number from 0 up.",
            hint="Leave --weight-property out, or mend the property.",
        )
    if weight_property and not weighted and any(ends for _, ends in rows):
        raise ConfigError(
            f"No relationship of tenant {tenant!r} has a property {weight_property!r}.",
            hint="Run: pathrag schema show",
        )
    return link_up(rows)


def _check(
    algorithm: CommunityAlgorithm, seed: int | None, gamma: float | None, min_size: int
) -> None:
    if algorithm not in get_args(CommunityAlgorithm):
        raise ConfigError(f"algorithm must be louvain or leiden, not {algorithm!r}.")
    if algorithm == "louvain" and (seed is not None or gamma is not None):
        name = "seed" if seed is not None else "gamma"
        raise ConfigError(
            f"Louvain takes no {name}: it makes no random choices and has one resolution.",
            hint=f"Leiden takes --{name}: pathrag communities detect --algorithm leiden",
        )
    if seed is not None and not 0 <= seed < 2**31:
        raise ConfigError(f"seed must be from 0 to {2**31 - 1}, not {seed}.")
    if gamma is not None and not 0 < gamma < float("inf"):
        raise ConfigError(f"gamma must be a number above 0, not {gamma!r}.")
    if min_size < 1:
        raise ConfigError(f"min_size must be at least 1, not {min_size}.")


def _left_out(
    db: QueryRunner, tenant: str, links: Links, keep: NodeFilter | None
) -> tuple[str, ...]:
    if keep is None:
        return ()
    if not callable(keep):
        kept = frozenset(keep)
        return tuple(id_ for id_ in links if id_ not in kept)
    return tuple(e.id for e in read_entities(db, tenant, list(links)) if not keep(e))


def without(links: Links, left_out: Iterable[str]) -> Links:
    """Give the links of the other entities among themselves."""
    gone = frozenset(left_out)
    if not gone:
        return links
    return {
        id_: {end: weight for end, weight in ends.items() if end not in gone}
        for id_, ends in links.items()
        if id_ not in gone
    }


def find_cells(
    db: Database,
    tenant: str,
    links: Links,
    graph: str,
    *,
    algorithm: CommunityAlgorithm,
    left_out: Collection[str] = (),
    weight_property: str = "",
    seed: int | None = None,
    gamma: float | None = None,
    leftovers: str = "",
) -> tuple[tuple[Cell, ...], int]:
    """Run the algorithm on a projection that is gone afterwards; write nothing.

    Args:
        links: Of the entities to look at.
        graph: Name of the projection, not in use.
        left_out: Ids of the other entities.
        leftovers: Projections whose names begin with this are dropped first; empty for none.

    Returns:
        The hierarchy, and how many relationships were looked at.
    """
    if not any(links.values()):
        # The algorithms need a relationship; without any, each entity is a group of its own.
        alone = {id_: (number,) for number, id_ in enumerate(links)}
        return nested_cells(alone, links, connected=False), 0
    with GdsClient(db.connection) as gds:
        if leftovers:
            gds.drop_all(leftovers)
        try:
            made = db.run(
                load("communities/project"),
                tenant=tenant,
                graph=graph,
                structural=list(STRUCTURAL_TYPES),
                weight=weight_property or None,
                left_out=list(left_out),
            )[0]
            found = gds.communities(
                graph, algorithm, weight_property=_STRENGTH, seed=seed, gamma=gamma
            )
            ids = _ids_of(db, [node for node, _ in found])
        finally:
            gds.drop(graph)
    # What was loaded or deleted since the links were read is not known there.
    placed = {ids[node]: levels for node, levels in found if ids[node] in links}
    cells = nested_cells(dict(sorted(placed.items())), links, connected=algorithm == "leiden")
    return cells, made["relationships"] // 2


def _ids_of(db: QueryRunner, nodes: list[int]) -> dict[int, str]:
    ids: dict[int, str] = {}
    for start in range(0, len(nodes), _PAGE):
        rows = db.run(load("communities/entity_ids"), nodes=nodes[start : start + _PAGE])
        ids.update((row["node"], row["id"]) for row in rows)
    return ids


def _unplaced(cells: Iterable[Cell], links: Links, min_size: int) -> tuple[str, ...]:
    placed = {id_ for cell in cells if len(cell.ids) >= min_size for id_ in cell.ids}
    return tuple(id_ for id_ in links if id_ not in placed)


def _noted(found: Detection, outside: Iterable[str], filtered: Iterable[str]) -> dict[str, Any]:
    """Give what is kept of a run: enough to detect once more in the same way, and to compare."""
    options = {
        "algorithm": found.algorithm,
        "seed": found.seed,
        "gamma": found.gamma,
        "weight_property": found.weight_property,
        "min_size": found.min_size,
    }
    return {
        "options": json.dumps(options),
        "entities": found.entities,
        "relationships": found.relationships,
        "communities": found.communities,
        "levels": len(found.levels),
        "modularity": [level.modularity for level in found.levels],
        "outside": sorted(outside),
        "filtered": sorted(filtered),
    }
