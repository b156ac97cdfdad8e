"""Systems whose results came with a data set, so that nobody has to run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from pathrag_gds.errors import ConfigError
from pathrag_gds.evaluation.systems import Asked, Opponent, Ranking, Setting

__all__ = ["Recorded", "recorded"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """Give what a system found, as it was recorded: passages, and no answers.

    Attributes:
        found: By question, ids of passages, best first.
    """

    name: str
    found: Mapping[str, Sequence[str]]

    @property
    def fingerprint(self) -> str:
        """Give the short hex that names these results."""
        return sha256(repr(sorted(self.found.items())).encode()).hexdigest()[:16]

    def rank(self, asked: Asked) -> Ranking:
        """Look one question up; no passages where it was not recorded."""
        return Ranking(answers=(), passages=tuple(self.found.get(asked.question.id, ())))


def recorded(setting: Setting, name: str) -> Opponent:
    """Set up a system that the data set has results of.

    Raises:
        ConfigError: It has none of that name.
    """
    known = setting.dataset.recorded
    if name not in known:
        raise ConfigError(
            f"{setting.dataset.name} has no recorded results of {name!r}.",
            hint=f"It has those of: {', '.join(sorted(known)) or 'nobody'}.",
        )
    return Recorded(name, known[name])
