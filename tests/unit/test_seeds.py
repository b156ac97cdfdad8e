"""Where paths start: the one statement that is asked, and what is made of its rows."""

from __future__ import annotations

from typing import Any

import pytest

from pathrag_gds.config import SearchConfig
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.seeds import fuse, longer, read_seeds, seeds_request
from pathrag_gds.retrieve.statements import Request
from pathrag_gds.types import Seed

QUESTION = "Where is Bob?"


def request(
    question: str = QUESTION,
    *,
    small: bool = True,
    vector: tuple[float, ...] | None = (1.0, 0.0),
    predicate: Predicate | None = None,
    over_fetch: int = 4,
    start_ids: tuple[str, ...] = (),
    **config: Any,
) -> Request:
    return seeds_request(
        question,
        tenant="t",
        small=small,
        vector=vector,
        vector_index="entity_embedding",
        vector_property="embedding",
        predicate=predicate or Predicate("", {}),
        config=SearchConfig(**config),
        over_fetch=over_fetch,
        start_ids=start_ids,
    )


def row(via: str, id_: str, similarity: float | None = 0.0, *keys: str) -> dict[str, Any]:
    return {
        "via": via,
        "score": 1.0,
        "keys": list(keys),
        "id": id_,
        "name": id_.title(),
        "labels": ["__Entity__", "Thing"],
        "properties": {"colour": "red", "tenant": "t", "text_hash": None},
        "similarity": similarity,
    }


def test_small_tenant_is_scanned() -> None:
    text = request().query.text
    assert "queryNodes" not in text
    assert text.count("UNION ALL") == 3


def test_large_tenant_asks_the_indexes_with_a_longer_reach() -> None:
    made = request(small=False, seed_k=10)
    assert "db.index.vector.queryNodes($vector_index, $over, $vector)" in made.query.text
    assert made.query.text.count("db.index.fulltext.queryNodes") == 2
    assert (made.parameters["k"], made.parameters["over"]) == (10, 40)
    assert made.parameters["aliases"].startswith('alias_keys:"where" OR alias_keys:"is" OR')
    assert made.parameters["aliases"].endswith('OR alias_keys:"where is bob"')
    assert made.parameters["text"] == '"bob"'


def test_a_long_question_stays_below_the_clauses_that_lucene_allows() -> None:
    made = request(" ".join(f"word{i}" for i in range(250)), small=False)
    assert made.parameters["aliases"].count(" OR ") + 1 == 500
    assert made.parameters["text"].count(" OR ") + 1 == 200
    # Short runs of words come first: every single word is looked up.
    assert 'alias_keys:"word249"' in made.parameters["aliases"]


@pytest.mark.parametrize(
    ("seed_k", "over_fetch", "over"), [(30, 4, 120), (30, 2048, 10_000), (10_000, 4, 10_000)]
)
def test_reach_is_bounded(seed_k: int, over_fetch: int, over: int) -> None:
    made = request(small=False, seed_k=seed_k, over_fetch=over_fetch)
    assert made.parameters["over"] == over


def test_without_vectors_there_is_no_vector_branch() -> None:
    made = request(vector=None)
    assert "'vector' AS via" not in made.query.text
    assert made.parameters["vector"] is None


def test_question_without_words_asks_for_vectors_alone() -> None:
    made = request("?!")
    assert "'vector' AS via" in made.query.text
    assert "'text' AS via" not in made.query.text
    assert "'name' AS via" not in made.query.text


def test_nothing_to_ask_still_is_a_statement() -> None:
    made = request("?!", vector=None)
    assert "WHERE e.name_key IN $keys" in made.query.text
    assert made.parameters["keys"] == []


def test_filter_binds_in_both_rankings() -> None:
    made = request(predicate=Predicate("e.`a` = $filters.e0", {"e0": 1}))
    assert made.query.text.count("AND e.`a` = $filters.e0") == 2
    assert made.parameters["filters"] == {"e0": 1}


def test_mentions_and_terms_are_parameters() -> None:
    made = request("Is Bob's house red?")
    assert {"bob", "bob's house", "house", "red"} <= set(made.parameters["keys"])
    assert made.parameters["terms"] == ["bob", "s", "house", "red"]


def test_fusion_adds_reciprocal_ranks() -> None:
    assert fuse([["a", "b"], ["b"]]) == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61})
    assert fuse([]) == {}


def test_seeds_are_fused_and_ordered() -> None:
    rows = [
        row("vector", "a", 0.9),
        row("vector", "b", 0.8),
        row("text", "c", 0.1),
        row("text", "b", 0.8),
    ]
    found = read_seeds(QUESTION, rows, seed_k=30)
    # b: 1/62 + 1/62; a and c: 1/61 each, a the more similar.
    assert found.seeds == (
        Seed("b", 0.8, round(2 / 62, 9)),
        Seed("a", 0.9, round(1 / 61, 9)),
        Seed("c", 0.1, round(1 / 61, 9)),
    )
    assert found.anchors == ()


def test_ties_go_to_the_smaller_id() -> None:
    rows = [row("vector", "z"), row("text", "y")]
    assert [s.id for s in read_seeds(QUESTION, rows, seed_k=30).seeds] == ["y", "z"]


def test_seeds_are_cut_at_k() -> None:
    rows = [row("vector", f"e{i}") for i in range(5)]
    found = read_seeds(QUESTION, rows, seed_k=3)
    assert [s.id for s in found.seeds] == ["e0", "e1", "e2"]
    assert found.similar == 5


@pytest.mark.parametrize(
    ("over_fetch", "similar", "over"),
    [
        (4, 30, None),  # enough
        (4, 12, 600),  # 12 of 120 passed: 20 per row wanted
        (4, 0, 7_200),
        (240, 10, 10_000),
        (2_048, 0, None),  # there is no longer reach
    ],
)
def test_reach_follows_from_the_share_that_passed(
    over_fetch: int, similar: int, over: int | None
) -> None:
    further = longer(request(small=False, over_fetch=over_fetch), similar)
    if over is None:
        assert further is None
    else:
        assert further is not None
        assert request(small=False, over_fetch=further).parameters["over"] == over


def test_names_make_anchors_and_not_seeds() -> None:
    found = read_seeds(QUESTION, [row("name", "bob", None, "bob")], seed_k=30)
    assert [(a.id, a.name, a.mention, a.score) for a in found.anchors] == [
        ("bob", "Bob", "bob", 1.0)
    ]
    assert found.seeds == ()


def test_name_seen_by_another_ranking_links_too() -> None:
    found = read_seeds(QUESTION, [row("vector", "bob", 0.5, "bob")], seed_k=30)
    assert [a.id for a in found.anchors] == ["bob"]
    assert [s.id for s in found.seeds] == ["bob"]


def test_entities_are_kept_without_system_keys() -> None:
    entity = read_seeds(QUESTION, [row("vector", "bob")], seed_k=30).entities["bob"]
    assert (entity.name, entity.labels) == ("Bob", ("Thing",))
    assert entity.properties == {"colour": "red"}


@pytest.mark.parametrize("small", [True, False])
def test_ids_that_the_caller_names_take_the_place_of_names(small: bool) -> None:
    made = request(small=small, start_ids=("bob",))
    assert "WHERE e.id IN $start_ids" in made.query.text
    assert "'name' AS via" not in made.query.text
    assert "'vector' AS via" in made.query.text
    assert made.parameters["start_ids"] == ["bob"]


def test_named_ids_are_the_anchors_in_their_order() -> None:
    rows = [row("given", "jane"), row("given", "bob"), row("vector", "milk", 0.5, "milk")]
    found = read_seeds("milk?", rows, seed_k=30, start_ids=("jane", "nobody", "bob", "jane"))
    assert [(a.id, a.name, a.mention, a.score) for a in found.anchors] == [
        ("jane", "Jane", "jane", 1.0),
        ("bob", "Bob", "bob", 1.0),
    ]
    assert [s.id for s in found.seeds] == ["milk"]


def test_no_rows_no_seeds() -> None:
    found = read_seeds(QUESTION, [], seed_k=30)
    assert (found.anchors, found.seeds, found.entities) == ((), (), {})
