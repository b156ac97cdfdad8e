"""Figures of merit, each for one question or over many. Pure.

A figure that a question cannot have (no gold path is known, say) is None and left out of means.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pathrag_gds.types import DepthTrace, Path, TracedPath

__all__ = [
    "Bin",
    "Calibration",
    "Cause",
    "Interval",
    "calibration",
    "cause_of_loss",
    "exact_set",
    "hit_at",
    "mean",
    "node_recall_at",
    "paired_bootstrap",
    "path_recall_at",
    "percentile",
    "recall_at",
    "reciprocal_rank",
    "set_f1",
    "survival",
    "wilson",
]

Cause = Literal["", "ceiling", "linking", "expansion", "prefix cut", "ranking"]


def hit_at(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """Give 1 where one of the first ``k`` is right, else 0."""
    return float(any(item in gold for item in ranked[:k]))


def reciprocal_rank(ranked: Sequence[Hashable], gold: Collection[Hashable]) -> float:
    """Give 1 over the rank of the first right one, counted from 1; 0 where none is right."""
    return next((1 / rank for rank, item in enumerate(ranked, 1) if item in gold), 0.0)


def recall_at(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float | None:
    """Give the share of the gold among the first ``k``, of as much as ``k`` can hold.

    None without gold.
    """
    wanted = set(gold)
    if not wanted:
        return None
    return len(wanted.intersection(ranked[:k])) / min(k, len(wanted))


def set_f1(predicted: Collection[Hashable], gold: Collection[Hashable]) -> float:
    """Give the harmonic mean of precision and recall of a set; 1 where both are empty."""
    found, wanted = set(predicted), set(gold)
    if not found and not wanted:
        return 1.0
    return 2 * len(found & wanted) / (len(found) + len(wanted))


def exact_set(predicted: Collection[Hashable], gold: Collection[Hashable]) -> float:
    """Give 1 where the two sets are the same, else 0."""
    return float(set(predicted) == set(gold))


def path_recall_at(ranked: Sequence[Path], gold: Sequence[Path], k: int) -> float | None:
    """Give :func:`recall_at` of paths that are made of the same relationships.

    A path that ends with a gold path is one, too: where no topic is known, a search may come from
    further away. From a topic it cannot, for it would pass its start again.
    """
    wanted = {path.key: path for path in gold}
    found = [p for p in wanted.values() if any(_ends_with(path, p) for path in ranked[:k])]
    return len(found) / min(k, len(wanted)) if wanted else None


def _ends_with(path: Path, gold: Path) -> bool:
    if path.key == gold.key:
        return True
    last = tuple(sorted(hop.edge.identity for hop in path.hops[path.depth - gold.depth :]))
    return 0 < gold.depth < path.depth and last == gold.key and path.tail == gold.tail


def node_recall_at(ranked: Sequence[Path], gold: Sequence[Path], k: int) -> float | None:
    """Give :func:`path_recall_at` of paths that visit the same nodes in the same order.

    So a relationship that is stored both ways counts either way.
    """
    wanted = {path.nodes for path in gold}
    found = [ns for ns in wanted if any(path.nodes[-len(ns) :] == ns for path in ranked[:k])]
    return len(found) / min(k, len(wanted)) if wanted else None


def survival(gold: Sequence[Path], trace: Sequence[DepthTrace]) -> tuple[bool, ...]:
    """Say for each depth from 0 whether the beginning of a gold path got so far.

    Up to the last hop but one, the beginning was kept in the beam; at the last one, the whole path
    was scored. Where chains were scored, its chain stands for a path. Entries up to the longest
    gold path; a depth counts the paths that are long enough.
    """
    if not gold:
        return ()
    kept = [{_traced(t) for t in depth.paths if not t.reason} for depth in trace]
    seen = [{_traced(t) for t in depth.paths} for depth in trace]
    alive = []
    for depth in range(max(path.depth for path in gold) + 1):
        among = [
            path
            for path in gold
            if path.depth >= depth
            and depth < len(trace)
            and (seen if path.depth == depth else kept)[depth] & _beginnings(path, depth)
        ]
        alive.append(bool(among))
    return tuple(alive)


def cause_of_loss(
    gold: Sequence[Path],
    trace: Sequence[DepthTrace],
    *,
    answers: Collection[str],
    reachable: bool,
    topics_known: bool,
) -> Cause:
    """Say why the first answer is not the right one.

    ``ceiling``: no gold path can be found under the policy. ``linking``: no gold path's start was
    among the starts. ``expansion``: its next hop was not scored (a cap, or the text limit).
    ``prefix cut``: the beam dropped it. ``ranking``: it was scored, another came first. Of several
    gold paths the one that got furthest counts.

    Args:
        answers: Ids of entities; where no gold path is known or the question has no topic that one
            could start from, a path that ends at one of them stands for a gold path.
        topics_known: Whether gold paths start where a search should start.
    """
    if not reachable:
        return "ceiling"
    order: tuple[Cause, ...] = ("linking", "expansion", "prefix cut", "ranking")
    fates = [_fate(path, trace) for path in gold]
    furthest = max(fates, key=lambda fate: (fate[0], order.index(fate[1])), default=(0, order[0]))
    cause = furthest[1]
    ends = {traced.path.tail for level in trace for traced in level.paths}
    if cause != "ranking" and not topics_known and not ends.isdisjoint(answers):
        return "ranking"
    return cause


def _fate(path: Path, trace: Sequence[DepthTrace]) -> tuple[int, Cause]:
    """Tell how far a path got: the last depth at which its beginning was scored, and its end."""
    for depth in range(path.depth + 1):
        reasons: dict[Identity, str] = {}
        for traced in trace[depth].paths if depth < len(trace) else ():
            # Of chains that differ in labels alone the kept ones come first.
            reasons.setdefault(_traced(traced), traced.reason)
        found = reasons.keys() & _beginnings(path, depth)
        if not found:
            return depth, "linking" if depth == 0 else "expansion"
        if depth < path.depth and all(reasons[identity] for identity in found):
            return depth, "prefix cut"
    return path.depth, "ranking"


Identity = tuple[object, ...]


def _traced(traced: TracedPath) -> Identity:
    """Identify what was scored: a chain by its steps whatever the labels, a path by its hops."""
    if traced.chain is None:
        return _of_path(traced.path)
    steps = traced.chain.steps
    return (traced.chain.start, *((step.type, step.forward) for step in steps))


def _of_path(path: Path) -> Identity:
    return (path.start, *(hop.edge.identity for hop in path.hops))


def _beginnings(path: Path, depth: int) -> set[Identity]:
    """Give what the first hops of a path may have been scored as: a path, or a chain."""
    hops = path.hops[:depth]
    chain = (path.start, *((hop.edge.type, hop.forward) for hop in hops))
    return {_of_path(path)[: depth + 1], chain}


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of like confidence.

    Attributes:
        low: Lower end of the range, in [0, 1].
        high: Upper end.
        count: Answers in it, at least one.
        confidence: Their mean confidence.
        accuracy: Share of them that are right.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Whether confidence means what it says.

    Attributes:
        error: Expected calibration error, in [0, 1]: the mean distance of confidence and share of
            right answers over the bins, weighted by their counts; None without answers.
        bins: Of equal width from 0 to 1, empty ones left out: the points of a reliability diagram.
    """

    error: float | None
    bins: tuple[Bin, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return asdict(self) | {"bins": [asdict(b) for b in self.bins]}


def calibration(pairs: Sequence[tuple[float, float]], *, bins: int = 10) -> Calibration:
    """Compare confidence with what came true.

    Args:
        pairs: Confidence in [0, 1], and 1 for a right answer, 0 for a wrong one; labels between
            the two count as that much right.
        bins: Of equal width; 1.0 belongs to the last.
    """
    if not pairs:
        return Calibration(None)
    found: dict[int, list[tuple[float, float]]] = {}
    for confidence, right in pairs:
        found.setdefault(min(int(confidence * bins), bins - 1), []).append((confidence, right))
    made = [
        Bin(
            number / bins,
            (number + 1) / bins,
            len(members),
            round(math.fsum(c for c, _ in members) / len(members), 6),
            round(math.fsum(r for _, r in members) / len(members), 6),
        )
        for number, members in sorted(found.items())
    ]
    error = math.fsum(b.count * abs(b.confidence - b.accuracy) for b in made) / len(pairs)
    return Calibration(round(error, 6), tuple(made))


def mean(values: Sequence[float | None]) -> float | None:
    """Give the mean of the values that are there; None where none is."""
    there = [value for value in values if value is not None]
    return math.fsum(there) / len(there) if there else None


def percentile(values: Sequence[float], share: float) -> float:
    """Give the smallest value that a share of the values does not exceed (nearest rank).

    Args:
        values: At least one.
        share: In (0, 1].
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def wilson(share: float, count: int) -> tuple[float, float]:
    """Give the 95 % interval of a share (Wilson, 1927; JASA 22).

    It does not shrink to a point where all of a few answers are right. For the mean of figures
    from 0 to 1 that are not all 0 or 1, whose variance is smaller, it is wider than need be.

    Args:
        share: From 0 to 1.
        count: That it was measured on; 0 gives (0, 1).
    """
    if not count:
        return 0.0, 1.0
    z = 1.959964
    spread = z * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    middle, scale = share + z * z / (2 * count), 1 + z * z / count
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


@dataclass(frozen=True, slots=True)
class Interval:
    """The difference of two means over the same questions, and where it lies at 95 %."""

    first: float
    second: float
    difference: float
    low: float
    high: float


def paired_bootstrap(
    first: Sequence[float], second: Sequence[float], *, seed: int = 0, resamples: int = 10_000
) -> Interval:
    """Give the 95 % interval of ``mean(second) - mean(first)`` by resampling questions.

    Args:
        first: A figure per question.
        second: The same questions in the same order; at least one.
        seed: The same seed gives the same interval.
    """
    import numpy as np

    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    generator = np.random.default_rng(seed)
    count = len(differences)
    means = np.array(
        [differences[generator.integers(0, count, count)].mean() for _ in range(resamples)]
    )
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(
        math.fsum(first) / count,
        math.fsum(second) / count,
        float(differences.mean()),
        float(low),
        float(high),
    )


def mean_of(rows: Sequence[Mapping[str, Any]], key: str) -> float | None:
    """Give the mean of a column, rows without it left out."""
    return mean([row.get(key) for row in rows])
