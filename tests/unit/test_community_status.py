"""Who moved between two partitions, whatever the communities are called."""

from __future__ import annotations

from pathrag_gds.communities.status import count_moved


def test_other_names_are_no_move() -> None:
    assert count_moved({"a": "1", "b": "1", "c": "2"}, {"a": 7, "b": 7, "c": 0}) == 0


def test_who_is_elsewhere_has_moved() -> None:
    then = {"a": "1", "b": "1", "c": "1", "d": "2", "e": "2"}
    assert count_moved(then, {"a": 0, "b": 0, "c": 1, "d": 1, "e": 1}) == 1


def test_a_community_that_went_apart_is_matched_with_its_larger_part() -> None:
    then = dict.fromkeys("abcde", "1")
    assert count_moved(then, {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1}) == 2


def test_two_communities_that_became_one_keep_the_larger() -> None:
    then = {"a": "1", "b": "1", "c": "2"}
    assert count_moved(then, dict.fromkeys("abc", 0)) == 1


def test_only_who_is_in_both_counts() -> None:
    assert count_moved({"a": "1", "b": "1"}, {"b": 0, "c": 1}) == 0
    assert count_moved({}, {}) == 0
