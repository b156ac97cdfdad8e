"""Reciprocal rank fusion: worked by hand."""

from __future__ import annotations

import itertools
import math

import pytest

from pathrag_gds.answer.fuse import FUSION_K, FusedItem, Place, fuse_rankings
from pathrag_gds.retrieve.seeds import fuse

RANKINGS = {"paths": ["a", "b", "c"], "vector": ["b", "d"], "text": ["c", "b"]}


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    # b: 1/62 + 1/61 + 1/62; c: 1/63 + 1/61; a: 1/61; d: 1/62.
    fused = fuse_rankings(RANKINGS)
    assert [(item.id, round(item.score, 9)) for item in fused] == [
        ("b", 0.048651507),
        ("c", 0.032266458),
        ("a", 0.016393443),
        ("d", 0.016129032),
    ]


def test_each_item_says_which_rankings_brought_it_and_at_what_rank() -> None:
    fused = {item.id: item for item in fuse_rankings(RANKINGS)}
    assert fused["b"].places == (
        Place("paths", 2, 1 / 62),
        Place("vector", 1, 1 / 61),
        Place("text", 2, 1 / 62),
    )
    assert fused["d"] == FusedItem("d", 1 / 62, (Place("vector", 2, 1 / 62),))


def test_weights_and_the_constant() -> None:
    # k = 1: a is 3/2 + 1/3 = 11/6, b is 3/3 + 1/2 = 3/2; by text alone b would win.
    fused = fuse_rankings({"paths": ["a", "b"], "text": ["b", "a"]}, weights={"paths": 3}, k=1)
    assert [item.id for item in fused] == ["a", "b"]
    assert [item.score for item in fused] == pytest.approx([11 / 6, 3 / 2])
    assert [place.share for place in fused[0].places] == [3 / 2, 1 / 3]


def test_a_constant_of_zero_gives_plain_reciprocal_ranks() -> None:
    fused = fuse_rankings({"x": ["a", "b"]}, k=0)
    assert [(item.id, item.score) for item in fused] == [("a", 1.0), ("b", 0.5)]


def test_the_constant_is_that_of_the_paper() -> None:
    assert FUSION_K == 60
    assert fuse_rankings({"x": ["a"]})[0].score == 1 / 61


def test_a_ranking_of_weight_zero_brings_nothing() -> None:
    assert fuse_rankings(RANKINGS, weights={"vector": 0}) == fuse_rankings(
        {name: RANKINGS[name] for name in ("paths", "text")}
    )


def test_ties_go_to_the_smaller_id() -> None:
    fused = fuse_rankings({"x": ["b", "a"], "y": ["a", "b"], "z": ["d"], "w": ["c"]})
    assert [item.id for item in fused] == ["a", "b", "c", "d"]
    assert fused[0].score == fused[1].score
    assert fused[2].score == fused[3].score


def test_the_order_of_the_rankings_changes_no_score() -> None:
    # Added from the left, these eight terms differ in the last digit from order to order.
    ranks = [1, 3, 10, 7, 2, 31, 5, 13]
    rankings = {str(r): [*(f"{r}-{i}" for i in range(r - 1)), "x"] for r in ranks}
    sums = set()
    added = set()
    for order in itertools.islice(itertools.permutations(rankings), 0, 40_320, 1_009):
        fused = fuse_rankings({name: rankings[name] for name in order})
        sums.add(next(item.score for item in fused if item.id == "x"))
        total = 0.0
        for name in order:
            total += 1 / (60 + int(name))
        added.add(total)
    assert sums == {math.fsum(1 / (60 + r) for r in ranks)}
    assert len(added) > 1


def test_an_id_that_comes_again_counts_at_its_first_place_only() -> None:
    fused = fuse_rankings({"paths": ["a", "a", "b", "a"]})
    assert [(item.id, [p.rank for p in item.places]) for item in fused] == [("a", [1]), ("b", [2])]
    assert fused[0].score == 1 / 61


@pytest.mark.parametrize("rankings", [{}, {"x": []}, {"x": [], "y": []}])
def test_nothing_to_fuse_gives_nothing(rankings: dict[str, list[str]]) -> None:
    assert fuse_rankings(rankings) == ()


@pytest.mark.parametrize(
    ("weights", "k", "wrong"),
    [
        ({"paths": -1.0}, 60, "the weight of 'paths' is -1.0"),
        ({"paths": math.nan}, 60, "the weight of 'paths' is nan"),
        ({"paths": math.inf}, 60, "the weight of 'paths' is inf"),
        ({"path": 1.0}, 60, "a weight is for 'path', which is no ranking"),
        ({}, -1, "k is -1"),
        ({}, math.nan, "k is nan"),
    ],
)
def test_what_makes_no_sense_is_refused(weights: dict[str, float], k: float, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        fuse_rankings(RANKINGS, weights=weights, k=k)


def test_seeds_are_fused_by_the_same_formula_to_the_last_digit() -> None:
    vector, text = [f"e{i}" for i in range(60)], [f"e{i * 7 % 90}" for i in range(60)]
    by_hand: dict[str, float] = {}
    for ranking in (vector, text):
        for rank, id_ in enumerate(ranking, start=1):
            by_hand[id_] = by_hand.get(id_, 0.0) + 1.0 / (60 + rank)
    assert fuse([vector, text]) == by_hand
