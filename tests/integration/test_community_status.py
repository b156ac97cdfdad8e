"""How far a real graph has moved away from its communities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli import cli
from pathrag_gds.communities import (
    CommunityReport,
    community_status,
    detect_communities,
    read_communities,
    report_communities,
)
from pathrag_gds.communities.read import properties_of
from pathrag_gds.communities.store import live_run
from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import load
from pathrag_gds.imports import import_index, read_graphrag
from tests.integration.test_communities import cliques, counts, fill
from tests.statements import statement
from tests.unit.test_imports_indexes import TABLES, write

pytestmark = pytest.mark.integration


def test_nothing_has_moved_at_first(migrated: Database) -> None:
    fill(migrated, "t", [*cliques(3, 4), ("x", "y")])
    found = detect_communities(migrated, tenant="t")
    report_communities(migrated, tenant="t")
    now = community_status(migrated, tenant="t")
    assert now.is_current
    assert (now.new, now.gone, now.moved, now.unreported, now.outdated) == ((), 0, 0, (), ())
    assert (now.entities_then, now.entities_now, now.communities) == (14, 14, 3)
    assert now.modularity_then == now.modularity_now == found.levels[0].modularity
    # x and y are in no community, so each is alone: of 22 links one is within none, and the square
    # of two ends together becomes that of each.
    alone = found.levels[0].modularity - 1 / 22 + (2 / 44) ** 2 - 2 * (1 / 44) ** 2
    assert now.modularity_kept == pytest.approx(alone, abs=2e-6)
    assert counts(migrated, "t") == (3, 1)


def test_new_gone_moved_and_outdated(migrated: Database) -> None:
    fill(migrated, "t", cliques(3, 4))
    detect_communities(migrated, tenant="t")
    report_communities(migrated, tenant="t")
    # k0n3 leaves its clique for the next one; k2n3 goes; "new" comes.
    migrated.run(statement("MATCH (:__Entity__ {tenant: 't', id: 'k0n3'})-[r:LINKS]-() DELETE r"))
    migrated.run(statement("MATCH (e:__Entity__ {tenant: 't', id: 'k2n3'}) DETACH DELETE e"))
    fill(migrated, "t", [("k0n3", f"k1n{n}") for n in range(4)] + [("new", "k1n0")])
    now = community_status(migrated, tenant="t")
    assert (now.new, now.gone, now.moved) == (("new",), 1, 1)
    assert [id_.partition(".")[2] for id_ in now.outdated] == ["0.0", "0.2"]
    assert now.unreported == ()
    assert now.modularity_now is not None
    assert now.modularity_now > now.modularity_kept
    assert not now.is_current


def test_entities_that_were_not_to_be_looked_at_are_not_new(migrated: Database) -> None:
    fill(migrated, "t", [*cliques(2, 4), ("secret", "k0n0")])
    detect_communities(migrated, tenant="t", keep=lambda entity: entity.id != "secret")
    now = community_status(migrated, tenant="t")
    assert (now.new, now.moved, now.entities_now) == ((), 0, 8)
    assert len(now.unreported) == 2


def test_imported_communities_cannot_be_found_once_more(migrated: Database, tmp_path: Path) -> None:
    import_index(migrated, read_graphrag(write(tmp_path, TABLES)), tenant="t")
    now = community_status(migrated, tenant="t")
    assert (now.moved, now.modularity_then, now.modularity_now, now.new) == (None, None, None, ())
    assert now.warnings == ("The communities were imported, so they cannot be found once more.",)


def write_report(db: Database, tenant: str, id_: str, summary: str) -> None:
    report = CommunityReport(
        id_, tenant, "Title", summary, ("k0n0",), "llm", "strict", "answer", "hash"
    )
    written = db.run(
        load("communities/write_report"), tenant=tenant, id=id_, report=properties_of(report)
    )
    assert written[0]["written"]


def test_reports_that_contradict_each_other_are_listed(migrated: Database) -> None:
    for tenant in ("t", "other"):
        fill(migrated, tenant, cliques(2, 4))
        detect_communities(migrated, tenant=tenant)
    told = "MATCH (e:__Entity__ {tenant: 't', id: 'k0n0'}) SET e.name = 'Oslo', e.population = 709"
    migrated.run(statement(told))
    run = live_run(migrated, "t")
    assert run is not None
    one, two = sorted(c.id for c in read_communities(migrated, "t", run["id"]))
    write_report(migrated, "t", one, "Oslo's population is 709.")
    write_report(migrated, "t", two, "Many come from Oslo (population: 650), and leave.")
    (found,) = community_status(migrated, tenant="t").contradictions
    assert (found.entity, found.name, found.property, found.graph) == (
        *("k0n0", "Oslo", "population"),
        "709",
    )
    assert [(c.community_id, c.value) for c in (found.first, found.second)] == [
        (one, "709"),
        (two, "650"),
    ]
    assert community_status(migrated, tenant="other").contradictions == ()

    where = ["--uri", migrated.connection.uri, "--username", migrated.connection.username]
    environment = {"NEO4J_PASSWORD": migrated.connection.password}
    command = ["communities", "status", "--tenant", "t", *where]
    shown = CliRunner().invoke(cli, command, env=environment)
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    at = lines.index("Reports that contradict each other (pairs: 1):")
    heads = ["entity", "property", "community", "says", "community", "says", "graph"]
    assert lines[at + 1].split() == heads
    assert lines[at + 2].split() == ["Oslo", "population", one, "709", two, "650", "709"]
    as_json = CliRunner().invoke(cli, [*command, "--json"], env=environment)
    (pair,) = json.loads(as_json.stdout)["contradictions"]
    assert (pair["first"]["value"], pair["second"]["value"]) == ("709", "650")


def test_command(migrated: Database) -> None:
    with pytest.raises(ConfigError, match="has no communities yet"):
        community_status(migrated, tenant="t")
    fill(migrated, "t", cliques(2, 4))
    detect_communities(migrated, tenant="t")
    where = ["--uri", migrated.connection.uri, "--username", migrated.connection.username]
    environment = {"NEO4J_PASSWORD": migrated.connection.password}

    def run(*words: str) -> str:
        command = ["communities", "status", "--tenant", "t", *words, *where]
        outcome = CliRunner().invoke(cli, command, env=environment)
        assert outcome.exit_code == 0, outcome.output
        return outcome.stdout

    shown = run()
    assert "communities      2 on 1 levels\n" in shown
    assert "without report   2: 1.0.0, 1.0.1\n" in shown
    assert "Next: pathrag communities report --uri" in shown
    assert json.loads(run("--json"))["current"] is False
    report_communities(migrated, tenant="t")
    assert run().endswith("Communities and reports are up to date.\n")
