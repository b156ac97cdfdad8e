"""From the raw answer of a model to how often it is right: Platt scaling.

How well it did is said by :func:`pathrag_gds.evaluation.metrics.calibration`.
"""

from __future__ import annotations

from typing import Any

from pathrag_gds.models.path_reranker import Calibration

__all__ = ["platt"]

_STEPS = 100
_CLOSE_ENOUGH = 1e-10
_LEAST_SLOPE = 1e-3


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


def _sigmoid(x: Any) -> Any:
    import numpy as np

    return 1 / (1 + np.exp(-np.clip(x, -50, 50)))


def _log_loss(logits: Any, target: Any) -> float:
    import numpy as np

    return float((np.logaddexp(0, logits) - target * logits).sum())
