"""Where paths may start: anchors named in the question, and its nearest entities. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pathrag_gds.answer.fuse import fuse_rankings
from pathrag_gds.config import SearchConfig
from pathrag_gds.graph.database import Row
from pathrag_gds.graph.queries import Branch, load
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.link import (
    Links,
    Mention,
    content_terms,
    link,
    mentions,
    near_mentions,
    near_query,
    phrase_query,
)
from pathrag_gds.retrieve.statements import Request, entity_of_row
from pathrag_gds.text import EXACT, fold, name_forms, words
from pathrag_gds.types import Anchor, Entity, Seed

__all__ = [
    "OVER_FETCH",
    "SMALL_TENANT",
    "Seeds",
    "fuse",
    "known_words",
    "longer",
    "read_seeds",
    "seeds_request",
]

_T = TypeVar("_T")

# Up to so many entities a tenant is scanned: exact, repeatable, and blind to its neighbours.
SMALL_TENANT = 2_000
OVER_FETCH = 4
# An index is never asked for more rows than this, unless more seeds are wanted.
LONGEST_REACH = 10_000
# Lucene refuses more than 1,024 clauses. A term is one for each of the five indexed properties;
# one with an edit may become fifty for each property that holds names.
MAX_PHRASES = 500
MAX_TERMS = 200
_NAME_FIELDS = ("name_key", "alias_keys", "name_forms", "alias_forms")
_FORMS_PER_QUERY = 300
_NEAR_PER_QUERY = 5
_BRANCHES = (
    "name",
    "given",
    "alias",
    "alias_exact",
    "form",
    "near",
    "near_exact",
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
        warnings: Of names that too many share, and of those that were not written exactly.
    """

    anchors: tuple[Anchor, ...]
    seeds: tuple[Seed, ...]
    entities: Mapping[str, Entity]
    similar: int = 0
    warnings: tuple[str, ...] = ()


def known_words(count_tokens: Callable[[str], int] | None) -> Callable[[str], bool] | None:
    """Make the test whether a word is one, of how the reranker counts tokens.

    What its vocabulary holds whole is a word that people write; a word with a slip in it falls into
    pieces, as rare names do. None where nothing counts.
    """
    if count_tokens is None:
        return None
    one = count_tokens("the")
    return lambda word: count_tokens(word) <= one


def seeds_request(
    question: str,
    *,
    tenant: str,
    small: bool,
    vector: Sequence[float] | None,
    vector_index: str,
    vector_property: str,
    predicate: Predicate,
    scope: Predicate | None = None,
    config: SearchConfig,
    over_fetch: int = OVER_FETCH,
    start_ids: Sequence[str] = (),
    names_index: bool = False,
    known: Callable[[str], bool] | None = None,
) -> Request:
    """Ask for anchors and seeds in one statement.

    A question without terms gets no full-text branch (Lucene refuses an empty query), one without
    a vector no vector branch.

    Args:
        small: Scan the tenant instead of asking the indexes.
        vector: The question's, or None where the tenant has no vectors.
        predicate: On ``e``, of seeds.
        scope: On ``e``, of anchors; None for any.
        over_fetch: Rows asked of an index per row wanted, since it holds all tenants.
        start_ids: Entities that the caller names; then the question is not searched for names.
        names_index: A tenant that is not small has the index of whole names. Without it names are
            found exactly, and aliases among what the index of texts gives.
        known: Whether a word is one, see :func:`known_words`; without it no edit is forgiven.
    """
    found = mentions(question)
    keys = tuple(dict.fromkeys(key for m in found for key in (*m.keys, *m.loose)))
    near = near_mentions(found, known) if (small or names_index) and not start_ids else ()
    terms = content_terms(question)[:MAX_TERMS]
    # Of a very long question the short runs of words are looked up: most names are short.
    phrases = sorted(keys, key=lambda key: key.count(" "))[:MAX_PHRASES]
    aliases = phrase_query("alias_keys", phrases)
    suffix = "_exact" if small else ""
    wanted = {
        "name": bool(keys) and not start_ids,
        "given": bool(start_ids),
        ("form" if names_index and not small else f"alias{suffix}"): (
            bool(keys) and (small or bool(aliases)) and not start_ids
        ),
        f"near{suffix}": bool(near),
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
        "forms": [
            " OR ".join(phrase_query(field, some) for field in _NAME_FIELDS[1:])
            for some in _batches([key for key in keys if words(key)], _FORMS_PER_QUERY)
        ],
        "near": [
            " OR ".join(near_query(mention, _NAME_FIELDS) for mention in some)
            for some in _batches(near, _NEAR_PER_QUERY)
        ],
        **_ends(near),
        "text": " OR ".join(f'"{term}"' for term in terms),
        "terms": list(terms),
        "k": config.seed_k,
        "over": min(config.seed_k * over_fetch, max(LONGEST_REACH, config.seed_k)),
        "filters": {**predicate.values, **(scope.values if scope else {})},
    }
    slots = {
        "filter": f"AND {predicate.text}" if predicate.text else "",
        "scope": f"AND {scope.text}" if scope and scope.text else "",
    }
    return Request(load("retrieve/seeds").render(slots, branches), parameters)


def _batches(items: Sequence[_T], size: int) -> list[Sequence[_T]]:
    return [items[first : first + size] for first in range(0, len(items), size)]


def _ends(near: Iterable[Mention]) -> dict[str, list[str]]:
    """Give what a name one edit from a mention begins or ends with, and its length.

    An edit touches two letters that stand together at most, so the first three or the last two
    remain as they are.
    """
    heads: set[str] = set()
    tails: set[str] = set()
    for mention in near:
        form = mention.loose[0]
        lengths = range(len(form) - 1, len(form) + 2)
        heads.update(f"{form[:3]}{length}" for length in lengths)
        tails.update(f"{form[-2:]}{length}" for length in lengths)
    return {"heads": sorted(heads), "tails": sorted(tails)}


def read_seeds(
    question: str,
    rows: Sequence[Row],
    *,
    seed_k: int,
    start_ids: Sequence[str] = (),
    known: Callable[[str], bool] | None = None,
) -> Seeds:
    """Make anchors and seeds of the rows of :func:`seeds_request`.

    Vector and full-text ranks are fused by reciprocal rank; ties go to the larger similarity, then
    to the smaller id. Ids that the caller named are the anchors, in their order, those left out
    that the tenant does not have.
    """
    entities: dict[str, Entity] = {}
    similarity: dict[str, float] = {}
    by_key: dict[str, dict[str, tuple[str, float]]] = defaultdict(dict)
    near: dict[str, dict[str, tuple[str, float]]] = defaultdict(dict)
    rankings: dict[str, list[str]] = {"vector": [], "text": []}
    for row in rows:
        entity = entities.setdefault(row["id"], entity_of_row(row))
        similarity[entity.id] = round(row["similarity"] or 0.0, 6)
        if row["keys"] or row["via"] == "near":
            forms = _forms(entity)
            for key in row["keys"]:
                by_key[key][entity.id] = entity.name, forms.get(key, EXACT)
            if row["via"] == "near":
                for form, score in forms.items():
                    near[form][entity.id] = entity.name, score
        if row["via"] in rankings:
            rankings[row["via"]].append(entity.id)
    fused = fuse(rankings.values())
    ranked = sorted(fused, key=lambda id_: (-fused[id_], -similarity[id_], id_))
    if start_ids:
        links = Links(_given_anchors(start_ids, entities))
    else:
        links = link(mentions(question), by_key, near, known)
    return Seeds(
        anchors=links.anchors,
        seeds=tuple(Seed(id_, similarity[id_], round(fused[id_], 9)) for id_ in ranked[:seed_k]),
        entities=entities,
        similar=len(rankings["vector"]),
        warnings=links.warnings,
    )


def _forms(entity: Entity) -> dict[str, float]:
    """Give the forms of an entity's name and aliases, each with the most that it counts."""
    aliases = entity.properties.get("aliases") or ()
    names = [entity.name, *([aliases] if isinstance(aliases, str) else map(str, aliases))]
    forms: dict[str, float] = {}
    for name in names:
        for form, score in name_forms(name).items():
            forms[form] = max(score, forms.get(form, 0.0))
    return forms


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
