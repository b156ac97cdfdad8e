"""What a search must know of a tenant, read from scripted rows."""

from __future__ import annotations

from typing import Any

import pytest

from pathrag_gds import PathRAG
from pathrag_gds.errors import EncoderMismatch, IndexMissing, TenantError
from pathrag_gds.models.reranker import CachedReranker
from pathrag_gds.retrieve.context import read_context
from tests.fakes import RecordingDatabase, WordOverlapReranker

INDEX = {"percent": 100.0, "labels_or_types": [], "properties": [], "config": {}}
RECORD = {
    "role": "entity",
    "index": "entity_embedding_alt",
    "property": "embedding_alt",
    "hash_property": "text_hash_alt",
    "dimension": 2,
    "encoder": "tiny model",
    "fingerprint": "f1",
    "template": "1",
}
TYPE = {
    "name": "R",
    "count": 1,
    "domains": [],
    "ranges": [],
    "max_out": 1,
    "max_in": 1,
    "description": "",
    "phrase": "",
    "inverse": "",
}


class Encoder:
    name = "tiny model"
    dimension = 2
    max_tokens = 128
    fingerprint = "f1"

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def encode(self, texts: Any, *, progress: Any = None) -> Any:
        return [[1.0, 0.0] for _ in texts]


def database(**changes: Any) -> RecordingDatabase:
    def index(name: str, state: str) -> dict[str, Any]:
        return {"name": name, "type": "x", "state": state, **INDEX}

    states = {
        "entity_text": "ONLINE",
        "entity_names": "ONLINE",
        "entity_embedding_alt": "ONLINE",
    } | changes.get("states", {})
    return RecordingDatabase(
        {
            "schema/indexes": [index(name, state) for name, state in states.items() if state],
            "schema/vector_record": changes.get("records", [{"record": RECORD}]),
            "schema/tenant_size": [{"size": changes.get("size", 5_000)}],
            "schema/all_entities": [{"size": changes.get("everyone", 5_000)}],
            "schema/read_types": [{"kind": "relation", "type": TYPE}],
        }
    )


def read(db: RecordingDatabase) -> Any:
    return read_context(db, "t", encoder=Encoder(), reranker=WordOverlapReranker())


def test_the_vectors_in_force_are_the_recorded_ones() -> None:
    found = read(database())
    assert (found.vector_index, found.vector_property) == ("entity_embedding_alt", "embedding_alt")
    assert found.question_vector == ()
    assert (found.small, found.crowding, found.text_limit) == (False, 1, 128)
    assert found.setup_round_trips == 5
    assert found.warnings == ()


@pytest.mark.parametrize("cached", [False, True])
def test_a_reranker_that_counts_tokens_sets_the_limit(cached: bool) -> None:
    class Counting(WordOverlapReranker):
        max_tokens = 9

        def count_tokens(self, text: str) -> int:
            return 7

    reranker = CachedReranker(Counting()) if cached else Counting()
    found = read_context(database(), "t", encoder=Encoder(), reranker=reranker)
    assert found.text_limit == 9
    assert found.count_tokens is not None
    assert found.count_tokens("a") == 7


@pytest.mark.parametrize(
    ("size", "everyone", "crowding"), [(5_000, 5_001, 2), (3_000, 30_000, 10), (0, 7, 7)]
)
def test_crowding_is_rounded_up(size: int, everyone: int, crowding: int) -> None:
    assert read(database(size=size, everyone=everyone)).crowding == crowding


def test_nothing_embedded_is_a_warning() -> None:
    found = read(database(records=[], size=10))
    assert found.question_vector is None
    assert found.warnings == (
        "Nothing is embedded, so paths start from names and words alone. Run: pathrag embed",
    )


def test_a_small_tenant_needs_no_vector_index() -> None:
    found = read(database(states={"entity_embedding_alt": ""}, size=10))
    assert found.small is True
    with pytest.raises(IndexMissing, match="entity_embedding_alt is absent"):
        read(database(states={"entity_embedding_alt": ""}))
    with pytest.raises(IndexMissing, match="entity_text is POPULATING"):
        read(database(states={"entity_text": "POPULATING"}))


def test_another_encoder_is_refused_with_the_command_that_helps() -> None:
    other = [{"record": {**RECORD, "fingerprint": "f2"}}]
    with pytest.raises(EncoderMismatch, match="--model 'tiny model'"):
        read(database(records=other))


def rag(db: RecordingDatabase) -> PathRAG:
    db.answers |= {"retrieve/seeds": [], "retrieve/hydrate": [], "retrieve/provenance": []}
    return PathRAG(db, encoder=Encoder(), reranker=WordOverlapReranker())  # type: ignore[arg-type]


def test_the_context_is_read_once_and_again_after_refresh() -> None:
    db = database()
    asking = rag(db)
    first = asking.search("Who?")
    second = asking.search("Who?")
    assert db.names.count("schema/read_types") == 1
    assert first.stats.setup_round_trips == second.stats.setup_round_trips == 5
    asking.refresh()
    asking.search("Who?")
    assert db.names.count("schema/read_types") == 2


def test_what_something_is_missing_from_is_read_again() -> None:
    db = database(records=[])
    asking = rag(db)
    asking.search("Who?")
    db.answers["schema/vector_record"] = [{"record": RECORD}]
    assert asking.search("Who?").warnings == ()


def test_an_index_that_went_away_is_looked_up_again() -> None:
    db = database()
    asking = rag(db)
    asking.search("Who?")
    gone = [True]

    def seeds(parameters: Any) -> Any:
        if gone:
            gone.clear()
            raise IndexMissing("gone", hint="Run: pathrag migrate up")
        return []

    db.answers["retrieve/seeds"] = seeds
    assert asking.search("Who?").outcome == "not_in_graph"
    assert db.names.count("schema/read_types") == 2


def test_an_empty_tenant_is_refused_and_not_taken_for_the_default() -> None:
    db = database()
    with pytest.raises(TenantError):
        rag(db).search("Who?", tenant="")
    assert db.calls == []
