"""Searches through the public API on the demo graph, on a real server.

How a search works is tested with the cosine, so that it does not hang on trained weights; what the
default answers is tested where a test says so.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pathrag_gds import PathRAG, SearchConfig
from pathrag_gds.demo import questions
from pathrag_gds.errors import ConfigError, EncoderMismatch, IndexMissing
from pathrag_gds.graph.database import Database
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.models.reranker import load_reranker
from tests.statements import statement

pytestmark = pytest.mark.integration

LUCENE = r"""+ - && || ! ( ) { } [ ] ^ " ~ * ? : \ / ' AND OR NOT /b C:\repo\main.py"""
VILLAGE = "In which village was Bob when the milk was spilled?"


# Nothing is given up early: a cosine never meant that a path leads nowhere. No queries are made of
# the paths: that is one statement more.
MECHANICS = SearchConfig(min_prefix=0.0, patterns=0)


def cosine(database: Database) -> PathRAG:
    """Ask by the cosine, every path going on to the last depth."""
    encoder = load_encoder(None)
    reranker = load_reranker("cosine", encoder)
    return PathRAG(database, config=MECHANICS, encoder=encoder, reranker=reranker)


@pytest.fixture
def rag(demo: Database) -> PathRAG:
    return cosine(demo)


def comparable(result: Any) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(result.to_dict()))
    plain["stats"].pop("millis")
    return plain


def test_the_default_answers_with_the_village(demo: Database) -> None:
    result = PathRAG(demo).search(VILLAGE)
    assert result.outcome == "answered"
    assert result.answers[0].id == "whiskerville"
    best = result.paths[result.answers[0].paths[0] - 1]
    assert best.path.nodes[-1] == "whiskerville"
    assert 0.1 <= result.answers[0].confidence <= 1
    assert result.stats.round_trips == result.stats.depth + 4
    # One more than with a reranker that is named: was one adapted to the tenant?
    assert result.stats.setup_round_trips == 6


def test_the_village_is_on_a_path_among_the_top_five(rag: PathRAG) -> None:
    result = rag.search(VILLAGE)
    assert result.outcome == "answered"
    assert [anchor.id for anchor in result.anchors] == ["bob", "milk"]
    assert len(result.paths) == 5
    assert any("whiskerville" in path.path.nodes for path in result.paths)
    assert "whiskerville" in [answer.id for answer in result.answers]
    assert [p.rank for p in result.paths] == [1, 2, 3, 4, 5]
    assert [p.score for p in result.paths] == sorted((p.score for p in result.paths), reverse=True)


@pytest.mark.parametrize("beam_width", [1, 100])
@pytest.mark.parametrize("small", [True, False])
def test_a_search_makes_depth_plus_three_round_trips(
    rag: PathRAG, beam_width: int, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not small:
        monkeypatch.setattr("pathrag_gds.retrieve.context.SMALL_TENANT", 0)
    result = rag.search(VILLAGE, beam_width=beam_width)
    assert result.stats.depth == 6
    assert result.stats.round_trips == 6 + 3
    shallow = rag.search(VILLAGE, beam_width=beam_width, max_depth=2)
    assert (shallow.stats.depth, shallow.stats.round_trips) == (2, 5)
    assert result.stats.setup_round_trips == shallow.stats.setup_round_trips == 5


def test_the_same_question_twice_gives_the_same_result(rag: PathRAG, demo: Database) -> None:
    first = comparable(rag.search(VILLAGE, max_depth=4))
    assert comparable(rag.search(VILLAGE, max_depth=4)) == first
    assert comparable(cosine(demo).search(VILLAGE, max_depth=4)) == first


def test_threads_share_one_object(rag: PathRAG) -> None:
    asked = [q.question for q in questions()[:4]]
    alone = [comparable(rag.search(q, max_depth=2)) for q in asked]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda q: comparable(rag.search(q, max_depth=2)), asked))
    assert together == alone


def test_hops_carry_properties_direction_and_source(rag: PathRAG) -> None:
    result = rag.search(
        "Where did the milk spilling incident take place?", rel_types=("takes_place",), max_depth=1
    )
    path = next(p for p in result.paths if p.path.nodes == ("spilled_milk_incident", "kitchen"))
    (hop,) = path.hops
    assert hop.hop.forward is True
    assert hop.hop.edge.type == "takes_place"
    assert hop.hop.edge.properties == {"time_of_day": "afternoon"}
    assert [(s.chunk, s.document) for s in hop.sources] == [
        ("bob_03", "The Adventures of Bob the Cat")
    ]
    (shown,) = [p for p in result.to_dict()["paths"] if p["rank"] == path.rank]
    assert shown["hops"][0] == {
        "id": "spilled_milk_incident takes_place kitchen",
        "type": "takes_place",
        "source": "spilled_milk_incident",
        "target": "kitchen",
        "forward": True,
        "properties": {"time_of_day": "afternoon"},
        "sources": [{"document": "The Adventures of Bob the Cat", "chunk": "bob_03"}],
    }


def test_attribute_questions_answer_with_entity_and_value(rag: PathRAG) -> None:
    (first, *_) = rag.search("What color is Bob the Cat's fur?", max_depth=1).answers
    assert (first.kind, first.id, first.property, first.value) == (
        "value",
        "bob",
        "fur_color",
        "silver grey",
    )


def test_filters_and_types_hold_on_every_hop(rag: PathRAG) -> None:
    result = rag.search(
        VILLAGE, max_depth=3, rel_types=("involve", "takes_place"), labels=("event", "place")
    )
    start_labels = {"event", "place", "animal", "object"}
    for path in result.paths:
        assert {hop.hop.edge.type for hop in path.hops} <= {"involve", "takes_place"}
        assert {label for node in path.nodes[1:] for label in node.labels} <= {"event", "place"}
        assert set(path.nodes[0].labels) <= start_labels
    spilled = rag.search(VILLAGE, max_depth=1, relationship_filter={"role": "spilled"})
    roles = [hop.hop.edge.properties["role"] for path in spilled.paths for hop in path.hops]
    assert roles
    assert set(roles) == {"spilled"}
    places = rag.search(
        "Which places are there?", max_depth=1, node_filter={"location_type": {"$in": ["village"]}}
    )
    kinds = [node.properties["location_type"] for path in places.paths for node in path.nodes]
    assert kinds
    assert set(kinds) == {"village"}


def test_an_unknown_type_is_a_warning_and_leads_nowhere(rag: PathRAG) -> None:
    result = rag.search(VILLAGE, rel_types=("HATES",))
    assert result.warnings == ("The graph has no relationship type 'HATES'.",)
    assert result.stats.depth == 0
    assert result.stats.round_trips == 3
    assert {path.path.depth for path in result.paths} == {0}


def test_a_question_of_no_word_finds_by_vector_alone(rag: PathRAG) -> None:
    result = rag.search("?!", max_depth=1)
    assert result.anchors == ()
    assert result.stats.round_trips == 4


@pytest.mark.parametrize("small", [True, False])
def test_lucene_syntax_in_a_question_is_only_text(
    rag: PathRAG, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not small:
        monkeypatch.setattr("pathrag_gds.retrieve.context.SMALL_TENANT", 0)
    for text in LUCENE.split():
        found = rag.search(f"Who is Jane {text} Jane", max_depth=0)
        assert [a.id for a in found.anchors] == ["jane"], text


@pytest.mark.parametrize("small", [True, False])
def test_a_very_long_question_is_answered(
    rag: PathRAG, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not small:
        monkeypatch.setattr("pathrag_gds.retrieve.context.SMALL_TENANT", 0)
    filler = " ".join(f"word{i}" for i in range(400))
    found = rag.search(f"Who owns Bob the Cat? {filler}", max_depth=1)
    assert [a.id for a in found.anchors] == ["bob"]
    assert found.outcome == "answered"


def test_both_ways_to_seeds_find_the_same_anchors(
    rag: PathRAG, demo: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = [rag.search(q.question, max_depth=0).anchors for q in questions()]
    monkeypatch.setattr("pathrag_gds.retrieve.context.SMALL_TENANT", 0)
    indexed = [cosine(demo).search(q.question, max_depth=0).anchors for q in questions()]
    assert indexed == exact


def test_a_stranger_tenant_sees_nothing(rag: PathRAG) -> None:
    result = rag.search(VILLAGE, tenant="stranger")
    assert result.outcome == "not_in_graph"
    assert (result.anchors, result.answers, result.paths) == ((), (), ())
    assert result.warnings[0].startswith("Tenant 'stranger' has no entities.")


def test_a_prompt_is_that_of_its_search(rag: PathRAG) -> None:
    options: dict[str, Any] = {"order": "descending", "budget": 2000, "chunk_budget": 500}
    result = rag.search(VILLAGE, max_depth=2, top_k=3)
    prompt = rag.prompt(VILLAGE, max_depth=2, top_k=3, **options)
    assert prompt == rag.prompt_of(result, **options)
    assert prompt.numbered == {ranked.rank: ranked for ranked in result.paths}
    assert prompt.tokens == sum(
        rag.encoder.count_tokens(text) for text in (prompt.system, prompt.user)
    )
    assert 0 < prompt.chunk_tokens <= 500
    counted = rag.prompt_of(result, chunk_budget=0, count_tokens=lambda text: len(text.split()))
    assert (counted.tokens, counted.chunks) == (len(counted.text.split()), ())
    with pytest.raises(ConfigError, match="The order of paths"):
        rag.prompt("", order="random")  # type: ignore[arg-type]


def test_a_small_tenant_beside_a_large_one_gets_the_seeds_it_gets_alone(rag: PathRAG) -> None:
    alone = rag.search(VILLAGE, max_depth=2)
    crowd = [
        {"id": f"m{i}", "name": "milk", "name_key": "milk", "description": "spilled milk village"}
        for i in range(500)
    ]
    rag.database.run(
        statement(
            "UNWIND $rows AS row MERGE (e:__Entity__ {tenant: 'crowd', id: row.id}) SET e += row"
        ),
        rows=crowd,
    )
    try:
        assert comparable(cosine(rag.database).search(VILLAGE, max_depth=2)) == comparable(alone)
    finally:
        rag.database.run(statement("MATCH (e:__Entity__ {tenant: 'crowd'}) DETACH DELETE e"))


def test_presets_differ_as_documented(rag: PathRAG) -> None:
    raw = rag.search(VILLAGE, config=SearchConfig.preset("option_d", min_prefix=0.0))
    scaled = rag.search(VILLAGE, config=SearchConfig.preset("a3", min_prefix=0.0))
    assert raw.paths
    for path in raw.paths:
        assert path.score == path.terms["rerank"]
    for path in scaled.paths:
        assert path.score <= 1 - 0.2 * path.path.depth + 1e-6
    assert scaled.paths[0].path.depth == 0


def test_explain_tells_every_depth(rag: PathRAG) -> None:
    explanation = rag.explain(VILLAGE, max_depth=3, beam_width=5, start_from="seeds")
    assert [d.depth for d in explanation.depths] == [0, 1, 2, 3]
    for depth in explanation.depths:
        kept = [t for t in depth.paths if not t.reason]
        cut = [t for t in depth.paths if t.reason]
        assert len(kept) == 5
        counted = sum(c.count for c in depth.cut if c.reason == "beam_width")
        assert len(cut) == counted
        assert {c.depth for c in depth.cut} == {depth.depth}
    assert explanation.to_dict()["depths"][0]["paths"][0]["types"] == []


def test_vectors_of_another_encoder_are_refused(demo: Database) -> None:
    class Other:
        name = "other"
        dimension = 384
        max_tokens = 256
        fingerprint = "ffff"

        def count_tokens(self, text: str) -> int:
            return len(text.split())

        def encode(self, texts: Any, *, progress: Any = None) -> Any:
            raise AssertionError("must not be asked")

    with pytest.raises(EncoderMismatch, match="pathrag embed --model other"):
        PathRAG(demo, encoder=Other()).search(VILLAGE)


def test_a_database_that_was_not_migrated_is_refused(database: Database) -> None:
    with pytest.raises(IndexMissing, match="pathrag migrate up"):
        PathRAG(database).search(VILLAGE)


def test_impossible_arguments_are_refused(rag: PathRAG) -> None:
    with pytest.raises(ConfigError, match="empty"):
        rag.search("  ")
    with pytest.raises(ConfigError, match="beam_witdh"):
        rag.search(VILLAGE, beam_witdh=3)
    with pytest.raises(ConfigError, match="unknown operator"):
        rag.search(VILLAGE, node_filter={"age": {"$gtx": 3}})
