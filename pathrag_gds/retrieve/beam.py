"""What a search asks of its beam, whatever that is made of, and what it gets. No I/O."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pathrag_gds.graph.database import Row
from pathrag_gds.retrieve.statements import Request
from pathrag_gds.types import Chain, Path

__all__ = ["Beam", "Group", "Shown", "Working"]

Working = Generator[Request, list[Row], None]


@dataclass(frozen=True, slots=True)
class Group:
    """What paths of the result have in common, and a pattern is made of.

    Attributes:
        chains: Their start and relations; several that meet in one node.
        text: What the reranker read: of the chains, or of the best path.
        confidence: Of the best path, in [0, 1].
        score: Orders groups, as it does their paths.
    """

    chains: tuple[Chain, ...]
    text: str
    confidence: float
    score: float


@dataclass(frozen=True, slots=True)
class Shown:
    """A path of the result.

    Attributes:
        text: What the reranker read.
        score: Orders the paths.
        confidence: In [0, 1].
        terms: The parts of the score by name.
        chain: That it is an instance of.
        meeting: All chains of the group that it belongs to, where those are several.
    """

    path: Path
    text: str
    score: float
    confidence: float
    terms: Mapping[str, float]
    chain: Chain
    meeting: tuple[Chain, ...] = ()

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Give the chains of the group that it belongs to."""
        return self.meeting or (self.chain,)


class Beam(Protocol):
    """What is kept from one depth to the next."""

    @property
    def alive(self) -> bool:
        """Whether there is anything to extend."""
        ...

    def start(self, ids: Sequence[str]) -> None:
        """Begin at nodes: score them, and keep the best."""
        ...

    def go_deeper(self, depth: int) -> Working:
        """Extend all that is kept by one hop, and keep the best; one statement at most."""
        ...

    def choose(self) -> tuple[list[Shown], list[Group]]:
        """Give the best paths, at most ``top_k``, and the groups of the best, each best first."""
        ...

    def hydrate(self, shown: Sequence[Shown]) -> Generator[Request, list[Row], list[Shown]]:
        """Read all that is told of the shown paths, in one statement; give them complete."""
        ...
