"""Platt scaling, and the figures of a ranking, against values made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pathrag_gds.models.training.batches import TokenisedGroups
from pathrag_gds.models.training.calibrate import platt
from pathrag_gds.models.training.measures import area_under_curve, measure, measure_by_source


def groups_of(
    sizes: list[int], answer: list[float], prefix: list[float], sources: tuple[str, ...]
) -> TokenisedGroups:
    pairs = len(answer)
    return TokenisedGroups(
        tokens=np.zeros(pairs, np.uint16),
        pair_starts=np.arange(pairs + 1),
        group_starts=np.cumsum([0, *sizes]),
        answer=np.array(answer, np.float32),
        prefix=np.array(prefix, np.float32),
        sources=sources,
    )


def test_platt_finds_the_line_that_made_the_labels() -> None:
    random = np.random.default_rng(0)
    logits = random.normal(0, 3, 40_000)
    labels = random.random(40_000) < 1 / (1 + np.exp(-(0.6 * logits - 1.2)))
    found = platt(logits, labels.astype(float))
    assert found.slope == pytest.approx(0.6, abs=0.03)
    assert found.intercept == pytest.approx(-1.2, abs=0.05)


def test_platt_of_separable_labels_is_finite() -> None:
    found = platt([-4.0, -3.0, 3.0, 4.0], [0, 0, 1, 1])
    assert 0 < found.slope < 2
    assert found.apply(0.5) == pytest.approx(0.5, abs=1e-6)


def test_platt_never_turns_the_order_round() -> None:
    found = platt([-1.0, -0.5, 0.5, 1.0], [1, 1, 0, 0])
    assert found.slope == 1e-3
    assert found.apply(0.9) >= found.apply(0.1)


@pytest.mark.parametrize("labels", [[], [0, 0], [1, 1]])
def test_platt_learns_nothing_from_one_kind(labels: list[float]) -> None:
    found = platt([0.3] * len(labels), labels)
    assert (found.slope, found.intercept) == (1, 0)


def test_platt_of_extreme_logits_is_finite() -> None:
    found = platt([-1000.0, 1000.0, -900.0, 900.0] * 10, [0, 1, 1, 0] * 10)
    assert np.isfinite([found.slope, found.intercept]).all()


def test_the_area_counts_ties_half() -> None:
    assert area_under_curve([1, 2, 3, 4], [0, 0, 1, 1]) == 1
    assert area_under_curve([4, 3, 2, 1], [0, 0, 1, 1]) == 0
    assert area_under_curve([1, 1, 1, 2], [0, 1, 0, 1]) == pytest.approx(0.75)
    assert area_under_curve([1, 2], [1, 1]) is None


def test_figures_of_groups() -> None:
    data = groups_of(
        [2, 2, 2, 3],
        [1, 0, 0, 1, 0, 0, 1, 0, 0],
        [1, 0, 0, 1, 1, 0, 1, 1, 0],
        ("a", "a", "b", "b"),
    )
    logits = np.array(
        [
            [2, 2], [1, 1],  # right, right
            [2, 2], [1, 1],  # wrong, wrong
            [2, 2], [1, 1],  # no answer, prefix right
            [5, 0], [5, 0], [0, 9],  # a tie of right and wrong, prefix wrong
        ],
        np.float32,
    )  # fmt: skip
    found = measure(logits, data)
    assert (found.groups, found.hit, found.prefix_hit) == (4, 0.5, 0.5)
    by_source = measure_by_source(logits, data)
    assert by_source["a"].to_dict() == {
        "groups": 2,
        "hit": 0.5,
        "prefix_hit": 0.5,
        "area": 0.5,
    }
    assert by_source["b"].hit == 0.5


def test_figures_without_anything_right() -> None:
    data = groups_of([2], [0, 0], [0, 0], ("a",))
    found = measure(np.zeros((2, 2), np.float32), data)
    assert (found.hit, found.prefix_hit, found.area) == (None, None, None)
    assert found.to_dict()["hit"] is None
