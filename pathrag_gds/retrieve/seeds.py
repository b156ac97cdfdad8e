"""Where paths may start: anchors named in the question, and its nearest entities. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pathrag_gds.answer.fuse import fuse_rankings
from pathrag_gds.config import SearchConfig
from pathrag_gds.graph.database import Row
from pathrag_gds.graph.queries import Branch, load
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.link import Mention, choose_anchors, content_terms, mentions, phrase_query
from pathrag_gds.retrieve.statements import Request, entity_of_row
from pathrag_gds.text import fold
from pathrag_gds.types import Anchor, Entity, Seed

__all__ = ["OVER_FETCH", "SMALL_TENANT", "Seeds", "fuse", "longer", "read_seeds", "seeds_request"]

# Up to so many entities a tenant is scanned: exact, repeatable, and blind to its neighbours.
SMALL_TENANT = 2_000
OVER_FETCH = 4
# An index is never asked for more rows than this, unless more seeds are wanted.
LONGEST_REACH = 10_000
# Lucene refuses more than 1,024 clauses. A term is one for each of the five indexed properties.
MAX_PHRASES = 500
MAX_TERMS = 200
_BRANCHES = (
    "name",
    "given",
    "alias",
    "alias_exact",
    "vector",
    "vector_exact",
    "text",
    "text_exact",
)


@dataclass(frozen=True, slots=True)
class Seeds:
    """What the first statement found.

    Attributes:
        anchors: In the order of the question, or of the ids that the caller named.
        seeds: Best first, at most ``seed_k``; anchors may be among them.
        entities: Every entity met, by id.
        similar: How many came from the vector ranking; fewer than wanted where an index gave rows
            of other tenants.
    """

    anchors: tuple[Anchor, ...]
    seeds: tuple[Seed, ...]
    entities: Mapping[str, Entity]
    similar: int = 0


def seeds_request(
    question: str,
    *,
    tenant: str,
    small: bool,
    vector: Sequence[float] | None,
    vector_index: str,
    vector_property: str,
    predicate: Predicate,
    config: SearchConfig,
    over_fetch: int = OVER_FETCH,
    start_ids: Sequence[str] = (),
) -> Request:
    """Ask for anchors and seeds in one statement.

    A question without terms gets no full-text branch (Lucene refuses an empty query), one without
    a vector no vector branch.

    Args:
        small: Scan the tenant instead of asking the indexes.
        vector: The question's, or None where the tenant has no vectors.
        predicate: On ``e``.
        over_fetch: Rows asked of an index per row wanted, since it holds all tenants.
        start_ids: Entities that the caller names; then the question is not searched for names.
    """
    keys = tuple(dict.fromkeys(key for m in mentions(question) for key in m.keys))
    terms = content_terms(question)[:MAX_TERMS]
    # Of a very long question the short runs of words are looked up: most names are short.
    phrases = sorted(keys, key=lambda key: key.count(" "))[:MAX_PHRASES]
    aliases = phrase_query("alias_keys", phrases)
    suffix = "_exact" if small else ""
    wanted = {
        "name": bool(keys) and not start_ids,
        "given": bool(start_ids),
        f"alias{suffix}": bool(keys) and (small or bool(aliases)) and not start_ids,
        f"vector{suffix}": vector is not None,
        f"text{suffix}": bool(terms),
    }
    branches = {name: [Branch()] if wanted.get(name) else [] for name in _BRANCHES}
    if not any(wanted.values()):
        branches["name"] = [Branch()]
    parameters: dict[str, Any] = {
        "tenant": tenant,
        "keys": list(keys),
        "start_ids": list(start_ids),
        "vector": None if vector is None else list(vector),
        "vector_index": vector_index,
        "vector_property": vector_property,
        "aliases": aliases,
        "text": " OR ".join(f'"{term}"' for term in terms),
        "terms": list(terms),
        "k": config.seed_k,
        "over": min(config.seed_k * over_fetch, max(LONGEST_REACH, config.seed_k)),
        "filters": dict(predicate.values),
    }
    slot = f"AND {predicate.text}" if predicate.text else ""
    return Request(load("retrieve/seeds").render({"filter": slot}, branches), parameters)


def read_seeds(
    question: str, rows: Sequence[Row], *, seed_k: int, start_ids: Sequence[str] = ()
) -> Seeds:
    """Make anchors and seeds of the rows of :func:`seeds_request`.

    Vector and full-text ranks are fused by reciprocal rank; ties go to the larger similarity, then
    to the smaller id. Ids that the caller named are the anchors, in their order, those left out
    that the tenant does not have.
    """
    entities: dict[str, Entity] = {}
    similarity: dict[str, float] = {}
    by_key: dict[str, set[tuple[str, str]]] = defaultdict(set)
    rankings: dict[str, list[str]] = {"vector": [], "text": []}
    for row in rows:
        entity = entities.setdefault(row["id"], entity_of_row(row))
        similarity[entity.id] = round(row["similarity"] or 0.0, 6)
        for key in row["keys"]:
            by_key[key].add((entity.id, entity.name))
        if row["via"] in rankings:
            rankings[row["via"]].append(entity.id)
    fused = fuse(rankings.values())
    ranked = sorted(fused, key=lambda id_: (-fused[id_], -similarity[id_], id_))
    if start_ids:
        anchors = _given_anchors(start_ids, entities)
    else:
        found: tuple[Mention, ...] = mentions(question)
        anchors = choose_anchors(found, {key: sorted(pairs) for key, pairs in by_key.items()})
    return Seeds(
        anchors=anchors,
        seeds=tuple(Seed(id_, similarity[id_], round(fused[id_], 9)) for id_ in ranked[:seed_k]),
        entities=entities,
        similar=len(rankings["vector"]),
    )


def _given_anchors(start_ids: Sequence[str], entities: Mapping[str, Entity]) -> tuple[Anchor, ...]:
    known = [entities[id_] for id_ in dict.fromkeys(start_ids) if id_ in entities]
    return tuple(Anchor(entity.id, entity.name, fold(entity.name), 1.0) for entity in known)


def longer(request: Request, similar: int) -> int | None:
    """Say how many rows per row wanted an index must be asked for after it gave too few of ours.

    Twice what the share that passed makes likely, so that one more statement is nearly always
    enough.

    Args:
        request: What was asked.
        similar: How many rows of the vector ranking passed.

    Returns:
        The ``over_fetch`` of the next request; None where enough passed or there is no more.
    """
    wanted: int = request.parameters["k"]
    reach: int = request.parameters["over"]
    if similar >= wanted or reach >= LONGEST_REACH:
        return None
    return 2 * -(-reach // max(similar, 1))


def fuse(rankings: Iterable[Sequence[str]]) -> dict[str, float]:
    """Add up ``1 / (60 + rank)`` over rankings of ids, best first, rank from 1.

    See :func:`pathrag_gds.answer.fuse.fuse_rankings`.
    """
    named = {str(number): ranking for number, ranking in enumerate(rankings)}
    return {item.id: item.score for item in fuse_rankings(named)}
