"""``pathrag tune`` without a server: what it refuses, what it prints, what it writes."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from cli import cli
from pathrag_gds.config import SearchConfig, read_settings
from pathrag_gds.errors import ConfigError
from pathrag_gds.evaluation.tune import Tuning
from pathrag_gds.serve import tune_commands
from pathrag_gds.serve.settings_file import preset_table, show_presets, write_presets
from pathrag_gds.serve.tune_commands import _show
from tests.unit.test_evaluation_tune import Wide, pool

ASK = '{"question": "Who owns Bob?", "answers": ["Jane"]}\n'


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("PATHRAG_DATA", "PATHRAG_RERANKER", "PATHRAG_PRESET"):
        monkeypatch.delenv(name, raising=False)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["tune", *arguments])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument"),
        (("alice",), "no data set 'alice'"),
        (("bob", "bob"), "named twice"),
        (("bob",), "none is left to tune by"),
        (("metaqa-1h",), "--data DIR"),
        (("probes",), "--data DIR"),
        (("q.json", "--aim", "fast"), "it looks like fast=40"),
        (("q.json", "--aim", "fast=0"), "it looks like fast=40"),
        (("q.json", "--aim", "=3"), "it looks like fast=40"),
        (("q.json", "--vary", "beam=3"), "there is no option 'beam'"),
        (("q.json", "--vary", "beam-width=x"), "the values do not fit"),
        (("q.json", "--vary", "node_filter=x"), "the values do not fit"),
        (("q.json", "--vary", "beam-width=0"), "beam_width must be"),
        (("q.json", "--vary", "revisit=never"), "revisit must be one of"),
        (("q.json", "--preset", "slow"), "no preset 'slow'"),
        (("q.json", "--holdout", "1"), "--holdout"),
        (("q.json", "--metric", "recall"), "--metric"),
    ],
)
def test_what_cannot_be_tuned_is_refused(arguments: tuple[str, ...], message: str) -> None:
    Path("q.json").write_text(ASK)
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not Path("tune").exists()


def test_candidates_without_a_graph_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "webqsp_paths"
    folder.mkdir()
    row = {
        "id": "q",
        "question": "who is the sister of bo",
        "ground_truth": ["Ann"],
        "input": "Reasoning Paths:\nBo -> sister -> Ann\n\nQuestion:\n…",
    }
    (folder / "gnnrag_lmsr_predictions.jsonl").write_text(json.dumps(row), encoding="utf-8")
    result = invoke("webqsp-paths", "--data", str(tmp_path))
    assert result.exit_code == 2
    assert "no graph to search" in result.stderr


def metaqa(data: Path) -> None:
    folder = data / "metaqa"
    (folder / "1-hop").mkdir(parents=True)
    (folder / "kb_ids.txt").write_text("0\t0\t1\n", encoding="utf-8")
    (folder / "entities.dict").write_text("0\tHeat\n1\tMann\n", encoding="utf-8")
    (folder / "relations.dict").write_text("0\tdirected_by\n", encoding="utf-8")
    (folder / "1-hop" / "dev.txt").write_text("who directed [Heat]\tMann\n", encoding="utf-8")


@pytest.mark.parametrize("buckets", ["0-9", "4-5", "0"])
def test_the_reporting_split_is_never_tuned_on(tmp_path: Path, buckets: str) -> None:
    metaqa(tmp_path)
    result = invoke("metaqa-1h", "--data", str(tmp_path), "--buckets", buckets)
    assert result.exit_code == 2
    assert "Figures are reported on buckets" in result.stderr
    assert "--buckets 5-9" in result.stderr


def test_a_wrong_question_is_named_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("q.jsonl").write_text(ASK + '{"question": "?"}\n')
    result = invoke("q.jsonl")
    assert result.exit_code == 6
    assert "q.jsonl:2:" in result.stderr


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> Wide:
    """Ask a search that is made up, whatever the file says; 100 questions."""
    asks = Wide()
    Path("q.jsonl").write_text(ASK)
    monkeypatch.setattr(tune_commands, "_own_pool", lambda *_: pool(asks))
    return asks


RUN = ("q.jsonl", "--vary", "beam_width=5,20,40,80", "--trials", "4")


def test_a_run_reports_draws_and_says_what_to_write(made_up: Wide) -> None:
    result = invoke(*RUN)
    assert result.exit_code == 0, result.stderr
    assert "3 presets and 4 configurations (4 asked 70), then 30 held-out" in result.stderr
    assert "thorough (any cost): thorough, a preset there is" in result.stdout
    assert "balanced (120 texts): trial " in result.stdout
    report = json.loads(Path("tune/report.json").read_text())
    assert report["complete"]
    assert Path("tune/curve.svg").read_text().startswith("<svg")
    # As the lines say, so searches run.
    lines = result.stdout[result.stdout.index("[presets.") :]
    Path("pathrag.toml").write_text(lines)
    assert read_settings().search_config() == SearchConfig(beam_width=80)
    assert read_settings().search_config("fast") == SearchConfig(beam_width=40)


def test_write_puts_presets_into_the_settings_file(made_up: Wide) -> None:
    Path("pathrag.toml").write_text('tenant = "mine"  # ours\n\n[presets.balanced]\ntop_k = 7\n')
    result = invoke(*RUN, "--aim", "balanced=60", "--write", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["presets"] == {"balanced": {"beam_width": 40}}
    assert Path("pathrag.toml").read_text() == (
        'tenant = "mine"  # ours\n\n[presets.balanced]\ntop_k = 7\nbeam_width = 40\n'
    )
    assert "balanced written to pathrag.toml." in result.stderr
    settings = read_settings()
    assert settings.tenant == "mine"
    assert settings.search_config() == SearchConfig(top_k=7, beam_width=40)


def test_nothing_is_written_where_the_presets_are_best(made_up: Wide) -> None:
    result = invoke("q.jsonl", "--trials", "0", "--aim", "thorough=any", "--write")
    assert result.exit_code == 0, result.stderr
    assert "Nothing to write." in result.stderr
    assert not Path("pathrag.toml").exists()
    assert "[presets" not in result.stdout


def test_ctrl_c_leaves_the_report_of_what_there_is_and_the_run_goes_on(made_up: Wide) -> None:
    made_up.stop_after = 50
    result = invoke(*RUN)
    assert result.exit_code == 130
    assert "Interrupted." in result.stderr
    report = json.loads(Path("tune/report.json").read_text())
    assert not report["complete"]
    assert Path("tune/curve.svg").exists()
    made_up.stop_after = None
    assert invoke(*RUN).exit_code == 0
    assert json.loads(Path("tune/report.json").read_text())["complete"]
    rows = Path("tune/trials.jsonl").read_text().splitlines()[1:]
    assert len(made_up.asked) == len(rows) == len({json.loads(row)["id"] for row in rows})


def test_what_is_surely_worse_on_the_held_out_questions_is_not_advised(
    made_up: Wide, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Tuning.report

    def worse(self: Tuning) -> dict[str, Any]:
        report = whole(self)
        for choice in report["choices"]:
            choice["difference"] = {"n": 30, "difference": -0.2, "low": -0.3, "high": -0.1}
        return report

    monkeypatch.setattr(Tuning, "report", worse)
    result = invoke(*RUN, "--aim", "balanced=60", "--write")
    assert "worse, and not advised" in result.stdout
    assert "Nothing to write." in result.stderr
    assert not Path("pathrag.toml").exists()


def test_a_figure_that_is_not_there_is_a_dash() -> None:
    out = Console(record=True, width=200, file=io.StringIO())
    figures = {
        "n": 3,
        "quality": 1.0,
        "texts": {"mean": 2.0, "p95": 3},
        "millis": {"p50": 1.0},
    }
    trial = {"name": "fast", "landmark": True, "front": False, "changes": {}, "held_out": None}
    _show(
        out,
        {
            "metric": "hit@1",
            "cost": "texts",
            "trials": [{**trial, "tuning": figures}],
            "choices": [{"preset": "fast", "most": 1.0, "trial": None}],
            "unanswered": ["q:1"],
        },
        {},
    )
    shown = out.export_text()
    assert shown.splitlines()[1].split() == ["fast", "1.000", "3", "–", "–", "–", "2", "3", "1"]
    assert "fast (1 texts): nothing that was tried costs so little." in shown
    assert "1 questions were answered by no configuration" in shown


# The settings file


def test_a_table_says_what_differs_from_the_shipped_preset_of_its_name() -> None:
    config = SearchConfig(beam_width=40, top_k=50)
    assert preset_table("mine", config, ["beam_width"]) == {"beam_width": 40}
    assert preset_table("mine", SearchConfig(), ["beam_width"]) == {}
    # What the shipped preset changes is said again, so that it does not hold.
    thorough = preset_table("thorough", config, ["beam_width"])
    assert thorough["beam_width"] == 40
    assert thorough["frontier_width"] == SearchConfig().frontier_width
    assert SearchConfig.preset("thorough", **thorough) == config.with_(top_k=5)


def test_a_value_that_is_there_is_said_again() -> None:
    file = Path("pathrag.toml")
    file.write_text("[presets.mine]\nbeam_width = 7\ntop_k = 9\n")
    assert write_presets(file, {"mine": SearchConfig()}, ["beam_width"]) == {
        "mine": {"beam_width": 30}
    }
    assert file.read_text() == "[presets.mine]\nbeam_width = 30\ntop_k = 9\n"


def test_lines_are_toml_that_the_settings_read() -> None:
    tables = {"fast": {"beam_width": 4, "strategy": "chains", "min_prefix": 0.2}, "films": {}}
    Path("pathrag.toml").write_text(show_presets(tables))
    assert read_settings().presets == tables
    assert show_presets({}) == ""


@pytest.mark.parametrize("text", ["presets = 3\n", "[presets]\nfast = 3\n", "a = \n"])
def test_a_file_that_is_not_understood_is_left_as_it_is(text: str) -> None:
    file = Path("pathrag.toml")
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"pathrag\.toml"):
        write_presets(file, {"fast": SearchConfig(beam_width=3)}, ["beam_width"])
    assert file.read_text() == text
