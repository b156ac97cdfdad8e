"""Keep the beam narrow without starving a parent. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pathrag_gds.types import Path, PathKey

__all__ = ["Candidate", "distinct", "min_max", "prune"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A path with its scores.

    Attributes:
        path: The path.
        text: What the reranker read.
        answer: How likely the answer is at its end, in [0, 1] for a probability.
        prefix: How likely an extension ends at the answer.
        score: Orders results.
        steer: Orders the beam.
        parent: Rank of the path that it extends in the beam before, from 0; -1 for a start.
        start_rank: Rank of its start among anchors and seeds, from 0.
        chain: Text of its chain of relations, equal for paths of one chain; empty where chains are
            not read.
        rerank: What the reranker alone made of ``answer``.
        similarity: By how much its nodes are nearer to the question than their like.
        type: By how much its end is of the type that is asked for more than other ends.
    """

    path: Path
    text: str
    answer: float
    prefix: float
    score: float
    steer: float
    parent: int = -1
    start_rank: int = 0
    chain: str = ""
    rerank: float = 0.0
    similarity: float = 0.0
    type: float = 0.0

    @property
    def key(self) -> PathKey:
        """Key of the path."""
        return self.path.key


def _steer_order(candidate: Candidate) -> tuple[float, int, PathKey, str]:
    return (-candidate.steer, candidate.start_rank, candidate.key, candidate.path.tail)


def distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Keep one candidate per (path key, tail), the best; best first."""
    best: dict[tuple[PathKey, str], Candidate] = {}
    for candidate in sorted(candidates, key=_steer_order):
        best.setdefault((candidate.key, candidate.path.tail), candidate)
    return list(best.values())


def prune(
    candidates: Sequence[Candidate], *, beam_width: int, local_keep: int
) -> tuple[list[Candidate], list[Candidate]]:
    """Choose the next beam.

    At most half of it is guaranteed: parents take turns in the order of their rank, each with its
    best child; from its second turn on a parent is only guaranteed a child that differs in
    relation or direction from those it has. The rest goes to the best of all (design §5.6; the
    local keep of seeds/000 without its flood).

    Args:
        candidates: Distinct children.
        beam_width: How many are kept.
        local_keep: Turns of each parent.

    Returns:
        Kept and dropped, each best first.
    """
    ranked = sorted(candidates, key=_steer_order)
    children: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in ranked:
        children[candidate.parent].append(candidate)
    kept: dict[int, Candidate] = {}
    relations: dict[int, set[tuple[str, bool]]] = defaultdict(set)
    room = beam_width // 2
    for _ in range(local_keep):
        for parent in sorted(children):
            if len(kept) >= room:
                break
            child = next(
                (
                    c
                    for c in children[parent]
                    if id(c) not in kept and _relation(c) not in relations[parent]
                ),
                None,
            )
            if child is not None:
                kept[id(child)] = child
                relations[parent].add(_relation(child))
    for candidate in ranked:
        if len(kept) >= beam_width:
            break
        kept[id(candidate)] = candidate
    return (
        sorted(kept.values(), key=_steer_order),
        [c for c in ranked if id(c) not in kept],
    )


def _relation(candidate: Candidate) -> tuple[str, bool]:
    if not candidate.path.hops:
        return ("", True)
    hop = candidate.path.hops[-1]
    return (hop.edge.type, hop.forward)


def min_max(values: Sequence[float]) -> list[float]:
    """Scale values to [0, 1]; all equal gives 1 for each, as in the A3 mode of seeds/000."""
    if not values:
        return []
    low, high = min(values), max(values)
    if high == low:
        return [1.0] * len(values)
    return [(value - low) / (high - low) for value in values]
