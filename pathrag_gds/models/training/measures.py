"""How well logits rank the texts of groups."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pathrag_gds.models.training.batches import TokenisedGroups

__all__ = ["Figures", "area_under_curve", "measure", "measure_by_source"]


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures over groups, each from 0 to 1 where there is something to measure.

    Attributes:
        groups: Number of groups.
        hit: Share of the groups with a right answer where the text of the highest ``answer`` has
            one; None without such groups.
        prefix_hit: The same of ``prefix``.
        area: That a right answer of any group is above a wrong one of any group; None where one
            kind is missing.
    """

    groups: int
    hit: float | None
    prefix_hit: float | None
    area: float | None

    def to_dict(self) -> dict[str, Any]:
        """Give the figures as a dict, rounded to 4 decimals."""
        return {
            name: round(value, 4) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


def measure(logits: Any, data: TokenisedGroups, groups: Any | None = None) -> Figures:
    """Measure logits against the labels of groups.

    Args:
        logits: Answer and prefix of every pair of ``data``, (pairs, 2).
        groups: Numbers of the groups that count; all when None.
    """
    import numpy as np

    numbers = range(len(data)) if groups is None else groups
    starts = data.group_starts
    hits = [
        _hit(logits[starts[g] : starts[g + 1], 0], data.answer[starts[g] : starts[g + 1]])
        for g in numbers
    ]
    prefix_hits = [
        _hit(logits[starts[g] : starts[g + 1], 1], data.prefix[starts[g] : starts[g + 1]])
        for g in numbers
    ]
    pairs = [pair for g in numbers for pair in range(int(starts[g]), int(starts[g + 1]))]
    chosen = np.array(pairs, dtype=np.int64)
    return Figures(
        len(hits),
        _mean(hits),
        _mean(prefix_hits),
        area_under_curve(logits[chosen, 0], data.answer[chosen]),
    )


def measure_by_source(logits: Any, data: TokenisedGroups) -> dict[str, Figures]:
    """Measure the groups of each source, by its name."""
    members: dict[str, list[int]] = {}
    for group, source in enumerate(data.sources):
        members.setdefault(source, []).append(group)
    return {source: measure(logits, data, groups) for source, groups in sorted(members.items())}


def area_under_curve(values: Any, labels: Any) -> float | None:
    """Give the chance that a right one is above a wrong one; ties count half.

    Args:
        values: (pairs,).
        labels: Right from 0.5 on, (pairs,).
    """
    import numpy as np

    right = np.asarray(labels) >= 0.5
    positives = int(right.sum())
    negatives = len(right) - positives
    if not positives or not negatives:
        return None
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[places]
    above = ranks[right].sum() - positives * (positives + 1) / 2
    return float(above / (positives * negatives))


def _hit(logits: Any, labels: Any) -> float | None:
    """Give the share of right ones among the highest; None where none is right."""
    right = labels >= 0.5
    if not right.any():
        return None
    return float(right[logits == logits.max()].mean())


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
