"""Figures of merit against values worked out by hand."""

from __future__ import annotations

import pytest

from pathrag_gds.evaluation.metrics import (
    Bin,
    Calibration,
    calibration,
    cause_of_loss,
    exact_set,
    hit_at,
    mean,
    node_recall_at,
    paired_bootstrap,
    path_recall_at,
    percentile,
    recall_at,
    reciprocal_rank,
    set_f1,
    survival,
    wilson,
)
from pathrag_gds.types import Chain, DepthTrace, Edge, Hop, Path, Step, TracedPath


def path(*steps: str) -> Path:
    """Make a path of ``a>R>b`` (forwards) or ``a<R<b`` (backwards)."""
    made = Path((steps[0][0],))
    for step in steps:
        head, type_, tail = step[0], step[2:-2], step[-1]
        forward = step[1] == ">"
        source, target = (head, tail) if forward else (tail, head)
        made = made.extend(Hop(Edge(f"{source}{type_}{target}", source, target, type_), forward))
    return made


def level(depth: int, kept: list[Path], cut: list[Path] | None = None) -> DepthTrace:
    return DepthTrace(
        depth,
        (
            *(TracedPath(p, 0.5, 0.5) for p in kept),
            *(TracedPath(p, 0.5, 0.5, "beam_width") for p in cut or []),
        ),
    )


A = Path(("a",))
GOLD = path("a>R>b", "b>S>c")


def test_hits_and_reciprocal_rank() -> None:
    ranked = ["x", "y", "b", "c"]
    assert hit_at(ranked, {"b", "c"}, 1) == 0.0
    assert hit_at(ranked, {"b", "c"}, 3) == 1.0
    assert reciprocal_rank(ranked, {"b", "c"}) == pytest.approx(1 / 3)
    assert reciprocal_rank(ranked, {"z"}) == 0.0
    assert hit_at([], {"b"}, 5) == 0.0


def test_recall_counts_as_much_as_k_can_hold() -> None:
    assert recall_at(["a", "x", "b"], {"a", "b", "c"}, 2) == 0.5
    assert recall_at(["a", "x", "b"], {"a", "b", "c"}, 3) == pytest.approx(2 / 3)
    assert recall_at(["a"], set(), 5) is None


def test_sets() -> None:
    assert set_f1({"a", "b"}, {"b", "c", "d"}) == pytest.approx(0.4)
    assert set_f1(set(), {"a"}) == 0.0
    assert set_f1(set(), set()) == 1.0
    assert exact_set(["b", "a"], {"a", "b"}) == 1.0
    assert exact_set(["a"], {"a", "b"}) == 0.0


def test_paths_are_equal_by_relationships_or_by_nodes() -> None:
    twin = path("a<T<b", "b>S>c")
    assert path_recall_at([twin, GOLD], [GOLD], 1) == 0.0
    assert path_recall_at([twin, GOLD], [GOLD], 2) == 1.0
    assert node_recall_at([twin, GOLD], [GOLD], 1) == 1.0
    # Walked the other way it is made of the same relationships, but is another row of nodes.
    backwards = path("c<S<b", "b<R<a")
    assert path_recall_at([backwards], [GOLD], 1) == 1.0
    assert node_recall_at([backwards], [GOLD], 1) == 0.0


def test_a_path_may_come_from_further_away_but_not_go_on() -> None:
    longer = path("x>Q>a", "a>R>b", "b>S>c")
    overshot = path("a>R>b", "b>S>c", "c>T>d")
    for recall in (path_recall_at, node_recall_at):
        assert recall([longer], [GOLD], 1) == 1.0
        assert recall([overshot], [GOLD], 1) == 0.0
        assert recall([path("b>S>c")], [GOLD], 1) == 0.0
        assert recall([A], [A], 1) == 1.0
        assert recall([longer], [], 1) is None
    two = [GOLD, path("a>R>b", "b>S>e")]
    assert path_recall_at([GOLD, longer], two, 5) == 0.5
    assert path_recall_at([GOLD], two, 1) == 1.0


def test_survival_of_the_beginnings() -> None:
    one = path("a>R>b")
    assert survival([GOLD], [level(0, [A]), level(1, [one]), level(2, [], [GOLD])]) == (
        True,
        True,
        True,
    )
    assert survival([GOLD], [level(0, [A]), level(1, [], [one])]) == (True, False, False)
    assert survival([], [level(0, [A])]) == ()


def test_survival_counts_the_gold_paths_that_are_long_enough() -> None:
    short = path("a>R>b")
    trace = [level(0, [A]), level(1, [], [short])]
    # The short one was scored at its end; the long one's beginning was cut there.
    assert survival([short, GOLD], trace) == (True, True, False)


@pytest.mark.parametrize(
    ("trace", "cause"),
    [
        ([level(0, [Path(("x",))])], "linking"),
        ([level(0, [], [A])], "prefix cut"),
        ([level(0, [A]), level(1, [path("a>Q>x")])], "expansion"),
        ([level(0, [A]), level(1, [path("a>Q>x")], [path("a>R>b")])], "prefix cut"),
        ([level(0, [A]), level(1, [path("a>R>b")]), level(2, [])], "expansion"),
        ([level(0, [A]), level(1, [path("a>R>b")]), level(2, [], [GOLD])], "ranking"),
    ],
)
def test_cause_of_a_loss(trace: list[DepthTrace], cause: str) -> None:
    found = cause_of_loss([GOLD], trace, answers={"c"}, reachable=True, topics_known=True)
    assert found == cause


def test_what_cannot_be_reached_is_lost_to_the_ceiling() -> None:
    trace = [level(0, [A])]
    assert (
        cause_of_loss([GOLD], trace, answers={"c"}, reachable=False, topics_known=True) == "ceiling"
    )


def test_of_several_gold_paths_the_furthest_counts() -> None:
    other = path("d>R>c")
    trace = [level(0, [A]), level(1, [], [path("a>R>b")])]
    assert (
        cause_of_loss([other, GOLD], trace, answers={"c"}, reachable=True, topics_known=True)
        == "prefix cut"
    )


def test_an_answer_met_on_another_way_is_a_matter_of_ranking_where_no_topic_is_known() -> None:
    trace = [level(0, [Path(("x",))]), level(1, [path("x>R>c")])]
    for known, cause in ((False, "ranking"), (True, "linking")):
        found = cause_of_loss([GOLD], trace, answers={"c"}, reachable=True, topics_known=known)
        assert found == cause


def test_calibration_by_hand() -> None:
    pairs = [(0.95, 1.0), (0.85, 1.0), (0.85, 0.0), (0.12, 0.0), (1.0, 1.0)]
    found = calibration(pairs)
    assert found.bins == (
        Bin(0.1, 0.2, 1, 0.12, 0.0),
        Bin(0.8, 0.9, 2, 0.85, 0.5),
        Bin(0.9, 1.0, 2, 0.975, 1.0),
    )
    # 1 × 0.12 + 2 × 0.35 + 2 × 0.025, over 5
    assert found.error == pytest.approx(0.174)
    assert calibration([]) == Calibration(None)


def test_calibration_takes_labels_between_right_and_wrong() -> None:
    found = calibration([(0.1, 0.0), (0.4, 0.5), (0.45, 1.0)], bins=2)
    assert found.bins == (Bin(0.0, 0.5, 3, 0.316667, 0.5),)
    assert found.to_dict() == {
        "error": 0.183333,
        "bins": [{"low": 0.0, "high": 0.5, "count": 3, "confidence": 0.316667, "accuracy": 0.5}],
    }


def test_means_leave_out_what_is_not_there() -> None:
    assert mean([1.0, None, 0.0]) == 0.5
    assert mean([None]) is None


def test_percentiles_are_values() -> None:
    values = [float(n) for n in range(1, 21)]
    assert (percentile(values, 0.5), percentile(values, 0.95), percentile(values, 1.0)) == (
        10.0,
        19.0,
        20.0,
    )
    assert percentile([3.0], 0.05) == 3.0


def test_bootstrap_pairs_questions() -> None:
    first = [0.0, 1.0] * 50
    # The second is right where the first is, and on ten more of a hundred.
    second = [1.0 if i < 20 else value for i, value in enumerate(first)]
    interval = paired_bootstrap(first, second, seed=1, resamples=2000)
    assert (interval.first, interval.second) == (0.5, 0.6)
    assert interval.difference == pytest.approx(0.1)
    # Binomial: 0.1 ± 1.96 × 0.03
    assert interval.low == pytest.approx(0.04, abs=0.015)
    assert interval.high == pytest.approx(0.16, abs=0.015)
    assert interval == paired_bootstrap(first, second, seed=1, resamples=2000)


def test_equal_runs_differ_by_nothing() -> None:
    interval = paired_bootstrap([0.0, 1.0], [0.0, 1.0], resamples=100)
    assert (interval.difference, interval.low, interval.high) == (0.0, 0.0, 0.0)


def test_a_gold_path_survives_where_its_chain_does() -> None:
    hops = (Hop(Edge("k1", "a", "b", "R"), True), Hop(Edge("k2", "c", "b", "S"), False))
    gold = Path(("a", "b", "c"), hops)

    def told(depth: int, reason: str) -> DepthTrace:
        other = Path(("a", "x", "y")[: depth + 1])
        steps = (Step("R", True, "cat"), Step("S", False))[:depth]
        return DepthTrace(depth, (TracedPath(other, 0.5, 0.5, reason, Chain("a", steps)),))

    def cause(trace: list[DepthTrace]) -> str:
        return cause_of_loss([gold], trace, answers=["c"], reachable=True, topics_known=True)

    whole = [told(0, ""), told(1, ""), told(2, "beam_width")]
    assert survival([gold], whole) == (True, True, True)
    assert cause(whole) == "ranking"
    cut = [told(0, ""), told(1, "beam_width")]
    assert survival([gold], cut) == (True, False, False)
    assert cause(cut) == "prefix cut"
    assert cause(whole[:2]) == "expansion"


def test_the_interval_of_a_share() -> None:
    # Worked by hand from Wilson's formula with z = 1.96.
    assert wilson(0.5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(1.0, 30) == pytest.approx((0.8865, 1.0), abs=1e-4)
    assert wilson(0.0, 30) == pytest.approx((0.0, 0.1135), abs=1e-4)
    assert wilson(0.0, 0) == (0.0, 1.0)
