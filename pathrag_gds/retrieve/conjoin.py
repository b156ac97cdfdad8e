"""Conjunctions: chains from different names of a question that meet in a node. Pure.

"Which films starring A did B direct?" names two things, and what both chains lead to is asked for.
Neither chain alone says so; together they are read as one text::

    Film A starred A. Film A is directed by B. The answer is film A.

Candidates of one mention are alternatives, never conditions beside each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from pathrag_gds.types import Chain, Path

__all__ = ["Condition", "Conjunction", "conjoin"]

# Conditions of a mention that are looked at: so many that are likely by themselves, and as many
# shorter ones. Alone a condition may seem unlikely: it leaves half of the question unsaid.
_LIKELY = 8
# Mentions that are looked at, and conjunctions of any of them that are kept: the likeliest.
_MOST_MENTIONS = 5
_MOST_OF_MENTIONS = 60
_FLOOR = 1e-6


@dataclass(frozen=True, slots=True)
class Condition:
    """A chain with what it was found to lead to.

    Attributes:
        answer: How likely its ends are the answer by this chain alone, in [0, 1].
        ends: Ids of nodes that it leads to.
        sampled: It may lead to more.
        path_to: Gives an instance that leads to one of ``ends``.
    """

    chain: Chain
    answer: float
    ends: frozenset[str]
    sampled: bool
    path_to: Callable[[str], Path] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Conditions of different mentions, in the order of the question, that meet or may do so.

    Attributes:
        met: Ids of nodes that all of them are known to lead to, sorted; empty where only the
            database can tell.
    """

    conditions: tuple[Condition, ...]
    met: tuple[str, ...] = ()

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Give the chains."""
        return tuple(condition.chain for condition in self.conditions)

    @property
    def depth(self) -> int:
        """Number of hops of the longest."""
        return max(len(chain.steps) for chain in self.chains)


def conjoin(
    conditions: Iterable[Condition],
    mentions: Sequence[Sequence[str]],
    named: Iterable[str],
    most: int,
) -> tuple[Conjunction, ...]:
    """List the conjunctions of chains, those that are likely by their chains first.

    Each takes one chain from each of two mentions or more, with one hop more than it has chains at
    most; the nodes that they end in are of one label, and none is named in the question.

    Args:
        conditions: In a fixed order, which breaks ties.
        mentions: Ids by mention, in the order of the question.
        named: Ids that cannot be where chains meet.
        most: So many are given; each set of mentions that can be covered takes its turn.
    """
    named = frozenset(named)
    listed = [c for c in conditions if c.chain.steps and (c.sampled or c.ends - named)]
    # By the mentions that are covered: so no mention can push the conjunctions of others out.
    kept: dict[tuple[int, ...], list[tuple[Condition, ...]]] = {(): [()]}
    for number, ids in enumerate(mentions[:_MOST_MENTIONS]):
        of_mention = _likely([c for c in listed if c.chain.start in ids])
        for covered, others in list(kept.items()):
            more = [
                (*one, condition)
                for one in others
                for condition in of_mention
                if _may_meet((*one, condition), named)
            ]
            if more:
                kept[*covered, number] = sorted(more, key=_order)[:_MOST_OF_MENTIONS]
    ranked = [
        (place, _order(one), one)
        for covered, found in kept.items()
        for place, one in enumerate(found)
        if len(covered) > 1
    ]
    ranked.sort(key=lambda item: item[:2])
    return tuple(
        Conjunction(one, tuple(sorted(_common(one) - named))) for _, _, one in ranked[:most]
    )


def _likely(conditions: Sequence[Condition]) -> list[Condition]:
    """Give the likeliest, and more of a single hop."""
    ranked = sorted(conditions, key=lambda c: -c.answer)
    short = [c for c in ranked[_LIKELY:] if len(c.chain.steps) == 1]
    return [*ranked[:_LIKELY], *short[:_LIKELY]]


def _may_meet(conditions: tuple[Condition, ...], named: frozenset[str]) -> bool:
    """Say whether chains may lead to one node; a single one may."""
    hops = sum(len(c.chain.steps) for c in conditions)
    if hops > len(conditions) + 1 or len({c.chain.steps[-1].label for c in conditions}) > 1:
        return False
    if len({c.chain.start for c in conditions}) < len(conditions):
        return False
    return _common(conditions) - named != frozenset() or any(c.sampled for c in conditions)


def _common(conditions: Sequence[Condition]) -> frozenset[str]:
    return reduce(frozenset.intersection, (c.ends for c in conditions))


def _order(conditions: Sequence[Condition]) -> tuple[int, float]:
    return (-len(conditions), -math.fsum(_logit(c.answer) for c in conditions))


def _logit(probability: float) -> float:
    inside = min(max(probability, _FLOOR), 1 - _FLOOR)
    return math.log(inside / (1 - inside))
