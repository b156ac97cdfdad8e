"""Rankings fused on a real graph: by the library, by the command, among tenants."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from cli import cli
from pathrag_gds import PathRAG
from pathrag_gds.answer.methods import FusionOptions
from pathrag_gds.graph.database import Database
from pathrag_gds.ingest import embed
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.models.reranker import load_reranker
from pathrag_gds.retrieve.nearest import (
    NearestContext,
    nearest_request,
    read_nearest,
    read_nearest_context,
)
from pathrag_gds.retrieve.statements import perform
from tests.integration.test_community_search import tell
from tests.statements import statement

pytestmark = pytest.mark.integration

ENCODER = load_encoder(None)
MILK = "Where did the milk spilling incident take place?"


def asking(db: Database, tenant: str = "t") -> PathRAG:
    return PathRAG(db, tenant=tenant, encoder=ENCODER, reranker=load_reranker("cosine", ENCODER))


def texts(db: Database, tenant: str, **told: str) -> None:
    write = statement(
        "UNWIND keys($told) AS id MERGE (c:Chunk {tenant: $tenant, id: id}) SET c.text = $told[id]"
    )
    db.run(write, tenant=tenant, told=told)


def test_hybrid_fuses_what_four_rankings_bring(migrated: Database) -> None:
    tell(migrated)
    embed(migrated, ENCODER, tenant="t")
    found = asking(migrated).query("Who lends money? k0n0", method="hybrid", max_depth=1)
    assert [ranking.name for ranking in found.rankings] == ["path", "community", "vector", "text"]
    best = found.passages[0]
    # The entity that is named, the key entity of the money lenders, and the nearest by words.
    assert (best.id, best.text) == ("both", "Text of t both")
    assert {place.ranking for place in best.places} >= {"path", "community"}
    assert best.score == round(sum(place.share for place in best.places), 9)
    assert found.search.stats.setup_round_trips > 0
    again = asking(migrated).query("Who lends money? k0n0", method="hybrid", max_depth=1)
    told, other = found.to_dict(), again.to_dict()
    for one in (told, other):
        one["stats"].pop("millis")
    assert told == other


def test_round_trips_are_counted(migrated: Database) -> None:
    tell(migrated)
    embed(migrated, ENCODER, tenant="t")
    rag = asking(migrated)
    rag.query("Who lends money?", method="vector")
    again = rag.query("Who lends money?", method="vector").search.stats
    # The nearest, and the texts; what is known of the tenant is read once.
    assert (again.round_trips, again.setup_round_trips) == (2, 0)
    alone = rag.search("Who lends money?", max_depth=1).stats.round_trips
    without = rag.query(
        "Who lends money?",
        method="hybrid",
        max_depth=1,
        min_score=0,
        fusion=FusionOptions({"community": 0}),
    )
    assert without.search.stats.round_trips >= alone + 2


def test_words_of_texts_weigh_by_how_rare_they_are(migrated: Database) -> None:
    texts(migrated, "t", a="Bob, the cat.", b="A cat.", c="The cats of Bobo.", d="A cat.")
    context = read_nearest_context(migrated, "t", ENCODER)
    request = nearest_request("Is Bob a cat?", context, None, count=10)
    assert request is not None
    rows = perform(migrated, request)
    # "bob" is in one of four texts: ln 5; "cat" in three: ln(1 + 4/3). "cats" is no cat.
    assert [(row["id"], round(row["score"], 4)) for row in rows] == [
        ("a", round(1.6094379 + 0.8472979, 4)),
        ("b", 0.8473),
        ("d", 0.8473),
    ]


def test_indexes_and_scans_find_the_same(migrated: Database) -> None:
    tell(migrated, "t")
    tell(migrated, "u")
    texts(migrated, "t", far="Nothing of the kind.", near="A miser lends money to sailors.")
    texts(migrated, "u", near="Money, money: a miser lends money.")
    embed(migrated, ENCODER)
    vector = [float(x) for x in ENCODER.encode(["Who lends money?"])[0]]
    small = read_nearest_context(migrated, "t", ENCODER)
    assert small.crowding_chunks == 2
    large = NearestContext(
        "t", small.entity_vectors, small.chunk_vectors, 5_000, 5_000, crowding_chunks=2
    )
    found = []
    for context in (small, large):
        request = nearest_request("Who lends money?", context, vector, count=3)
        assert request is not None
        found.append(read_nearest(perform(migrated, request)))
    exact, indexed = found
    assert exact.chunks_by_vector == indexed.chunks_by_vector
    assert exact.chunks_by_vector[0] == "near"
    assert exact.chunks_by_text == indexed.chunks_by_text == ("near",)
    assert set(exact.entities) == set(indexed.entities)


def test_other_tenants_bring_nothing(migrated: Database) -> None:
    tell(migrated, "t")
    tell(migrated, "u")
    embed(migrated, ENCODER)
    for method in ("hybrid", "vector"):
        found: Any = asking(migrated).query("Who lends money? k0n0", method=method)
        assert found.passages
        assert all(passage.text.startswith("Text of t ") for passage in found.passages)
        assert {c.report.tenant_id for c in found.communities} <= {"t"}


def test_a_graph_without_texts_or_communities_is_searched(demo: Database) -> None:
    found = asking(demo, "default").query(MILK, method="hybrid", max_depth=1)
    assert found.entities
    assert {ranking.name for ranking in found.rankings} >= {"path", "vector", "text"}


def test_command(migrated: Database) -> None:
    tell(migrated)
    embed(migrated, ENCODER, tenant="t")
    where = ["--uri", migrated.connection.uri, "--username", migrated.connection.username]
    environment = {"NEO4J_PASSWORD": migrated.connection.password, "COLUMNS": "100"}

    def query(*words: str, code: int = 0) -> Any:
        command = ["query", "Who lends money? k0n0", "--tenant", "t", *words, *where]
        outcome = CliRunner().invoke(cli, command, env=environment)
        assert outcome.exit_code == code, outcome.output
        return outcome

    cosine = ("--reranker", "cosine", "--max-depth", "1")
    shown = query("--method", "hybrid", "--top-k", "2", *cosine).stdout
    assert "\nTexts:\n1  " in shown
    assert "both  (path " in shown
    given = json.loads(
        query("--method", "hybrid", "--ranking-weight", "path=0", "--json", *cosine).stdout
    )
    assert [ranking["name"] for ranking in given["rankings"]] == ["community", "vector", "text"]
    assert (given["method"], given["paths"]) == ("hybrid", [])
    given = json.loads(query("--method", "vector", "--reach", "2", "--json").stdout)
    assert [ranking["entities"] for ranking in given["rankings"]] == [2]
    refused = query("--method", "vector", "--ranking-weight", "path=1", code=2).stderr
    assert "--ranking-weight goes with --method hybrid." in refused
    assert "'path' is not like path=2." in query("--ranking-weight", "path", code=2).stderr
    assert "--cypher and --save go with --method path." in (
        query("--method", "vector", "--cypher", code=2).stderr
    )
