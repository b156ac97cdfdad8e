"""Questions answered from communities of a real graph, without a language model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from cli import cli
from pathrag_gds.communities import (
    CommunityReport,
    detect_communities,
    read_communities,
    report_communities,
    search_communities,
)
from pathrag_gds.communities.read import properties_of
from pathrag_gds.communities.store import live_run
from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import load
from pathrag_gds.ingest import embed
from pathrag_gds.models.encoder import load_encoder
from tests.integration.test_communities import cliques, fill
from tests.statements import statement

pytestmark = pytest.mark.integration

TOLD = {
    "k0n0": ("Money lenders", "How a miser lends money and counts his coins.", ["k0n0", "k0n1"]),
    "k1n0": ("Sailors", "A crew sails over the sea in a storm.", ["k1n2"]),
    "k2n0": ("Gardeners", "Roses and tulips grow in the gardens of the village.", ["k2n0"]),
}
ENCODER = load_encoder(None)


def tell(db: Database, tenant: str = "t") -> None:
    """Give three communities of four entities a report and texts of their own."""
    fill(db, tenant, cliques(3, 4))
    detect_communities(db, tenant=tenant)
    run = live_run(db, tenant)
    assert run is not None
    for number, community in enumerate(read_communities(db, tenant, run["id"])):
        title, summary, keys = TOLD[f"k{number}n0"]
        report = CommunityReport(
            community.id, tenant, title, summary, tuple(keys), "llm", "strict", "answer", "h"
        )
        db.run(
            load("communities/write_report"),
            tenant=tenant,
            id=community.id,
            report=properties_of(report),
        )
    texts = statement(
        "MATCH (e:__Entity__ {tenant: $tenant}) WHERE e.id ENDS WITH 'n0' OR e.id ENDS WITH 'n1' "
        "SET e.chunk_ids = CASE WHEN e.id = 'k0n1' THEN ['both', 'k0n1'] "
        "WHEN e.id = 'k0n0' THEN ['both'] ELSE [e.id] END "
        "WITH e UNWIND e.chunk_ids AS id "
        "MERGE (c:Chunk {tenant: $tenant, id: id}) SET c.text = 'Text of ' + $tenant + ' ' + id"
    )
    db.run(texts, tenant=tenant)


@pytest.mark.parametrize("scorer", ["cosine", "overlap"])
def test_from_reports_to_entities_to_texts(migrated: Database, scorer: Any) -> None:
    tell(migrated)
    embed(migrated, ENCODER, tenant="t", roles=("community",))
    found = search_communities(
        migrated, ENCODER, "Who lends money?", tenant="t", communities=1, scorer=scorer
    )
    assert (found.outcome, found.scorer, found.warnings) == ("answered", scorer, ())
    (community,) = found.communities
    assert (community.report.title, community.level, community.size) == ("Money lenders", 0, 4)
    # The key entities in the order of the report; then those that are next to both of them first.
    assert [(e.entity.id, e.hops) for e in found.entities] == [
        ("k0n0", 0),
        ("k0n1", 0),
        ("k0n2", 1),
        ("k0n3", 1),
        ("k1n1", 1),
        ("k2n0", 1),
    ]
    assert found.entities[2].seed is None
    assert [o.community_rank for e in found.entities[:2] for o in (e.seed or e).origins] == [1, 1]  # type: ignore[union-attr]
    # Two key entities bring the first text, the second of them one more.
    assert [(c.id, c.entities) for c in found.chunks[:2]] == [
        ("both", ("k0n0", "k0n1")),
        ("k0n1", ("k0n1",)),
    ]
    assert found.chunks[0].score == round(1 / 61 + 1 / 62, 6)
    assert found.chunks[0].text == "Text of t both"
    assert json.dumps(found.to_dict())


def test_shared_entities_stand_once_and_hops_are_bounded(migrated: Database) -> None:
    tell(migrated)
    asked = "Who sails over the sea, and who counts coins or grows roses?"
    found = search_communities(
        migrated, ENCODER, asked, tenant="t", hops=0, top_k=2, scorer="overlap"
    )
    assert len(found.communities) == 3
    assert {e.hops for e in found.entities} == {0}
    assert sorted(e.entity.id for e in found.entities) == ["k0n0", "k0n1", "k1n2", "k2n0"]
    assert len(found.chunks) == 2


def test_without_vectors_words_are_compared_and_it_is_said(migrated: Database) -> None:
    tell(migrated)
    found = search_communities(migrated, ENCODER, "Which roses grow?", tenant="t")
    assert (found.scorer, found.communities[0].report.title) == ("overlap", "Gardeners")
    assert found.warnings == ("No report has a vector, so words are compared. Run: pathrag embed",)
    with pytest.raises(ConfigError, match="No report of tenant 't' has a vector"):
        search_communities(migrated, ENCODER, "Which roses grow?", tenant="t", scorer="cosine")
    nothing = search_communities(migrated, ENCODER, "Xylophone?", tenant="t")
    assert (nothing.outcome, nothing.communities, nothing.chunks) == ("not_in_graph", (), ())


def test_what_is_missing_is_said_with_the_command(migrated: Database) -> None:
    fill(migrated, "t", cliques(2, 4))
    with pytest.raises(ConfigError) as caught:
        search_communities(migrated, ENCODER, "Who?", tenant="t")
    assert caught.value.hint == "Find them: pathrag communities detect"
    detect_communities(migrated, tenant="t")
    with pytest.raises(ConfigError) as caught:
        search_communities(migrated, ENCODER, "Who?", tenant="t")
    assert caught.value.hint == "Write them: pathrag communities report"
    with pytest.raises(ConfigError, match="The question is empty"):
        search_communities(migrated, ENCODER, " ", tenant="t")


def test_other_tenants_bring_nothing(migrated: Database) -> None:
    tell(migrated, "t")
    tell(migrated, "u")
    other = statement(
        "MATCH (c:__Community__ {tenant: 'u'}) SET c.summary = 'Who lends money? Money, money.', "
        "c.key_entities = ['k0n3']"
    )
    migrated.run(other)
    embed(migrated, ENCODER, roles=("community",))
    scorers: tuple[Any, ...] = ("cosine", "overlap")
    for scorer in scorers:
        found = search_communities(
            migrated,
            ENCODER,
            "Who lends money?",
            tenant="t",
            communities=9,
            scorer=scorer,
        )
        assert {c.report.tenant_id for c in found.communities} == {"t"}
        assert all(c.text.startswith("Text of t ") for c in found.chunks)
        assert found.communities[0].report.title == "Money lenders"


def test_demo_is_answered_by_extracts(demo: Database) -> None:
    detect_communities(demo)
    report_communities(demo)
    embed(demo, ENCODER, roles=("community",))
    found = search_communities(demo, ENCODER, "What happened to the milk?")
    names = {e.entity.name for e in found.entities}
    assert found.scorer == "cosine"
    assert "Milk" in names
    assert found.chunks


def test_command(migrated: Database) -> None:
    tell(migrated)
    where = ["--uri", migrated.connection.uri, "--username", migrated.connection.username]
    environment = {"NEO4J_PASSWORD": migrated.connection.password, "COLUMNS": "100"}

    def query(*words: str, code: int = 0) -> Any:
        command = ["query", "Who lends money?", "--tenant", "t", *words, *where]
        outcome = CliRunner().invoke(cli, command, env=environment)
        assert outcome.exit_code == code, outcome.output
        return outcome

    shown = query("--method", "community", "--communities", "1", "--hops", "0").stdout
    assert shown.startswith("1  2.000  Money lenders\n   community ")
    assert "   How a miser lends money and counts his coins.\n" in shown
    assert "Key entities: k0n0, k0n1.\n" in shown
    assert "[1] both\n    Text of t both\n" in shown
    given = json.loads(query("--method", "community", "--json", "--top-k", "1").stdout)
    assert (given["method"], len(given["chunks"])) == ("community", 1)
    assert "--hops goes with --method community or hybrid." in query("--hops", "1", code=2).stderr
