"""Choose what the beam of a search is made of: whole paths, chains of relations, or both. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pathrag_gds.config import Strategy
from pathrag_gds.graph.schema import Ontology
from pathrag_gds.models.reranker import Reranker, reads_chains

__all__ = ["Choice", "choose"]

# Below so many relationships of a type on average, a graph has about as many chains as paths: the
# types are a person's or a model's own words, as in graphs of open information extraction. MuSiQue
# has 3.4: passage recall@5 was .49 by both, .47 by paths and .45 by chains, over 25 questions that
# are not reported. Graphs with a vocabulary have more (PathQuestion 93, MetaQA 14,842).
_LEAST_PER_TYPE = 5


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy and why it was taken, as a clause for people."""

    strategy: Literal["paths", "chains", "both"]
    reason: str


def choose(strategy: Strategy, reranker: Reranker, ontology: Ontology) -> Choice:
    """Give the strategy of a search.

    ``auto`` takes chains where they are few and nodes have nothing but names, for names do not
    tell one path of a chain from another: PathQuestion with three hops had the right answer first
    for 83 of 100 questions by chains, for 64 by both.
    """
    if strategy != "auto":
        return Choice(strategy, "as asked for")
    if not reads_chains(reranker):
        return Choice("paths", "the reranker was not trained to read chains")
    if ontology.nodes_tell:
        return Choice("both", "nodes tell more than their names")
    types = ontology.relation_types
    if sum(t.count for t in types) < _LEAST_PER_TYPE * len(types):
        return Choice("both", "there are nearly as many chains as paths")
    return Choice("chains", "nodes have nothing but names")
