"""Fronts of quality and cost, by hand."""

from __future__ import annotations

from pathrag_gds.evaluation.front import front, most_promising

POINTS = {
    "cheap": (0.5, 10.0),
    "middle": (0.7, 20.0),
    "best": (0.9, 80.0),
    "dear": (0.9, 90.0),
    "worse": (0.6, 30.0),
    "worst": (0.4, 95.0),
}


def test_the_front_is_what_nothing_beats_by_rising_cost() -> None:
    assert front(POINTS) == ("cheap", "middle", "best")
    assert front({}) == ()


def test_equal_points_are_all_on_the_front() -> None:
    assert front({"b": (1.0, 5.0), "a": (1.0, 5.0), "c": (1.0, 6.0)}) == ("a", "b")


def test_front_after_front_is_kept() -> None:
    assert most_promising(POINTS, 3) == ("best", "cheap", "middle")
    # The second front is worse and dear; a part of it is its two ends.
    assert most_promising(POINTS, 5) == ("best", "cheap", "middle", "dear", "worse")
    assert set(most_promising(POINTS, 9)) == set(POINTS)
    assert most_promising(POINTS, 0) == ()


def test_of_a_front_that_is_too_long_those_that_stand_apart_are_kept() -> None:
    line = {"a": (0.0, 0.0), "b": (0.1, 1.0), "c": (0.2, 2.0), "d": (0.8, 8.0), "e": (1.0, 10.0)}
    # d lies between c and e, 0.8 away from each other on both axes; b between a and c, 0.2.
    assert most_promising(line, 2) == ("a", "e")
    assert most_promising(line, 4) == ("a", "e", "d", "c")


def test_names_break_ties_whatever_the_order_they_come_in() -> None:
    backwards = dict(sorted(POINTS.items(), reverse=True))
    assert most_promising(backwards, 4) == most_promising(POINTS, 4)
