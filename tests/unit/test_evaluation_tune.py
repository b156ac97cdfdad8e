"""Tuning with a search that is made up: what is drawn, asked, kept, resumed and chosen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import ConfigError
from pathrag_gds.evaluation.datasets.dataset import Dataset
from pathrag_gds.evaluation.questions import Question
from pathrag_gds.evaluation.systems import Setting
from pathrag_gds.evaluation.tune import (
    ROWS_FILE,
    SPACE,
    Aim,
    Plan,
    Pool,
    Trial,
    Tuning,
    draw,
    plan,
    split,
)
from pathrag_gds.evaluation.tune_curve import curve_svg
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.types import Answer, Explanation, SearchResult, SearchStats
from tests.fakes import WordOverlapReranker

ROOT = Path(__file__).parents[2]
WIDTHS = {"beam_width": (5, 10, 20, 40, 80)}
LANDMARKS = {"balanced": SearchConfig(), "fast": SearchConfig(beam_width=10)}


class Wide:
    """Answers question N where the beam is wider than N, and reads a text for each path of it.

    Attributes:
        asked: Question and width of every search.
        stop_after: Searches after which Ctrl-C is pressed.
    """

    def __init__(self, stop_after: int | None = None) -> None:
        self.asked: list[tuple[str, int]] = []
        self.stop_after = stop_after

    def explain(
        self,
        question: str,
        *,
        tenant: str | None = None,
        config: SearchConfig | None = None,
        start_ids: Sequence[str] = (),
        **overrides: Any,
    ) -> Explanation:
        assert config is not None
        if self.stop_after is not None and len(self.asked) >= self.stop_after:
            raise KeyboardInterrupt
        self.asked.append((question, config.beam_width))
        right = config.beam_width > int(question.split()[-1])
        answer = Answer("entity", "jane" if right else "bob", "Jane" if right else "Bob")
        stats = SearchStats(round_trips=4, texts_scored=config.beam_width, millis={"total": 1.0})
        return Explanation(
            SearchResult(
                question=question,
                tenant=tenant or "",
                method="path",
                outcome="answered",
                anchors=(),
                answers=(answer,),
                paths=(),
                cut=(),
                stats=stats,
                config=config.to_dict(),
            ),
            (),
        )


def questions(count: int, answer: str = "jane") -> list[Question]:
    """Make questions that beams of 0, 1, 2, … paths are too narrow for, up to 49."""
    return [
        Question(f"q:{n}", f"question {n % 50}", frozenset({(answer, "")}), topics=(str(n),))
        for n in range(count)
    ]


def pool(
    asks: Wide, count: int = 100, *, name: str = "made", by_name: bool = False, graph: str = "g"
) -> Pool:
    asked = questions(count, "JANE" if by_name else "jane")
    setting = Setting(
        Dataset(name, tuple(asked), "d"),
        "file",
        SearchConfig(),
        load_encoder(None),
        WordOverlapReranker(),
        tenant="t",
        ask_with=lambda _: asks,
    )
    return Pool(setting, tuple(asked), graph, by_name)


def tuning(asks: Wide, *, count: int = 100, trials: int = 20, **options: Any) -> Tuning:
    known = [Trial(name, config).key for name, config in LANDMARKS.items()]
    drawn = draw(WIDTHS, SearchConfig(), trials, seed=options.get("seed", 0), known=known)
    return Tuning([pool(asks, count)], LANDMARKS, drawn, **options)


def timeless(report: dict[str, Any]) -> dict[str, Any]:
    """Leave out the times of a report."""
    told = json.loads(json.dumps(report))
    for trial in told["trials"]:
        for part in ("tuning", "held_out"):
            if trial[part]:
                del trial[part]["millis"]
    return dict(told)


# What is drawn


def test_draws_are_different_and_from_the_grid() -> None:
    trials = draw(SPACE, SearchConfig(top_k=9), 30)
    assert len({trial.key for trial in trials}) == 30
    assert {trial.config.top_k for trial in trials} == {9}
    for name, values in SPACE.items():
        assert {getattr(trial.config, name) for trial in trials} <= set(values)


def test_more_trials_go_on_from_fewer_and_another_seed_draws_others() -> None:
    few, many = draw(SPACE, SearchConfig(), 5), draw(SPACE, SearchConfig(), 12)
    assert many[:5] == few
    assert draw(SPACE, SearchConfig(), 5, seed=1) != few


def test_a_small_space_is_drawn_whole_but_for_what_is_known() -> None:
    known = Trial("x", SearchConfig(beam_width=20)).key
    trials = draw(WIDTHS, SearchConfig(), 50, known=[known])
    assert sorted(trial.config.beam_width for trial in trials) == [5, 10, 40, 80]


def test_a_value_out_of_range_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(ConfigError, match="beam_width must be"):
        draw({"beam_width": (5, 0)}, SearchConfig(), 1)


# What is held out


def test_the_split_is_by_what_is_asked_for_whatever_the_seed_and_the_order() -> None:
    asked = questions(40)
    tuning_part, held = split(asked, 0.3)
    assert (len(tuning_part), len(held)) == (28, 12)
    again, other = split(list(reversed(asked)), 0.3, seed=5)
    assert {q.id for q in other} == {q.id for q in held}
    assert [q.id for q in other] != [q.id for q in held]
    assert {q.id for q in again} == {q.id for q in tuning_part}


def test_phrasings_of_one_question_are_on_one_side() -> None:
    asked = [
        Question(f"q:{n}.{p}", f"phrasing {p} of {n}", frozenset({(f"a{n}", "")}), bucket=p)
        for n in range(20)
        for p in range(3)
    ]
    sides = split(asked, 0.4)
    one, other = ({q.id.split(".")[0] for q in side} for side in sides)
    assert not one & other
    assert len(sides[1]) == 24


def test_one_subject_cannot_be_held_out() -> None:
    assert split(questions(1), 0.9) == (questions(1), [])
    assert [len(side) for side in split(questions(2), 0.1)] == [1, 1]
    with pytest.raises(ConfigError, match="too few questions"):
        tuning(Wide(), count=1)


# How much is asked


def test_the_plan_asks_a_third_of_the_trials_three_times_as_much() -> None:
    made = plan(27, tuning=90, held_out=30, landmarks=2, aims=3)
    assert made == Plan(((27, 10), (9, 30), (4, 90)), 2, 30, 3)
    assert made.searches == 29 * 10 + 11 * 20 + 6 * 60 + 5 * 30


def test_a_few_questions_or_trials_need_no_rungs() -> None:
    assert plan(27, tuning=20, held_out=5, landmarks=1, aims=1).rungs == ((27, 20),)
    assert plan(4, tuning=900, held_out=5, landmarks=1, aims=1).rungs == ((4, 900),)
    assert plan(0, tuning=90, held_out=30, landmarks=3, aims=3).searches == 3 * 120


def test_a_budget_is_kept_by_fewer_trials() -> None:
    whole = plan(27, tuning=90, held_out=30, landmarks=2, aims=3)
    for budget in (240, 500, 700, 900, whole.searches):
        made = plan(27, tuning=90, held_out=30, landmarks=2, aims=3, budget=budget)
        assert made.searches <= budget
    assert made == whole
    with pytest.raises(ConfigError, match="the presets alone take 240") as caught:
        plan(27, tuning=90, held_out=30, landmarks=2, aims=3, budget=239)
    assert "--budget" in caught.value.hint


def test_no_more_is_asked_than_planned(tmp_path: Path) -> None:
    asks = Wide()
    made = tuning(asks, budget=300)
    made.run(tmp_path)
    assert 0 < len(asks.asked) <= made.plan.searches <= 300


# A run


def test_what_is_best_within_each_aim_is_chosen(tmp_path: Path) -> None:
    aims = (Aim("fast", 12), Aim("balanced", 50), Aim("thorough"), Aim("nothing", 1))
    made = tuning(Wide(), aims=aims)
    made.run(tmp_path)
    report = made.report()
    assert report["complete"]
    assert report["questions"] == {"tuning": 70, "held_out": 30}
    by_name = {trial["name"]: trial for trial in report["trials"]}
    chosen = {c["preset"]: c["trial"] for c in report["choices"]}
    assert chosen["fast"] == "fast"
    assert by_name[chosen["balanced"]]["changes"] == {"beam_width": 40}
    assert by_name[chosen["thorough"]]["changes"] == {"beam_width": 80}
    assert chosen["nothing"] is None
    widest = by_name[chosen["thorough"]]
    # All questions are right beyond a width of 49, and never surely so.
    assert (widest["tuning"]["quality"], widest["held_out"]["quality"]) == (1.0, 1.0)
    assert widest["held_out"]["n"] == 30
    assert widest["held_out"]["low"] == pytest.approx(0.8865, abs=1e-4)
    assert widest["tuning"]["texts"] == {"mean": 80.0, "p50": 80, "p95": 80}
    # Landmarks are asked everything; what was dropped early, little.
    assert by_name["balanced"]["held_out"]["n"] == 30
    told = {c["preset"]: c for c in report["choices"]}["thorough"]
    assert told["against"] == "balanced"
    assert told["difference"]["n"] == 30
    assert 0 < told["difference"]["low"] <= told["difference"]["difference"]
    assert {trial["name"] for trial in report["trials"] if trial["front"]} >= {
        "fast",
        "balanced",
        chosen["thorough"],
    }


def test_a_preset_stays_where_nothing_is_better_or_clearly_cheaper(tmp_path: Path) -> None:
    landmarks = {"balanced": SearchConfig(), "thorough": SearchConfig(beam_width=90)}
    drawn = [Trial(f"trial {w}", SearchConfig(beam_width=w)) for w in (60, 85)]
    made = Tuning(
        [pool(Wide())], landmarks, drawn, aims=(Aim("thorough"), Aim("balanced", 1000)), holdout=0.5
    )
    made.run(tmp_path)
    assert [c["trial"] for c in made.report()["choices"]] == ["thorough", "trial 60"]
    close = Tuning([pool(Wide())], landmarks, drawn[1:], aims=(Aim("thorough", 1000),), holdout=0.5)
    close.run(tmp_path)
    # 85 texts are not a tenth fewer than 90.
    assert [c["trial"] for c in close.report()["choices"]] == ["thorough"]


@pytest.mark.parametrize(("width", "stays"), [(21, True), (30, False)])
def test_a_preset_gives_way_to_what_is_better_by_more_than_a_standard_error(
    tmp_path: Path, width: int, stays: bool
) -> None:
    # Of 50 questions one more is right, or ten more are; one is a standard error.
    landmarks = {
        "balanced": SearchConfig(beam_width=1),
        "thorough": SearchConfig(beam_width=20),
    }
    drawn = [Trial("wider", SearchConfig(beam_width=width))]
    made = Tuning([pool(Wide(), 50)], landmarks, drawn, aims=(Aim("thorough"),), holdout=0.02)
    made.run(tmp_path)
    (choice,) = made.report()["choices"]
    assert choice["trial"] == ("thorough" if stays else "wider")


def test_the_same_seed_gives_the_same_report_and_file(tmp_path: Path) -> None:
    reports = []
    for folder in ("a", "b"):
        made = tuning(Wide(), seed=3)
        made.run(tmp_path / folder)
        reports.append(timeless(made.report()))
    assert reports[0] == reports[1]
    other = tuning(Wide(), seed=4)
    other.run(tmp_path / "c")
    assert timeless(other.report()) != reports[0]


CHILD = """
import json, pathlib, sys, tempfile
from tests.unit.test_evaluation_tune import Wide, timeless, tuning
made = tuning(Wide())
with tempfile.TemporaryDirectory() as folder:
    made.run(pathlib.Path(folder))
print(json.dumps(timeless(made.report())))
"""


def test_the_report_does_not_depend_on_the_seed_of_hashes() -> None:
    told = []
    for seed in ("0", "1"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", CHILD],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        told.append(done.stdout)
    assert told[0] == told[1] != ""


def test_several_sets_are_mixed_and_told_apart(tmp_path: Path) -> None:
    asks, others = Wide(), Wide()
    made = Tuning(
        [pool(asks, 30), pool(others, 60, name="other", graph="h")],
        {"balanced": SearchConfig()},
        [],
    )
    made.run(tmp_path)
    assert (len(asks.asked), len(others.asked)) == (30, 60)
    (trial,) = made.report()["trials"]
    assert {name: part["n"] for name, part in trial["tuning"]["sets"].items()} == {
        "made": 21,
        "other": 42,
    }


def test_answers_by_name_count_as_written(tmp_path: Path) -> None:
    landmarks = {"balanced": SearchConfig(beam_width=60)}
    by_id = Tuning([pool(Wide(), 20)], landmarks, [], metric="f1")
    by_name = Tuning([pool(Wide(), 20, by_name=True)], landmarks, [], metric="f1")
    for made in (by_id, by_name):
        made.run(tmp_path)
        assert made.report()["trials"][0]["tuning"]["quality"] == 1.0


def test_questions_that_nothing_answers_are_named(tmp_path: Path) -> None:
    made = Tuning([pool(Wide(), 50)], {"balanced": SearchConfig(beam_width=49)}, [], holdout=0.1)
    made.run(tmp_path)
    in_tuning = made.report()["unanswered"]
    other = Tuning([pool(Wide(), 50)], {"balanced": SearchConfig(beam_width=50)}, [], holdout=0.1)
    other.run(tmp_path)
    assert (in_tuning, other.report()["unanswered"]) == (["q:49"], [])
    narrow = Tuning([pool(Wide(), 50)], {"balanced": SearchConfig(beam_width=1)}, [], holdout=0.1)
    narrow.run(tmp_path)
    assert len(narrow.report()["unanswered"]) >= 44


# Going on


def test_an_interrupted_run_keeps_what_it_has_and_goes_on(tmp_path: Path) -> None:
    whole = Wide()
    made = tuning(whole)
    made.run(tmp_path / "whole")
    asks = Wide(stop_after=100)
    broken = tuning(asks)
    with pytest.raises(KeyboardInterrupt):
        broken.run(tmp_path / "broken")
    report = broken.report()
    assert not report["complete"]
    assert report["trials"]
    assert len((tmp_path / "broken" / ROWS_FILE).read_text().splitlines()) == 101
    asks.stop_after = None
    again = tuning(asks)
    again.run(tmp_path / "broken")
    # Nothing was asked twice, and the end is the same.
    assert len(asks.asked) == len(whole.asked)
    assert timeless(again.report()) == timeless(made.report())


def test_another_metric_and_other_aims_ask_little_anew(tmp_path: Path) -> None:
    asks = Wide()
    tuning(asks).run(tmp_path)
    before = len(asks.asked)
    tuning(asks, metric="mrr").run(tmp_path)
    assert len(asks.asked) == before
    tuning(asks).run(tmp_path, resume=False)
    assert len(asks.asked) == 2 * before


def test_searches_of_another_graph_are_not_taken_for_this_one(tmp_path: Path) -> None:
    asks = Wide()
    for graph in ("g", "h"):
        Tuning([pool(asks, 10, graph=graph)], {"balanced": SearchConfig()}, []).run(tmp_path)
    assert len(asks.asked) == 20


def test_an_interrupt_before_the_first_rung_is_done_chooses_nothing(tmp_path: Path) -> None:
    made = tuning(Wide(stop_after=3))
    with pytest.raises(KeyboardInterrupt):
        made.run(tmp_path)
    report = made.report()
    assert [c["trial"] for c in report["choices"]] == [None, None, None]
    assert sum(trial["tuning"]["n"] for trial in report["trials"]) == 3


def test_searches_of_another_program_are_refused(tmp_path: Path) -> None:
    (tmp_path / ROWS_FILE).write_text('{"fingerprint": "x", "versions": 1}\n')
    with pytest.raises(ConfigError, match="not the same"):
        tuning(Wide()).run(tmp_path)


# The picture


def test_the_picture_shows_every_trial_and_names_presets(tmp_path: Path) -> None:
    made = tuning(Wide())
    made.run(tmp_path)
    report = made.report()
    root = ElementTree.fromstring(curve_svg(report))
    space = "{http://www.w3.org/2000/svg}"
    titles = [e.text or "" for e in root.iter(f"{space}title")]
    assert len(titles) == 2 * len(report["trials"])
    assert any("beam_width 80" in title for title in titles)
    texts = [e.text for e in root.iter(f"{space}text")]
    assert texts.count("fast") == texts.count("balanced") == 2
    assert "hit@1 on 70 questions of made" in texts
    # Of what was asked most, the best is the highest: a smaller y.
    lines = root.findall(f"{space}polyline")
    points = [tuple(map(float, p.split(","))) for p in lines[0].attrib["points"].split()]
    assert points == sorted(points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)


def test_a_picture_of_nothing_is_whole() -> None:
    empty = {"trials": [], "metric": "hit@1", "sets": []}
    ElementTree.fromstring(curve_svg(empty))
