"""``pathrag eval`` without a server: what it refuses, what it prints."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from cli import cli
from pathrag_gds.evaluation import datasets
from pathrag_gds.serve.eval_commands import _show_shapes


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PATHRAG_DATA", raising=False)
    monkeypatch.delenv("PATHRAG_RERANKER", raising=False)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["eval", *arguments])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Name a DATASET"),
        (("alice",), "no data set 'alice'"),
        (("metaqa-1h",), "--data DIR"),
        (("bob", "--buckets", "7-3"), "no list of buckets"),
        (("bob", "--group", "simple"), "no question in this split and group 'simple'"),
        (("bob", "--condition", "given"), "cannot be asked in the condition 'given'"),
        (("bob", "--opponent", "nobody"), "no opponent 'nobody'"),
        (("bob", "--beam-width", "0"), "beam_width must be"),
        (("bob", "musique", "--questions", "q.json"), "--questions is of one DATASET"),
        (("probes", "--questions", "q.json"), "--questions is of one part: probes-movies,"),
        (("probes",), "--data DIR"),
        (("bob", "--compare", "q.json", "q.json"), "takes two files and no DATASET"),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments: tuple[str, ...], message: str) -> None:
    Path("q.json").write_text("[]")
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not Path("eval").exists()


def webqsp(data: Path) -> None:
    folder = data / "webqsp_paths"
    folder.mkdir(parents=True)
    rows = []
    for number, (right, wrong) in enumerate([("a sister", "an aunt"), ("a town", "a river")]):
        told = f"Bo -> {wrong} -> Cy\nBo -> {right} -> Ann"
        rows.append(
            {
                "id": f"q{number}",
                "question": f"who or what is {right} of bo",
                "ground_truth": ["Ann"],
                "input": f"Reasoning Paths:\n{told}\n\nQuestion:\n…",
            }
        )
    text = "\n".join(map(json.dumps, rows))
    (folder / "gnnrag_lmsr_predictions.jsonl").write_text(text, encoding="utf-8")


def test_candidates_need_no_server(tmp_path: Path) -> None:
    webqsp(tmp_path)
    asked = ("webqsp-paths", "--data", str(tmp_path), "--buckets", "0-9")
    result = invoke(*asked, "--opponent", "word-overlap", "--json")
    assert result.exit_code == 0, result.stderr
    ours, words = json.loads(result.stdout)
    assert (ours["method"], words["method"]) == ("path", "word-overlap")
    assert (words["n"], words["split"], words["condition"]) == (2, "all", "file")
    assert words["metrics"]["hit@1"] == words["metrics"]["right_path@1"] == 1.0
    assert words["groups"]["mixed"]["n"] == 2
    assert words["ceiling"] == 1.0
    folder = tmp_path / "eval"
    written = json.loads((folder / "webqsp-paths.file.word-overlap.json").read_text())
    assert written == words
    files = [str(folder / f"webqsp-paths.file.{name}.jsonl") for name in ("path", "word-overlap")]
    told = json.loads(invoke("--compare", *files, "--json").stdout)
    assert (told["n"], told["metrics"]["hit@1"]["second"]) == (2, 1.0)
    table = invoke("--compare", *files)
    assert "Over the 2 questions of both." in table.stdout
    # A second run of the same command has nothing left to ask.
    again = invoke(*asked)
    assert again.exit_code == 0
    assert "webqsp-paths  all    file       path" in again.stdout


def test_another_configuration_is_refused_until_told_to_begin_anew(tmp_path: Path) -> None:
    webqsp(tmp_path)
    asked = ("webqsp-paths", "--data", str(tmp_path), "--buckets", "0-9")
    assert invoke(*asked).exit_code == 0
    refused = invoke(*asked, "--text-budget", "20")
    assert refused.exit_code == 2
    assert "--no-resume" in refused.stderr
    assert invoke(*asked, "--text-budget", "20", "--no-resume").exit_code == 0


def test_a_set_of_parts_is_run_part_by_part_and_shown_by_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    webqsp(tmp_path)
    monkeypatch.setattr(datasets, "PARTS", {"both": ("webqsp-paths", "webqsp-paths")})
    result = invoke("both", "--data", str(tmp_path), "--buckets", "0-9", "--json")
    assert result.exit_code == 0, result.stderr
    part, _, whole = json.loads(result.stdout)
    assert (part["dataset"], part["n"]) == ("webqsp-paths", 2)
    assert (whole["dataset"], whole["n"], len(whole["parts"])) == ("both", 4, 2)
    assert json.loads((tmp_path / "eval" / "both.file.path.json").read_text()) == whole
    # These are no questions of several shapes, so there is nothing to show by kind.
    assert "confident wrong" not in invoke("both", "--data", str(tmp_path)).stdout


def test_kinds_of_the_whole_are_shown_where_there_are_parts() -> None:
    out = Console(record=True, width=200, file=io.StringIO())
    metrics = {"right": 0.5, "confident_wrong": 0.25}
    group = {"n": 4, "metrics": metrics, "outcomes": {"answered": 3, "partial": 1}}
    part = {"dataset": "a", "method": "path", "metrics": metrics, "groups": {"count": group}}
    _show_shapes(out, [part, {**part, "dataset": "whole", "parts": ["a.jsonl"]}])
    _show_shapes(out, [{**part, "metrics": {"hit@1": 1.0}}])
    shown = [line.split() for line in out.export_text().splitlines() if "count" in line]
    assert shown == [
        ["whole", "path", "count", "4", "0.500", "1", "answered", "3,", "partial", "1"]
    ]
