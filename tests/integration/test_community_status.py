"""How far a real graph has moved away from its communities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli import cli
from pathrag_gds.communities import community_status, detect_communities, report_communities
from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import Database
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
