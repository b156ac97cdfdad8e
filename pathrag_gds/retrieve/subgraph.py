"""The part of a graph that a flow runs through: what to ask, and what came back. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pathrag_gds.graph.database import Row
from pathrag_gds.graph.queries import escape_identifier, load
from pathrag_gds.graph.schema import STRUCTURAL_TYPES, Ontology
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.flow import Subgraph
from pathrag_gds.retrieve.statements import Request, edge_of_row

__all__ = ["Around", "read_subgraph", "subgraph_request"]

# Above so many types the text of the statement names none.
MAX_TYPED = 24
# Of a start so many relationships are read for each that is read of another node.
START_CAPS = 10
# Types of a node that it has room for.
TYPES = 5
# Nodes that are expanded in a round after the first.
MOST_EXPANDED = 300


@dataclass(frozen=True, slots=True)
class Around:
    """What was read.

    Attributes:
        graph: With the degrees that nodes have in the whole graph, where those were not read.
        relationships: How many were read.
        truncated: Nodes of which a cap cut relationships off, sorted.
        not_expanded: Nodes beyond those that are expanded in a round.
    """

    graph: Subgraph
    relationships: int
    truncated: tuple[str, ...]
    not_expanded: int


def subgraph_request(
    starts: Sequence[str],
    *,
    rounds: int,
    tenant: str,
    ontology: Ontology,
    restriction: tuple[str, ...],
    cap: int,
    predicate: Predicate,
) -> Request:
    """Ask for what lies around some nodes.

    Args:
        starts: Ids.
        rounds: From 1 to 4. Every path of at most that many hops that begins at a start is read,
            and every one of twice as many between two of them, but for the caps.
        restriction: Types that may be followed; empty for all.
        cap: Relationships per node and type, about.
        predicate: On ``r`` and ``m``.
    """
    names = restriction or tuple(t.name for t in ontology.relation_types)
    # Types that the caller named are named whatever their number: others must not be followed.
    named = names if restriction or len(names) <= MAX_TYPED else ()
    types = ":" + "|".join(map(escape_identifier, named)) if named else ""
    slot = f"AND {predicate.text}" if predicate.text else ""
    return Request(
        load("retrieve/subgraph").render({"types": types, "filter": slot}),
        {
            "tenant": tenant,
            "starts": list(starts),
            "rounds": rounds,
            "structural": list(STRUCTURAL_TYPES),
            "start_cap": START_CAPS * TYPES * cap,
            "cap": TYPES * cap,
            "most": MOST_EXPANDED,
            "filters": dict(predicate.values),
        },
    )


def read_subgraph(request: Request, rows: Iterable[Row]) -> Around:
    """Make a graph of the rows that answered a request of :func:`subgraph_request`.

    A node of which all relationships were read has the neighbours that are seen. Any other has as
    many as the server says that it has relationships, so parallel ones count each.
    """
    rows = list(rows)
    edges = [edge_of_row(row) for row in rows]
    degrees: dict[str, int] = {}
    seen: Counter[str] = Counter()
    for row in rows:
        degrees[row["tail"]] = row["tail_degree"]
        degrees[row["id"]] = row["head_degree"]
        # A self-loop is one relationship of its node.
        seen.update({row["tail"], row["id"]})
    partly = {node: degree for node, degree in degrees.items() if degree > seen[node]}
    starts = frozenset(request.parameters["starts"])
    caps = (request.parameters["cap"], request.parameters["start_cap"])
    return Around(
        Subgraph.of(edges, degrees=partly),
        len(edges),
        tuple(sorted(node for node in partly if seen[node] >= caps[node in starts])),
        rows[0]["left_out"] if rows else 0,
    )
