"""Embedding on a real server: only what changed, one encoder per index, switched when complete."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pathrag_gds.errors import DimensionMismatch, EncoderMismatch, IndexMissing, TenantError
from pathrag_gds.graph.database import Database, Row
from pathrag_gds.graph.schema import index_states, vector_record
from pathrag_gds.ingest import EmbedProgress, embed, load_files
from pathrag_gds.ingest.slots import ROLES
from pathrag_gds.migrate import status, up, validate
from pathrag_gds.models.encoder import EncodeProgress, load_encoder
from pathrag_gds.retrieve.serialize import entity_text
from pathrag_gds.types import Entity
from tests.statements import statement

VECTORS = statement(
    "MATCH (n) WHERE n:__Entity__ OR n:Chunk RETURN n.tenant AS tenant, n.id AS id, "
    "n.embedding AS a, n.embedding_alt AS b, n.text_hash AS hash_a, n.text_hash_alt AS hash_b "
    "ORDER BY tenant, id",
    "read",
)
NEAREST = statement(
    "CALL db.index.vector.queryNodes($index, 1, $vector) YIELD node RETURN node.id AS id", "read"
)

BOB = entity_text(Entity("bob", "Bob", ("Cat",)))


@dataclass
class HashEncoder:
    """Give every text a vector of its own, made from its hash; remembers what it was given."""

    dimension: int = 384
    name: str = "hash"
    fingerprint: str = "f1"
    max_tokens: int = 256
    silent: frozenset[str] = frozenset()
    seen: list[str] = field(default_factory=list)

    def encode(
        self, texts: Sequence[str], *, progress: EncodeProgress | None = None
    ) -> NDArray[np.float32]:
        self.seen += texts
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            if text not in self.silent:
                digest = hashlib.sha256((self.fingerprint + text).encode()).digest()
                row[:] = np.random.default_rng(list(digest)).standard_normal(self.dimension)
                row /= np.linalg.norm(row)
        return rows

    def count_tokens(self, text: str) -> int:
        return len(text.split())


@pytest.fixture
def graph(migrated: Database, tmp_path: Path) -> Database:
    """Three entities and two chunks in one tenant, two entities in another."""
    people = tmp_path / "n.csv"
    people.write_text("id:ID,name,age:int,:LABEL\nann,Ann,30,Person\nbob,Bob,,Cat\nx,,,\n")
    chunks = tmp_path / "c.jsonl"
    chunks.write_text('{"id": "c1", "text": "One."}\n{"id": "c2", "text": "  "}\n')
    load_files(migrated, [people, chunks], tenant="t")
    other = tmp_path / "kb.txt"
    other.write_text("ann\tKNOWS\teve\n")
    load_files(migrated, [other], tenant="u")
    return migrated


def vectors(db: Database) -> dict[tuple[str, str], Row]:
    return {(row["tenant"], row["id"]): row for row in db.run(VECTORS)}


def indexes(db: Database) -> dict[str, int]:
    return {
        state.name: state.options["vector.dimensions"]
        for state in index_states(db)
        if state.type == "VECTOR"
    }


def restored(db: Database) -> list[str]:
    return [step.source for step in up(db).steps if step.action != "callback"]


def test_everything_is_embedded_once(graph: Database) -> None:
    encoder = HashEncoder()
    seen: list[EmbedProgress] = []
    report = embed(graph, encoder, page_size=2, progress=seen.append)
    assert (report.entities, report.chunks, report.unchanged, report.empty) == (5, 1, 0, 1)
    assert sorted(encoder.seen) == [
        entity_text(Entity("ann", "Ann", ("Person",), properties={"age": 30})),
        BOB,
        "One.",
        entity_text(Entity("ann", "ann")),
        entity_text(Entity("eve", "eve")),
        entity_text(Entity("x", "x")),
    ]
    assert [(p.role, p.tenant, p.done, p.total) for p in seen] == [
        ("entity", "t", 2, 3),
        ("entity", "t", 3, 3),
        ("chunk", "t", 2, 2),
        ("entity", "u", 2, 2),
    ]
    record = vector_record(graph, "entity")
    assert record is not None
    assert (record.index, record.property, record.fingerprint) == (
        "entity_embedding",
        "embedding",
        "f1",
    )
    vector = encoder.encode([BOB])[0].tolist()
    assert vectors(graph)["t", "bob"]["a"] == vector
    assert graph.run(NEAREST, index="entity_embedding", vector=vector) == [{"id": "bob"}]

    before = vectors(graph)
    again = embed(graph, HashEncoder())
    assert (again.embedded, again.unchanged) == (0, 7)
    assert again.texts_per_s == 0
    assert vectors(graph) == before


def test_only_what_changed_is_embedded_again(graph: Database, tmp_path: Path) -> None:
    embed(graph, HashEncoder())
    changed = tmp_path / "m.csv"
    changed.write_text("id:ID,age:int\nbob,4\nann,30\n")
    load_files(graph, [changed], tenant="t")
    encoder = HashEncoder()
    report = embed(graph, encoder, tenant="t")
    assert encoder.seen == [entity_text(Entity("bob", "Bob", ("Cat",), properties={"age": 4}))]
    assert (report.entities, report.unchanged) == (1, 4)


def test_a_tenant_can_be_embedded_alone(graph: Database) -> None:
    embed(graph, HashEncoder(), tenant="u")
    assert {key for key, row in vectors(graph).items() if row["a"]} == {("u", "ann"), ("u", "eve")}
    with pytest.raises(TenantError):
        embed(graph, HashEncoder(), tenant="")


def test_texts_that_mean_nothing_get_no_vector(graph: Database, tmp_path: Path) -> None:
    embed(graph, HashEncoder())
    assert vectors(graph)["t", "c1"]["a"] is not None
    emptied = tmp_path / "d.jsonl"
    emptied.write_text('{"id": "c1", "text": ""}\n')
    load_files(graph, [emptied], tenant="t")
    report = embed(graph, HashEncoder(), tenant="t")
    assert report.empty == 1
    assert vectors(graph)["t", "c1"]["a"] is None
    assert embed(graph, HashEncoder(), tenant="t").empty == 0


def test_a_vector_without_direction_is_not_stored(graph: Database) -> None:
    report = embed(graph, HashEncoder(silent=frozenset({BOB})), tenant="t")
    assert (report.entities, report.empty) == (2, 2)
    assert vectors(graph)["t", "bob"]["a"] is None


def test_another_encoder_is_refused(graph: Database) -> None:
    embed(graph, HashEncoder())
    before = vectors(graph)
    other = HashEncoder(name="other", fingerprint="f2")
    with pytest.raises(EncoderMismatch, match="pathrag embed --model other") as caught:
        embed(graph, other)
    assert "'hash'" in caught.value.message
    assert vectors(graph) == before
    assert other.seen == []


def test_an_index_of_another_dimension_is_refused_before_any_write(graph: Database) -> None:
    with pytest.raises(DimensionMismatch, match="pathrag embed --model small") as caught:
        embed(graph, HashEncoder(name="small", dimension=8))
    assert (caught.value.expected, caught.value.found) == (384, 8)
    assert vector_record(graph, "entity") is None
    assert all(row["hash_a"] is None for row in vectors(graph).values())


def test_the_first_model_may_have_another_dimension(graph: Database) -> None:
    report = embed(graph, HashEncoder(name="small", dimension=8), switch=True)
    assert report.switched
    assert indexes(graph) == dict.fromkeys((f"{role}_embedding_alt" for role in ROLES), 8)


def test_a_database_without_the_index_is_refused(database: Database) -> None:
    with pytest.raises(IndexMissing, match="pathrag migrate up"):
        embed(database, HashEncoder())


def test_a_new_model_is_built_beside_and_switched(graph: Database) -> None:
    embed(graph, HashEncoder())
    small = HashEncoder(name="small", fingerprint="f2", dimension=8)
    report = embed(graph, small, switch=True)
    assert report.switched
    assert (report.entities, report.chunks) == (5, 1)
    for role in ("entity", "chunk"):
        record = vector_record(graph, role)
        assert record is not None
        assert (record.index, record.property, record.dimension, record.fingerprint) == (
            f"{role}_embedding_alt",
            "embedding_alt",
            8,
            "f2",
        )
    assert indexes(graph) == dict.fromkeys((f"{role}_embedding_alt" for role in ROLES), 8)
    rows = vectors(graph)
    assert all(row["a"] is None and row["hash_a"] is None for row in rows.values())
    assert len(rows["t", "bob"]["b"]) == 8
    vector = small.encode([BOB])[0].tolist()
    assert graph.run(NEAREST, index="entity_embedding_alt", vector=vector) == [{"id": "bob"}]

    assert embed(graph, small).unchanged == 7
    back = embed(graph, HashEncoder(), switch=True)
    assert back.switched
    assert indexes(graph) == dict.fromkeys((f"{role}_embedding" for role in ROLES), 384)
    assert vectors(graph)["t", "bob"]["b"] is None


def test_a_switch_leaves_the_schema_current(graph: Database) -> None:
    embed(graph, HashEncoder())
    small = HashEncoder(name="small", fingerprint="f2", dimension=8)
    for encoder, alt in ((small, "_alt"), (HashEncoder(), "")):
        embed(graph, encoder, switch=True)
        there = {f"{role}_embedding{alt}": encoder.dimension for role in ROLES}
        assert status(graph).findings == ()
        assert status(graph).is_current
        assert validate(graph).is_valid
        assert restored(graph) == []
        assert indexes(graph) == there

        index = f"entity_embedding{alt}"
        graph.run(statement(f"DROP INDEX {index}", "schema"))
        (finding,) = status(graph).findings
        assert (finding.name, finding.problem) == (index, "missing")
        assert restored(graph) == [index]
        assert indexes(graph) == there
        assert status(graph).is_current
        assert embed(graph, encoder).unchanged == 7
        vector = encoder.encode([BOB])[0].tolist()
        assert graph.run(NEAREST, index=index, vector=vector) == [{"id": "bob"}]


def test_an_interrupted_switch_leaves_the_old_model_and_goes_on(graph: Database) -> None:
    embed(graph, HashEncoder())
    before = {key: row["a"] for key, row in vectors(graph).items()}

    def stop(progress: EmbedProgress) -> None:
        if progress.tenant == "t" and progress.role == "entity" and progress.done == 2:
            raise KeyboardInterrupt

    first = HashEncoder(name="new", fingerprint="f2", dimension=8)
    with pytest.raises(KeyboardInterrupt):
        embed(graph, first, switch=True, page_size=2, progress=stop)
    record = vector_record(graph, "entity")
    assert record is not None
    assert record.fingerprint == "f1"
    assert {key: row["a"] for key, row in vectors(graph).items()} == before
    assert embed(graph, HashEncoder()).unchanged == 7

    second = HashEncoder(name="new", fingerprint="f2", dimension=8)
    report = embed(graph, second, switch=True)
    assert (report.switched, report.unchanged) == (True, 2)
    assert set(second.seen).isdisjoint(first.seen)


def test_a_switch_that_was_cut_off_before_cleaning_up_is_completed(graph: Database) -> None:
    new = HashEncoder(name="new", fingerprint="f2", dimension=8)
    embed(graph, HashEncoder())
    embed(graph, new, switch=True)
    stale = statement("MATCH (e:__Entity__) SET e.embedding = [1.0, 2.0], e.text_hash = 'x'")
    graph.run(stale)
    report = embed(graph, new, switch=True)
    assert (report.switched, report.unchanged) == (False, 7)
    assert all(row["a"] is None and row["hash_a"] is None for row in vectors(graph).values())


def test_the_shipped_model_fits_the_migrated_index(graph: Database) -> None:
    encoder = load_encoder(None)
    report = embed(graph, encoder, tenant="t")
    assert (report.entities, report.chunks, report.empty) == (3, 1, 1)
    question = encoder.encode(["How old is the person called Ann?"])[0].tolist()
    assert graph.run(NEAREST, index="entity_embedding", vector=question) == [{"id": "ann"}]
    assert embed(graph, encoder, tenant="t").unchanged == 5
