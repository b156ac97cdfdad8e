"""Tune on a real server: the demo's questions, stopped and gone on with."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli import cli
from pathrag_gds.config import Connection
from pathrag_gds.demo import FOLDER
from pathrag_gds.graph.database import Database
from pathrag_gds.pathrag import PathRAG

QUICK = ("--trials", "2", "--limit", "6", "--max-depth", "3", "--vary", "beam-width=4,8,16,60")


def tune(server: Connection, folder: Path, *arguments: str) -> dict[str, Any]:
    where = ["--uri", server.uri, "--username", server.username]
    if server.database:
        where += ["--database", server.database]
    outcome = CliRunner().invoke(cli, ["tune", *arguments, *QUICK, *where, "--json"])
    assert outcome.exit_code == 0, outcome.stderr
    report: dict[str, Any] = json.loads(outcome.stdout)
    return report


def test_the_demo_from_its_questions_to_presets(
    demo: Database, server: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = f"password = {json.dumps(server.password)}\n"
    (tmp_path / "pathrag.toml").write_text(settings)
    own = str(FOLDER / "questions.json")
    asked = 0
    search = PathRAG.explain

    def stopping(self: PathRAG, *arguments: Any, **options: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == 8:
            raise KeyboardInterrupt
        return search(self, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(PathRAG, "explain", stopping)
        where = ["--uri", server.uri, "--username", server.username]
        stopped = CliRunner().invoke(cli, ["tune", own, *QUICK, *where])
    assert stopped.exit_code == 130
    kept = (tmp_path / "tune" / "trials.jsonl").read_text()
    assert len(kept.splitlines()) == 8

    report = tune(server, tmp_path, own, "--aim", "narrow=any", "--write")
    assert report["complete"]
    assert report["questions"] == {"tuning": 4, "held_out": 2}
    assert (tmp_path / "tune" / "trials.jsonl").read_text().startswith(kept)
    assert (tmp_path / "tune" / "curve.svg").exists()
    by_name = {trial["name"]: trial for trial in report["trials"]}
    assert set(by_name) >= {"fast", "balanced", "thorough"}
    # A wider beam reads more.
    texts = {name: by_name[name]["tuning"]["texts"]["mean"] for name in by_name}
    assert texts["fast"] < texts["balanced"] <= texts["thorough"]
    assert by_name["thorough"]["tuning"]["round_trips"]["p95"] <= 7
    # What was found is what the file says, beside what was there.
    written = tomllib.loads((tmp_path / "pathrag.toml").read_text())
    assert written["password"] == server.password
    assert written.get("presets", {}) == report["presets"]

    again = tune(server, tmp_path, own, "--aim", "narrow=any")
    assert again["trials"] == report["trials"]


def test_answers_by_name(
    demo: Database, server: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pathrag.toml").write_text(f"password = {json.dumps(server.password)}\n")
    lines = [
        {"question": "Who owns Bob?", "answers": ["jane"]},
        {"question": "Who lives in Willow Cottage?", "answers": ["Martha"]},
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, lines)))
    report = tune(server, tmp_path, "mine.jsonl", "--trials", "0", "--metric", "mrr")
    (balanced,) = (t for t in report["trials"] if t["name"] == "balanced")
    assert balanced["tuning"]["quality"] > 0
    assert balanced["held_out"]["quality"] > 0
