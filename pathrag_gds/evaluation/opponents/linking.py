"""Where an opponent starts: at the entities at which our own search would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import ConfigError
from pathrag_gds.evaluation.systems import Asked, Setting
from pathrag_gds.graph.database import Database, QueryRunner
from pathrag_gds.models.encoder import Encoder
from pathrag_gds.models.reranker import CosineReranker
from pathrag_gds.retrieve.context import read_context
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.seeds import OVER_FETCH, known_words, longer, read_seeds, seeds_request
from pathrag_gds.retrieve.session import SearchContext
from pathrag_gds.types import Entity

__all__ = ["Linked", "Linker", "Links", "database_of"]


@dataclass(frozen=True, slots=True)
class Linked:
    """Where to start.

    Attributes:
        starts: Ids in order; none where nothing was found.
        entities: What was met on the way, the starts among it, by id.
        vector: Of the question; None where the tenant has no vectors.
        round_trips: Statements that it took.
    """

    starts: tuple[str, ...]
    entities: Mapping[str, Entity]
    vector: tuple[float, ...] | None = None
    round_trips: int = 0


class Links(Protocol):
    """What finds the entities that a question is about."""

    @property
    def context(self) -> SearchContext: ...

    def link(self, asked: Asked) -> Linked:
        """Find them for one question."""
        ...


@dataclass(frozen=True, slots=True)
class Linker:
    """Take the given topics, else the entities that the question names, else the nearest ones.

    The statement and the rules are those of our search, so that an opponent loses by what it does
    from there on. (HippoRAG and PropRAG let a language model find the names, and take the entity
    nearest to each; a name that is written as in the graph is nearest to itself.)

    Args:
        db: Where the graph is.
        context: What is known of the tenant.
        most: Entities at most where neither topic nor name is known: the nearest by embedding and
            by words.
    """

    db: QueryRunner
    context: SearchContext
    encoder: Encoder
    config: SearchConfig
    most: int

    @classmethod
    def of(cls, setting: Setting, name: str, *, most: int) -> Linker:
        """Read what must be known of the tenant.

        Args:
            name: Of the opponent, for messages.

        Raises:
            ConfigError: The data set has no graph.
            EncoderMismatch: The vectors in the database are of another encoder.
        """
        db = database_of(setting, name)
        reranker = CosineReranker(setting.encoder)
        context = read_context(db, setting.tenant, encoder=setting.encoder, reranker=reranker)
        return cls(db, context, setting.encoder, setting.config, most)

    def link(self, asked: Asked) -> Linked:
        """Find the starts of one question."""
        vector: tuple[float, ...] | None = None
        if self.context.question_vector is not None:
            vector = tuple(float(x) for x in self.encoder.encode([asked.text])[0])
        over_fetch = OVER_FETCH * self.context.crowding
        known = known_words(self.context.count_tokens)
        round_trips = 0
        while True:
            request = seeds_request(
                asked.text,
                tenant=self.context.tenant,
                small=self.context.small,
                vector=vector,
                vector_index=self.context.vector_index,
                vector_property=self.context.vector_property,
                predicate=Predicate("", {}),
                config=self.config,
                over_fetch=over_fetch,
                start_ids=asked.start_ids,
                names_index=self.context.names_index,
                known=known,
            )
            rows = self.db.run(request.query, **request.parameters)
            round_trips += 1
            found = read_seeds(
                asked.text,
                rows,
                seed_k=self.config.seed_k,
                start_ids=asked.start_ids,
                known=known,
            )
            further = longer(request, found.similar)
            if self.context.small or vector is None or further is None:
                break
            over_fetch = further
        named = tuple(anchor.id for anchor in found.anchors)
        nearest = tuple(seed.id for seed in found.seeds[: self.most])
        return Linked(named or nearest, found.entities, vector, round_trips)


def database_of(setting: Setting, name: str) -> Database:
    """Give the database that holds the graph.

    Args:
        name: Of the opponent, for messages.

    Raises:
        ConfigError: The data set has no graph.
    """
    if setting.database is None:
        raise ConfigError(
            f"{setting.dataset.name} has no graph for the opponent {name!r} to search.",
            hint="Leave --opponent out, or ask random, word-overlap or cosine.",
        )
    return setting.database
