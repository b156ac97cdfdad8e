"""Fuse rankings into one by the ranks alone, so that their scores need no common scale. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["FUSION_K", "FusedItem", "Place", "fuse_rankings"]

FUSION_K = 60.0
"""Constant of reciprocal rank fusion, as its authors fixed it after a pilot study."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one ranking has an item.

    Attributes:
        ranking: Name of the ranking.
        rank: From 1, the best.
        share: What the place adds to the score: ``weight / (k + rank)``.
    """

    ranking: str
    rank: int
    share: float


@dataclass(frozen=True, slots=True)
class FusedItem:
    """An item that at least one ranking brought.

    Attributes:
        id: Of the item.
        score: Sum of the shares; larger is better.
        places: One for each ranking that brought it, in the order of the rankings.
    """

    id: str
    score: float
    places: tuple[Place, ...]


def fuse_rankings(
    rankings: Mapping[str, Iterable[str]],
    *,
    weights: Mapping[str, float] | None = None,
    k: float = FUSION_K,
) -> tuple[FusedItem, ...]:
    """Fuse rankings by weighted reciprocal rank fusion.

    ``score(d) = Σ_r w_r / (k + rank_r(d))`` over the rankings ``r`` that hold ``d``: with all
    weights 1, the formula of Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms
    Condorcet and individual rank learning methods", SIGIR 2009. The weights are not theirs.

    The order of the rankings changes no score: the sum is rounded once.

    Args:
        rankings: Ids by the name of their ranking, the best first. An id that comes again in the
            same ranking counts at its first place only, and takes no rank the second time.
        weights: By the name of the ranking; 1 where it says nothing. A ranking of weight 0 brings
            no item.
        k: Not negative. The larger it is, the less the first places count against the others.

    Returns:
        Every item, the largest score first, ties by id. No rankings, or empty ones, give none.

    Raises:
        ValueError: ``k`` or a weight is negative or not finite, or a weight is for a ranking that
            is not there.
    """
    _require("k", k)
    given = weights or {}
    for name, weight in given.items():
        if name not in rankings:
            raise ValueError(f"a weight is for {name!r}, which is no ranking")
        _require(f"the weight of {name!r}", weight)
    places: dict[str, list[Place]] = {}
    for name, ranking in rankings.items():
        weight = given.get(name, 1.0)
        if weight == 0:
            continue
        for rank, id_ in enumerate(dict.fromkeys(ranking), start=1):
            places.setdefault(id_, []).append(Place(name, rank, weight / (k + rank)))
    items = [
        FusedItem(id_, math.fsum(place.share for place in found), tuple(found))
        for id_, found in places.items()
    ]
    return tuple(sorted(items, key=lambda item: (-item.score, item.id)))


def _require(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} is {value}")
