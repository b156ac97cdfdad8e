"""The expansion at hubs: no type pushes another out, and what caps leave out is counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from pathrag_gds.graph.database import Database
from pathrag_gds.graph.schema import refresh_ontology
from pathrag_gds.retrieve.chain_hops import Reach, chains_request, read_reach
from pathrag_gds.retrieve.expand import Neighbourhood, expand_request, read_neighbours
from pathrag_gds.retrieve.filters import Predicate
from tests.statements import statement

TENANT = "t"
CAP = 20
# A hub with 5,000 relationships of one type, stored before the 3 of another, and beside it a node
# with 30 of the first.
GRAPH = statement(
    """
    CREATE (hub:__Entity__ {tenant: $tenant, id: 'hub', name: 'Hub'})
    CREATE (side:__Entity__ {tenant: $tenant, id: 'side', name: 'Side'})
    WITH hub, side
    CALL (hub, side) {
        UNWIND range(1, 5000) AS i
        CREATE (m:__Entity__ {tenant: $tenant, id: 'n' + i, name: 'N' + i})
        CREATE (hub)-[:FREQUENT {key: 'f' + i}]->(m)
        FOREACH (_ IN CASE WHEN i <= 30 THEN [1] ELSE [] END |
            CREATE (side)-[:FREQUENT {key: 's' + i}]->(m))
    }
    UNWIND range(1, 3) AS i
    CREATE (m:__Entity__ {tenant: $tenant, id: 'rare' + i, name: 'Rare' + i})
    CREATE (m)-[:RARE {key: 'r' + i}]->(hub)
    """
)
# Thirty types more, each once, between nodes that are no hubs.
MORE_TYPES = "MATCH (a:__Entity__ {{id: 'n1'}}), (b:__Entity__ {{id: 'n2'}}) {}"
CREATIONS = " ".join(f"CREATE (a)-[:T{i} {{key: 't{i}'}}]->(b)" for i in range(30))


@pytest.fixture(params=["few types", "many types"])
def graph(migrated: Database, request: pytest.FixtureRequest) -> Database:
    migrated.run(GRAPH, tenant=TENANT)
    if request.param == "many types":
        migrated.run(statement(MORE_TYPES.format(CREATIONS)))
    return migrated


def around(db: Database, *frontier: str, **caps: Any) -> Neighbourhood:
    request = expand_request(
        frontier,
        tenant=TENANT,
        ontology=refresh_ontology(db, TENANT),
        restriction=(),
        targets=["n999"],
        cap=CAP,
        predicate=Predicate("", {}),
        vector=None,
        vector_property="embedding",
        **caps,
    )
    assert request is not None
    return read_neighbours(request, db.run(request.query, **request.parameters))


def kinds(found: Neighbourhood, node: str) -> dict[tuple[str, bool], int]:
    hops = [neighbour.hop for neighbour in found.neighbours.get(node, ())]
    return Counter((hop.edge.type, hop.forward) for hop in hops)


def test_a_frequent_type_does_not_push_out_a_rare_one(graph: Database) -> None:
    found = around(graph, "hub")
    # What was already found is found again, whatever the cap.
    assert kinds(found, "hub") == {("FREQUENT", True): CAP + 1, ("RARE", False): 3}
    assert "n999" in {neighbour.entity.id for neighbour in found.neighbours["hub"]}
    assert found.truncated == ("hub",)
    assert found.lost == {}


def test_under_a_cap_on_rows_all_nodes_and_types_have_some(graph: Database) -> None:
    found = around(graph, "hub", "side", max_rows=9)
    # With the target in the first turn, then by turns: both of the hub's types, the other's one.
    assert kinds(found, "hub") == {("FREQUENT", True): 4, ("RARE", False): 3}
    assert kinds(found, "side") == {("FREQUENT", True): 2}
    assert "n999" in {neighbour.entity.id for neighbour in found.neighbours["hub"]}
    whole = around(graph, "hub", "side")
    assert whole.lost == {}
    assert set(found.lost) == {"row_cap"}
    # One more than the cap is read of each type, and the target of the hub.
    read = {"hub": CAP + 1 + 3 + 1, "side": CAP + 1}
    assert found.lost["row_cap"] >= sum(read.values()) - 9


def test_under_a_cap_on_bytes_reading_ends(graph: Database) -> None:
    found = around(graph, "hub", "side", max_bytes=1)
    assert sum(map(len, found.neighbours.values())) == 1
    read = around(graph, "hub", "side", max_rows=9, max_bytes=500)
    some = sum(map(len, read.neighbours.values()))
    assert 1 < some < 9
    assert read.lost["byte_cap"] == 9 - some
    assert read.lost["row_cap"] > 0
    assert set(kinds(read, "hub")) == {("FREQUENT", True), ("RARE", False)}


def chains_around(db: Database, *frontier: str, **caps: Any) -> Reach:
    request = chains_request(
        frontier,
        tenant=TENANT,
        ontology=refresh_ontology(db, TENANT),
        restriction=(),
        labels=(),
        cap=CAP,
        width=100,
        predicate=Predicate("", {}),
        vector=None,
        vector_property="embedding",
        **caps,
    )
    assert request is not None
    return read_reach(request, db.run(request.query, **request.parameters))


def ends(found: Reach) -> dict[tuple[str, bool, str], int]:
    return {
        (link.step.type, link.step.forward, tail): sum(count for _, count in met)
        for link in found.links
        for tail, met in link.ends.items()
    }


def test_chains_have_some_of_every_type_of_a_hub(graph: Database) -> None:
    found = chains_around(graph, "hub", "rare1")
    # One more than the cap is read, to see that there are more.
    assert ends(found) == {
        ("FREQUENT", True, "hub"): CAP + 1,
        ("RARE", False, "hub"): 3,
        ("RARE", True, "rare1"): 1,
    }
    assert found.truncated == ("hub",)
    assert found.lost == {}


def test_under_a_cap_on_rows_all_chains_have_some(graph: Database) -> None:
    found = chains_around(graph, "hub", "side", max_rows=9)
    assert ends(found) == {
        ("FREQUENT", True, "hub"): 3,
        ("FREQUENT", True, "side"): 3,
        ("RARE", False, "hub"): 3,
    }
    whole = chains_around(graph, "hub", "side")
    assert whole.lost == {}
    assert found.lost == {"row_cap": sum(ends(whole).values()) - 9}


def test_under_a_cap_on_bytes_all_chains_have_their_first(graph: Database) -> None:
    # A row holds a type's first relationship of every node, the next row another type's; with their
    # columns' names they take some 100 bytes each.
    first = {("FREQUENT", True, "hub"): 1, ("FREQUENT", True, "side"): 1}
    found = chains_around(graph, "hub", "side", max_rows=9, max_bytes=1)
    assert ends(found) == first
    assert found.lost["byte_cap"] == 7
    more = chains_around(graph, "hub", "side", max_rows=9, max_bytes=120)
    assert ends(more) == first | {("RARE", False, "hub"): 1}
    assert more.lost["byte_cap"] == 6
    assert more.lost["row_cap"] == found.lost["row_cap"] > 0


def test_the_same_rows_come_every_time(graph: Database) -> None:
    assert chains_around(graph, "hub", max_rows=9) == chains_around(graph, "hub", max_rows=9)
    assert around(graph, "hub", "side", max_rows=9) == around(graph, "hub", "side", max_rows=9)
