"""Every file under cypher/ against the server: its header is true and its plan is sane."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from pathrag_gds.config import DEFAULT_TENANT
from pathrag_gds.demo import NODE_FILES, RELATIONSHIP_FILES, questions
from pathrag_gds.graph.database import Database, operators
from pathrag_gds.graph.queries import Query, all_queries, cypher_folder, load
from pathrag_gds.graph.schema import Ontology, RelationType
from pathrag_gds.ingest import load_files
from pathrag_gds.retrieve.expand import expand_request
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.statements import Request
from tests.integration.content import Content
from tests.integration.samples import VECTOR, parameters_of, rendered
from tests.sources import OTHER_LANE
from tests.statements import statement

NAMES = tuple(query.name for query in all_queries())

# What EXPLAIN reports for each mode; SHOW statements count as schema reads on some servers.
QUERY_TYPES = {
    "read": {"r", "s"},
    "write": {"rw", "w"},
    "schema": {"s"},
    "auto": {"r", "w", "rw", "s"},
}

# Keys that only later or other data have: their absence from the demo graph is no mistake.
OPTIONAL_NAMES = {
    "description": "a person's words about a type",
    "phrase": "a person's words about a relationship type",
    "inverse": "a person's words about a relationship type",
    "embedding_alt": "second set of vectors, made by embed --model",
    "text_hash_alt": "second set of vectors, made by embed --model",
    "migrationTarget": "written by neo4j-migrations for other databases",
    "REPEATED": "written when a repeatable migration runs again",
    "connectedAs": "written by neo4j-migrations",
    "pid": "of a lock, which is deleted again",
    "host": "of a lock, which is deleted again",
    "by": "of a lock, which is deleted again",
    "at": "of a lock, which is deleted again",
    "__Load__": "exists while a load runs",
    "records": "exists while a load runs",
    "finished": "exists while a load runs",
    "path": "exists while a load runs",
    "witness": "exists while a load runs",
    "demo_digest": "written when the demo is loaded completely by its command",
    "eval_digest": "written by an evaluation",
    "aliases": "not in every graph",
    "alias_keys": "not in every graph",
    "name_forms": "of names that are punctuated, or begin with an article",
    "alias_forms": "of aliases of that kind",
    "seen": "of a lock, which is deleted again",
    "__Neo4jMigrationsLock": "exists while a migration runs",
    "__Pattern__": "exists while a pattern is saved",
    **dict.fromkeys(("chains", "cypher", "parameters", "text"), "of a saved pattern"),
    "__Reranker__": "exists while a reranker is adapted to a tenant",
    **dict.fromkeys(
        ("ontology", "created", "questions", "before", "after"), "of an adapted reranker's record"
    ),
    **dict.fromkeys(
        (
            *("IN_COMMUNITY", "PARENT_COMMUNITY", "live", "number", "content_hash", "size"),
            *("level", "parent_id", "summary", "findings", "explanations", "key_entities"),
            *(
                "key_entities_from",
                "rating",
                "rating_explanation",
                "origin",
                "form",
                "repairs",
                "title",
            ),
        ),
        "written with communities",
    ),
    "in": "written by neo4j-migrations",
    "placeholders": "of migrations that have any",
    "repeatable": "of migrations that are",
}

ALLOWED_REMARKS = {
    "retrieve/seeds": {"03N95": "which set of vectors is in force is a value; no index is wanted"}
}

# Statements that look at all of something on purpose.
MAY_SCAN = {
    "schema/delete_stale_types": "records of types are few",
    "doctor/recorded_types": "records of types are few",
    "doctor/tenants": "counts everything",
    "ingest/tenants": "looks for tenants without an index on them alone",
    "ingest/drop_chunk_vectors": "removes from all chunks",
    "ingest/drop_community_vectors": "removes from all communities",
    "ingest/drop_entity_vectors": "removes from all entities",
}
# Labels of which there is a handful of nodes and no index.
FEW = ("__Load__", "__Neo4jMigration", "__Neo4jMigrationsLock", "__Reranker__", "__VectorIndex__")


def needs(name: str) -> str:
    """Give what the header of a statement says that it needs; the text is parsed without it."""
    source = (cypher_folder() / f"{name}.cypher").read_text(encoding="utf-8")
    return " ".join(re.findall(r"(?m)^// needs: (.*)", source))


def explained(db: Database, name: str) -> tuple[Query, Mapping[str, Any]]:
    """Let the server plan a statement with sample values."""
    if "GDS" in needs(name) and not db.capabilities.gds_version:
        pytest.skip("the statement needs GDS, which this server does not have")
    for procedure in re.findall(r"gds\.[\w.]*\w", needs(name)):
        if procedure not in db.capabilities.procedures:
            pytest.skip(f"{OTHER_LANE}the statement needs {procedure}")
    query = rendered(name)
    return query, db.explain(query, **parameters_of(query))


def test_what_a_statement_needs_is_read_from_its_header() -> None:
    assert needs("server/gds_version") == "GDS"
    assert needs("server/components") == ""


def test_lists_name_files_that_are_there() -> None:
    assert set(MAY_SCAN) | set(ALLOWED_REMARKS) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_header_is_what_the_server_sees(demo: Database, name: str) -> None:
    query, seen = explained(demo, name)
    assert seen["keys"] == [column.name for column in query.returns]
    assert seen["query_type"] in QUERY_TYPES[query.mode]


@pytest.mark.parametrize("name", NAMES)
def test_server_has_nothing_to_remark(demo: Database, name: str) -> None:
    notes = explained(demo, name)[1]["notifications"]
    remarks = [
        note
        for note in notes
        if note["code"] not in ALLOWED_REMARKS.get(name, {})
        and not any(f"`{known}`" in note["description"] for known in OPTIONAL_NAMES)
    ]
    assert remarks == []


@pytest.mark.parametrize("name", [n for n in NAMES if load(n).mode in ("read", "write")])
def test_no_statement_scans_what_grows(demo: Database, name: str) -> None:
    found = operators(explained(demo, name)[1]["plan"])
    if name in MAY_SCAN:
        return
    for operator in found:
        kind = operator["operatorType"].split("@")[0]
        details = str(operator.get("args", {}).get("Details", ""))
        assert kind != "AllNodesScan", details
        if kind in ("NodeByLabelScan", "UnionNodeByLabelsScan", "PartitionedNodeByLabelScan"):
            assert any(label in details for label in FEW), f"{kind}: {details}"


def expansion(
    *types: RelationType, restriction: tuple[str, ...] = (), frontier: str = "bob", tenant: str
) -> Request:
    """Make the request that a search makes, on a graph with these relationship types."""
    request = expand_request(
        [frontier],
        tenant=tenant,
        ontology=Ontology(tenant, types),
        restriction=restriction,
        targets=["martha"],
        cap=20,
        predicate=Predicate("", {}),
        vector=VECTOR,
        vector_property="embedding",
    )
    assert request is not None
    return request


PLAIN = tuple(RelationType(name, 9, max_out=3, max_in=3) for name in ("involve", "takes_place"))
HUBS = tuple(RelationType(name, 9999, max_out=999, max_in=999) for name in ("involve", "owns"))
MANY = tuple(RelationType(f"type {i}", 9, max_out=3, max_in=3) for i in range(30))
# Types of the graph, then how many branches there are to be.
EXPANSIONS = {"merged types": (PLAIN, 1), "hub types": (HUBS, 4), "too many types": (MANY, 4)}


@pytest.mark.parametrize("shape", EXPANSIONS)
def test_expansion_is_planned_well_right_after_the_load(content: Content, shape: str) -> None:
    """No waiting and no sampling in between: the first plan is the one that a user gets."""
    content.migrate()
    load_files(content.database, [*NODE_FILES, *RELATIONSHIP_FILES])
    types, neighbours = EXPANSIONS[shape]
    request = expansion(*types, tenant=DEFAULT_TENANT)
    plan = content.database.explain(request.query, **request.parameters)["plan"]
    kinds = [o["operatorType"].split("@")[0] for o in operators(plan)]
    assert kinds.count("Expand(All)") == neighbours
    searched = request.query.text.count("UNWIND targets AS m")
    assert searched == (0 if types is PLAIN else 1)
    assert kinds.count("Expand(Into)") == searched
    scans = {k for k in kinds if "Scan" in k and "Index" not in k}
    assert not scans | ({"Eager", "NodeHashJoin", "CartesianProduct"} & set(kinds)), kinds
    assert sum("IndexSeek" in kind for kind in kinds) == 2, kinds


ODD_NAMES = (
    "`",
    "a`b",
    "``",
    "\\",
    "\\u0060",
    "\\u0060]->() RETURN 1 //",
    "x`]-() DETACH DELETE n //",
    "/film/film/directed_by",
    "has space",
    " leading",
    "lower",
    "LOWER",
    "$tenant",
    "${type}",
    "été",
    "類型",
    "line\nbreak",
    "'quote\"",
    "a:b|c&d!",
    "{}",
    "// branch x",
    "0",
    "-",
    "\u2028",
)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_can_be_written_followed_and_restricted_to(migrated: Database, name: str) -> None:
    def node(key: str) -> dict[str, object]:
        return {"id": key, "key": key, "labels": [name], "properties": {name: "value"}}

    def relationship(kind: str, key: str) -> dict[str, object]:
        row = {"source": "a", "target": "b", "type": kind, "key": key}
        return {**row, "properties": {name: "of the relationship"}}

    migrated.run(load("ingest/merge_nodes"), tenant="t", rows=[node("a"), node("b")])
    rows = [relationship(name, "odd"), relationship("PLAIN", "plain")]
    assert migrated.run(load("ingest/merge_relationships"), tenant="t", rows=rows) == [
        {"written": 2}
    ]
    assert migrated.run(statement("MATCH (n) WHERE n.tenant = 't' RETURN count(n) AS n")) == [
        {"n": 2}
    ]

    for tail, forward in (("a", True), ("b", False)):
        for degree in (1, 999):
            kind = RelationType(name, 1, max_out=degree, max_in=degree)
            other = RelationType("PLAIN", 1, max_out=1, max_in=1)
            request = expansion(kind, other, restriction=(name,), frontier=tail, tenant="t")
            (row,) = migrated.run(request.query, **request.parameters)
            assert (row["type"], row["key"], row["forward"]) == (name, "odd", forward)
            assert row["relationship"][name] == "of the relationship"
            assert name in row["labels"]
            assert row["properties"][name] == "value"


def test_gold_relationships_of_the_demo_are_in_the_graph(demo: Database) -> None:
    keys = sorted({key for question in questions() for key in question.gold_path})
    assert keys
    there = statement(
        "MATCH (:__Entity__ {tenant: 'default'})-[r]->() WHERE r.key IN $keys "
        "RETURN DISTINCT r.key AS key ORDER BY key",
        "read",
    )
    assert [row["key"] for row in demo.run(there, keys=keys)] == keys
