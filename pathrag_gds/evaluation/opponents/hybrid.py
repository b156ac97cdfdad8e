"""HybridCypherRetriever of Neo4j's own package neo4j-graphrag: the real one, on our indexes.

https://github.com/neo4j/neo4j-graphrag-python. Nodes are found by vector and by words, each ranking
scaled by its best score, and a tail in Cypher goes on from them: here to the entities one and two
hops away. It has no way to tell one of those from another, so they are ranked by the score of the
node that they were reached from, then by hops; what is left is ties. Needs the extra ``eval``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from pathrag_gds.errors import MissingExtra
from pathrag_gds.evaluation.opponents.linking import database_of
from pathrag_gds.evaluation.opponents.ranked import in_order
from pathrag_gds.evaluation.systems import Asked, Opponent, Ranking, Setting
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import STRUCTURAL_TYPES, tenant_size, vector_record
from pathrag_gds.models.encoder import Encoder

if TYPE_CHECKING:
    from neo4j_graphrag.embeddings.base import Embedder
    from neo4j_graphrag.retrievers import HybridCypherRetriever
    from neo4j_graphrag.types import RetrieverResultItem

__all__ = ["GraphRAGHybrid", "HybridOptions", "graphrag_hybrid", "plain_words", "worth_of"]

NAME = "graphrag-hybrid"
TAIL = "evaluation/hybrid_tail"

_COUNTED = 1_000_000
# Characters that mean something in a Lucene query, which the package passes on as it gets it.
_LUCENE = re.compile(r'[+\-&|!(){}\[\]^"~*?:\\/]+')


@dataclass(frozen=True, slots=True)
class HybridOptions:
    """How far the retriever goes.

    Attributes:
        starts: Nodes that the tail goes on from (the package's default ``top_k``).
        found: Nodes of this tenant that the hybrid search is asked for, among which given topics
            are looked for.
        reach: Entities per start and number of hops, at most.
    """

    starts: int = 5
    found: int = 50
    reach: int = 2000


def plain_words(text: str) -> str:
    """Take what Lucene reads as syntax out of a question; in lower case, AND and NOT are words."""
    return " ".join(_LUCENE.sub(" ", text).lower().split())


def worth_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, tuple[float, ...]]:
    """Give the worth of each end: the best score of a start, then the fewest hops from it.

    Args:
        rows: ``id``, ``score`` of the start, ``hops``.
    """
    worth: dict[str, tuple[float, ...]] = {}
    for row in rows:
        value = (float(row["score"]), -float(row["hops"]))
        worth[row["id"]] = max(worth.get(row["id"], value), value)
    return worth


@dataclass(frozen=True, slots=True)
class GraphRAGHybrid:
    """Rank the entities around what the retriever finds; given topics are left out."""

    db: Database
    retriever: HybridCypherRetriever
    tenant: str
    crowding: int
    fingerprint: str
    options: HybridOptions
    name: str = NAME

    def rank(self, asked: Asked) -> Ranking:
        """Answer one question; no answers where nothing is found, or the question has no word."""
        began = time.perf_counter()
        text = plain_words(asked.text)
        rows: list[Mapping[str, Any]] = []
        if text:
            with self.db.lent_driver(TAIL):
                result = self.retriever.search(
                    query_text=text,
                    top_k=self.options.found * self.crowding,
                    query_params={
                        "tenant": self.tenant,
                        "topics": list(asked.start_ids),
                        "starts": self.options.starts,
                        "reach": self.options.reach,
                        "structural": list(STRUCTURAL_TYPES),
                    },
                )
            rows = [item.metadata or {} for item in result.items]
        answers = in_order(asked.question.text, worth_of(rows), without=asked.start_ids)
        wall = (time.perf_counter() - began) * 1000
        return Ranking(
            answers=answers, round_trips=int(bool(text)), millis={"wall": round(wall, 3)}
        )


def graphrag_hybrid(setting: Setting) -> Opponent:
    """Set the retriever up on the vector and full-text indexes of the entities.

    Raises:
        ConfigError: The data set has no graph.
        MissingExtra: neo4j-graphrag is not installed.
    """
    try:
        from neo4j_graphrag import __version__
        from neo4j_graphrag.retrievers import HybridCypherRetriever
    except ImportError as error:
        raise MissingExtra("eval", needed_for=f"The opponent {NAME!r}") from error
    db = database_of(setting, NAME)
    options = HybridOptions()
    record = vector_record(db, "entity")
    everyone = int(db.run(load("schema/all_entities"))[0]["size"])
    size = tenant_size(db, setting.tenant, at_most=_COUNTED)
    tail = load(TAIL).render({"found": ""}).text
    with db.lent_driver(TAIL) as driver:
        retriever = HybridCypherRetriever(
            driver,
            vector_index_name=record.index if record else "entity_embedding",
            fulltext_index_name="entity_text",
            retrieval_query=tail,
            embedder=_embedder(setting.encoder),
            result_formatter=_formatted,
            neo4j_database=db.connection.database or None,
        )
    told = [__version__, setting.encoder.fingerprint, tail, sorted(asdict(options).items())]
    return GraphRAGHybrid(
        db,
        retriever,
        setting.tenant,
        crowding=-(-everyone // max(size, 1)),
        fingerprint=sha256(repr(told).encode()).hexdigest()[:16],
        options=options,
    )


def _embedder(encoder: Encoder) -> Embedder:
    from neo4j_graphrag.embeddings.base import Embedder

    class OurEmbedder(Embedder):
        def embed_query(self, text: str) -> list[float]:
            return [float(x) for x in encoder.encode([text])[0]]

    return OurEmbedder()


def _formatted(record: Any) -> RetrieverResultItem:
    from neo4j_graphrag.types import RetrieverResultItem

    return RetrieverResultItem(content=record["id"], metadata=record.data())
