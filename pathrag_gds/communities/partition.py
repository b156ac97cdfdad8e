"""From what an algorithm gives to a hierarchy of communities, and how good it is. Pure."""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from pathrag_gds.communities.types import Community

__all__ = [
    "Cell",
    "LevelFigures",
    "Links",
    "communities_of",
    "components",
    "level_figures",
    "link_up",
    "members_hash",
    "modularity",
    "nested_cells",
    "partition_at",
]

Links = Mapping[str, Mapping[str, float]]
"""How strongly entities are linked: in both directions, none to itself, weights from 0 up."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Entities that belong together at one level of a hierarchy.

    Attributes:
        ids: Strictly ascending, at least one.
        level: 0 is the coarsest.
        parent: Number of the cell that holds it in the same sequence; None on level 0.
    """

    ids: tuple[str, ...]
    level: int = 0
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """What a level of a hierarchy is like.

    Attributes:
        communities: How many there are.
        entities: How many are in them.
        smallest: Entities of the smallest one; 0 where there is none.
        median: Of their sizes; 0 where there is none.
        largest: Entities of the largest one; 0 where there is none.
        modularity: Of all entities, each in its finest cell down to this level, however small.
        disconnected: Communities whose entities do not all hang together within them.
    """

    level: int
    communities: int
    entities: int
    smallest: int
    median: float
    largest: int
    modularity: float
    disconnected: int


def link_up(rows: Iterable[tuple[str, Iterable[tuple[str, float]]]]) -> dict[str, dict[str, float]]:
    """Make links in both directions from those of one direction.

    Args:
        rows: Each entity with the ends and weights of what leaves it; an end that is no entity of
            a row is left out, and so are links to itself.

    Returns:
        An entry for every entity, also for one without links; entities in the order of the rows.
    """
    leaving = {id_: list(ends) for id_, ends in rows}
    links: dict[str, dict[str, float]] = {id_: {} for id_ in leaving}
    for id_, ends in leaving.items():
        for end, weight in ends:
            if end in links and end != id_:
                total = links[id_].get(end, 0.0) + weight
                links[id_][end] = links[end][id_] = total
    return links


def nested_cells(
    memberships: Mapping[str, Sequence[int]], links: Links, *, connected: bool
) -> tuple[Cell, ...]:
    """Make a hierarchy of what an algorithm gave for each of its levels.

    From the coarsest level to the finest each cell is cut into what the next level tells apart.
    The levels of Louvain are nested already; those of Leiden are not, since it moves entities
    after it has taken them together, and so are cut along the coarser ones. A cell that the next
    levels leave whole is not repeated.

    Args:
        memberships: By entity, its community at each level, the finest first; all equally long.
        connected: Cut each cell into parts that hang together, too.

    Returns:
        By level; within a level the largest first, ties by the first id.
    """
    cells: list[Cell] = []
    depth = len(next(iter(memberships.values()), ()))
    # Each waiting cell with the position of the next level to cut it by, the coarsest last.
    waiting: list[tuple[Cell, int]] = []

    def cut(ids: Iterable[str], position: int) -> list[tuple[str, ...]]:
        groups: dict[int, list[str]] = defaultdict(list)
        for id_ in ids:
            groups[memberships[id_][position]].append(id_)
        parts = [part for group in groups.values() for part in _parts(group, links, connected)]
        return sorted(parts, key=lambda part: (-len(part), part[0]))

    if depth:
        waiting = [(Cell(part), depth - 2) for part in cut(sorted(memberships), depth - 1)]
    while waiting:
        finer: list[tuple[Cell, int]] = []
        for cell, position in sorted(waiting, key=lambda item: _order(item[0])):
            number = len(cells)
            cells.append(cell)
            while position >= 0:
                parts = cut(cell.ids, position)
                position -= 1
                if len(parts) > 1:
                    finer += [(Cell(p, cell.level + 1, number), position) for p in parts]
                    break
        waiting = finer
    return tuple(cells)


def _order(cell: Cell) -> tuple[int, int, str]:
    return cell.level, -len(cell.ids), cell.ids[0]


def _parts(group: list[str], links: Links, connected: bool) -> Iterator[tuple[str, ...]]:
    if connected:
        yield from components(group, links)
    else:
        yield tuple(sorted(group))


def components(ids: Iterable[str], links: Links) -> tuple[tuple[str, ...], ...]:
    """Part entities into those that are linked within the group, directly or over others.

    Returns:
        Each part ascending; the parts by their first id.
    """
    left = set(ids)
    found: list[tuple[str, ...]] = []
    for start in sorted(left):
        if start not in left:
            continue
        left.remove(start)
        part, waiting = [start], [start]
        while waiting:
            for end in links.get(waiting.pop(), ()):
                if end in left:
                    left.remove(end)
                    part.append(end)
                    waiting.append(end)
        found.append(tuple(sorted(part)))
    return tuple(found)


def partition_at(cells: Sequence[Cell], level: int) -> dict[str, int]:
    """Give the number of the finest cell of each entity that is not below a level."""
    labels: dict[str, int] = {}
    for number, cell in enumerate(cells):
        if cell.level <= level:
            labels.update(dict.fromkeys(cell.ids, number))
    return labels


def modularity(labels: Mapping[str, int], links: Links) -> float:
    """Compare the links within communities with those of a random graph of the same degrees.

    ``Q = Σ_c (w_c / W − (d_c / 2W)²)``, where w_c is the weight of the links within community c,
    d_c the sum of the degrees of its entities and W the weight of all links (Newman and Girvan
    2004, for weights Newman 2004).

    Args:
        labels: Community of each entity; links of others are left out.

    Returns:
        From -0.5 to 1; 0 where there are no links.
    """
    within: dict[int, list[float]] = defaultdict(list)
    degrees: dict[int, list[float]] = defaultdict(list)
    for id_, label in labels.items():
        for end, weight in links.get(id_, {}).items():
            if end in labels:
                degrees[label].append(weight)
                if labels[end] == label:
                    within[label].append(weight)
    # Sums that do not depend on the order, so that equal graphs give equal figures.
    twice = math.fsum(weight for weights in degrees.values() for weight in weights)
    if not twice:
        return 0.0
    return math.fsum(
        math.fsum(within[label]) / twice - (math.fsum(weights) / twice) ** 2
        for label, weights in degrees.items()
    )


def level_figures(
    cells: Sequence[Cell], links: Links, *, min_size: int
) -> tuple[LevelFigures, ...]:
    """Measure each level of a hierarchy; levels without a community are left out.

    Args:
        min_size: Smaller cells are no communities.
    """
    figures = []
    for level in range(1 + max((cell.level for cell in cells), default=-1)):
        kept = [c.ids for c in cells if c.level == level and len(c.ids) >= min_size]
        if not kept:
            break
        sizes = [len(ids) for ids in kept]
        figures.append(
            LevelFigures(
                level=level,
                communities=len(kept),
                entities=sum(sizes),
                smallest=min(sizes),
                median=float(median(sizes)),
                largest=max(sizes),
                modularity=round(modularity(partition_at(cells, level), links), 6),
                disconnected=sum(len(components(ids, links)) > 1 for ids in kept),
            )
        )
    return tuple(figures)


def communities_of(
    cells: Sequence[Cell], *, tenant: str, run: str, min_size: int
) -> tuple[Community, ...]:
    """Give the cells that are large enough as communities, by level and number.

    Their ids are ``RUN.LEVEL.NUMBER``, numbered from 0 on each level, the largest first.
    """
    ids: dict[int, str] = {}
    found = []
    counts: dict[int, int] = defaultdict(int)
    for number, cell in enumerate(cells):
        if len(cell.ids) < min_size:
            continue
        ids[number] = f"{run}.{cell.level}.{counts[cell.level]}"
        counts[cell.level] += 1
        parent = None if cell.parent is None else ids[cell.parent]
        found.append(Community(ids[number], tenant, cell.ids, cell.level, parent))
    return tuple(found)


def members_hash(ids: Iterable[str]) -> str:
    """Hash the ids of a community's entities, in any order; 32 hexadecimal digits."""
    text = json.dumps(sorted(ids))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
