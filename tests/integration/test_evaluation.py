"""Evaluate on a real server: load once, ask, go on, hide the gold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli import cli
from pathrag_gds.config import Connection
from pathrag_gds.errors import ConfigError
from pathrag_gds.evaluation.datasets import open_dataset
from pathrag_gds.evaluation.tenant import prepare
from pathrag_gds.graph.database import Database
from pathrag_gds.models.encoder import load_encoder
from tests.statements import statement
from tests.unit.test_evaluation_datasets import PQ, PQ_KB

QUICK = ("--max-depth", "2", "--beam-width", "8", "--seed-k", "8")


def evaluate(server: Connection, folder: Path, *arguments: str) -> list[dict[str, Any]]:
    (folder / "pathrag.toml").write_text(f"password = {json.dumps(server.password)}\n")
    where = ["--uri", server.uri, "--username", server.username]
    if server.database:
        where += ["--database", server.database]
    outcome = CliRunner().invoke(cli, ["eval", *arguments, *QUICK, *where, "--json"])
    assert outcome.exit_code == 0, outcome.stderr
    summaries: list[dict[str, Any]] = json.loads(outcome.stdout)
    return summaries


def test_pathquestion_from_files_to_figures(
    migrated: Database, server: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "pathquestion"
    folder.mkdir(parents=True)
    (folder / "2H-kb.txt").write_text(PQ_KB, encoding="utf-8")
    (folder / "PQ-2H.txt").write_text(PQ, encoding="utf-8")
    asked = ("pathquestion-2h", "--data", str(tmp_path / "data"), "--buckets", "0-9")
    (given,) = evaluate(
        server, tmp_path, *asked, "--condition", "given", "--min-score", "0", "--delete-gold"
    )
    # Two of the three questions visit no node twice, and all their paths are found.
    assert (given["n"], given["ceiling"], given["apart"]["revisiting"]) == (
        2,
        1.0,
        {"n": 1, "ceiling": 0.0},
    )
    assert given["survival"] == [1.0, 1.0, 1.0]
    assert given["metrics"]["path_recall@20"] == given["metrics"]["anchor_recall"] == 1.0
    assert given["cost"]["round_trips"]["p95"] == 6
    assert given["gold_hidden"]["n"] == 2
    rows = (tmp_path / "eval" / "pathquestion-2h.given.path.hidden.jsonl").read_text()
    assert len(rows.splitlines()) == 3
    # The gold is hidden from a search, and still in the graph.
    count = statement(
        "MATCH (:__Entity__ {tenant: 'eval_pathquestion-2h'})-[r]->() RETURN count(r) AS n", "read"
    )
    assert migrated.run(count)[0]["n"] == 6
    plain, chance = evaluate(server, tmp_path, *asked, "--opponent", "random")
    assert (plain["condition"], chance["method"]) == ("plain", "random")
    assert plain["metrics"]["anchor_recall"] == 1.0


def test_a_tenant_is_filled_once_and_anew_when_its_graph_changed(
    migrated: Database, tmp_path: Path
) -> None:
    encoder = load_encoder(None)
    stages: list[str] = []

    def note(done: int, total: int, what: str) -> None:
        stages.append(what)

    folder = tmp_path / "pathquestion"
    folder.mkdir()
    (folder / "PQ-2H.txt").write_text(PQ, encoding="utf-8")
    names = statement(
        "MATCH (e:__Entity__ {tenant: $tenant}) RETURN e.id AS id ORDER BY id", "read"
    )
    tenant = "eval_pathquestion-2h"
    for text, loads, extra in (
        (PQ_KB, True, []),
        (PQ_KB, False, []),
        (PQ_KB + "x\ty\tz\n", True, ["x", "z"]),
    ):
        (folder / "2H-kb.txt").write_text(text, encoding="utf-8")
        stages.clear()
        with open_dataset("pathquestion-2h", data=tmp_path) as dataset:
            assert prepare(migrated, dataset, encoder, note) == tenant
        assert bool(stages) is loads
        found = [row["id"] for row in migrated.run(names, tenant=tenant)]
        assert found == ["anna", "ben", "cleo", "cora", "rome", *extra]
    (folder / "2H-kb.txt").write_text(PQ_KB, encoding="utf-8")
    with open_dataset("pathquestion-2h", data=tmp_path) as dataset:
        prepare(migrated, dataset, encoder)
    assert [row["id"] for row in migrated.run(names, tenant=tenant)] == [
        "anna",
        "ben",
        "cleo",
        "cora",
        "rome",
    ]


def test_data_of_others_are_left_alone(migrated: Database) -> None:
    migrated.run(statement("CREATE (:__Entity__ {tenant: 'eval_bob', id: 'mine'})"))
    with (
        open_dataset("bob") as dataset,
        pytest.raises(ConfigError, match="did not put there"),
    ):
        prepare(migrated, dataset, load_encoder(None))
