"""The beam: who is guaranteed a place, what counts as the same, how ties fall."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathrag_gds.retrieve.prune import Candidate, distinct, min_max, prune
from pathrag_gds.types import Edge, Hop, Path


def candidate(
    head: str, type_: str, tail: str, steer: float, *, parent: int = 0, start_rank: int = 0
) -> Candidate:
    hop = Hop(Edge(f"{head}-{type_}-{tail}", head, tail, type_), True)
    return Candidate(Path((head, tail), (hop,)), "", steer, steer, steer, steer, parent, start_rank)


def tails(candidates: list[Candidate]) -> list[str]:
    return [c.path.tail for c in candidates]


def test_half_the_beam_is_guaranteed_to_parents_in_turn() -> None:
    strong = [candidate("a", "R", f"a{i}", 0.9 - i / 100) for i in range(6)]
    weak = [candidate(p, "R", f"{p}0", 0.1, parent=i) for i, p in enumerate("bcd", start=1)]
    kept, dropped = prune([*weak, *strong], beam_width=4, local_keep=1)
    # Two places go to the best child of parents 0 and 1, the other two to the best of all.
    assert tails(kept) == ["a0", "a1", "a2", "b0"]
    assert tails(dropped) == ["a3", "a4", "a5", "c0", "d0"]


def test_beam_of_one_guarantees_nothing() -> None:
    best = candidate("b", "R", "b0", 0.9, parent=1)
    kept, dropped = prune([candidate("a", "R", "a0", 0.2), best], beam_width=1, local_keep=2)
    assert kept == [best]
    assert tails(dropped) == ["a0"]


def test_second_guaranteed_child_differs_in_relation() -> None:
    children = [
        candidate("a", "R", "a0", 0.50),
        candidate("a", "R", "a1", 0.49),
        candidate("a", "S", "a2", 0.10),
        *(candidate("b", "R", f"b{i}", 0.9, parent=1) for i in range(4)),
    ]
    kept, _ = prune(children, beam_width=8, local_keep=2)
    assert tails(kept) == ["b0", "b1", "b2", "b3", "a0", "a1", "a2"]
    kept, _ = prune(children, beam_width=6, local_keep=2)
    # Guaranteed: b0 and a0, then a2 for its other relation; parent b has no other.
    assert tails(kept) == ["b0", "b1", "b2", "b3", "a0", "a2"]


def test_direction_alone_makes_a_relation_different() -> None:
    forth = candidate("a", "R", "a0", 0.5)
    edge = Edge("back", "a1", "a", "R")
    back = replace(forth, path=Path(("a", "a1"), (Hop(edge, False),)), steer=0.1)
    others = [candidate("b", "R", f"b{i}", 0.9, parent=1) for i in range(4)]
    kept, _ = prune([forth, back, *others], beam_width=6, local_keep=2)
    assert {"a0", "a1"} <= set(tails(kept))


def test_without_local_keep_the_best_of_all_win() -> None:
    children = [candidate("a", "R", f"a{i}", i / 10, parent=i) for i in range(5)]
    kept, dropped = prune(children, beam_width=2, local_keep=0)
    assert (tails(kept), tails(dropped)) == (["a4", "a3"], ["a2", "a1", "a0"])


def test_nothing_in_nothing_out() -> None:
    assert prune([], beam_width=3, local_keep=2) == ([], [])


def test_ties_break_by_start_then_key() -> None:
    late = candidate("a", "R", "a0", 0.5, start_rank=1)
    early = candidate("z", "R", "z0", 0.5, start_rank=0)
    by_key = candidate("b", "R", "b0", 0.5, start_rank=1)
    for order in ([late, early, by_key], [by_key, late, early]):
        kept, dropped = prune(order, beam_width=2, local_keep=0)
        assert (tails(kept), tails(dropped)) == (["z0", "a0"], ["b0"])


def test_one_path_per_key_and_tail() -> None:
    edge = Edge("k", "a", "b", "R")
    there = Path(("a", "b"), (Hop(edge, True),))
    back = Path(("b", "a"), (Hop(edge, False),))
    low, high = (Candidate(there, "", s, s, s, s) for s in (0.2, 0.4))
    other_end = Candidate(back, "", 0.3, 0.3, 0.3, 0.3)
    assert there.key == back.key
    assert distinct([low, other_end, high]) == [high, other_end]


def test_better_start_wins_between_equal_scores() -> None:
    path = Path(("a",))
    second, first = (Candidate(path, "", 0.5, 0.5, 0.5, 0.5, -1, rank) for rank in (1, 0))
    assert distinct([second, first]) == [first]


@pytest.mark.parametrize(
    ("values", "scaled"),
    [([], []), ([0.4], [1.0]), ([0.3, 0.3], [1.0, 1.0]), ([0.2, 0.6, 0.4], [0.0, 1.0, 0.5])],
)
def test_min_max(values: list[float], scaled: list[float]) -> None:
    assert min_max(values) == pytest.approx(scaled)
