"""Choose the 8-bit weights: smoothing of activations, and rounding that knows its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["TABLE_LEVELS", "WEIGHT_LEVELS", "InputStatistics", "WeightRounding", "scales"]

TABLE_LEVELS = 127
# 7 bits: with 8 the pairwise sums of processors without VNNI instructions saturate (255 · 127 · 2
# exceeds 16 bits), and the same file would give other vectors there.
WEIGHT_LEVELS = 63
_DAMPING = 0.01
# Rows rounded before the rows beyond them are corrected, for speed alone.
_BLOCK = 64


def scales(top: Any, levels: int) -> Any:
    """Give the scale that maps each absolute maximum to ``levels``; 1 where the maximum is 0."""
    import numpy as np

    return np.where(top == 0, 1, top / levels).astype(np.float32)


@dataclass(slots=True)
class InputStatistics:
    """What the inputs of one linear layer look like over the calibration texts.

    Attributes:
        top: Largest absolute value of each channel, (channels,).
        gram: Sum of outer products of the rows, (channels, channels), float64.
    """

    top: Any
    gram: Any

    @classmethod
    def of(cls, rows: Any) -> InputStatistics:
        """Measure rows (tokens, channels)."""
        import numpy as np

        wide = rows.astype(np.float64)
        return cls(np.abs(wide).max(0), wide.T @ wide)

    def merged(self, other: InputStatistics) -> InputStatistics:
        """Give what the rows of both look like together."""
        import numpy as np

        return InputStatistics(np.maximum(self.top, other.top), self.gram + other.gram)

    def smoothing(self, weight: Any) -> Any:
        """Give the divisor of each input channel that shares its range out evenly.

        ``s = sqrt(max|x| / max|w|)``, scaled to a geometric mean of 1 (SmoothQuant, Xiao et al.
        2023, equation 4 with alpha 0.5).

        Args:
            weight: (channels, outputs).
        """
        import numpy as np

        ratio = np.sqrt(np.maximum(self.top, 1e-6) / np.maximum(np.abs(weight).max(1), 1e-6))
        return (ratio / np.exp(np.log(ratio).mean())).astype(np.float32)


@dataclass(frozen=True, slots=True)
class WeightRounding:
    """How the inputs of each linear layer are smoothed and its weights rounded.

    Attributes:
        statistics: By the name of the input: see ``graph.py``.
    """

    statistics: dict[str, InputStatistics]

    def smoothing(self, site: str, weight: Any) -> Any:
        """Give the divisors of the input channels of a site, (channels,)."""
        return self.statistics[site].smoothing(weight)

    def round(self, site: str, weight: Any, divisors: Any | None) -> tuple[Any, Any]:
        """Round a weight so that its products over the calibration inputs change least.

        Rows are rounded one after the other, and the error of each is made up for in the rows to
        come (GPTQ, Frantar et al. 2023, algorithm 1).

        Args:
            weight: (channels, outputs), not yet smoothed.
            divisors: Smoothing of the inputs, or None.

        Returns:
            Integers (channels, outputs) of 7 bits and the scale of each output (outputs,).
        """
        import numpy as np

        gram = self.statistics[site].gram
        work = weight.astype(np.float64)
        if divisors is not None:
            work = work * divisors[:, None]
            gram = gram / np.outer(divisors, divisors)
        scale = scales(np.abs(work).max(0), WEIGHT_LEVELS)
        channels = len(work)
        damped = gram + np.eye(channels) * (_DAMPING * np.mean(np.diag(gram)) + 1e-12)
        upper = np.linalg.cholesky(np.linalg.inv(damped)).T
        whole = np.zeros(work.shape, dtype=np.int8)
        for start in range(0, channels, _BLOCK):
            end = min(start + _BLOCK, channels)
            errors = np.empty((end - start, work.shape[1]))
            for row in range(start, end):
                levels = np.clip(np.round(work[row] / scale), -WEIGHT_LEVELS, WEIGHT_LEVELS)
                whole[row] = levels
                error = (work[row] - levels * scale) / upper[row, row]
                work[row + 1 : end] -= np.outer(upper[row, row + 1 : end], error)
                errors[row - start] = error
            work[end:] -= upper[start:end, end:].T @ errors
        return whole, scale
