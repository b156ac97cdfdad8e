"""Starts by keywords: each is looked for by itself, as PathRAG's paper does. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from pathrag_gds.retrieve.seeds import Seeds
from pathrag_gds.types import Anchor, Seed

__all__ = ["Keyword", "merged"]


@dataclass(frozen=True, slots=True)
class Keyword:
    """What is looked for instead of the whole question.

    Attributes:
        text: Not empty.
        vector: Its unit vector; None where the tenant has no vectors.
    """

    text: str
    vector: tuple[float, ...] | None = None


def merged(found: Sequence[Seeds], seed_k: int) -> Seeds:
    """Put together what was found for each keyword.

    Args:
        found: In the order of the keywords; none give nothing.
        seed_k: Seeds at most. Keywords take turns, each with its next best, so that a rare one is
            not drowned by the others.

    Returns:
        Every anchor once, with the mention that scored most, in the order of the keywords.
    """
    anchors: dict[str, Anchor] = {}
    for anchor in (anchor for one in found for anchor in one.anchors):
        known = anchors.get(anchor.id)
        if known is None or anchor.score > known.score:
            anchors[anchor.id] = anchor
    seeds: dict[str, Seed] = {}
    for turn in zip_longest(*(one.seeds for one in found)):
        for seed in turn:
            if seed is not None:
                seeds.setdefault(seed.id, seed)
    return Seeds(
        anchors=tuple(anchors.values()),
        seeds=tuple(seeds.values())[:seed_k],
        entities={id_: entity for one in found for id_, entity in one.entities.items()},
        warnings=tuple(dict.fromkeys(warning for one in found for warning in one.warnings)),
    )
