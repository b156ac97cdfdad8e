"""What the doctor makes of indexes, vectors and tenants, without a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.config import Settings
from pathrag_gds.errors import ModelError
from pathrag_gds.graph.database import Capabilities
from pathrag_gds.graph.schema import STRUCTURAL_TYPES, IndexState, VectorRecord
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION
from pathrag_gds.serve import doctor
from pathrag_gds.serve.checks import (
    Check,
    check_gds,
    check_indexes,
    check_ontology,
    check_tenants,
    check_vectors,
    located,
)
from tests.fakes import RecordingDatabase

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


def row(tenant: Any, entities: int, chunks: int = 0) -> dict[str, Any]:
    """Give a row of ``doctor/tenants`` of which all is embedded."""
    return {
        "tenant": tenant,
        "entities": entities,
        "embedded_entities": entities,
        "chunks": chunks,
        "embedded_chunks": chunks,
    }


def test_what_has_no_tenant_is_counted_and_never_called_a_tenant() -> None:
    found = "5 entities and 2 chunks have no tenant: no other command sees them"
    (check,) = check_tenants([row(None, 5, 2)])
    assert (check.name, check.state, check.found) == ("without tenant", "todo", found)
    assert check.todo.endswith("and id, then run: pathrag embed")

    tenant, check = check_tenants([row("a", 1), row(7, 4), row(None, 1, 2)])
    assert (tenant.name, tenant.state) == ("tenant a", "ok")
    assert (check.name, check.state, check.found) == ("without tenant", "note", found)
    assert check.is_well


def ontology(
    recorded: dict[str, list[str]],
    *,
    others: Sequence[str] = (),
    between: Sequence[tuple[str, str | None]] = (),
    related: Sequence[str] = (),
) -> tuple[Check, RecordingDatabase]:
    """Check the ontology of tenants a and b."""
    db = RecordingDatabase(
        {
            "doctor/recorded_types": [{"tenant": t, "types": n} for t, n in recorded.items()],
            "doctor/other_types": [{"type": type_} for type_ in others],
            "doctor/between_entities": [{"type": n, "tenant": t} for n, t in between],
            "doctor/related_tenants": [{"tenant": t} for t in related],
        }
    )
    return check_ontology(db, ["a", "b"]), db


def test_every_type_is_recorded() -> None:
    check, db = ontology({"a": ["knows", "owns"], "b": ["owns"]})
    assert check == Check("ontology", "ok", "2 relationship types recorded")
    assert db.names == ["doctor/recorded_types", "doctor/other_types"]
    assert db.calls[1][1] == {"known": ["knows", "owns", *STRUCTURAL_TYPES]}


def test_types_that_no_tenant_records() -> None:
    check, db = ontology(
        {"a": ["knows"], "b": ["knows"]},
        others=["MIGRATED_TO", "likes", "no`w", "stray"],
        between=[("no`w", "b"), ("likes", "a"), ("stray", None)],
    )
    assert check == Check(
        "ontology",
        "todo",
        "not recorded, so searches may miss them: likes, no`w",
        "Run: pathrag schema refresh --tenant a\nRun: pathrag schema refresh --tenant b",
    )
    text = db.texts[-1]
    assert [f"[r:{name}]" in text for name in ("`MIGRATED_TO`", "`likes`", "`no``w`")] == [True] * 3


def test_many_types_are_asked_about_in_turns_and_named_in_part() -> None:
    names = [f"t{number:03}" for number in range(120)]
    check, db = ontology({"a": [], "b": []}, others=names, between=[(n, "a") for n in names[:7]])
    assert db.names.count("doctor/between_entities") == 3
    assert sum(text.count("[r:`t") for text in db.texts) == 120
    assert check.found.endswith(": t000, t001, t002, t003, t004 and 2 more")
    assert check.todo == "Run: pathrag schema refresh --tenant a"


def test_a_tenant_whose_relationships_are_not_recorded() -> None:
    check, db = ontology({"a": ["knows"]}, related=["b"])
    assert (check.state, check.todo) == ("todo", "Run: pathrag schema refresh --tenant b")
    assert check.found == "nothing recorded for tenant b, so searches start slowly"
    assert db.calls[-1][1]["tenants"] == ["b"]


def test_tenants_without_relationships_need_no_record() -> None:
    check, _ = ontology({})
    assert check == Check("ontology", "ok", "no relationships between entities")


@pytest.mark.parametrize(
    ("todo", "expected"),
    [
        ("", ""),
        ("Run: pathrag embed", "Run: pathrag embed --home 'a b'"),
        (
            "Run: pathrag embed --tenant 'x, y'",
            "Run: pathrag embed --tenant 'x, y' --home 'a b'",
        ),
        (
            "Run: pathrag demo, or pathrag load FILES",
            "Run: pathrag demo --home 'a b', or pathrag load FILES --home 'a b'",
        ),
        (
            "Run: pathrag migrate up\nRun: pathrag embed",
            "Run: pathrag migrate up --home 'a b'\nRun: pathrag embed --home 'a b'",
        ),
        ("Run: pathrag server start", "Run: pathrag server start"),
        ("Then run pathrag embed.", "Then run pathrag embed."),
    ],
)
def test_commands_that_are_advised_name_the_same_server(todo: str, expected: str) -> None:
    assert located(todo, ["--home", "a b"]) == expected
    assert located(todo, []) == todo


def test_a_model_that_cannot_be_loaded_is_one_failed_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str | None) -> Encoder:
        raise ModelError(f"There is no encoder {name}.", hint="Name another.")

    monkeypatch.setattr(doctor, "load_encoder", refuse)
    settings = Settings(home=str(tmp_path / "home"), model="foo")
    checks = {check.name: check for check in doctor.examine(settings)}
    assert list(checks) == ["java", "jars", "server", "model"]
    found = "There is no encoder foo."
    assert checks["model"] == Check("model", "failed", found, "Name another.")


@pytest.mark.parametrize(
    ("version", "state"), [("2.13.9", "ok"), ("", "note")], ids=["with gds", "without"]
)
def test_a_server_without_gds_is_no_reason_to_be_unhealthy(version: str, state: str) -> None:
    capabilities = Capabilities("5.26.30", "community", version)
    check = check_gds(capabilities)
    assert (check.state, check.is_well, check.todo) == (state, True, "")


def test_an_empty_graph() -> None:
    (check,) = check_tenants([])
    assert (check.state, check.todo) == ("todo", "Run: pathrag demo, or pathrag load FILES")


def test_of_a_named_tenant_alone_it_tells() -> None:
    (mine,) = check_tenants([row("a", 1), row("b", 4), row(None, 1)], "b")
    assert mine.name == "tenant b"
    (nothing,) = check_tenants([row("a", 1)], "it's")
    assert (nothing.name, nothing.state) == ("tenant it's", "todo")
    assert nothing.todo == """Run: pathrag load FILES --tenant 'it'"'"'s'"""
    records = [{"tenant": "a", "types": ["R"]}, {"tenant": "b", "types": ["S", "T"]}]
    db = RecordingDatabase({"doctor/recorded_types": records, "doctor/other_types": []})
    check = check_ontology(db, ["b"], "b")
    assert check.found == "2 relationship types recorded"
    assert db.calls[1] == ("doctor/other_types", {"known": ["S", "T", *STRUCTURAL_TYPES]})
