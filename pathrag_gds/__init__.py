"""Path-based graph RAG on Neo4j: ranked relational paths that answer a question."""

from __future__ import annotations

from pathrag_gds.answer.generate import GeneratedAnswer
from pathrag_gds.answer.methods import FusedResult, FusionOptions
from pathrag_gds.answer.prompt import PathPrompt
from pathrag_gds.config import Connection, SearchConfig
from pathrag_gds.errors import PathRAGError
from pathrag_gds.pathrag import PathRAG
from pathrag_gds.types import (
    Anchor,
    Answer,
    Edge,
    Entity,
    Explanation,
    Hop,
    Path,
    Pattern,
    PatternRun,
    RankedPath,
    SavedPattern,
    SearchResult,
)
from pathrag_gds.version import __version__

__all__ = [
    "Anchor",
    "Answer",
    "Connection",
    "Edge",
    "Entity",
    "Explanation",
    "FusedResult",
    "FusionOptions",
    "GeneratedAnswer",
    "Hop",
    "Path",
    "PathPrompt",
    "PathRAG",
    "PathRAGError",
    "Pattern",
    "PatternRun",
    "RankedPath",
    "SavedPattern",
    "SearchConfig",
    "SearchResult",
    "__version__",
]
