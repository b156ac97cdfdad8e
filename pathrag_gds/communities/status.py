"""How far the graph has moved away from the communities in force, and from their reports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from uuid import uuid4

from pathrag_gds.communities.contradict import Contradiction, find_contradictions
from pathrag_gds.communities.detect import find_cells, read_links, without
from pathrag_gds.communities.partition import Links, modularity, partition_at
from pathrag_gds.communities.read import read_communities, read_entities, require_run
from pathrag_gds.communities.report import plan_reports
from pathrag_gds.config import DEFAULT_TENANT, check_tenant
from pathrag_gds.errors import GdsMissing
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import load

__all__ = ["CommunityStatus", "community_status", "count_moved"]


@dataclass(frozen=True, slots=True)
class CommunityStatus:
    """Communities in force beside the graph as it is now.

    Attributes:
        source: What found them: an algorithm, or an import.
        built: When they were put in force, ISO 8601.
        options: With which they were found; empty for an import.
        entities_then: Looked at when they were found.
        entities_now: In the graph now.
        new: Ids of entities that came since, ascending.
        gone: How many of the entities that were looked at are not there any more.
        moved: Entities that a detection of now, in the same way, puts into another community of
            the coarsest level; None where it cannot be repeated.
        modularity_then: Of the coarsest level when it was found; None for an import.
        modularity_kept: Of the same communities now; new entities are alone.
        modularity_now: Of a detection of now; None where it cannot be repeated.
        unreported: Ids of communities without a report.
        outdated: Ids of communities whose entities or facts have changed since their report.
        contradictions: Pairs of reports that state different values of a property of an entity;
            what can be found is told in :mod:`pathrag_gds.communities.contradict`.
        warnings: What could not be found out, and why.
    """

    tenant: str
    run: str
    source: str
    built: str
    options: Mapping[str, Any]
    communities: int
    levels: int
    entities_then: int
    entities_now: int
    new: tuple[str, ...]
    gone: int
    moved: int | None
    modularity_then: float | None
    modularity_kept: float
    modularity_now: float | None
    unreported: tuple[str, ...]
    outdated: tuple[str, ...]
    contradictions: tuple[Contradiction, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        """Whether there is nothing to detect or to report anew; contradictions do not count.

        A report that is right about its own content may contradict another all the same.
        """
        return not (self.new or self.gone or self.moved or self.unreported or self.outdated)

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        lists = ("new", "unreported", "outdated", "warnings")
        told = asdict(self) | {name: list(getattr(self, name)) for name in lists}
        return told | {
            "contradictions": [asdict(found) for found in self.contradictions],
            "current": self.is_current,
        }


def community_status(db: Database, *, tenant: str = DEFAULT_TENANT) -> CommunityStatus:
    """Compare the communities of a tenant with its graph; write nothing.

    Communities that an algorithm found are found once more in the same way, to see what moved.

    Raises:
        ConfigError: The tenant has no communities.
        TenantError: The tenant has an impossible name.
        DatabaseError: The server failed.
    """
    check_tenant(tenant)
    run = require_run(db, tenant)
    options = json.loads(run.get("options") or "{}")
    weight = options.get("weight_property", "")
    everything = read_links(db, tenant, weight)
    rows = db.run(load("communities/coarsest"), tenant=tenant, run=run["id"])
    placed = {id_: row["id"] for row in rows for id_ in row["members"]}
    outside = frozenset(run.get("outside") or ())
    filtered = frozenset(run.get("filtered") or ())
    # What nobody was to look at then is not looked at now.
    links = without(everything, filtered)
    new = tuple(id_ for id_ in links if id_ not in placed and id_ not in outside)
    warnings: list[str] = []
    moved, fresh = _once_more(db, tenant, links, options, placed, filtered, warnings)
    plan = plan_reports(db, tenant=tenant)
    stored = read_communities(db, tenant, run["id"])
    reports = [c.report for c in stored if c.report is not None]
    reported = {report.community_id for report in reports}
    # A single report contradicts nobody, and then nothing need be read.
    known = read_entities(db, tenant, sorted(placed)) if len(reports) > 1 else ()
    return CommunityStatus(
        tenant=tenant,
        run=str(run["id"]),
        source=str(run["source"]),
        built=str(run["finished"]),
        options=options,
        communities=len(stored),
        levels=len({c.level for c in stored}),
        entities_then=int(run["entities"]),
        entities_now=len(links),
        new=new,
        gone=sum(row["size"] - len(row["members"]) for row in rows)
        + sum(id_ not in links for id_ in outside),
        moved=moved,
        modularity_then=next(iter(run.get("modularity") or ()), None),
        modularity_kept=round(modularity(_labels(placed, links), links), 6),
        modularity_now=fresh,
        unreported=tuple(id_ for id_ in plan.wanted if id_ not in reported),
        outdated=tuple(id_ for id_ in plan.wanted if id_ in reported),
        contradictions=find_contradictions(reports, known),
        warnings=tuple(warnings),
    )


def count_moved(then: Mapping[str, object], now: Mapping[str, object]) -> int:
    """Count entities that changed their community, whatever the communities are called.

    Each community of then is matched with the one of now that it shares most entities with, the
    largest share first and none twice; ties by name. Who is elsewhere has moved.

    Args:
        then: Community of each entity; those that are not in both are not counted.
        now: The same.
    """
    both = [id_ for id_ in then if id_ in now]
    shared = Counter((then[id_], now[id_]) for id_ in both)
    matched: dict[object, object] = {}
    taken: set[object] = set()
    for (old, new), _ in sorted(shared.items(), key=lambda item: (-item[1], *map(str, item[0]))):
        if old not in matched and new not in taken:
            matched[old] = new
            taken.add(new)
    return sum(matched.get(then[id_]) != now[id_] for id_ in both)


def _once_more(
    db: Database,
    tenant: str,
    links: Links,
    options: Mapping[str, Any],
    placed: Mapping[str, str],
    filtered: Collection[str],
    warnings: list[str],
) -> tuple[int | None, float | None]:
    """Detect once more as it was done; give who moved, and the modularity."""
    if not options:
        warnings.append("The communities were imported, so they cannot be found once more.")
        return None, None
    try:
        db.capabilities.require_gds("Comparing communities", f"gds.{options['algorithm']}.stream")
    except GdsMissing as error:
        warnings.append(error.message)
        return None, None
    cells, _ = find_cells(
        db,
        tenant,
        links,
        f"communities-status/{uuid4().hex}",
        algorithm=options["algorithm"],
        left_out=sorted(filtered),
        weight_property=options["weight_property"],
        seed=options["seed"],
        gamma=options["gamma"],
    )
    now = partition_at(cells, 0)
    return count_moved(placed, now), round(modularity(now, links), 6)


def _labels(placed: Mapping[str, str], links: Links) -> dict[str, int]:
    """Number the communities; who is in none is alone."""
    numbers = {id_: number for number, id_ in enumerate(sorted(set(placed.values())))}
    alone = len(numbers)
    return {
        id_: numbers[placed[id_]] if id_ in placed else alone + position
        for position, id_ in enumerate(links)
    }
