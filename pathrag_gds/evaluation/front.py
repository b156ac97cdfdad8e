"""Compare what is good with what it costs: fronts of points that nothing beats. Pure.

A point beats another that is no better and no cheaper, but for itself. Points that none beats are
the first front; without them, what is left has a front again. (Non-dominated sorting and crowding
distance: Deb and others, NSGA-II, IEEE Transactions on Evolutionary Computation 6(2), 2002.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

__all__ = ["Point", "front", "most_promising"]

Point = tuple[float, float]
"""Quality, of which more is better, and cost, of which less is."""


def front(points: Mapping[str, Point]) -> tuple[str, ...]:
    """Give the names of the points that no other beats, cheapest first; equal ones are all in it.

    No points, no front.
    """
    found: list[str] = []
    best, cost_of_best = -math.inf, math.inf
    for name in sorted(points, key=lambda n: (points[n][1], -points[n][0], n)):
        quality, cost = points[name]
        if quality > best or (quality == best and cost == cost_of_best):
            found.append(name)
            best, cost_of_best = quality, cost
    return tuple(found)


def most_promising(points: Mapping[str, Point], count: int) -> tuple[str, ...]:
    """Give at most ``count`` names: front after front, of the last one those that stand apart.

    Within a front, its two ends come first, then the points with the widest gap between their
    neighbours; ties break by name.
    """
    left = dict(points)
    kept: list[str] = []
    while left and len(kept) < count:
        names = front(left)
        kept += _spread(names, left)[: count - len(kept)]
        for name in names:
            del left[name]
    return tuple(kept)


def _spread(names: Sequence[str], points: Mapping[str, Point]) -> list[str]:
    """Order a front, which comes by rising cost and quality, by crowding distance."""
    cheap, dear = points[names[0]], points[names[-1]]
    ranges = [abs(one - other) or 1.0 for one, other in zip(cheap, dear, strict=True)]
    gaps = {}
    for place, name in enumerate(names):
        if place in (0, len(names) - 1):
            gaps[name] = math.inf
            continue
        before, after = points[names[place - 1]], points[names[place + 1]]
        gaps[name] = sum(abs(before[i] - after[i]) / ranges[i] for i in (0, 1))
    return sorted(names, key=lambda name: (-gaps[name], name))
