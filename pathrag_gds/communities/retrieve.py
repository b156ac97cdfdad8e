"""Which communities a question is about, and the key entities that lead from there. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pathrag_gds.communities.types import CommunityReport, check_one_tenant
from pathrag_gds.retrieve.link import content_terms
from pathrag_gds.text import words

__all__ = [
    "KEY_ENTITY_WEIGHT",
    "CommunityScore",
    "CommunitySeed",
    "CommunityTerms",
    "SeedOrigin",
    "choose_communities",
    "collect_seeds",
    "question_terms",
    "score_by_cosine",
    "score_by_overlap",
    "terms_of",
]

KEY_ENTITY_WEIGHT = 2
"""How much a term of the key entities counts; one of the summary counts 1."""

# As empty as stop words; but split off, the "s" of "Bob's" would match every other possessive.
_ENCLITIC = re.compile(r"(?<=[^\W_])(?:n['’]t|['’](?:s|d|m|ll|re|ve))(?![^\W_])", re.IGNORECASE)
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class CommunityTerms:
    """The words that a question is compared with; made once for a report, used for any question.

    Attributes:
        community_id: Of the report.
        tenant_id: Of the report.
        summary: Distinct folded words of the summary.
        key_entities: Distinct folded words of the names of the key entities.
    """

    community_id: str
    tenant_id: str
    summary: frozenset[str]
    key_entities: frozenset[str]


@dataclass(frozen=True, slots=True)
class CommunityScore:
    """How well a community fits a question, and why.

    Attributes:
        community_id: Unique within the tenant.
        score: Above 0; larger is better. Scores of the two kinds have no common scale.
        by: What the score is: weighted ``overlap`` of words, or ``cosine`` of vectors.
        key_terms: Terms of the question that are in the names of the key entities, in its order.
        summary_terms: Terms of the question that are in the summary, in its order; a term may be
            in both.
    """

    community_id: str
    score: float
    by: Literal["overlap", "cosine"]
    key_terms: tuple[str, ...] = ()
    summary_terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SeedOrigin:
    """A chosen community that names an entity among its key entities.

    Attributes:
        community_id: Of the community.
        community_rank: Among the chosen ones, from 1, the best.
        place: Of the entity among the key entities of the report, from 1, the most important.
    """

    community_id: str
    community_rank: int
    place: int


@dataclass(frozen=True, slots=True)
class CommunitySeed:
    """A key entity of at least one chosen community: where a search may start.

    Attributes:
        id: Of the entity.
        origins: The communities that brought it, the best first.
    """

    id: str
    origins: tuple[SeedOrigin, ...]


def question_terms(question: str) -> tuple[str, ...]:
    """List the distinct folded words of a question that carry content, in order.

    The words of :func:`pathrag_gds.retrieve.link.content_terms`, so that communities and seeds
    read a question alike: no stop words, unless there is nothing else, and of at most 256 words.
    In addition ``'s``, ``n't`` and the like are cut off: ``"Isn't Bob's cat Zoë's?"`` gives
    ``bob``, ``cat`` and ``zoe``. A question without words gives none.
    """
    return content_terms(_ENCLITIC.sub("", question))


def terms_of(report: CommunityReport, names: Mapping[str, str]) -> CommunityTerms:
    """Give the words that a question is compared with: those of the summary and the key entities.

    Args:
        names: By id, of the key entities; for one without a name the words of its id count.
    """
    named = " ".join(names.get(id_) or id_ for id_ in report.key_entities)
    return CommunityTerms(
        report.community_id, report.tenant_id, _distinct(report.summary), _distinct(named)
    )


def _distinct(text: str) -> frozenset[str]:
    return frozenset(words(_ENCLITIC.sub("", text)))


def score_by_overlap(
    question: str, communities: Iterable[CommunityTerms]
) -> tuple[CommunityScore, ...]:
    """Score communities by the words that they share with the question.

    ``score = |Q ∩ S| + 2·|Q ∩ K|``, where Q, S and K are the sets of the terms of the question,
    the words of the summary and the words of the names of the key entities: "set-overlap between
    query tokens and (summary, key_entities) tokens, with a 2× weight on key-entity matches"
    (document "GraphRAG architecture (Step 2.9)", decision 5). So a term counts 1 in the summary, 2
    in a key entity, 3 in both, however often it comes. No length is divided by. That document
    fixes no words, stop words or ties; ours are those of :func:`question_terms`, and ids.

    Args:
        communities: All of one tenant, each once.

    Returns:
        Those that share a word, the largest score first, ties by id.

    Raises:
        TenantError: The communities are of several tenants.
    """
    asked = question_terms(question)
    given = list(communities)
    check_one_tenant(community.tenant_id for community in given)
    scores = []
    for community in given:
        keys = tuple(term for term in asked if term in community.key_entities)
        told = tuple(term for term in asked if term in community.summary)
        score = len(told) + KEY_ENTITY_WEIGHT * len(keys)
        scores.append(CommunityScore(community.community_id, score, "overlap", keys, told))
    return _ranked(scores)


def score_by_cosine(cosines: Mapping[str, float]) -> tuple[CommunityScore, ...]:
    """Score communities by the cosine of the question's vector and that of their report.

    ``score = max(0, cos)``, rounded to six decimals, so that what differs by the arithmetic of a
    machine alone is a tie.

    Args:
        cosines: By community id, from -1 to 1; not the ``(1 + cos) / 2`` of Neo4j's indexes.

    Returns:
        Those above 0, the largest score first, ties by id.

    Raises:
        ValueError: A value is not a cosine.
    """
    for id_, cosine in cosines.items():
        # Written so that NaN is refused too.
        if not abs(cosine) <= 1 + _ROUNDING:
            raise ValueError(f"the cosine of community {id_!r} is {cosine}")
    return _ranked(
        CommunityScore(id_, round(min(cosine, 1.0), 6), "cosine") for id_, cosine in cosines.items()
    )


def choose_communities(scores: Iterable[CommunityScore], count: int) -> tuple[CommunityScore, ...]:
    """Choose the communities with the largest scores, ties by id.

    Args:
        scores: In any order, all of one kind, each community once.
        count: How many at most; at least 1.

    Returns:
        Best first; fewer where fewer are above 0, none where none is.

    Raises:
        ValueError: ``count`` is below 1, the scores are of two kinds, or a community comes twice.
    """
    if count < 1:
        raise ValueError(f"count is {count}")
    given = list(scores)
    if len({score.by for score in given}) > 1:
        raise ValueError("scores by overlap and by cosine have no common scale")
    if len({score.community_id for score in given}) < len(given):
        raise ValueError("a community is scored twice")
    return _ranked(given)[:count]


def collect_seeds(
    chosen: Sequence[CommunityScore], reports: Iterable[CommunityReport]
) -> tuple[CommunitySeed, ...]:
    """Collect the key entities of the chosen communities, each entity once.

    An entity that several communities share (a parent and its child do) stands where the best of
    them brings it, and names them all.

    Args:
        chosen: Best first, each once.
        reports: All of one tenant, those of the chosen communities among them.

    Returns:
        Those of the best community first, in the order of its report; then what the next one adds.

    Raises:
        TenantError: The reports are of several tenants.
        ValueError: A chosen community has no report, or two.
    """
    given = list(reports)
    check_one_tenant(report.tenant_id for report in given)
    wanted: dict[str, list[CommunityReport]] = {score.community_id: [] for score in chosen}
    for report in given:
        if report.community_id in wanted:
            wanted[report.community_id].append(report)
    origins: dict[str, list[SeedOrigin]] = {}
    for rank, (community, found) in enumerate(wanted.items(), start=1):
        if len(found) != 1:
            raise ValueError(f"community {community!r} has {len(found)} reports")
        for place, id_ in enumerate(found[0].key_entities, start=1):
            origins.setdefault(id_, []).append(SeedOrigin(community, rank, place))
    return tuple(CommunitySeed(id_, tuple(found)) for id_, found in origins.items())


def _ranked(scores: Iterable[CommunityScore]) -> tuple[CommunityScore, ...]:
    matched = (score for score in scores if score.score > 0)
    return tuple(sorted(matched, key=lambda score: (-score.score, score.community_id)))
