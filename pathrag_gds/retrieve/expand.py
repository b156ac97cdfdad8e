"""One hop for the whole frontier: what to ask, what came back, what of it to consider. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Literal

from pathrag_gds.graph.database import Row
from pathrag_gds.graph.queries import Branch, Query, escape_identifier, load
from pathrag_gds.graph.schema import STRUCTURAL_TYPES, Ontology, RelationType
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.statements import Request, edge_of_row, entity_of_row
from pathrag_gds.types import Entity, Hop, Path

__all__ = [
    "MAX_ROWS",
    "MAX_TARGETS",
    "Neighbour",
    "Neighbourhood",
    "Plan",
    "allowed",
    "branches_of",
    "expand_request",
    "extensions",
    "limits",
    "lost",
    "plan_of",
    "read_neighbours",
]

# Above so many types one branch per hub type would cost more than it saves (117 db hits for 30
# rows of a type that matches nothing).
MAX_TYPED = 24
MAX_TARGETS = 50
MAX_ROWS = 20_000
# A branch that follows no hub holds at most so many rows per node: far above any real sum of
# non-hub degrees, low enough that a mistaken ontology cannot flood the wire.
REST_CAP = 500
# An untyped branch holds so many caps per node: room for several types, yet lazy at a hub. In a
# graph of many types, a node of no more relationships is read whole.
UNTYPED_CAPS = 5
# With many types, so many pairs of type and direction have branches of their own at hubs: each
# makes the statement some 25 ms longer to plan.
MAX_FREQUENT = 16
# Of all others at most so many relationships of a hub are read per direction, to choose from each
# type. At the hub of FB15k-237, of 8,642, there are 1,500.
MAX_SCAN = 5_000
# More types than these are not named in a statement.
MAX_NAMES = 400
# With few property keys the statement names them and never touches a vector. A key that a node
# lacks costs two db hits and a null on the wire, so with many keys it takes all and hides vectors.
MAX_NAMED_KEYS = 12
OWN_KEYS = ("id", "name", "description", "aliases", "chunk_ids")
ALL_BUT_VECTORS = ".*, embedding: null, embedding_alt: null, text_hash: null, text_hash_alt: null"

Direction = Literal["out", "in", "both"]
Branches = tuple[tuple[Branch, ...], tuple[Branch, ...]]


@dataclass(frozen=True, slots=True)
class Plan:
    """The branches of an expansion.

    Attributes:
        neighbours: Where types are few: of every node.
        sparse: Where types are many: of nodes with few relationships, which are read whole.
        frequent: Of other nodes, one for each of the most frequent types in one direction.
        rare: Of those nodes, for all other types: some of each.
        found: From hubs into nodes already found, where types are few.
        found_dense: The same where types are many.
    """

    neighbours: tuple[Branch, ...] = ()
    sparse: tuple[Branch, ...] = ()
    frequent: tuple[Branch, ...] = ()
    rare: tuple[Branch, ...] = ()
    found: tuple[Branch, ...] = ()
    found_dense: tuple[Branch, ...] = ()

    @property
    def searches(self) -> bool:
        """Whether hubs are expanded into nodes already found."""
        return bool(self.found or self.found_dense)

    def by_name(self) -> dict[str, tuple[Branch, ...]]:
        """Give the branches as the statement names them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A node one hop away.

    Attributes:
        similarity: Cosine of its vector and the question's, in [-1, 1]; 0 without a vector.
    """

    hop: Hop
    entity: Entity
    similarity: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What one expansion brought.

    Attributes:
        neighbours: By id of the frontier node; most similar first, then by relationship.
        truncated: Frontier nodes of which a branch was cut, sorted; not those that only a cap on
            all of the expansion cut.
        lost: How many relationships such a cap left out, by its reason: ``row_cap``, ``byte_cap``.
    """

    neighbours: Mapping[str, tuple[Neighbour, ...]]
    truncated: tuple[str, ...]
    lost: Mapping[str, int] = field(default_factory=dict)


@lru_cache(maxsize=64)
def branches_of(
    types: tuple[RelationType, ...], restriction: tuple[str, ...], cap: int
) -> Branches:
    """Plan the branches of the expansion: (neighbours, found).

    A type that some node has more than ``cap`` of in one direction is a hub type there and gets a
    branch of its own, with the lazy limit ``cap``; so does each direction. All other types and
    directions share one branch per direction, or one undirected branch where both directions are
    the same types. Above 24 types a pair of branches for all of them is all. One more branch
    follows the hub types, all together, from hubs into nodes already found.

    Args:
        types: Relationship types of the tenant.
        restriction: Types that may be followed; empty for all.
    """
    wanted = [t for t in types if not restriction or t.name in restriction]
    if restriction and not wanted:
        return (), ()
    if len(wanted) > MAX_TYPED or not wanted:
        names = tuple(t.name for t in wanted) if restriction else ()
        return (
            (_branch(names, "out", "$rest_cap"), _branch(names, "in", "$rest_cap")),
            (_branch(names, "both", "$rest_cap"),),
        )
    hubs: list[tuple[str, Direction]] = [(t.name, "out") for t in wanted if t.max_out > cap]
    hubs += [(t.name, "in") for t in wanted if t.max_in > cap]
    out = tuple(t.name for t in wanted if t.max_out <= cap)
    into = tuple(t.name for t in wanted if t.max_in <= cap)
    both = tuple(name for name in out if name in into)
    rest: tuple[tuple[tuple[str, ...], Direction], ...] = (
        (both, "both"),
        (tuple(n for n in out if n not in both), "out"),
        (tuple(n for n in into if n not in both), "in"),
    )
    neighbours = [_branch(names, d, "$rest_cap") for names, d in rest if names]
    hub_branches = [_branch((name,), d, "$cap") for name, d in sorted(hubs)]
    hub_types = tuple(sorted({name for name, _ in hubs}))
    found = (_branch(hub_types, "both", "$rest_cap"),) if hubs else ()
    return (*neighbours, *hub_branches), found


@lru_cache(maxsize=64)
def plan_of(types: tuple[RelationType, ...], restriction: tuple[str, ...], cap: int) -> Plan:
    """Plan an expansion that no type can push another out of.

    Up to 24 types, the branches are those of :func:`branches_of`. Above, a node of fewer than
    5 × ``cap`` relationships is read whole by one untyped pair; of a hub the 16 most frequent types
    and directions are read in lazy branches of their own, and of all others some of each type.

    Args:
        types: Relationship types of the tenant.
        restriction: Types that may be followed; empty for all.
    """
    neighbours, found = branches_of(types, restriction, cap)
    wanted = [t for t in types if not restriction or t.name in restriction]
    if len(wanted) <= MAX_TYPED and (wanted or restriction):
        return Plan(neighbours=neighbours, found=found)
    degrees: list[tuple[int, str, Direction]] = [
        *((-t.max_out, t.name, "out") for t in wanted if t.max_out > cap),
        *((-t.max_in, t.name, "in") for t in wanted if t.max_in > cap),
    ]
    frequent = [(name, direction) for _, name, direction in sorted(degrees)[:MAX_FREQUENT]]
    return Plan(
        sparse=neighbours,
        frequent=tuple(_branch((name,), d, "$cap") for name, d in sorted(frequent)),
        rare=tuple(_rare(wanted, frequent, d, named=bool(restriction)) for d in ("out", "in")),
        found_dense=found,
    )


def _rare(
    wanted: Sequence[RelationType],
    frequent: Sequence[tuple[str, Direction]],
    direction: Direction,
    *,
    named: bool,
) -> Branch:
    """Follow all types in one direction but those with branches of their own.

    Named types are found in a hub's own table; where they are too many to name, or none is known,
    the others are excluded, and passed over one by one.
    """
    apart = {name for name, d in frequent if d == direction}
    names = tuple(t.name for t in wanted if t.name not in apart)
    if names and (named or len(names) <= MAX_NAMES):
        return _branch(names, direction, "")
    branch = _branch((), direction, "")
    if not apart:
        return branch
    excluded = "|".join(map(escape_identifier, sorted(apart)))
    facts = f"{branch.slots['facts']} AND NOT r:{excluded}"
    return replace(branch, slots={**branch.slots, "facts": facts})


def _branch(types: tuple[str, ...], direction: Direction, limit: str) -> Branch:
    facts = "" if types else "AND NOT type(r) IN $structural"
    return Branch(types, direction, {"limit": limit, "facts": facts})


@lru_cache(maxsize=64)
def _rendered(plan: Plan, slot: str, shown: str) -> Query:
    return load("retrieve/expand").render({"filter": slot, "shown": shown}, plan.by_name())


def _shown(ontology: Ontology) -> str:
    """Name the keys that a neighbour may have, where they are known and few; else take all."""
    keys = {key for t in ontology.entity_types for key in t.properties} - {*OWN_KEYS}
    if not ontology.entity_types or len(keys) > MAX_NAMED_KEYS:
        return ALL_BUT_VECTORS
    return ", ".join(f".{escape_identifier(key)}" for key in (*OWN_KEYS, *sorted(keys)))


def expand_request(
    frontier: Sequence[str],
    *,
    tenant: str,
    ontology: Ontology,
    restriction: tuple[str, ...],
    targets: Sequence[str],
    cap: int,
    predicate: Predicate,
    vector: Sequence[float] | None,
    vector_property: str,
    max_rows: int = MAX_ROWS,
    max_bytes: int = 0,
) -> Request | None:
    """Ask for the neighbours of every frontier node; None when no type may be followed.

    Args:
        frontier: Distinct ids, the best first.
        targets: Ids that a truncated hub is searched for; at most 50 are used.
        cap: Relationships per node, type and direction. One more is read, to see a cut.
        predicate: On ``r`` and ``m``.
        max_rows: Relationships in all. Nodes, types and directions take turns, so each has some.
        max_bytes: What is read of them at most, about; 0 for all.
    """
    plan = plan_of(ontology.relation_types, restriction, cap)
    if not (plan.neighbours or plan.sparse):
        return None
    slot = f"AND {predicate.text}" if predicate.text else ""
    query = _rendered(plan, slot, _shown(ontology))
    return Request(
        replace(query, max_bytes=max_bytes or None),
        {
            "tenant": tenant,
            "frontier": list(frontier),
            "targets": list(targets[:MAX_TARGETS]) if plan.searches else [],
            "structural": list(STRUCTURAL_TYPES),
            **limits(plan, cap, max_rows),
            "vector": None if vector is None else list(vector),
            "vector_property": vector_property,
            "filters": dict(predicate.values),
        },
    )


def limits(plan: Plan, cap: int, max_rows: int) -> dict[str, int]:
    """Give the limits of a plan's statement, one more than wanted so that a cut can be seen."""
    return {
        "cap": cap + 1,
        "rest_cap": REST_CAP + 1,
        "dense": UNTYPED_CAPS * cap + 1 if plan.sparse else 0,
        "scan": MAX_SCAN,
        "row_cap": max_rows,
    }


def read_neighbours(request: Request, rows: Iterable[Row]) -> Neighbourhood:
    """Make neighbours of the rows that answered a request of :func:`expand_request`.

    A relationship that two branches returned counts once. A node is truncated when a branch gave
    it one row more than its cap, or one type and direction more than the cap: those in excess are
    dropped, the least similar first, but never one that leads to a target. Rows that a cap on all
    of the expansion left out are counted.
    """
    cap = request.parameters["cap"] - 1
    rest_cap = request.parameters["rest_cap"]
    targets = frozenset(request.parameters["targets"])
    groups: dict[tuple[str, str, bool], dict[tuple[str, ...], Neighbour]] = defaultdict(dict)
    read: dict[str, int] = defaultdict(int)
    truncated: set[str] = set()
    received, total = 0, 0
    for row in rows:
        received, total = received + 1, row["total"]
        edge = edge_of_row(row)
        hop = Hop(edge, row["forward"])
        neighbour = Neighbour(hop, entity_of_row(row), round(row["similarity"] or 0.0, 6))
        group = groups[row["tail"], edge.type, hop.forward]
        read[row["tail"]] += edge.identity not in group
        group.setdefault(edge.identity, neighbour)
        if row["cut"]:
            truncated.add(row["tail"])
    if not request.parameters["dense"]:
        truncated |= {tail for tail, count in read.items() if count >= rest_cap}
    found: dict[str, list[Neighbour]] = defaultdict(list)
    for (tail, _, _), members in groups.items():
        ranked = sorted(members.values(), key=_by_similarity)
        if len(ranked) > cap:
            truncated.add(tail)
            ranked = ranked[:cap] + [n for n in ranked[cap:] if n.entity.id in targets]
        found[tail] += ranked
    return Neighbourhood(
        {tail: tuple(sorted(ns, key=_by_similarity)) for tail, ns in found.items()},
        tuple(sorted(truncated)),
        lost(received, total, request.parameters["row_cap"]),
    )


def lost(received: int, total: int, row_cap: int) -> dict[str, int]:
    """Count by its reason what caps on all of an expansion left out.

    Args:
        received: Relationships that came.
        total: Those that were there without ``row_cap``, which binds in the database; what is
            missing besides was cut on the way, by the cap on bytes.
    """
    sent = min(total, row_cap)
    counts = {"row_cap": total - sent, "byte_cap": sent - received}
    return {reason: count for reason, count in counts.items() if count}


def _by_similarity(neighbour: Neighbour) -> tuple[float, tuple[str, ...], bool]:
    return (-neighbour.similarity, neighbour.hop.edge.identity, neighbour.hop.forward)


def allowed(policy: str) -> Callable[[Path, Hop], bool]:
    """Give the test of a revisit policy: may the path be extended by the hop?

    ``node``: no node twice. ``edge``: no relationship twice. ``topic``: no relationship twice and
    never back to the start. ``none``: anything but the relationship just walked.
    """
    if policy == "node":
        return lambda path, hop: hop.tail not in path.nodes
    if policy == "edge":
        return lambda path, hop: not _walked(path, hop)
    if policy == "topic":
        return lambda path, hop: hop.tail != path.start and not _walked(path, hop)
    return lambda path, hop: not path.hops or path.hops[-1].edge.identity != hop.edge.identity


def _walked(path: Path, hop: Hop) -> bool:
    return any(h.edge.identity == hop.edge.identity for h in path.hops)


def extensions(
    path: Path,
    neighbours: Sequence[Neighbour],
    *,
    may: Callable[[Path, Hop], bool],
    expand_per_path: int,
) -> tuple[list[Neighbour], int, int]:
    """Choose which hops of a path to consider.

    Types and directions take turns, each with its most similar neighbour, so that one type with
    many neighbours cannot push the others out.

    Returns:
        The chosen neighbours, how many the revisit policy forbade, how many were too many.
    """
    permitted = [n for n in neighbours if may(path, n.hop)]
    groups: dict[tuple[str, bool], list[Neighbour]] = defaultdict(list)
    for neighbour in permitted:
        groups[neighbour.hop.edge.type, neighbour.hop.forward].append(neighbour)
    turns = [
        (turn, _by_similarity(neighbour), neighbour)
        for group in groups.values()
        for turn, neighbour in enumerate(group)
    ]
    turns.sort(key=lambda item: item[:2])
    chosen = [neighbour for _, _, neighbour in turns[:expand_per_path]]
    return chosen, len(neighbours) - len(permitted), len(permitted) - len(chosen)
