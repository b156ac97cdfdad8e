"""A graph with one hub, made inside the server: the same on every machine."""

from __future__ import annotations

from pathrag_gds.graph.database import Database
from pathrag_gds.models.encoder import Encoder
from tests.statements import statement

__all__ = ["GROUP", "HUB", "HUB_TYPES", "make_hub_graph", "node_id"]

# The hub has one relationship of each type with every other node; True: it leaves the hub.
HUB_TYPES = (
    ("MENTIONS", True),
    ("KNOWS", False),
    ("SUPPLIES", True),
    ("VISITED", False),
    ("OWNS", True),
)
# So many consecutive nodes are a group: the first of them has IN_GROUP from all others.
GROUP = 100
HUB = "e0"

_NODES = statement(
    """
    UNWIND range(0, $nodes) AS i
    CALL (i) {
        CREATE (e:__Entity__ {
            id: 'e' + i, tenant: $tenant, name: 'Thing ' + i, name_key: 'thing ' + i,
            aliases: ['Number ' + i], alias_keys: ['number ' + i], chunk_ids: ['c' + (i % 500)],
            text_hash: 'h' + i, year: 1900 + i % 120, weight: i * 0.5, open: i % 3 = 0,
            colour: ['red', 'green', 'blue'][i % 3],
            description: 'The thing numbered ' + i + ' of a made-up world, known to few of the '
                + 'people who live in it and met by fewer.'
        })
        FOREACH (_ IN CASE WHEN i % 2 = 0 THEN [1] ELSE [] END | SET e:Place)
        FOREACH (_ IN CASE WHEN i % 2 = 1 THEN [1] ELSE [] END | SET e:Person)
        WITH e, i
        CALL db.create.setNodeVectorProperty(
            e, 'embedding', [k IN range(1, $dimension) | sin(i * 0.7 + k * (1 + i % 97))])
    } IN TRANSACTIONS OF 2000 ROWS
    """,
    "auto",
)
_HUB = """
    MATCH (hub:__Entity__ {tenant: $tenant, id: 'e0'})
    UNWIND range(1, $nodes) AS i
    CALL (hub, i) {
        MATCH (e:__Entity__ {tenant: $tenant, id: 'e' + i})
        CREATE %s
    } IN TRANSACTIONS OF 5000 ROWS
    """
_HUB_RELATIONSHIP = (
    "%s {key: '%s' + i, since: 1950 + i %% 70, note: 'seen in spring', chunk_ids: ['c' + i %% 500]}"
)
_OTHERS = statement(
    """
    UNWIND range(1, $nodes) AS i
    CALL (i) {
        MATCH (e:__Entity__ {tenant: $tenant, id: 'e' + i})
        MATCH (next:__Entity__ {tenant: $tenant, id: 'e' + (1 + i % $nodes)})
        MATCH (far:__Entity__ {tenant: $tenant, id: 'e' + (1 + i * 7919 % $nodes)})
        MATCH (first:__Entity__ {tenant: $tenant, id: 'e' + (1 + (i - 1) / $group * $group)})
        CREATE (e)-[:NEAR {key: 'n' + i, metres: i % 900}]->(next)
        CREATE (e)-[:FRIEND_OF {key: 'f' + i, since: 1950 + i % 70}]->(far)
        CREATE (e)-[:IN_GROUP {key: 'g' + i}]->(first)
    } IN TRANSACTIONS OF 5000 ROWS
    """,
    "auto",
)
_RECORD = statement(
    """
    MERGE (v:__VectorIndex__ {role: 'entity'})
    SET v.index = 'entity_embedding', v.property = 'embedding', v.hash_property = 'text_hash',
        v.dimension = $dimension, v.encoder = $encoder, v.fingerprint = $fingerprint,
        v.template = 'none'
    """
)
_READY = statement("CALL db.awaitIndexes(600)", "auto")
_REPLAN = statement("CALL db.prepareForReplanning()", "auto")


def node_id(number: int) -> str:
    """Give the id of a node; 0 is the hub."""
    return f"e{number}"


def make_hub_graph(db: Database, *, hub: int, tenant: str, encoder: Encoder) -> int:
    """Fill a migrated database with a hub of so many relationships; say how many nodes it got.

    The constraints are there before the data and the planner is told of the data after it, as
    ``pathrag load`` does. Vectors are made up and recorded as the encoder's, so that a search runs.

    Args:
        hub: Relationships of the hub; a multiple of five, at least 500.
    """
    nodes = hub // len(HUB_TYPES)
    db.run(_NODES, tenant=tenant, nodes=nodes, dimension=encoder.dimension)
    patterns = [
        f"(hub)-[:{_HUB_RELATIONSHIP % (name, name)}]->(e)"
        if leaves
        else f"(hub)<-[:{_HUB_RELATIONSHIP % (name, name)}]-(e)"
        for name, leaves in HUB_TYPES
    ]
    db.run(statement(_HUB % ", ".join(patterns), "auto"), tenant=tenant, nodes=nodes)
    db.run(_OTHERS, tenant=tenant, nodes=nodes, group=GROUP)
    db.run(
        _RECORD,
        dimension=encoder.dimension,
        encoder=encoder.name,
        fingerprint=encoder.fingerprint,
    )
    db.run(_READY)
    db.run(_REPLAN)
    return nodes + 1
