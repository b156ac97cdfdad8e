"""Personalised PageRank in HippoRAG's manner, by Graph Data Science in the real database.

Bernal Jiménez Gutiérrez, Yiheng Shu, Yu Gu, Michihiro Yasunaga, Yu Su: HippoRAG (NeurIPS 2024),
arXiv 2405.14831; https://github.com/OSU-NLP-Group/HippoRAG. What is taken over: restart at the
entities of the question, weighted by node specificity; damping 0.5; the graph of entities without
direction; a passage is worth the sum of its entities. What is not: the language model that extracts
names and filters facts, and edges between synonyms, since the graph is the data set's own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256

from pathrag_gds.evaluation.graph import Graph
from pathrag_gds.evaluation.opponents.linking import Linked, Linker, Links, database_of
from pathrag_gds.evaluation.opponents.ranked import in_order
from pathrag_gds.evaluation.systems import Asked, Opponent, Ranking, Setting
from pathrag_gds.graph.database import QueryRunner
from pathrag_gds.graph.gds_client import projection_name
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import STRUCTURAL_TYPES
from pathrag_gds.types import Entity

__all__ = ["PageRank", "PageRankOptions", "catalog_name", "pagerank", "seed_weights"]


@dataclass(frozen=True, slots=True)
class PageRankOptions:
    """How the walk runs.

    Attributes:
        damping: Probability of going on instead of restarting, as HippoRAG has it.
        linked: Entities that the walk restarts at, where the question names none (HippoRAG 2: 5).
        iterations: At most; with damping 0.5 what is left after these is below ``tolerance``.
        tolerance: Change of a score below which it counts as settled.
        most: Answers, and passages, at most.
    """

    damping: float = 0.5
    linked: int = 5
    iterations: int = 50
    tolerance: float = 1e-9
    most: int = 1000


def seed_weights(
    starts: tuple[str, ...], entities: Mapping[str, Entity], graph: Graph
) -> dict[str, float]:
    """Give the share of restarts of each start: its node specificity, summing to 1.

    Specificity is one over the number of passages that an entity was read from. Where it was read
    from none, every fact counts as a passage, so it is one over the entity's degree.

    Returns:
        Weights by id; none for no starts.
    """
    specificity = {
        id_: 1 / max(len(entities[id_].chunk_ids) or graph.degree(id_), 1) for id_ in starts
    }
    total = sum(specificity.values())
    return {id_: value / total for id_, value in specificity.items()}


def catalog_name(tenant: str) -> str:
    """Give the name of a tenant's undirected graph in the catalog."""
    return projection_name(f"pagerank_{tenant}")


@dataclass(frozen=True, slots=True)
class PageRank:
    """Rank entities by how often a walk that keeps restarting at the topics comes by.

    The topics themselves are left out: a question does not ask for what it names.

    Attributes:
        graph: The same in memory, for degrees and for whether there are passages.
        tenant: Whose graph was projected; see :func:`pagerank`.
    """

    db: QueryRunner
    links: Links
    graph: Graph
    tenant: str
    options: PageRankOptions = field(default_factory=PageRankOptions)
    name: str = "pagerank"

    @property
    def fingerprint(self) -> str:
        """Give the short hex that names these options."""
        return sha256(f"1 {sorted(asdict(self.options).items())}".encode()).hexdigest()[:16]

    def rank(self, asked: Asked) -> Ranking:
        """Answer one question; no answers where it has no start."""
        began = time.perf_counter()
        linked = self.links.link(asked)
        round_trips = linked.round_trips
        scores: dict[str, float] = {}
        passages: tuple[str, ...] = ()
        if linked.starts:
            scores = self._walk("evaluation/pagerank", linked)
            round_trips += 1
            if self.graph.chunks:
                found = self._walk("evaluation/pagerank_passages", linked)
                ranked = in_order(asked.question.text, {id_: (s,) for id_, s in found.items()})
                passages = tuple(id_ for id_, _ in ranked)
                round_trips += 1
        answers = in_order(
            asked.question.text, {id_: (s,) for id_, s in scores.items()}, without=linked.starts
        )
        wall = (time.perf_counter() - began) * 1000
        return Ranking(
            answers=answers,
            passages=passages,
            round_trips=round_trips,
            millis={"wall": round(wall, 3)},
        )

    def _walk(self, statement: str, linked: Linked) -> dict[str, float]:
        weights = seed_weights(linked.starts, linked.entities, self.graph)
        rows = self.db.run(
            load(statement),
            tenant=self.tenant,
            graph=catalog_name(self.tenant),
            seeds=[{"id": id_, "weight": weight} for id_, weight in weights.items()],
            damping=self.options.damping,
            iterations=self.options.iterations,
            tolerance=self.options.tolerance,
            most=self.options.most,
        )
        return {row["id"]: row["score"] for row in rows}


def pagerank(setting: Setting) -> Opponent:
    """Project the tenant's graph without direction, anew, since the store may have changed.

    The projection stays in the server's memory until it restarts or migrations run.

    Raises:
        ConfigError: The data set has no graph.
        GdsMissing: The server has no Graph Data Science.
    """
    db = database_of(setting, "pagerank")
    db.capabilities.require_gds("The opponent 'pagerank'", "gds.pageRank.stream")
    graph = catalog_name(setting.tenant)
    db.run(load("evaluation/drop_projection"), graph=graph)
    db.run(
        load("evaluation/project"),
        tenant=setting.tenant,
        graph=graph,
        structural=list(STRUCTURAL_TYPES),
    )
    options = PageRankOptions()
    links = Linker.of(setting, "pagerank", most=options.linked)
    return PageRank(db, links, setting.dataset.graph, setting.tenant, options)
