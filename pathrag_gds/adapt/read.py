"""Read a tenant's graph from the database into memory, for questions to be made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from sys import intern

from pathrag_gds.graph.database import QueryRunner
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import STRUCTURAL_TYPES, Ontology
from pathrag_gds.models.training.graph import TrainingGraph
from pathrag_gds.retrieve.statements import edge_of_row, entity_of_row
from pathrag_gds.types import Edge, Entity

__all__ = ["MOST_RELATIONSHIPS", "Progress", "read_graph", "shares"]

MOST_RELATIONSHIPS = 300_000
"""Up to so many relationships a graph is read whole."""

Progress = Callable[[int, int, str], None]
"""Called with done, total and what is being read."""

_PAGE = 2000
# Rows of a statement at most, but for a node that alone has more.
_ROWS = 10_000
# Of one node, in a graph that is read in part: a hub must not use up the share of its types.
_MOST_OF_A_NODE = 50
# How far a part follows the ends of what it took, so that there are chains to ask for.
_DEPTH = 2


def read_graph(
    db: QueryRunner,
    tenant: str,
    ontology: Ontology,
    *,
    most: int = MOST_RELATIONSHIPS,
    progress: Progress | None = None,
) -> TrainingGraph:
    """Read the entities and relationships of a tenant.

    Relationships are of the types of the ontology, bookkeeping left out, as in a search. Of a
    graph that has more than ``most``, each type gives an equal share, and with a part go the
    entities at its ends alone. The same store gives the same graph.

    Args:
        ontology: Of the tenant; its counts say how much there is.
        most: Relationships that are kept in memory, at least 1. 300,000 of MetaQA's kind take
            about 0.5 GB.
        progress: Called after every statement.
    """
    report = progress or (lambda done, total, what: None)
    counts = {t.name: t.count for t in ontology.relation_types if t.name not in STRUCTURAL_TYPES}
    reading = _Reading(db, tenant, sorted(counts), sum(counts.values()), report)
    if reading.expected <= most:
        ids, edges = reading.everything()
    else:
        edges = reading.part(shares(counts, most))
        ids = sorted({end for edge in edges for end in (edge.source, edge.target)})
    return TrainingGraph.of(tenant, reading.entities(ids), edges)


def shares(counts: Mapping[str, int], most: int) -> dict[str, int]:
    """Give each type an equal share of ``most``; what a rare type leaves goes to the others."""
    left = most
    given: dict[str, int] = {}
    for position, (count, type_) in enumerate(sorted((c, t) for t, c in counts.items())):
        given[type_] = min(count, left // (len(counts) - position))
        left -= given[type_]
    return given


@dataclass(slots=True)
class _Reading:
    db: QueryRunner
    tenant: str
    types: Sequence[str]
    expected: int
    report: Progress
    edges: list[Edge] = field(default_factory=list)

    def everything(self) -> tuple[list[str], list[Edge]]:
        """Give the ids of all entities and all relationships."""
        ids: list[str] = []
        for page in self._pages():
            ids += (id_ for id_, _ in page)
            for batch in _batches(page):
                self.edges += self._leaving(batch, self.types, self.expected)
                self.report(len(self.edges), self.expected, "relationships")
        return ids, self.edges

    def part(self, wanted: Mapping[str, int]) -> list[Edge]:
        """Give relationships until each type has its share: page after page, and what follows."""
        left = {type_: share for type_, share in wanted.items() if share}
        total = sum(left.values())
        seen: set[str] = set()
        for page in self._pages():
            frontier = [id_ for id_, degree in page if degree]
            for _ in range(1 + _DEPTH):
                new = [id_ for id_ in frontier if id_ not in seen]
                seen.update(new)
                frontier = self._take(new, left)
                self.report(len(self.edges), total, "relationships")
            if not left:
                break
        return self.edges

    def _take(self, ids: Sequence[str], left: dict[str, int]) -> list[str]:
        """Take what leaves some nodes, as far as the shares reach; give the ends, sorted."""
        ends: set[str] = set()
        for start in range(0, len(ids), _ROWS // _MOST_OF_A_NODE):
            if not left:
                break
            batch = ids[start : start + _ROWS // _MOST_OF_A_NODE]
            for edge in self._leaving(batch, sorted(left), _MOST_OF_A_NODE):
                if left.get(edge.type, 0):
                    left[edge.type] -= 1
                    self.edges.append(edge)
                    ends.add(edge.target)
            for type_ in [t for t, share in left.items() if not share]:
                del left[type_]
        return sorted(ends)

    def entities(self, ids: Sequence[str]) -> Iterator[Entity]:
        """Give the entities of some ids."""
        for start in range(0, len(ids), _PAGE):
            batch = list(ids[start : start + _PAGE])
            rows = self.db.run(load("retrieve/hydrate"), tenant=self.tenant, ids=batch)
            self.report(start + len(batch), len(ids), "entities")
            yield from sorted(map(entity_of_row, rows), key=lambda entity: entity.id)

    def _pages(self) -> Iterator[list[tuple[str, int]]]:
        after = ""
        while True:
            rows = self.db.run(load("adapt/page_ids"), tenant=self.tenant, after=after, page=_PAGE)
            if not rows:
                return
            yield [(row["id"], row["degree"]) for row in rows]
            after = rows[-1]["id"]

    def _leaving(self, ids: Sequence[str], types: Sequence[str], most: int) -> list[Edge]:
        if not ids or not types:
            return []
        rows = self.db.run(
            load("adapt/leaving"), tenant=self.tenant, ids=list(ids), types=list(types), most=most
        )
        return sorted((_lean(edge_of_row(row)) for row in rows), key=lambda edge: edge.identity)


def _batches(page: Iterable[tuple[str, int]]) -> Iterator[list[str]]:
    """Cut nodes into batches that have about ``_ROWS`` relationships each."""
    batch: list[str] = []
    rows = 0
    for id_, degree in page:
        if not degree:
            continue
        if batch and rows + degree > _ROWS:
            yield batch
            batch, rows = [], 0
        batch.append(id_)
        rows += degree
    if batch:
        yield batch


def _lean(edge: Edge) -> Edge:
    """Let equal strings be one in memory, and leave out where the relationship was read."""
    return Edge(
        edge.key, intern(edge.source), intern(edge.target), intern(edge.type), edge.properties
    )
