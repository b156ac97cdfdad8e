"""Put scored entities in order, ties without favour. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import md5

from pathrag_gds.evaluation.questions import AnswerKey

__all__ = ["in_order", "tie_breaker"]

# Sums of floats in another order differ below this: that is a tie and no judgement.
_DECIMALS = 9


def in_order(
    question: str, worth: Mapping[str, tuple[float, ...]], *, without: Collection[str] = ()
) -> tuple[AnswerKey, ...]:
    """Rank entities, the largest worth first, compared number by number.

    Ties are broken by :func:`tie_breaker`, so that over many questions a tie is worth what chance
    makes of it, and neither the order of ids nor that of the database helps.

    Args:
        question: As the data set has it, so that a tie falls alike under every condition.
        worth: By id; all of the same length.
        without: Ids that are no answers.

    Returns:
        Answers, each an entity itself; none where no worth is given.
    """
    ids = [id_ for id_ in worth if id_ not in without]
    ids.sort(
        key=lambda id_: ([-round(x, _DECIMALS) for x in worth[id_]], tie_breaker(question, id_))
    )
    return tuple((id_, "") for id_ in ids)


def tie_breaker(question: str, id_: str) -> str:
    """Give 32 hex digits that say nothing about what they stand for: an MD5."""
    return md5(f"{question}\0{id_}".encode(), usedforsecurity=False).hexdigest()
