"""The statements of a search over chains: one hop of all of them, and what is shown. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from pathrag_gds.graph.database import Row
from pathrag_gds.graph.queries import Query, load
from pathrag_gds.graph.schema import STRUCTURAL_TYPES, Ontology
from pathrag_gds.retrieve.expand import MAX_ROWS, Plan, limits, lost, plan_of
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.statements import Request, edge_of_row, entity_of_row
from pathrag_gds.retrieve.steps import Way
from pathrag_gds.types import Edge, Entity, Hop, Path, Step

__all__ = [
    "Links",
    "Reach",
    "chains_request",
    "read_reach",
    "read_shown",
    "shown_request",
    "walk",
]


@dataclass(frozen=True, slots=True)
class Links:
    """Where one step leads from all frontier nodes.

    Attributes:
        step: Type, direction and label of the ends.
        ends: By frontier node, the ends with the number of relationships to each, by id.
    """

    step: Step
    ends: Mapping[str, tuple[tuple[str, int], ...]]


@dataclass(frozen=True, slots=True)
class Reach:
    """What one expansion of all chains brought.

    Attributes:
        links: By type, direction and label.
        nearness: Cosine of an end's vector and the question's, in [-1, 1], by id; only of steps
            with more ends than were asked for.
        truncated: Frontier nodes of which a branch was cut, sorted; not those that only a cap on
            all of the expansion cut.
        lost: How many relationships such a cap left out, by its reason: ``row_cap``, ``byte_cap``.
    """

    links: tuple[Links, ...]
    nearness: Mapping[str, float]
    truncated: tuple[str, ...]
    lost: Mapping[str, int] = field(default_factory=dict)


@lru_cache(maxsize=64)
def _rendered(plan: Plan, slot: str) -> Query:
    # A chain goes wherever its relations lead: nodes already found are nothing special to it.
    branches = plan.by_name()
    asked = {name: branches[name] for name in ("neighbours", "sparse", "frequent", "rare")}
    return load("retrieve/expand_chains").render({"filter": slot}, asked)


def chains_request(
    frontier: Sequence[str],
    *,
    tenant: str,
    ontology: Ontology,
    restriction: tuple[str, ...],
    labels: Sequence[str],
    cap: int,
    width: int,
    predicate: Predicate,
    vector: Sequence[float] | None,
    vector_property: str,
    max_rows: int = MAX_ROWS,
    max_bytes: int = 0,
) -> Request | None:
    """Ask where all chains lead in one more step; None when no type may be followed.

    Args:
        frontier: Distinct ids of the nodes that any chain has come to, those of the best first.
        labels: A node counts under the first of them that it has.
        cap: Relationships per node, type and direction. One more is read, to see a cut.
        width: Ends of a step are told apart by the question only where there are more of them.
        predicate: On ``r`` and ``m``.
        max_rows: Relationships in all. Nodes, types and directions take turns, so each has some.
        max_bytes: What is read of them at most, about; 0 for all.
    """
    plan = plan_of(ontology.relation_types, restriction, cap)
    if not (plan.neighbours or plan.sparse):
        return None
    return Request(
        replace(_rendered(plan, _slot(predicate)), max_bytes=max_bytes or None),
        {
            "tenant": tenant,
            "frontier": list(frontier),
            "structural": list(STRUCTURAL_TYPES),
            **limits(plan, cap, max_rows),
            "labels": list(labels),
            "width": width,
            "vector": None if vector is None else list(vector),
            "vector_property": vector_property,
            "filters": dict(predicate.values),
        },
    )


def read_reach(request: Request, rows: Iterable[Row]) -> Reach:
    """Make links of the rows that answered a request of :func:`chains_request`.

    A node is truncated when one type and direction gave more rows than the cap, or all of its
    branches more than theirs, or where the database says so; what came counts nevertheless.
    """
    parameters = request.parameters
    ends: dict[Step, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    nearness: dict[str, float] = {}
    read: Counter[tuple[str, str, bool]] = Counter()
    truncated: set[str] = set()
    total = 0
    for row in rows:
        step = Step(row["type"], row["forward"], row["label"])
        for tail, found in row["links"]:
            read[tail, step.type, step.forward] += len(found)
            ends[step][tail].update(found)
        nearness |= {id_: round(near or 0.0, 6) for id_, near in row["near"]}
        truncated.update(row["cut"])
        total = row["total"]
    truncated |= {tail for (tail, _, _), count in read.items() if count >= parameters["cap"]}
    if not parameters["dense"]:
        of_node: Counter[str] = Counter()
        for (tail, _, _), count in read.items():
            of_node[tail] += count
        truncated |= {t for t, count in of_node.items() if count >= parameters["rest_cap"]}
    links = [
        Links(step, {tail: _counted(tail, found) for tail, found in by_tail.items()})
        for step, by_tail in ends.items()
    ]
    links.sort(key=lambda link: (link.step.type, not link.step.forward, link.step.label))
    left_out = lost(read.total(), total, parameters["row_cap"])
    return Reach(tuple(links), nearness, tuple(sorted(truncated)), left_out)


def _counted(tail: str, found: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Give ends with their counts by id; a loop, which two branches may have found, counts once."""
    return tuple(sorted((end, 1 if end == tail else count) for end, count in found.items()))


def shown_request(
    ways: Iterable[tuple[Way, Sequence[Step]]],
    ids: Iterable[str],
    *,
    tenant: str,
    predicate: Predicate,
) -> Request:
    """Ask for the nodes and the relationships of ways through the graph.

    Args:
        ways: Each with the steps that it takes.
        ids: Nodes wanted besides.
        predicate: On ``r`` and ``m``; relationships side by side that do not pass are not shown.
    """
    hops: dict[tuple[str, str, bool, str], None] = {}
    nodes: dict[str, None] = {}
    for way, steps in ways:
        nodes |= dict.fromkeys(way)
        for head, step, tail in zip(way, steps, way[1:], strict=False):
            hops[head, step.type, step.forward, tail] = None
    return Request(
        load("retrieve/hydrate_hops").render({"filter": _slot(predicate)}),
        {
            "tenant": tenant,
            "ids": list(nodes | dict.fromkeys(ids)),
            "hops": [
                {"tail": head, "type": type_, "forward": forward, "id": tail}
                for head, type_, forward, tail in hops
            ],
            "filters": dict(predicate.values),
        },
    )


Hops = Mapping[tuple[str, str, bool, str], Sequence[Edge]]


def read_shown(rows: Iterable[Row]) -> tuple[dict[str, Entity], Hops]:
    """Make of the rows that answered :func:`shown_request` entities by id, and relationships.

    Relationships stand by the node they are walked from, type, direction and the node they lead to;
    those side by side in order of their identity.
    """
    entities: dict[str, Entity] = {}
    edges: dict[tuple[str, str, bool, str], dict[tuple[str, ...], Edge]] = defaultdict(dict)
    for row in rows:
        if row["tail"] is None:
            entities[row["id"]] = entity_of_row(row)
            continue
        edge = edge_of_row(row)
        edges[row["tail"], edge.type, row["forward"], row["id"]][edge.identity] = edge
    return entities, {place: [found[i] for i in sorted(found)] for place, found in edges.items()}


def walk(way: Way, steps: Sequence[Step], hops: Hops) -> Path | None:
    """Make a path of a way through the graph; None where a relationship is there no more.

    Of relationships side by side each is walked once before one is walked again.
    """
    path = Path(way[:1])
    for head, step, tail in zip(way, steps, way[1:], strict=False):
        edges = hops.get((head, step.type, step.forward, tail), ())
        if not edges:
            return None
        walked = [hop.edge.identity for hop in path.hops]
        edge = min(edges, key=lambda edge: (walked.count(edge.identity), edge.identity))
        path = path.extend(Hop(edge, step.forward))
    return path


def _slot(predicate: Predicate) -> str:
    return f"AND {predicate.text}" if predicate.text else ""
