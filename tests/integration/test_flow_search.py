"""Flow in the search, on a real server: the subgraph is right, and nothing stays behind."""

from __future__ import annotations

import pytest

from pathrag_gds import PathRAG
from pathrag_gds.config import DEFAULT_TENANT, SearchConfig
from pathrag_gds.errors import GdsMissing
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.schema import STRUCTURAL_TYPES, read_ontology
from pathrag_gds.models.reranker import CosineReranker
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.flow import FlowOptions, Subgraph
from pathrag_gds.retrieve.flow_between import between, outward
from pathrag_gds.retrieve.flow_gds import PROCEDURES
from pathrag_gds.retrieve.statements import edge_of_row
from pathrag_gds.retrieve.subgraph import Around, read_subgraph, subgraph_request
from tests.statements import statement

pytestmark = pytest.mark.integration

ALL = statement(
    "MATCH (a:__Entity__ {tenant: $tenant})-[r]->(b:__Entity__) WHERE NOT type(r) IN $structural "
    "RETURN a.id AS tail, b.id AS id, true AS forward, r.key AS key, type(r) AS type, "
    "properties(r) AS relationship",
    "read",
)
GRAPHS = statement("CALL gds.graph.list() YIELD graphName RETURN graphName ORDER BY graphName")
CREATE = statement(
    "UNWIND range(1, $n) AS i "
    "MERGE (a:__Entity__ {tenant: $tenant, id: 'hub'}) "
    "MERGE (b:__Entity__ {tenant: $tenant, id: 'leaf' + i}) "
    "MERGE (c:__Entity__ {tenant: $other, id: 'leaf' + i}) "
    "CREATE (a)-[:R {key: toString(i)}]->(b), (a)-[:R {key: 'x' + i}]->(c)"
)


def around(
    db: Database, *starts: str, rounds: int, tenant: str = DEFAULT_TENANT, cap: int = 20
) -> Around:
    request = subgraph_request(
        starts,
        rounds=rounds,
        tenant=tenant,
        ontology=read_ontology(db, tenant),
        restriction=(),
        cap=cap,
        predicate=Predicate("", {}),
    )
    return read_subgraph(request, db.run(request.query, **request.parameters))


@pytest.fixture
def whole(demo: Database) -> Subgraph:
    rows = demo.run(ALL, tenant=DEFAULT_TENANT, structural=list(STRUCTURAL_TYPES))
    return Subgraph.of(map(edge_of_row, rows))


@pytest.mark.parametrize(("rounds", "hops"), [(1, 2), (2, 3), (2, 4)])
def test_flow_between_is_that_in_the_whole_graph(
    demo: Database, whole: Subgraph, rounds: int, hops: int
) -> None:
    options = FlowOptions(max_hops=hops)
    near = around(demo, "bob", "martha", rounds=rounds).graph
    found = between(near, ["bob", "martha"], "reference", options=options)
    expected = between(whole, ["bob", "martha"], "reference", options=options)
    assert found.paths == expected.paths != ()


@pytest.mark.parametrize("hops", [1, 2, 3, 4])
def test_flow_outward_is_that_in_the_whole_graph(
    demo: Database, whole: Subgraph, hops: int
) -> None:
    options = FlowOptions(max_hops=hops, max_seeds=200)
    near = around(demo, "bob", rounds=hops).graph
    targets = sorted(near.out)
    found = outward(near, "bob", targets, "paper", options=options)
    assert found.paths == outward(whole, "bob", targets, "paper", options=options).paths != ()


def test_a_hub_is_capped_and_keeps_its_degree(migrated: Database) -> None:
    migrated.run(CREATE, n=120, tenant="t", other="u")
    got = around(migrated, "hub", rounds=1, tenant="t", cap=1)
    # 50 relationships of a start are read; those into another tenant do not count among them.
    assert got.relationships == 50
    assert got.truncated == ("hub",)
    assert got.graph.degrees["hub"] == 240
    assert all(node == "hub" or node.startswith("leaf") for node in got.graph.out)


@pytest.mark.parametrize("ends", ["between", "outward"])
@pytest.mark.parametrize(
    "pruner",
    [
        "flow:paper",
        "flow:reference",
        "flow:pagerank",
        "flow:yens",
        "flow:maxflow",
        "flow:steiner",
    ],
)
def test_every_pruner_searches(demo: Database, pruner: str, ends: str) -> None:
    rag = PathRAG(demo, config=SearchConfig(min_score=0.0))
    procedure = PROCEDURES.get(pruner.partition(":")[2], "")

    def ask() -> dict[str, object]:
        return rag.search(
            "How do Bob and Martha know each other?",
            start_ids=["bob", "martha"],
            pruner=pruner,
            flow_ends=ends,
        ).to_dict()

    if procedure and procedure not in demo.capabilities.procedures:
        with pytest.raises(GdsMissing, match=r"which Graph Data Science|plugin"):
            ask()
        return
    before = demo.run(GRAPHS) if demo.capabilities.gds_version else []
    first, second = ask(), ask()
    for result in (first, second):
        stats = result["stats"]
        assert isinstance(stats, dict)
        assert stats.pop("millis")
        assert stats["round_trips"] == (7 if procedure else 5)
        assert f"{pruner} {ends}" in stats["strategy_reason"]
        assert result["paths"]
    # The second reads no text twice, and gives the same.
    assert first == second
    assert not procedure or demo.run(GRAPHS) == before


def test_flow_finds_what_lies_between(demo: Database) -> None:
    encoder = PathRAG(demo).encoder
    rag = PathRAG(demo, reranker=CosineReranker(encoder), config=SearchConfig(min_score=0.0))
    result = rag.search(
        "What happened to Bob and the milk?", start_ids=["bob", "milk"], pruner="flow:paper"
    )
    assert "spilled_milk_incident" in {answer.id for answer in result.answers}
