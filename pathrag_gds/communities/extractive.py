"""Report on a community without a language model: what its graph says, in sentences. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, zip_longest

from pathrag_gds.communities.content import content_hash, most_central, title_of
from pathrag_gds.communities.types import CommunityContent, CommunityReport
from pathrag_gds.retrieve.serialize import Phrasing, hop_sentence, node_text, relation_phrase
from pathrag_gds.types import Edge, Entity, Hop, Path

__all__ = ["EXTRACT_CHARACTERS", "EXTRACT_ENTITIES", "central_paths", "extractive_report"]

EXTRACT_ENTITIES = 5
"""How many entities an extract describes."""

EXTRACT_CHARACTERS = 1200
"""How long an extract is at most: about what the default encoder reads of a text."""

_RELATIONS = 5
_PATHS = 5
_MAX_HOPS = 3
_SENTENCE_CHARACTERS = 240


def extractive_report(
    content: CommunityContent,
    *,
    centrality: Mapping[str, float] | None = None,
    phrasing: Phrasing | None = None,
    max_characters: int = EXTRACT_CHARACTERS,
    digest: str = "",
) -> CommunityReport:
    """Put a report together from the graph alone.

    How large the community is and around whom; its most frequent relations; then, in turns, its
    central entities with their descriptions and the paths between them. Whole sentences, as many
    as there is room for. The same content gives the same text.

    Args:
        content: Relationships that lead nowhere (to chunks, to communities) must not be among it.
        centrality: PageRank or the like, by id; larger is more central, 0 for one that is not
            known; None for the degree within the community.
        phrasing: Words by relationship type; the type's own words where it is silent.
        max_characters: Of the summary.
        digest: Hash to keep with the report; that of the content by default.

    Returns:
        A report with ``origin`` ``extractive``; its summary begins with ``Extract``, so that a
        reader of the text alone knows too. The key entities are the five most central ones.

    Raises:
        ValueError: A centrality is not a number, or there is room for no character.
    """
    if max_characters < 1:
        raise ValueError(f"max_characters is {max_characters}")
    central = most_central(content, centrality, EXTRACT_ENTITIES)
    title = title_of(content, central)
    entities = {entity.id: entity for entity in content.entities}
    paths = central_paths(content, central, centrality)
    words = phrasing or {}
    turns = zip_longest(
        _entity_texts(entities[id_] for id_ in central),
        _path_texts(paths, entities, words),
        fillvalue=(),
    )
    groups = [_relation_text(content.edges, words), *chain.from_iterable(turns)]
    return CommunityReport(
        community_id=content.community.id,
        tenant_id=content.community.tenant_id,
        title=title,
        summary=_fit(_size_text(content, title), groups, max_characters),
        key_entities=central,
        origin="extractive",
        form="extracted",
        key_entities_from="degree" if centrality is None else "centrality",
        content_hash=digest or content_hash(content),
    )


def central_paths(
    content: CommunityContent,
    central: Sequence[str],
    centrality: Mapping[str, float] | None = None,
) -> tuple[Path, ...]:
    """Find how central entities are linked to each other.

    Between two of them, the shortest path of at most 3 hops, in either direction of each
    relationship; of several, the one through the most central entities. The paths are ordered by
    the mean centrality of their nodes; one whose hops are all on earlier ones is left out.

    Args:
        central: Ids of members, the most central first.
        centrality: By id; None for the degree within the community.

    Returns:
        At most 5 paths; none where no two are linked.
    """
    values = content.degrees() if centrality is None else centrality
    weights = {id_: float(values.get(id_, 0.0)) for id_ in content.community.node_ids}
    hops = _hops_by_head(content.edges)
    found = {
        path.key: path
        for start, end in combinations(central, 2)
        if (path := _shortest(start, end, hops, weights)) is not None
    }
    ordered = sorted(
        found.values(),
        key=lambda path: (-sum(weights[n] for n in path.nodes) / len(path.nodes), path.key),
    )
    return tuple(_tell_new(ordered))[:_PATHS]


def _tell_new(paths: Iterable[Path]) -> Iterator[Path]:
    """Pass on the paths that have a hop that no earlier one has."""
    told: set[tuple[str, ...]] = set()
    for path in paths:
        if not told.issuperset(path.key):
            told.update(path.key)
            yield path


def _hops_by_head(edges: Iterable[Edge]) -> dict[str, list[Hop]]:
    hops: dict[str, list[Hop]] = defaultdict(list)
    # The first of parallel relationships is taken, so their order must not depend on the caller's.
    for edge in sorted(edges, key=lambda edge: edge.identity):
        if edge.source != edge.target:
            hops[edge.source].append(Hop(edge, True))
            hops[edge.target].append(Hop(edge, False))
    return hops


def _shortest(
    start: str, end: str, hops: Mapping[str, Sequence[Hop]], weights: Mapping[str, float]
) -> Path | None:
    """Find the shortest path, by level; among equals, the heaviest, then the first by ids."""
    came_by: dict[str, Hop] = {}
    level = {start: 0.0}
    for _ in range(_MAX_HOPS):
        reached: dict[str, tuple[float, Hop]] = {}
        for node in sorted(level):
            weight = level[node] + weights[node]
            for hop in hops.get(node, ()):
                new = hop.tail != start and hop.tail not in came_by
                if new and (hop.tail not in reached or weight > reached[hop.tail][0]):
                    reached[hop.tail] = (weight, hop)
        came_by.update((tail, hop) for tail, (_, hop) in reached.items())
        if end in reached:
            return _walk_back(start, end, came_by)
        level = {tail: weight for tail, (weight, _) in reached.items()}
    return None


def _walk_back(start: str, end: str, came_by: Mapping[str, Hop]) -> Path:
    walked: list[Hop] = []
    node = end
    while node != start:
        walked.append(came_by[node])
        node = came_by[node].head
    hops = tuple(reversed(walked))
    return Path((start, *(hop.tail for hop in hops)), hops)


def _size_text(content: CommunityContent, title: str) -> str:
    entities = _counted(len(content.entities), "entity", "entities")
    if len(content.entities) == 1:
        return f"Extract of one entity: {title}."
    edges = _counted(len(content.edges), "relationship", "relationships")
    return f"Extract of {entities} and {edges}, around {title}."


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _relation_text(edges: Iterable[Edge], phrasing: Phrasing) -> tuple[str, ...]:
    """Tell the most frequent relations: ``"Relations: acted in (12), directed (3)."``."""
    counts = Counter(edge.type for edge in edges)
    most = sorted(counts, key=lambda type_: (-counts[type_], type_))[:_RELATIONS]
    told = (f"{phrasing.get(t, ('',))[0] or relation_phrase(t)} ({counts[t]})" for t in most)
    return (f"Relations: {', '.join(told)}.",) if counts else ()


def _entity_texts(entities: Iterable[Entity]) -> Iterator[tuple[str, ...]]:
    """Tell the entities that there is more to tell about than their names."""
    for entity in entities:
        if entity.labels or entity.description:
            yield (_cut(node_text(entity), _SENTENCE_CHARACTERS),)


def _path_texts(
    paths: Iterable[Path], entities: Mapping[str, Entity], phrasing: Phrasing
) -> Iterator[tuple[str, ...]]:
    """Tell each path, a sentence for each hop."""
    for path in paths:
        told = (hop_sentence(hop, entities, phrasing) for hop in path.hops)
        yield tuple(_cut(sentence, _SENTENCE_CHARACTERS) for sentence in told)


def _fit(first: str, others: Iterable[tuple[str, ...]], room: int) -> str:
    """Join the groups of sentences that there is room for, no sentence twice.

    The first sentence is always there, cut where it alone has no room.
    """
    text = _cut(first, room)
    told: set[str] = set()
    for group in others:
        new = [sentence for sentence in group if sentence not in told]
        longer = " ".join([text, *new])
        if len(longer) <= room:
            text = longer
            told.update(new)
    return text


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1].rstrip() + "…"
