"""Opponents that answer from a real server: PageRank by GDS, the beam, and neo4j-graphrag."""

from __future__ import annotations

from pathlib import Path

import pytest

from pathrag_gds.config import SearchConfig
from pathrag_gds.evaluation.datasets import open_dataset
from pathrag_gds.evaluation.opponents.pagerank import PageRank, catalog_name
from pathrag_gds.evaluation.questions import Condition, asked_text, start_ids
from pathrag_gds.evaluation.systems import Asked, Ranking, Setting, find_opponent
from pathrag_gds.evaluation.tenant import prepare
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.gds_client import GdsClient
from pathrag_gds.graph.queries import load
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.models.reranker import CosineReranker
from tests.statements import statement

# A line of three towns, and one that a road leads to twice.
KB = "kenton\troad_to\tlarch\nlarch\troad_to\tmoor\n"
QUESTIONS = "where does the road from kenton go ?\tlarch(larch/)\tkenton#road_to#larch\n"
TENANT = "eval_pathquestion-2h"


@pytest.fixture
def setting(migrated: Database, tmp_path: Path) -> Setting:
    return _setting(migrated, tmp_path, "given")


def _setting(db: Database, folder: Path, condition: Condition) -> Setting:
    (folder / "pathquestion").mkdir(exist_ok=True)
    (folder / "pathquestion" / "2H-kb.txt").write_text(KB, encoding="utf-8")
    (folder / "pathquestion" / "PQ-2H.txt").write_text(QUESTIONS, encoding="utf-8")
    encoder = load_encoder(None)
    with open_dataset("pathquestion-2h", data=folder) as dataset:
        tenant = prepare(db, dataset, encoder)
    reranker = CosineReranker(encoder)
    return Setting(dataset, condition, SearchConfig(), encoder, reranker, tenant, db)


def _ask(setting: Setting, name: str) -> Ranking:
    (question,) = setting.dataset.questions
    asked = Asked(
        question,
        asked_text(question, setting.condition),
        start_ids(question, setting.condition),
    )
    return find_opponent(name)(setting).rank(asked)


def test_pagerank_is_the_one_of_the_textbook(setting: Setting) -> None:
    db = setting.database
    assert db is not None
    opponent = find_opponent("pagerank")(setting)
    assert isinstance(opponent, PageRank)
    with GdsClient(db.connection) as gds:
        (made,) = (p for p in gds.projections() if p.name == catalog_name(TENANT))
    assert (made.nodes, made.relationships) == (3, 4)

    def walked(**seeds: float) -> dict[str, float]:
        rows = db.run(
            load("evaluation/pagerank"),
            tenant=TENANT,
            graph=catalog_name(TENANT),
            seeds=[{"id": id_, "weight": weight} for id_, weight in seeds.items()],
            damping=0.5,
            iterations=50,
            tolerance=1e-9,
            most=10,
        )
        assert [row["score"] for row in rows] == sorted((r["score"] for r in rows), reverse=True)
        return {row["id"]: row["score"] for row in rows}

    # p = 0.5 restart + 0.5 Aᵀ D⁻¹ p on the line kenton, larch, moor, solved by hand.
    near = {"kenton": 7 / 12, "larch": 4 / 12, "moor": 1 / 12}
    middle = {"kenton": 2 / 12, "larch": 8 / 12, "moor": 2 / 12}
    assert walked(kenton=1.0) == pytest.approx(near, abs=1e-6)
    assert walked(larch=1.0) == pytest.approx(middle, abs=1e-6)
    mixed = {town: 0.25 * near[town] + 0.75 * middle[town] for town in near}
    assert walked(kenton=0.25, larch=0.75) == pytest.approx(mixed, abs=1e-6)


def test_pagerank_ranks_the_nearer_first_and_sees_what_was_added(setting: Setting) -> None:
    assert _ask(setting, "pagerank").answers == (("larch", ""), ("moor", ""))
    assert setting.database is not None
    setting.database.run(
        statement(
            "MATCH (k:__Entity__ {tenant: $tenant, id: 'kenton'}) "
            "MATCH (m:__Entity__ {tenant: $tenant, id: 'moor'}) "
            "UNWIND range(1, 3) AS n CREATE (m)-[:road_to {key: 'new ' + n}]->(k)"
        ),
        tenant=TENANT,
    )
    assert _ask(setting, "pagerank").answers == (("moor", ""), ("larch", ""))


def test_passages_are_worth_the_sum_of_their_entities(setting: Setting) -> None:
    db = setting.database
    assert db is not None
    db.run(
        statement(
            "UNWIND $rows AS row MATCH (e:__Entity__ {tenant: $tenant, id: row.id}) "
            "SET e.chunk_ids = row.chunks"
        ),
        tenant=TENANT,
        rows=[
            {"id": "kenton", "chunks": ["p1"]},
            {"id": "larch", "chunks": ["p2"]},
            {"id": "moor", "chunks": ["p2", "p1"]},
        ],
    )
    setting.dataset.graph.chunks.update({"p1", "p2"})
    ranking = _ask(setting, "pagerank")
    # 7/12 + 1/12 against 4/12 + 1/12.
    assert ranking.passages == ("p1", "p2")
    assert ranking.round_trips == 3


def test_the_beam_walks_the_real_graph(setting: Setting) -> None:
    ranking = _ask(setting, "proprag")
    assert {id_ for id_, _ in ranking.answers} == {"larch", "moor"}
    assert ranking.texts_scored == 2
    assert ranking.round_trips == 1 + 3


# The package warns of its own next version, about a field that a tail of ours does not return.
@pytest.mark.filterwarnings("ignore:The default returned 'id' field:DeprecationWarning")
def test_neo4j_graphrag_finds_the_topic_and_goes_two_hops(
    migrated: Database, tmp_path: Path
) -> None:
    given = _setting(migrated, tmp_path, "given")
    # From kenton alone: larch by one hop, moor by two.
    assert _ask(given, "graphrag-hybrid").answers == (("larch", ""), ("moor", ""))
    # Towns of other tenants do not crowd in, though they are named in the same indexes.
    migrated.run(
        statement(
            "UNWIND range(1, 40) AS n CREATE (:__Entity__ {tenant: 'other', id: 'kenton ' + n, "
            "name: 'the road from kenton'})"
        )
    )
    migrated.run(load("ingest/await_indexes"), seconds=60)
    found = _ask(given, "graphrag-hybrid").answers
    assert found == (("larch", ""), ("moor", ""))
    plain = _ask(_setting(migrated, tmp_path, "plain"), "graphrag-hybrid")
    assert {id_ for id_, _ in plain.answers} == {"kenton", "larch", "moor"}
    assert plain.round_trips == 1
