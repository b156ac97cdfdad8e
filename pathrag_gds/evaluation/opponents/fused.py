"""Our fused methods, and each of the rankings that they fuse, alone."""

from __future__ import annotations

import time
from dataclasses import dataclass
from hashlib import sha256

from pathrag_gds.answer.methods import RANKINGS, FusedResult, FusionOptions, RankingName, find
from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import ConfigError
from pathrag_gds.evaluation.opponents.linking import database_of
from pathrag_gds.evaluation.systems import Asked, Asks, Opponent, Ranking, Setting
from pathrag_gds.graph.database import Database
from pathrag_gds.models.encoder import Encoder
from pathrag_gds.retrieve.nearest import NearestContext, read_nearest_context
from pathrag_gds.types import SearchResult

__all__ = ["Fused", "alone", "fused"]


@dataclass(frozen=True, slots=True)
class Fused:
    """Rank entities and passages by ``hybrid``, or by one of its rankings.

    Attributes:
        asks: Our search.
        fingerprint: Of encoder, reranker and weights.
    """

    name: str
    db: Database
    encoder: Encoder
    asks: Asks
    context: NearestContext
    config: SearchConfig
    options: FusionOptions
    fingerprint: str

    def rank(self, asked: Asked) -> Ranking:
        """Answer one question: entities as answers, and passages."""
        began = time.perf_counter()

        def search(config: SearchConfig) -> SearchResult:
            return self.asks.explain(
                asked.text, tenant=self.context.tenant, config=config, start_ids=asked.start_ids
            ).result

        found: FusedResult = find(
            self.db,
            self.encoder,
            asked.text,
            method="hybrid",
            context=self.context,
            config=self.config,
            options=self.options,
            search=search,
        )
        wall = (time.perf_counter() - began) * 1000
        stats = found.search.stats
        return Ranking(
            answers=tuple((entity.id, "") for entity in found.entities),
            passages=tuple(passage.id for passage in found.passages),
            texts_scored=stats.texts_scored,
            round_trips=stats.round_trips,
            millis={**stats.millis, "wall": round(wall, 3)},
        )


def fused(setting: Setting, name: str = "hybrid", options: FusionOptions | None = None) -> Opponent:
    """Set up ``hybrid`` on the tenant of a data set; communities are used where there are any.

    Raises:
        ConfigError: The data set has no graph.
    """
    db = database_of(setting, name)
    if setting.ask_with is None:
        raise ConfigError(f"{name!r} needs a graph, and this set brings its candidates.")
    options = options or FusionOptions()
    told = [
        setting.encoder.fingerprint,
        setting.reranker.fingerprint,
        options.weights_of("hybrid"),
        (options.k, options.reach, options.communities, options.hops, options.scorer),
    ]
    return Fused(
        name,
        db,
        setting.encoder,
        setting.ask_with(setting.reranker),
        read_nearest_context(db, setting.tenant, setting.encoder),
        setting.config,
        options,
        sha256(repr(told).encode()).hexdigest()[:16],
    )


def alone(setting: Setting, ranking: RankingName) -> Opponent:
    """Set up one of the rankings of ``hybrid``, with all others left out.

    Raises:
        ConfigError: The data set has no graph.
    """
    weights = {name: float(name == ranking) for name in RANKINGS}
    return fused(setting, f"{ranking}-ranking", FusionOptions(weights))
