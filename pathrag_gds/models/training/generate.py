"""Make training groups from worlds and from graphs, as many as wanted. Seeded, streaming."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from pathrag_gds.models.training.candidates import Asked, Telling, make_group
from pathrag_gds.models.training.graph import TrainingGraph
from pathrag_gds.models.training.groups import Group
from pathrag_gds.models.training.lexicon import Lexicon
from pathrag_gds.models.training.questions import Asker
from pathrag_gds.models.training.walks import walk_questions
from pathrag_gds.models.training.worlds import ask_event, make_event_world, make_relation_world
from pathrag_gds.retrieve.serialize import Phrasing

__all__ = ["asker_of", "event_groups", "graph_groups", "groups_of", "relation_groups"]

# How texts are told: chains, or whole paths within so many tokens. The search's default is 64.
_BUDGETS = (64, 64, 64, 64, 96, 96, 128, 200)
_UNANSWERABLE = 0.1


def _telling(
    random: Random, count_tokens: Callable[[str], int], chains: float, phrasing: Phrasing | None
) -> Telling:
    if random.random() < chains:
        return Telling(chains=True, phrasing=phrasing)
    budget = _BUDGETS[random.randrange(len(_BUDGETS))]
    return Telling(chains=False, budget=budget, count_tokens=count_tokens, phrasing=phrasing)


def groups_of(
    asked: Iterator[Asked] | Sequence[Asked],
    graph: TrainingGraph,
    random: Random,
    count_tokens: Callable[[str], int],
    *,
    chains: float = 0.35,
    size: int = 8,
    phrasing: Phrasing | None = None,
) -> Iterator[Group]:
    """Make a group of each question, where that is possible; one in ten without its gold.

    Args:
        chains: Share of groups that are told as chains, beside those that can be told by nothing
            else.
        size: Texts of a group at most.
        phrasing: Words by relationship type that a search of the graph tells paths with.
    """
    for question in asked:
        group = make_group(
            question,
            graph,
            _telling(random, count_tokens, 1.0 if question.chains_only else chains, phrasing),
            random,
            size=size,
            keep_gold=random.random() >= _UNANSWERABLE,
        )
        if group is not None:
            yield group


def event_groups(
    lexicon: Lexicon, seed: int, count_tokens: Callable[[str], int]
) -> Iterator[Group]:
    """Give groups about events without end: a new world for every fourteen questions or so."""
    random = Random(f"events {seed}")
    while True:
        world = make_event_world(lexicon, random)
        asked = [q for _ in range(14) if (q := ask_event(world, random)) is not None]
        asked += walk_questions(world.graph, world.asker, random, 3)
        yield from groups_of(asked, world.graph, random, count_tokens, chains=0.2)


def relation_groups(
    lexicon: Lexicon, seed: int, count_tokens: Callable[[str], int]
) -> Iterator[Group]:
    """Give groups about relations without end: a new world for every sixteen questions."""
    random = Random(f"relations {seed}")
    while True:
        world = make_relation_world(lexicon, random)
        asked = walk_questions(world.graph, world.asker, random, 16)
        yield from groups_of(asked, world.graph, random, count_tokens, chains=0.5)


def graph_groups(
    graph: TrainingGraph, lexicon: Lexicon, seed: int, count_tokens: Callable[[str], int]
) -> Iterator[Group]:
    """Give groups about a graph as it is, without end; none where nothing can be asked."""
    random = Random(f"{graph.name} {seed}")
    asker = asker_of(graph, lexicon)
    while True:
        asked = list(walk_questions(graph, asker, random, 50))
        if not asked:
            return
        yield from groups_of(asked, graph, random, count_tokens, chains=0.5)


def asker_of(graph: TrainingGraph, lexicon: Lexicon) -> Asker:
    """Give an asker that knows the labels at both ends of each relationship type of a graph."""
    domains: dict[str, set[str]] = {}
    ranges: dict[str, set[str]] = {}
    for node, by_step in graph.steps.items():
        for type_, forward in by_step:
            side = domains if forward else ranges
            side.setdefault(type_, set()).update(graph.entities[node].labels)
    return Asker(
        lexicon,
        {type_: tuple(sorted(labels)) for type_, labels in domains.items()},
        {type_: tuple(sorted(labels)) for type_, labels in ranges.items()},
    )
