"""From the raw answer of a model to how often it is right: Platt scaling, and its test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pathrag_gds.models.path_reranker import Calibration

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Reliability", "ReliabilityBin", "platt", "reliability"]

_STEPS = 100
_CLOSE_ENOUGH = 1e-10
_LEAST_SLOPE = 1e-3


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Pairs whose confidence lies in one range.

    Attributes:
        low: Lower end of the range, from 0 to 1.
        high: Upper end, from 0 to 1.
        count: Pairs in it.
        confidence: Their mean confidence; 0 without pairs.
        right: Share of them that are right; 0 without pairs.
    """

    low: float
    high: float
    count: int
    confidence: float
    right: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """How far confidence and truth are apart.

    Attributes:
        error: Expected calibration error, from 0 to 1: the mean distance of the bins' confidence
            and share of right ones, weighted by their pairs; 0 without pairs.
        bins: Of equal width, from 0 to 1.
    """

    error: float
    bins: tuple[ReliabilityBin, ...]


def platt(logits: Any, labels: Any) -> Calibration:
    """Find slope and intercept that make ``sigmoid(slope · logit + intercept)`` likeliest.

    The labels are smoothed as Platt (1999) says, so that separable data give finite values.
    A slope that would turn the order round is held just above 0.

    Args:
        logits: (pairs,).
        labels: From 0 to 1, (pairs,). All of one kind, or none: nothing is learnt, and slope 1
            with intercept 0 comes back.
    """
    import numpy as np

    x = np.asarray(logits, np.float64)
    y = np.asarray(labels, np.float64)
    right = float(y.sum())
    wrong = len(y) - right
    if right <= 0 or wrong <= 0:
        return Calibration()
    target = y * (right + 1) / (right + 2) + (1 - y) / (wrong + 2)
    # Newton's method on the two parameters, each step halved until it improves the likelihood.
    inputs = np.stack([x, np.ones_like(x)], axis=1)
    weights = np.array([1.0, 0.0])
    loss = _log_loss(inputs @ weights, target)
    for _ in range(_STEPS):
        p = _sigmoid(inputs @ weights)
        slope = inputs.T @ (p - target)
        curve = (inputs * (p * (1 - p))[:, None]).T @ inputs + 1e-9 * np.eye(2)
        step = np.linalg.solve(curve, slope)
        size = 1.0
        while size > _CLOSE_ENOUGH and _log_loss(inputs @ (weights - size * step), target) > loss:
            size /= 2
        weights = weights - size * step
        previous, loss = loss, _log_loss(inputs @ weights, target)
        if previous - loss < _CLOSE_ENOUGH:
            break
    return Calibration(max(float(weights[0]), _LEAST_SLOPE), float(weights[1]))


def reliability(confidence: Sequence[float] | Any, labels: Any, *, bins: int = 10) -> Reliability:
    """Compare confidence with truth.

    Args:
        confidence: From 0 to 1, (pairs,).
        labels: From 0 to 1, (pairs,).
        bins: Number of ranges.
    """
    import numpy as np

    values = np.asarray(confidence, np.float64)
    truth = np.asarray(labels, np.float64)
    places = np.clip((values * bins).astype(int), 0, bins - 1)
    found = []
    error = 0.0
    for place in range(bins):
        inside = places == place
        count = int(inside.sum())
        mean = float(values[inside].mean()) if count else 0.0
        share = float(truth[inside].mean()) if count else 0.0
        error += count * abs(mean - share)
        found.append(ReliabilityBin(place / bins, (place + 1) / bins, count, mean, share))
    return Reliability(error / max(len(values), 1), tuple(found))


def _sigmoid(x: Any) -> Any:
    import numpy as np

    return 1 / (1 + np.exp(-np.clip(x, -50, 50)))


def _log_loss(logits: Any, target: Any) -> float:
    import numpy as np

    return float((np.logaddexp(0, logits) - target * logits).sum())
