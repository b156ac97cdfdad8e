"""Indexes of other systems in a real graph: whole, with communities and reports, repeatable."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli import cli
from pathrag_gds.communities import read_communities, report_communities
from pathrag_gds.communities.store import live_run
from pathrag_gds.graph.database import Database
from pathrag_gds.imports import import_index, read_graphrag, read_lightrag
from tests.integration.test_communities import check_tree
from tests.statements import statement
from tests.unit.test_imports_indexes import TABLES, nano_folder, write

pytestmark = pytest.mark.integration

CAROL = Path(os.environ.get("PATHRAG_DATA", "")) / "graphrag_carol"
COUNTS = statement(
    "MATCH (e:__Entity__ {tenant: $tenant}) WITH count(e) AS entities "
    "OPTIONAL MATCH (:__Entity__ {tenant: $tenant})-[r:RELATED_TO]->() "
    "WITH entities, count(r) AS relationships "
    "OPTIONAL MATCH (c:Chunk {tenant: $tenant}) "
    "RETURN entities, relationships, count(c) AS chunks",
    "read",
)


@pytest.mark.skipif(
    not (os.environ.get("PATHRAG_DATA") and CAROL.is_dir()),
    reason="PATHRAG_DATA has no graphrag_carol",
)
def test_christmas_carol_is_taken_over_whole(migrated: Database) -> None:
    report = import_index(migrated, read_graphrag(CAROL), tenant="carol")
    assert (report.entities, report.chunks) == (529, 42)
    assert (report.relationships, len(report.dangling), report.missing_ends) == (894, 84, 84)
    assert report.relationships + len(report.dangling) == 978
    assert (report.levels, report.communities, report.reports) == ((23, 65, 32, 2), 122, 122)
    assert (report.parallel, report.refused, report.error()) == (43, (), None)
    counts = {"entities": 529, "relationships": 894, "chunks": 42}
    assert migrated.run(COUNTS, tenant="carol") == [counts]
    run = live_run(migrated, "carol")
    assert run is not None
    stored = read_communities(migrated, "carol", run["id"])
    told = {c.id: c.report for c in stored if c.report}
    assert len(told) == 122
    assert {(r.origin, r.key_entities_from, len(r.key_entities) > 0) for r in told.values()} == {
        ("imported", "degree", True)
    }
    gutenberg = told[f"{run['id']}.3.120"]
    assert gutenberg.title == "Project Gutenberg Digital Library Community"
    assert gutenberg.rating == 8.5
    # Nothing has changed, so nothing is to be reported, and importing again changes nothing.
    assert report_communities(migrated, tenant="carol").unchanged == 122
    again = import_index(migrated, read_graphrag(CAROL), tenant="carol")
    assert again.reports == 122
    assert migrated.run(COUNTS, tenant="carol") == [counts]


def test_small_index_is_a_tree_of_its_tenant(migrated: Database, tmp_path: Path) -> None:
    index = read_graphrag(write(tmp_path, TABLES))
    report = import_index(migrated, index, tenant="t")
    assert (report.levels, report.reports) == ((1, 1), 1)
    check_tree(migrated, "t")
    assert migrated.run(COUNTS, tenant="other")[0]["entities"] == 0
    provenance = statement(
        "MATCH (:__Entity__ {tenant: 't', id: 'SCROOGE'})-[:FROM_CHUNK]->(c:Chunk) "
        "RETURN c.text AS text",
        "read",
    )
    assert migrated.run(provenance) == [{"text": "First."}]


def test_nano_graphrag_keeps_a_report_that_is_plain_text(
    migrated: Database, tmp_path: Path
) -> None:
    report = import_index(migrated, read_lightrag(nano_folder(tmp_path)), tenant="t")
    assert (report.entities, report.relationships, report.communities) == (3, 2, 2)
    run = live_run(migrated, "t")
    assert run is not None
    told = {c.level: c.report for c in read_communities(migrated, "t", run["id"])}
    assert told[0] is not None
    assert told[1] is not None
    assert (told[0].summary, told[1].summary, told[1].form) == ("S", "Plain text.", "fallback")


def test_commands(migrated: Database, tmp_path: Path) -> None:
    where = ["--uri", migrated.connection.uri, "--username", migrated.connection.username]
    environment = {"NEO4J_PASSWORD": migrated.connection.password}

    def run(kind: str, folder: Path, *words: str, code: int = 0) -> str:
        command = ["import", kind, str(folder), "--tenant", "t", *words, *where]
        outcome = CliRunner().invoke(cli, command, env=environment)
        assert outcome.exit_code == code, outcome.output
        return outcome.stdout if not code else outcome.stderr

    folder = write(tmp_path / "graphrag", TABLES)
    shown = run("graphrag", folder)
    assert shown.startswith(
        "3 entities, 2 relationships, 2 text units, 2 communities (1 + 1 by level) and 1 reports "
        "into tenant t in "
    )
    assert "1 relationships were left out: 1 of their ends name no entity.\n  MARLEY" in shown
    assert "1 names are those of several entities.\n  SCROOGE and Scrooge" in shown
    assert "Next: pathrag embed --uri" in shown
    given = json.loads(run("graphrag", folder, "--json"))
    assert (given["missing_ends"], given["dangling"][0]["missing"]) == (1, ["MARLEY"])
    (tmp_path / "nano").mkdir()
    assert run("lightrag", nano_folder(tmp_path / "nano")).startswith("3 entities, 2 relation")
    assert "no index of GraphRAG" in run("graphrag", tmp_path, code=6)
