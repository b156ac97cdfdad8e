"""Searches that stay within labels, communities or what intent allows, on a real server."""

from __future__ import annotations

from typing import Any

import pytest

from pathrag_gds import PathRAG, SearchConfig
from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import Database
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.models.reranker import load_reranker
from tests.statements import statement

pytestmark = pytest.mark.integration

# Ann lives in Oslo and knows Ben and Cid; Ben lives in Rome, Cid in Bonn. Ann, Ben and Rome are
# community one, all of them community all; community old is of a run that is not in force. Tenant u
# has a community one, too, and it holds Cid of tenant u alone.
GRAPH = """
UNWIND ['t', 'u'] AS tenant
CREATE (ann:__Entity__:Person {tenant: tenant, id: 'ann', name: 'Ann', name_key: 'ann'}),
       (ben:__Entity__:Person {tenant: tenant, id: 'ben', name: 'Ben', name_key: 'ben'}),
       (cid:__Entity__:Person {tenant: tenant, id: 'cid', name: 'Cid', name_key: 'cid'}),
       (oslo:__Entity__:City {tenant: tenant, id: 'oslo', name: 'Oslo', name_key: 'oslo'}),
       (rome:__Entity__:City {tenant: tenant, id: 'rome', name: 'Rome', name_key: 'rome'}),
       (bonn:__Entity__:City {tenant: tenant, id: 'bonn', name: 'Bonn', name_key: 'bonn'}),
       (ann)-[:LIVES_IN {key: 'a'}]->(oslo), (ben)-[:LIVES_IN {key: 'b'}]->(rome),
       (cid)-[:LIVES_IN {key: 'c'}]->(bonn), (ann)-[:KNOWS {key: 'd'}]->(ben),
       (ann)-[:KNOWS {key: 'e'}]->(cid),
       (:__CommunityRun__ {tenant: tenant, id: 'now', live: true}),
       (one:__Community__ {tenant: tenant, id: 'one', run: 'now', level: 1, size: 3}),
       (all:__Community__ {tenant: tenant, id: 'all', run: 'now', level: 0, size: 6}),
       (:__Community__ {tenant: tenant, id: 'old', run: 'before', level: 0, size: 6})
WITH *, CASE tenant WHEN 't' THEN [ann, ben, rome] ELSE [cid] END AS members
FOREACH (e IN members | CREATE (e)-[:IN_COMMUNITY]->(one))
FOREACH (e IN [ann, ben, cid, oslo, rome, bonn] | CREATE (e)-[:IN_COMMUNITY]->(all))
"""
WIDE = SearchConfig(min_prefix=0.0, min_score=0.0, max_depth=2, top_k=50)


@pytest.fixture
def rag(migrated: Database) -> PathRAG:
    migrated.run(statement(GRAPH))
    encoder = load_encoder(None)
    reranker = load_reranker("cosine", encoder)
    return PathRAG(migrated, tenant="t", config=WIDE, encoder=encoder, reranker=reranker)


def reached(rag: PathRAG, question: str = "Who is with Ann?", **options: Any) -> set[str]:
    """Give every node of the paths and every answer that the patterns' queries gave."""
    result = rag.search(question, **options)
    nodes = {node for path in result.paths for node in path.path.nodes}
    return nodes | {answer.id for answer in result.answers}


@pytest.mark.parametrize("strategy", ["paths", "chains", "both"])
def test_paths_stay_within_the_scope(rag: PathRAG, strategy: str) -> None:
    whole = {"ann", "ben", "cid", "oslo", "rome", "bonn"}
    assert reached(rag, strategy=strategy) == whole
    assert reached(rag, strategy=strategy, scope=["Person"]) == {"ann", "ben", "cid"}
    assert reached(rag, strategy=strategy, scope=["one"]) == {"ann", "ben", "rome"}
    assert reached(rag, strategy=strategy, scope=["all"]) == whole
    # A label or a community: what is in either is within.
    assert reached(rag, strategy=strategy, scope=["Person", "one"]) == whole - {"oslo", "bonn"}


def test_a_start_outside_the_scope_is_none(rag: PathRAG) -> None:
    assert reached(rag, scope=["City"], start_ids=["ann"]) == set()
    result = rag.search("Who is with Cid?", scope=["one"])
    assert (result.anchors, result.paths) == ((), ())
    assert [a.id for a in rag.search("Who is with Cid?").anchors] == ["cid"]


def test_a_community_of_another_tenant_holds_nothing_of_this_one(rag: PathRAG) -> None:
    assert reached(rag, tenant="u", scope=["one"]) == set()
    assert reached(rag, "Who is with Cid?", tenant="u", scope=["one"]) == {"cid"}


def test_flow_and_shortest_ways_stay_within_the_scope(rag: PathRAG) -> None:
    flow: dict[str, Any] = {"pruner": "flow:paper", "flow_threshold": 0.0}
    assert reached(rag, **flow, scope=["one"]) == {"ann", "ben", "rome"}
    between = "How are Ben and Cid related?"
    assert "ann" in reached(rag, between)
    assert reached(rag, between, scope=["City"]) == set()
    assert "ann" in reached(rag, between, scope=["Person"])


@pytest.mark.parametrize("name", ["nobody", "old", "Person` OR true"])
def test_an_unknown_scope_is_refused_and_told_what_there_is(rag: PathRAG, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rag.search("Who is Ann?", scope=["Person", name])
    assert repr(name) in caught.value.message
    assert caught.value.hint == "Labels: City, Person.\nCommunities: all, one."


def test_a_scope_by_communities_costs_one_statement(rag: PathRAG) -> None:
    rag.search("Who is Ann?")
    plain = rag.search("Who is Ann?").stats.setup_round_trips
    assert rag.search("Who is Ann?", scope=["Person"]).stats.setup_round_trips == plain
    assert rag.search("Who is Ann?", scope=["one"]).stats.setup_round_trips == plain + 1


@pytest.mark.parametrize("strategy", ["paths", "chains"])
def test_intent_restricts_what_is_followed(rag: PathRAG, strategy: str) -> None:
    options: dict[str, Any] = {"strategy": strategy, "intent": "restrict"}
    assert reached(rag, "Which people does Ann know?", **options) == {"ann", "ben", "cid"}
    result = rag.search("In which city is Ann?", **options)
    assert {hop.edge.type for path in result.paths for hop in path.path.hops} == {"LIVES_IN"}
    told = "Its intent restricts the search to 1 of 2 relationship types: LIVES_IN."
    assert told in result.warnings
    # What the user restricts holds besides.
    nothing = rag.search("In which city is Ann?", **options, rel_types=["KNOWS"])
    assert all(not path.path.hops for path in nothing.paths)
    assert nothing.outcome == "partial"
