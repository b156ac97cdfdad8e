"""Choose what a question is compared with: its gold, the way there, and wrong paths that hurt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from pathrag_gds.models.training.graph import TrainingGraph, draw_hop
from pathrag_gds.models.training.groups import Group
from pathrag_gds.retrieve.serialize import Phrasing, chain_text, path_text
from pathrag_gds.types import Hop, Path

__all__ = ["Asked", "Telling", "make_group"]

_MOST_PREFIXES = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a graph with its gold.

    Attributes:
        question: In plain language.
        gold: Paths that end at an answer and say why; none for a question that the graph does not
            answer.
        decoys: Paths that are wrong although they look right, such as another event's of the same
            chain.
        starts: Other ids that a search of the question could start from.
        kind: Which generator asked, for statistics.
        chains_only: Told whole, right and wrong paths could not be told apart: those of one half
            of a question with two conditions say nothing of the other. Their chains are right.
    """

    question: str
    gold: tuple[Path, ...]
    decoys: tuple[Path, ...] = ()
    starts: tuple[str, ...] = ()
    kind: str = ""
    chains_only: bool = False


@dataclass(frozen=True, slots=True)
class Telling:
    """How paths are put into words.

    Attributes:
        chains: Whether by their chain, without names; else whole.
        budget: Tokens of a path's text; 0 for no limit.
        count_tokens: How the reader counts.
        phrasing: Words by relationship type, as a search of the graph tells them.
    """

    chains: bool
    budget: int = 0
    count_tokens: Callable[[str], int] | None = None
    phrasing: Phrasing | None = None

    def text(self, path: Path, graph: TrainingGraph) -> str:
        """Tell a path of a graph."""
        if self.chains:
            return chain_text(path, graph.entities, phrasing=self.phrasing)
        return path_text(
            path,
            graph.entities,
            phrasing=self.phrasing,
            budget=self.budget,
            count_tokens=self.count_tokens,
        )


def make_group(
    asked: Asked,
    graph: TrainingGraph,
    telling: Telling,
    random: Random,
    *,
    size: int = 8,
    keep_gold: bool = True,
) -> Group | None:
    """Make a group of texts for a question; None where too few wrong paths are found.

    Wrong paths are overshoots, siblings, turns taken wrongly, relations walked the wrong way, the
    right relations from the wrong node, decoys, and single nodes. One that ends at an answer by
    another way is left out: nobody can say whether it is wrong.

    Args:
        size: Texts of the group, fewer if there are not enough.
        keep_gold: Leave the gold paths in; without them nothing is positive but the way there,
            and that leads nowhere either, so it is not positive.
    """
    judge = _Judge(asked, telling, graph)
    chosen: dict[str, tuple[float, float]] = {}

    def add(path: Path, most: int = size) -> None:
        label = judge.label(path)
        if label is None or len(chosen) >= most:
            return
        text = telling.text(path, graph)
        known = chosen.get(text)
        # Two paths told alike are as good as the better one.
        chosen[text] = (
            label if known is None else (max(known[0], label[0]), max(known[1], label[1]))
        )

    gold = list(asked.gold)
    random.shuffle(gold)
    if keep_gold and gold:
        for path in gold[: 1 if random.random() < 0.6 else 2]:
            add(path)
        lengths = list(range(gold[0].depth))
        random.shuffle(lengths)
        for length in lengths[:_MOST_PREFIXES]:
            add(_prefix(gold[0], length))
    for path in _wrong(asked, graph, random, size):
        if len(chosen) >= size:
            break
        label = judge.label(path)
        if label is not None and (keep_gold or label == (0.0, 0.0)):
            add(path)
    if len(chosen) < 3 or not any(label == (0.0, 0.0) for label in chosen.values()):
        return None
    items = list(chosen.items())
    random.shuffle(items)
    return Group(
        question=asked.question,
        texts=tuple(text for text, _ in items),
        answer=tuple(label[0] for _, label in items),
        prefix=tuple(label[1] for _, label in items),
        source=f"{graph.name}/{asked.kind}/{'chain' if telling.chains else 'path'}",
    )


class _Judge:
    """Says what a path is worth for a question."""

    def __init__(self, asked: Asked, telling: Telling, graph: TrainingGraph) -> None:
        self.gold = {_signature(path, telling.chains, graph) for path in asked.gold}
        self.ways = {
            _signature(_prefix(path, length), telling.chains, graph)
            for path in asked.gold
            for length in range(path.depth)
        }
        self.ends = {path.tail for path in asked.gold}
        self.chains = telling.chains
        self.graph = graph

    def label(self, path: Path) -> tuple[float, float] | None:
        signature = _signature(path, self.chains, self.graph)
        if signature in self.gold:
            return (1.0, 1.0)
        if signature in self.ways:
            return (0.0, 1.0)
        return None if path.tail in self.ends else (0.0, 0.0)


def _signature(path: Path, chains: bool, graph: TrainingGraph) -> tuple[object, ...]:
    steps = tuple((hop.edge.type, hop.forward) for hop in path.hops)
    if chains and path.hops:
        return (path.start, steps, graph.entities[path.tail].labels)
    return (path.nodes, steps)


def _prefix(path: Path, length: int) -> Path:
    return Path(path.nodes[: length + 1], path.hops[:length])


def _wrong(asked: Asked, graph: TrainingGraph, random: Random, size: int) -> Sequence[Path]:
    """List paths to compare with, in random order but decoys first; some may turn out right."""
    found: list[Path] = []
    if asked.gold:
        gold = asked.gold[random.randrange(len(asked.gold))]
        chain = tuple((hop.edge.type, hop.forward) for hop in gold.hops)
        for _ in range(2 * size):
            draw = random.random()
            if draw < 0.2:
                found += _extended(gold, graph, random)
            elif draw < 0.65:
                found += _diverging(gold, graph, random)
            elif draw < 0.75:
                found += _other_way(gold, graph, random)
            elif draw < 0.9 and chain:
                found += _same_chain_elsewhere(chain, graph, random)
            else:
                found += _lone(graph, random)
    for start in asked.starts:
        # A search looks at far more junk than this, some of it deep.
        for _ in range(size // 2):
            walk = graph.random_walk(start, random.randrange(6), random)
            if walk is not None:
                found.append(walk)
    random.shuffle(found)
    decoys = list(asked.decoys)
    random.shuffle(decoys)
    return [*decoys[: size // 2], *found]


def _extended(path: Path, graph: TrainingGraph, random: Random) -> list[Path]:
    hop = graph.random_hop(path.tail, path.nodes, random)
    return [path.extend(hop)] if hop else []


def _diverging(gold: Path, graph: TrainingGraph, random: Random) -> list[Path]:
    """Leave the gold path at some node by another step, and go on for as long as it or less."""
    if not gold.depth:
        walk = graph.random_walk(gold.start, 1 + random.randrange(2), random)
        return [walk] if walk else []
    # The later it is left, the harder to tell from gold.
    at = max(random.randrange(gold.depth), random.randrange(gold.depth))
    path = _prefix(gold, at)
    right = (gold.hops[at].edge.type, gold.hops[at].forward)
    hops: list[Hop] = []
    for step, members in graph.steps[path.tail].items():
        hop = draw_hop(members, path.nodes, random) if step != right else None
        if hop:
            hops.append(hop)
    if not hops:
        return []
    path = path.extend(hops[random.randrange(len(hops))])
    while path.depth < gold.depth and random.random() < 0.75:
        longer = _extended(path, graph, random)
        if not longer:
            break
        path = longer[0]
    return [path]


def _other_way(gold: Path, graph: TrainingGraph, random: Random) -> list[Path]:
    """Walk one of the relations of the gold path against its direction, where that is possible."""
    if not gold.depth:
        return []
    at = random.randrange(gold.depth)
    path = _prefix(gold, at)
    step = (gold.hops[at].edge.type, not gold.hops[at].forward)
    hop = draw_hop(graph.steps[path.tail].get(step, ()), path.nodes, random)
    return [path.extend(hop)] if hop else []


def _same_chain_elsewhere(
    chain: Sequence[tuple[str, bool]], graph: TrainingGraph, random: Random
) -> list[Path]:
    starts = graph.starts.get(chain[0], ())
    if not starts:
        return []
    start = starts[random.randrange(len(starts))]
    paths = graph.follow(start, chain[: 1 + random.randrange(len(chain))], limit=20)
    return [paths[random.randrange(len(paths))]] if paths else []


def _lone(graph: TrainingGraph, random: Random) -> list[Path]:
    nodes = graph.nodes
    return [Path((nodes[random.randrange(len(nodes))],))]
