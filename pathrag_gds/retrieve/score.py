"""Let the reranker read candidates: their chains of relations, their whole paths, or both.

Paths of one chain (start, types, directions, label of the end) share one text, so judging chains
is cheap where a graph is regular. Where only a node's own words decide, as among events, whole
paths must be read; the chains then say which of them first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pathrag_gds.config import SearchConfig
from pathrag_gds.models.reranker import Reranker, matcher_of
from pathrag_gds.retrieve.intent import asked_type, stems, type_text
from pathrag_gds.retrieve.serialize import (
    Phrasing,
    chain_text,
    node_text,
    path_text,
    property_text,
)
from pathrag_gds.types import Entity, Path

__all__ = ["Child", "Reading", "Scorer"]

# The clock is looked at between batches of so many texts: about a quarter of a second on two cores.
_BATCH = 64
# Where no type is as near as this to what is asked for, the graph does not tell types apart in the
# question's terms.
_LEAST_FIT = 0.5


@dataclass(frozen=True, slots=True)
class Child:
    """A path to be scored.

    Attributes:
        parent: Rank of the path that it extends in the beam before; -1 for a start.
        turn: Its place among the children of its parent, from 0.
    """

    path: Path
    parent: int = -1
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reranker made of a path.

    Attributes:
        text: What it read of this path: the whole path where it read that, else the chain.
        chain: Text of its chain; equal for paths of one chain, empty where chains are not read.
        rerank: That the path ends at the answer by its words alone, from 0 to 1.
        similarity: By how much its nodes are nearer to the question than their like, from -1 to 1;
            0 where nothing is told.
        type: By how much its end is of the type that is asked for more than other ends, from -1 to
            1; 0 where the question or the graph does not say.
        answer: That it ends at the answer by all of these, from 0 to 1.
        prefix: That it or an extension of it does, from 0 to 1.
    """

    child: Child
    text: str
    chain: str
    rerank: float
    similarity: float
    type: float
    answer: float
    prefix: float


@dataclass(slots=True)
class Scorer:
    """Reads the candidates of one search.

    Args:
        phrasing: Words by relationship type.
        budget: Tokens of a path's text at most; 0 for no limit.
        count_tokens: How the reranker counts; needed with a budget.
        stop: Asked between batches; True ends the reading.
        strategy: ``paths``, ``chains`` or ``both``: what is read of a candidate.

    Attributes:
        scores: What was read: the answer and the prefix value, by text.
        nearness: How near what a node tells is to the question, by id, for nodes met so far.
        named: Nodes that the question names.
        fit: How near each type met so far is to the type that is asked for.
    """

    question: str
    config: SearchConfig
    reranker: Reranker
    phrasing: Phrasing
    budget: int
    count_tokens: Callable[[str], int] | None
    stop: Callable[[], bool]
    strategy: str
    scores: dict[str, tuple[float, float]] = field(default_factory=dict)
    nearness: dict[str, float] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    fit: dict[str, float] = field(default_factory=dict)
    cache_hits: int = 0

    def read(
        self, children: Sequence[Child], entities: Mapping[str, Entity]
    ) -> tuple[list[Reading], int, int]:
        """Read children.

        Whole paths are read up to ``rerank_limit``: those of the chains that lead on best, parents
        taking turns within a chain.

        Returns:
            Readings in the order in which they were chosen, how many children ``rerank_limit`` left
            out, how many the time limit did.
        """
        chains: dict[Path, str] = {}
        if self.strategy != "paths":
            chains = {
                c.path: chain_text(c.path, entities, phrasing=self.phrasing) for c in children
            }
            self.read_texts(list(chains.values()))
        known = [c for c in children if not chains or chains[c.path] in self.scores]
        late = len(children) - len(known)
        if self.strategy == "chains":
            return [self._of_chain(c, chains[c.path]) for c in known], 0, late
        ranked = sorted(known, key=lambda c: self._order(c, chains.get(c.path, "")))
        limit = self.config.rerank_limit or len(ranked)
        chosen = ranked[:limit]
        texts = [
            path_text(
                child.path,
                entities,
                phrasing=self.phrasing,
                budget=self.budget,
                count_tokens=self.count_tokens,
            )
            for child in chosen
        ]
        self.read_texts(texts)
        # What the time limit left unread needs no matching.
        read = [(c, t) for c, t in zip(chosen, texts, strict=True) if t in self.scores]
        similar = self._nearness([child.path for child, _ in read], entities)
        fitting = self._fitting([child.path.tail for child, _ in read], entities)
        readings = [
            self._of_path(child, text, chains.get(child.path, ""), similarity, type_)
            for (child, text), similarity, type_ in zip(read, similar, fitting, strict=True)
        ]
        return readings, len(ranked) - len(chosen), late + len(chosen) - len(readings)

    def best_property(self, entity: Entity, keys: Sequence[str]) -> str:
        """Give the property whose value answers best, the first of equals.

        Args:
            keys: At least one; ``description`` stands for the description.
        """
        texts = {key: property_text(entity, key) for key in keys}
        self.read_texts(list(texts.values()))
        return max(keys, key=lambda key: self.scores.get(texts[key], (0.0, 0.0))[0])

    def _order(self, child: Child, chain: str) -> tuple[float, int, int]:
        return (-self.scores[chain][1] if chain else 0.0, child.turn, child.parent)

    def _of_chain(self, child: Child, chain: str) -> Reading:
        answer, prefix = self.scores[chain]
        return Reading(child, chain, chain, answer, 0.0, 0.0, answer, prefix)

    def _nearness(self, paths: Sequence[Path], entities: Mapping[str, Entity]) -> list[float]:
        """Say how much nearer each path is to the question than its like.

        A path is as near as the nearest of its nodes that tell something and that the question does
        not name. A node's nearness counts from the mean of those with its labels; where the
        question names one of them, from that one's, for then it speaks of no other in other words.
        """
        matcher = matcher_of(self.reranker)
        if not self.config.weight_similarity or matcher is None:
            return [0.0] * len(paths)
        nodes = dict.fromkeys(node for path in paths for node in path.nodes)
        unread = [
            node for node in nodes if node not in self.nearness and entities[node].description
        ]
        texts = [node_text(entities[node]) for node in unread]
        self.nearness |= zip(unread, matcher.match(self.question, texts), strict=True)
        asked = stems(self.question)
        known = {n for n in self.nearness if n in self.named or stems(entities[n].name) <= asked}
        alike: dict[tuple[str, ...], list[float]] = defaultdict(list)
        named: dict[tuple[str, ...], float] = {}
        for node, near in self.nearness.items():
            labels = entities[node].labels
            alike[labels].append(near)
            if node in known:
                named[labels] = max(near, named.get(labels, 0.0))
        usual = {labels: math.fsum(found) / len(found) for labels, found in alike.items()} | named
        above = {
            node: near - usual[entities[node].labels]
            for node, near in self.nearness.items()
            if node not in known
        }
        return [
            round(max((above[node] for node in path.nodes if node in above), default=0.0), 6)
            for path in paths
        ]

    def _fitting(self, ends: Sequence[str], entities: Mapping[str, Entity]) -> list[float]:
        """Say how well the type of each end fits what is asked for, beside all types met so far."""
        asked = asked_type(self.question) if self.config.intent != "off" else ""
        matcher = matcher_of(self.reranker)
        if not self.config.weight_type or not asked or matcher is None:
            return [0.0] * len(ends)
        texts = [type_text(entities[end]) for end in ends]
        unread = [text for text in dict.fromkeys(texts) if text and text not in self.fit]
        wanted = stems(asked)
        for text, near in zip(unread, matcher.match(asked, unread), strict=True):
            self.fit[text] = 1.0 if wanted & stems(text) else near
        if max(self.fit.values(), default=0.0) < _LEAST_FIT:
            return [0.0] * len(ends)
        mean = math.fsum(self.fit.values()) / len(self.fit)
        return [round(self.fit[text] - mean, 6) if text else 0.0 for text in texts]

    def _of_path(
        self, child: Child, text: str, chain: str, similarity: float, type_: float
    ) -> Reading:
        rerank, prefix = self.scores[text]
        if chain:
            share = self.config.weight_chain
            of_chain = self.scores[chain]
            rerank = round((1 - share) * rerank + share * of_chain[0], 6)
            prefix = round((1 - share) * prefix + share * of_chain[1], 6)
        shift = self.config.weight_similarity * similarity
        return Reading(
            child=child,
            text=text,
            chain=chain,
            rerank=rerank,
            similarity=similarity,
            type=type_,
            answer=shifted(rerank, shift + self.config.weight_type * type_),
            prefix=shifted(prefix, shift),
        )

    def read_texts(self, texts: Sequence[str]) -> None:
        """Let the reranker read the texts it has not read, as long as there is time.

        What it read is in ``scores``; a text that the time limit left unread is not.
        """
        unread = [text for text in dict.fromkeys(texts) if text not in self.scores]
        self.cache_hits += len(texts) - len(unread)
        for first in range(0, len(unread), _BATCH):
            if first and self.stop():
                return
            batch = unread[first : first + _BATCH]
            for text, score in zip(batch, self.reranker.score(self.question, batch), strict=True):
                self.scores[text] = (score.answer, score.prefix)


def shifted(probability: float, shift: float) -> float:
    """Add to the logit of a probability; 0 and 1, and a shift of 0, leave it as it is.

    Rounded to 6 decimals.
    """
    if not shift or not 0 < probability < 1:
        return probability
    return round(1 / (1 + (1 / probability - 1) * math.exp(-shift)), 6)
