"""Run a search on a graph in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pathrag_gds.config import SearchConfig
from pathrag_gds.graph.schema import Ontology, RelationType
from pathrag_gds.models.reranker import Reranker
from pathrag_gds.retrieve.search import run, search
from pathrag_gds.retrieve.session import SearchContext
from pathrag_gds.types import DepthTrace, SearchResult
from tests.fakes import MemoryGraph, RecordingDatabase, WordOverlapReranker

__all__ = ["CHAIN", "QUESTION", "ask", "context", "cuts", "nodes"]

QUESTION = "Which red thing?"
CHAIN = [("a", "R", "b"), ("b", "S", "c"), ("c", "T", "d")]


def context(graph: MemoryGraph, reranker: Reranker, **changes: Any) -> SearchContext:
    types = {type_ for _, type_, *_ in graph.relationships}
    ontology = Ontology("t", tuple(RelationType(name, 1, max_out=1) for name in sorted(types)))
    made = SearchContext(
        tenant="t", ontology=ontology, reranker=reranker, question_vector=(1.0, 0.0)
    )
    return replace(made, **changes)


def ask(
    graph: MemoryGraph,
    scores: Mapping[str, float] | None = None,
    *,
    question: str = QUESTION,
    trace: list[DepthTrace] | None = None,
    database: RecordingDatabase | None = None,
    config: SearchConfig | None = None,
    changes: Mapping[str, Any] | None = None,
    start_ids: Sequence[str] = (),
    **overrides: Any,
) -> SearchResult:
    made = replace(context(graph, WordOverlapReranker(scores)), **(changes or {}))
    config = (config or SearchConfig(min_score=0.0, min_prefix=0.0, patterns=0)).with_(**overrides)
    return run(
        database or RecordingDatabase(graph.answers),
        search(question, config, made, trace, start_ids=start_ids),
    )


def nodes(result: SearchResult) -> list[str]:
    return ["".join(ranked.path.nodes) for ranked in result.paths]


def cuts(result: SearchResult) -> dict[tuple[int, str], int]:
    return {(c.depth, c.reason): c.count for c in result.cut}
