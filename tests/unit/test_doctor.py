"""What the doctor makes of indexes, vectors and tenants, without a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pathrag_gds.graph.schema import IndexState, VectorRecord
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION
from pathrag_gds.serve.doctor import Check, check_indexes, check_tenants, check_vectors

ONLINE = IndexState(
    "entity_embedding",
    "VECTOR",
    "ONLINE",
    100.0,
    ("__Entity__",),
    ("embedding",),
    {"vector.dimensions": 384},
)
RECORD = VectorRecord(
    "entity",
    "entity_embedding",
    "embedding",
    "text_hash",
    384,
    "mini",
    "0123456789abcdef",
    TEXT_TEMPLATE_VERSION,
)


class Encoder:
    """An encoder that is asked for its name and its fingerprint alone."""

    name = "other"
    dimension = 384
    max_tokens = 256

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint

    def encode(self, texts: Sequence[str], *, progress: object = None) -> Any:
        raise AssertionError("the doctor embeds nothing")

    def count_tokens(self, text: str) -> int:
        raise AssertionError("the doctor counts nothing")


def vectors(
    record: VectorRecord | None = RECORD, state: IndexState = ONLINE, fingerprint: str = ""
) -> Check:
    encoder = Encoder(fingerprint or RECORD.fingerprint)
    return check_vectors(record, [state], "entity", encoder)


def test_vectors_in_order() -> None:
    assert vectors() == Check(
        "vectors of entities",
        "ok",
        "entity_embedding ONLINE, dimension 384, mini 0123456789ab, "
        f"template {TEXT_TEMPLATE_VERSION}",
    )


def test_nothing_embedded_yet() -> None:
    check = vectors(record=None)
    assert (check.state, check.todo) == ("todo", "Run: pathrag embed")


def test_vectors_of_another_encoder() -> None:
    check = vectors(fingerprint="fedcba9876543210")
    assert check.state == "failed"
    assert check.found.endswith("the encoder in use is other fedcba987654")
    assert check.todo == "Use --model mini, or run: pathrag embed --model other"


def test_an_index_of_another_dimension() -> None:
    check = vectors(state=replace(ONLINE, options={"vector.dimensions": 768}))
    assert check.state == "failed"
    assert "dimension 768" in check.found
    assert "the vectors have dimension 384" in check.found
    assert check.todo


def test_texts_of_an_older_template() -> None:
    check = vectors(record=replace(RECORD, template="0"))
    assert (check.state, check.todo) == ("todo", "Run: pathrag embed")


def test_a_recorded_index_that_is_gone() -> None:
    check = vectors(record=replace(RECORD, index="entity_embedding_alt"))
    assert check.state == "failed"
    assert check.found == "entity_embedding_alt does not exist"


@pytest.mark.parametrize(
    ("state", "percent", "expected"),
    [
        ("ONLINE", 100.0, ("ok", "")),
        ("POPULATING", 40.0, ("todo", "Wait until it is ONLINE.")),
        ("FAILED", 0.0, ("failed", "Drop it on the server, then run: pathrag migrate up")),
    ],
)
def test_index_states(state: Any, percent: float, expected: tuple[str, str]) -> None:
    index = replace(ONLINE, name="entity_text", type="FULLTEXT", state=state, percent=percent)
    (check,) = check_indexes([index], ["entity_text"])
    assert (check.state, check.todo) == expected


def test_an_index_that_is_not_there() -> None:
    (check,) = check_indexes([], ["entity_text"])
    assert check == Check(
        "index entity_text", "failed", "entity_text does not exist", "Run: pathrag migrate up"
    )


def test_tenants() -> None:
    rows = [
        {
            "tenant": "a b",
            "entities": 3,
            "embedded_entities": 1,
            "chunks": 2,
            "embedded_chunks": 1,
        },
        {
            "tenant": "c",
            "entities": 3,
            "embedded_entities": 3,
            "chunks": 0,
            "embedded_chunks": 0,
        },
    ]
    assert check_tenants(rows) == [
        Check(
            "tenant a b",
            "todo",
            "3 entities, 2 chunks; 3 not embedded",
            "Run: pathrag embed --tenant 'a b'",
        ),
        Check("tenant c", "ok", "3 entities, 0 chunks, all embedded"),
    ]


def test_an_empty_graph() -> None:
    (check,) = check_tenants([])
    assert (check.state, check.todo) == ("todo", "Run: pathrag demo, or pathrag load FILES")
