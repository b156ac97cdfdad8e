"""Runs of questions against a graph in memory: rows, summaries, resuming, opponents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import ConfigError, LoadError
from pathrag_gds.evaluation.datasets.dataset import Dataset
from pathrag_gds.evaluation.graph import Graph
from pathrag_gds.evaluation.probe import Probe
from pathrag_gds.evaluation.questions import Question
from pathrag_gds.evaluation.results import ResultsFile, read_rows
from pathrag_gds.evaluation.run import (
    Selection,
    combine,
    compare,
    run_system,
    run_without_gold,
    write_summary,
)
from pathrag_gds.evaluation.systems import (
    OPPONENTS,
    Asked,
    Opponent,
    RandomReranker,
    Ranking,
    Setting,
    WordOverlapReranker,
    find_opponent,
)
from pathrag_gds.ingest.rows import relationship_row
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.models.reranker import Reranker
from pathrag_gds.retrieve.search import run, search
from pathrag_gds.types import DepthTrace, Edge, Explanation, Hop
from pathrag_gds.types import Path as GraphPath
from tests.fakes import MemoryGraph, RecordingDatabase
from tests.searching import context

FACTS = [("anna", "child", "ben"), ("ben", "wife", "cleo"), ("ben", "house", "hut")]
CHILD = (("child", True),)
WIFE = (("child", True), ("wife", True))


class MemorySearch:
    """The search on a graph in memory; relationships that a filter hides are left out."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self.asked: list[str] = []

    def explain(
        self,
        question: str,
        *,
        tenant: str | None = None,
        config: SearchConfig | None = None,
        start_ids: Sequence[str] = (),
        **overrides: Any,
    ) -> Explanation:
        self.asked.append(question)
        config = config or SearchConfig()
        hidden = set(config.relationship_filter.get("key", {}).get("$nin", ()))
        facts = [fact for fact in FACTS if json.dumps(fact).replace(", ", ",") not in hidden]
        rows = [(*fact, {"key": json.dumps(fact).replace(", ", ",")}) for fact in facts]
        graph = MemoryGraph(rows, seeds=["hut"], nodes={"anna": {}, "cleo": {}})
        trace: list[DepthTrace] = []
        made = replace(context(graph, self._reranker), tenant=tenant or "t")
        steps = search(question, config, made, trace, start_ids=start_ids)
        return Explanation(run(RecordingDatabase(graph.answers), steps), tuple(trace))


def dataset(*questions: Question) -> Dataset:
    graph = Graph()
    for fact in FACTS:
        graph.add(relationship_row(*fact, {}))
    return Dataset("tale", questions, "digest", graph=graph, conditions=("plain", "given"))


ASKED = (
    Question(
        "tale:1",
        "the child of [Anna] ?",
        frozenset({("ben", "")}),
        topics=("anna",),
        chains=(CHILD,),
        groups=("one",),
    ),
    Question(
        "tale:2",
        "whom does it please ?",
        frozenset({("cleo", "")}),
        topics=("anna",),
        chains=(WIFE,),
        groups=("two",),
    ),
)


def setting(*questions: Question, condition: Any = "plain", **config: Any) -> Setting:
    return Setting(
        dataset(*(questions or ASKED)),
        condition,
        SearchConfig(max_depth=2, min_score=0.0, min_prefix=0.0, **config),
        load_encoder(None),
        WordOverlapReranker(),
        tenant="t",
        ask_with=MemorySearch,
    )


def go(
    made: Setting, folder: Path, opponent: Opponent | None = None, **options: Any
) -> dict[str, Any]:
    selection = Selection.of(made.dataset.questions, buckets=range(10))
    opponent = opponent or made.system(made.reranker, "path")
    return run_system(made, selection, opponent, folder, method="path", **options)


def rows_of(folder: Path) -> dict[str, dict[str, Any]]:
    return read_rows(folder / "tale.plain.path.jsonl")[1]


# Rows and summaries


def test_rows_tell_how_each_question_went(tmp_path: Path) -> None:
    go(setting(), tmp_path)
    first, second = rows_of(tmp_path).values()
    assert {first["id"], second["id"]} == {"tale:1", "tale:2"}
    won, lost = (rows_of(tmp_path)[id_] for id_ in ("tale:1", "tale:2"))
    assert won["text"] == "the child of anna?"
    assert (won["hit@1"], won["mrr"], won["f1"], won["path_recall@1"]) == (1.0, 1.0, 1.0, 1.0)
    assert (won["survival"], won["anchor_recall"]) == ([True, True], 1.0)
    assert "lost" not in won
    # The plain text of the second names nobody, and "hut" is the only seed.
    assert (lost["hit@1"], lost["lost"], lost["survival"][0]) == (0.0, "linking", False)
    assert lost["anchor_recall"] == 0.0


def test_a_given_topic_is_linked_whatever_the_text(tmp_path: Path) -> None:
    go(setting(condition="given"), tmp_path)
    row = read_rows(tmp_path / "tale.given.path.jsonl")[1]["tale:2"]
    assert (row["survival"], row["anchor_recall"]) == ([True, True, True], 1.0)
    assert row["lost"] == "ranking"


def test_summary_adds_the_rows_up(tmp_path: Path) -> None:
    summary = go(setting(), tmp_path, command="pathrag eval tale")
    assert {key: summary[key] for key in ("dataset", "split", "condition", "n", "ceiling")} == {
        "dataset": "tale",
        "split": "all",
        "condition": "plain",
        "n": 2,
        "ceiling": 1.0,
    }
    assert (summary["metrics"]["hit@1"], summary["metrics"]["anchor_recall"]) == (0.5, 0.5)
    assert summary["survival"] == [0.5, 0.5, 0.0]
    assert summary["lost"] == {"linking": 1}
    assert summary["groups"]["one"] == {
        "n": 1,
        "ceiling": 1.0,
        "metrics": {"hit@1": 1.0, "hit@5": 1.0, "mrr": 1.0, "path_recall@5": 1.0},
        "outcomes": {"answered": 1},
    }
    assert summary["config"]["max_depth"] == 2
    assert summary["command"] == "pathrag eval tale"
    assert summary["cost"]["round_trips"]["p50"] == 6
    written = write_summary(tmp_path, summary)
    assert written.with_suffix(".svg").exists() == bool(summary["calibration"]["bins"])
    assert written.name == "tale.plain.path.json"
    assert json.loads(written.read_text())["metrics"] == summary["metrics"]


PROBED = (
    Question(
        "tale:p1",
        "the child of anna",
        frozenset({("ben", "")}),
        topics=("anna",),
        groups=("control",),
        probe=Probe("control", "entities", ("anna",), ids=frozenset({"ben"})),
    ),
    Question(
        "tale:p2",
        "how many children has anna",
        frozenset(),
        topics=("anna",),
        groups=("count",),
        probe=Probe("count", "number", ("anna",), values=(1,)),
    ),
)


def shapeless(*questions: Question) -> Setting:
    """Ask as if every question led to the end of a path, so that a count is missed."""
    made = setting(*questions)
    return replace(made, config=made.config.with_(intent="off"))


def test_probes_are_judged_by_what_their_shape_expects(tmp_path: Path) -> None:
    summary = go(shapeless(*PROBED), tmp_path)
    rows = rows_of(tmp_path)
    assert (rows["tale:p1"]["right"], rows["tale:p1"]["hit@1"]) == (1.0, 1.0)
    # A number is nothing of the graph: there is no entity to hit, and none to have lost.
    assert rows["tale:p2"]["right"] == 0.0
    assert not rows["tale:p2"].keys() & {"hit@1", "mrr", "f1", "lost"}
    assert rows["tale:p2"]["reachable"] is True
    assert (summary["metrics"]["right"], summary["metrics"]["hit@1"]) == (0.5, 1.0)
    assert summary["groups"]["count"]["metrics"]["right"] == 0.0
    assert sum(summary["groups"]["count"]["outcomes"].values()) == 1
    file = tmp_path / "tale.plain.path.jsonl"
    told = compare(file, file)
    assert (told["n"], told["metrics"]["right"]["first"]) == (2, 0.5)
    assert told["metrics"]["hit@1"]["first"] == 1.0


def test_parts_are_summed_up_as_one(tmp_path: Path) -> None:
    first = shapeless(*PROBED)
    other = replace(first, dataset=replace(dataset(*ASKED), name="other"))
    summaries = [go(made, tmp_path) for made in (first, other)]
    # Rows that a run of more questions left behind are no part of this one.
    summaries[1]["n"] = 1
    (whole,) = combine("both", summaries, tmp_path)
    assert (whole["dataset"], whole["n"], whole["metrics"]["right"]) == ("both", 3, 0.5)
    assert whole["groups"]["control"]["n"] == 1
    assert whole["parts"] == ["tale.plain.path.jsonl", "other.plain.path.jsonl"]
    assert "results" not in whole
    assert write_summary(tmp_path, whole).name == "both.plain.path.json"


def test_another_group_is_counted_apart_with_its_ceiling() -> None:
    made = dataset(*ASKED)
    selection = Selection.of(made.questions, buckets=range(10), group="one", limit=5)
    assert [q.id for q in selection.questions] == ["tale:1"]
    assert {name: len(qs) for name, qs in selection.apart.items()} == {"two": 1}


def test_apart_is_in_the_summary(tmp_path: Path) -> None:
    made = setting()
    made = replace(made, config=made.config.with_(max_depth=1))
    selection = Selection.of(made.dataset.questions, buckets=range(10), group="one")
    summary = run_system(
        made, selection, made.system(made.reranker, "path"), tmp_path, method="path"
    )
    assert summary["n"] == 1
    assert summary["apart"] == {"two": {"n": 1, "ceiling": 0.0}}


# Going on


class Stubborn:
    """Stops the run at its second question."""

    name = "path"
    fingerprint = "s"

    def __init__(self) -> None:
        self.count = 0

    def rank(self, asked: Asked) -> Ranking:
        self.count += 1
        if self.count == 2:
            raise KeyboardInterrupt
        return Ranking((("ben", ""),))


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    opponent = Stubborn()
    with pytest.raises(KeyboardInterrupt):
        go(setting(), tmp_path, opponent)
    assert len(rows_of(tmp_path)) == 1
    summary = go(setting(), tmp_path, opponent)
    assert (opponent.count, summary["n"]) == (3, 2)


def test_a_line_that_was_cut_off_is_written_again(tmp_path: Path) -> None:
    go(setting(), tmp_path)
    path = tmp_path / "tale.plain.path.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    made = setting()
    again = go(made, tmp_path)
    assert again["n"] == 2
    assert len(path.read_bytes().splitlines()) == 3


def test_results_of_another_setting_are_refused(tmp_path: Path) -> None:
    go(setting(), tmp_path)
    with pytest.raises(ConfigError, match="not the same config") as caught:
        go(setting(beam_width=7), tmp_path)
    assert "--output DIR" in caught.value.hint
    assert go(setting(beam_width=7), tmp_path, resume=False)["n"] == 2


def test_a_file_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n')
    with pytest.raises(LoadError, match="no results of pathrag eval"):
        ResultsFile(path, {"fingerprint": "f"})
    path.write_text("")
    with pytest.raises(LoadError, match="holds no results"):
        read_rows(path)


# Opponents


def test_floors_are_our_search_with_another_reranker(tmp_path: Path) -> None:
    made = setting()
    assert set(OPPONENTS) >= {"random", "word-overlap", "cosine"}
    opponent = find_opponent("word-overlap")(made)
    assert opponent.name == "word-overlap"
    asked = Asked(ASKED[0], "the child of anna?")
    assert opponent.rank(asked).answers[0] == ("ben", "")
    with pytest.raises(ConfigError, match="no opponent 'nobody'"):
        find_opponent("nobody")


def test_chance_depends_on_seed_question_and_text_alone() -> None:
    scores = RandomReranker(1).score("q", ["a", "b", "a"])
    assert scores[0] == scores[2] != scores[1]
    assert RandomReranker(1).score("q", ["b"]) == [scores[1]]
    assert RandomReranker(2).score("q", ["a"]) != [scores[0]]
    many = RandomReranker(3).score("q", [str(i) for i in range(1000)])
    assert sum(s.answer for s in many) / 1000 == pytest.approx(0.5, abs=0.03)


def test_word_overlap_is_the_share_of_the_questions_words() -> None:
    scores = WordOverlapReranker().score("Who is Bob's cat?", ["bob has a cat", "", "who is s"])
    assert [s.answer for s in scores] == [0.4, 0.0, 0.6]
    assert WordOverlapReranker().score("?!", ["a"])[0].answer == 0.0


def test_an_opponent_without_paths_is_measured_by_its_answers(tmp_path: Path) -> None:
    class Constant:
        name = "constant"
        fingerprint = "c"

        def rank(self, asked: Asked) -> Ranking:
            return Ranking((("hut", ""), ("ben", "")), frozenset({("hut", ""), ("ben", "")}))

    summary = go(setting(), tmp_path, Constant())
    assert summary["metrics"] == {
        "hit@1": 0.0,
        "hit@5": 0.5,
        "mrr": 0.25,
        "f1": pytest.approx(0.3333),
        "exact_set": 0.0,
        "answered": 1.0,
    }
    assert summary["calibration"] == {"error": None, "bins": []}


def test_candidates_are_put_in_order_by_the_reranker_alone(tmp_path: Path) -> None:
    def path(type_: str, end: str) -> GraphPath:
        return GraphPath(("bo",)).extend(Hop(Edge(f"{type_}{end}", "bo", end, type_), True))

    asked = Question(
        "tale:1",
        "who is the sister of bo",
        frozenset({("ann", "")}),
        candidates=(path("brother", "cy"), path("sister", "ann"), path("aunt", "dee")),
        groups=("mixed",),
    )
    made = replace(setting(asked), ask_with=None, tenant="")
    summary = go(made, tmp_path)
    assert summary["metrics"]["hit@1"] == summary["metrics"]["right_path@1"] == 1.0
    assert rows_of(tmp_path)["tale:1"]["answers"] == [["ann", ""], ["cy", ""], ["dee", ""]]
    assert summary["cost"]["texts_scored"]["mean"] == 3


# Without the gold


def test_gold_relationships_are_hidden_not_deleted(tmp_path: Path) -> None:
    made = setting(ASKED[0])
    made = replace(made, config=made.config.with_(min_score=0.4))
    summary = go(made, tmp_path)
    assert summary["outcomes"] == {"answered": 1}
    selection = Selection.of(made.dataset.questions, buckets=range(10))
    told = run_without_gold(
        made, selection, lambda s: s.system(s.reranker, "path"), tmp_path, method="path"
    )
    assert (told["n"], told["not_in_graph"], told["lost"]) == (1, 1.0, 0.0)
    assert told["thresholds"][0] == {
        "min_score": 0.4,
        "unanswered": 1.0,
        "lost": 0.0,
        "lost_right": 0.0,
    }
    # Two of the question's four words are in the path's text.
    lost = {t["min_score"]: t["lost"] for t in told["thresholds"]}
    assert (lost[0.5], lost[0.55]) == (0.0, 1.0)


# Two runs


def test_runs_are_compared_over_their_common_questions(tmp_path: Path) -> None:
    class Fixed:
        fingerprint = "f"

        def __init__(self, name: str, answer: str) -> None:
            self.name, self._answer = name, answer

        def rank(self, asked: Asked) -> Ranking:
            return Ranking(((self._answer, ""),))

    go(setting(), tmp_path / "a", Fixed("a", "hut"))
    go(setting(), tmp_path / "b", Fixed("b", "ben"))
    told = compare(*(tmp_path / name / "tale.plain.path.jsonl" for name in "ab"))
    assert told["n"] == 2
    hit = told["metrics"]["hit@1"]
    assert (hit["first"], hit["second"], hit["difference"]) == (0.0, 0.5, 0.5)
    assert (hit["low"], hit["high"]) == (0.0, 1.0)
    assert told["first"]["method"] == "path"


def test_runs_without_a_common_question_cannot_be_compared(tmp_path: Path) -> None:
    go(setting(ASKED[0]), tmp_path / "a")
    go(setting(ASKED[1]), tmp_path / "b")
    with pytest.raises(ConfigError, match="no question in common"):
        compare(*(tmp_path / name / "tale.plain.path.jsonl" for name in "ab"))
