"""Adapting a reranker on a real server: what is read, the record, and who uses it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds import PathRAG
from pathrag_gds.adapt import Adapted, AdaptProgress, adapt, remove, rerankers_folder
from pathrag_gds.adapt.install import install
from pathrag_gds.adapt.read import read_graph
from pathrag_gds.adapt.run import _Adaptation
from pathrag_gds.graph.adapted import (
    AdaptedReranker,
    adapted_reranker,
    all_adapted_rerankers,
    ontology_fingerprint,
)
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.schema import read_ontology, refresh_ontology
from pathrag_gds.ingest import load_files
from pathrag_gds.models.export import export_reranker
from pathrag_gds.models.path_reranker import PathReranker, RerankerRecord
from pathrag_gds.models.reranker import PathScore
from pathrag_gds.models.training.graph import TrainingGraph
from pathrag_gds.models.training.groups import read_groups
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION
from pathrag_gds.serve.checks import check_adapted
from tests.statements import statement
from tests.tiny_bert import random_bert

TENANT = "films"
COUNTRIES = ("Norland", "Sudland", "Estland")


def lines() -> Iterator[dict[str, object]]:
    """Give 24 films with directors, actors and countries."""
    for number in range(24):
        name = f"film{number:02}"
        text = f"A story of {number} ships."
        yield {"id": name, "name": f"Tale {number}", "labels": ["Film"], "description": text}
        yield {"source": name, "target": f"person{number % 7}", "type": "DIRECTED_BY"}
        for actor in (number % 5, number % 11):
            yield {
                "source": f"person{actor}",
                "target": name,
                "type": "ACTED_IN",
                "role": f"role {number}",
            }
    for number in range(11):
        person = f"person{number}"
        yield {"id": person, "name": f"Nora {number}", "labels": ["Person"], "born": 1950 + number}
        country = COUNTRIES[number % 3]
        yield {"source": person, "target": country, "type": "BORN_IN"}
    for country in COUNTRIES:
        yield {"id": country, "name": country, "labels": ["Country"]}


@pytest.fixture
def films(migrated: Database, tmp_path: Path) -> Database:
    rows = list(lines())
    nodes = [row for row in rows if "id" in row]
    edges = [row for row in rows if "id" not in row]
    for name, part in (("nodes", nodes), ("edges", edges)):
        text = "".join(json.dumps(row) + "\n" for row in part)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    load_files(migrated, [tmp_path / "nodes.jsonl", tmp_path / "edges.jsonl"], tenant=TENANT)
    # Another tenant of the same ids, provenance, and a vector: none of it is to be read.
    load_files(migrated, [tmp_path / "nodes.jsonl", tmp_path / "edges.jsonl"], tenant="other")
    migrated.run(
        statement(
            "MATCH (a:__Entity__ {tenant: $tenant, id: 'film00'}) "
            "MATCH (b:__Entity__ {tenant: $tenant, id: 'film01'}) "
            "SET a.embedding = [0.5, 0.5], a.text_hash = 'x' "
            "MERGE (a)-[:SIMILAR]->(b) MERGE (a)-[:FROM_CHUNK]->(:Chunk {tenant: $tenant, id: 'c'})"
        ),
        tenant=TENANT,
    )
    return migrated


def size(graph: TrainingGraph) -> dict[str, int]:
    """Count the relationships of each type."""
    return {
        type_: sum(len(graph.steps[n][type_, True]) for n in graph.starts[type_, True])
        for type_ in graph.types
    }


def test_a_tenant_is_read_whole_or_in_shares(films: Database) -> None:
    ontology = read_ontology(films, TENANT)
    graph = read_graph(films, TENANT, ontology)
    acted = sum(1 if n % 5 == n % 11 else 2 for n in range(24))
    assert size(graph) == {"ACTED_IN": acted, "BORN_IN": 11, "DIRECTED_BY": 24}
    assert len(graph.entities) == 24 + 11 + 3
    film = graph.entities["film00"]
    assert (film.name, film.labels, film.description) == (
        "Tale 0",
        ("Film",),
        "A story of 0 ships.",
    )
    assert dict(film.properties) == {}
    assert dict(graph.entities["person3"].properties) == {"born": 1953}
    hop = graph.steps["film00"]["ACTED_IN", False][0]
    assert dict(hop.edge.properties) == {"role": "role 0"}

    part = read_graph(films, TENANT, ontology, most=30)
    assert size(part) == {"ACTED_IN": 10, "BORN_IN": 10, "DIRECTED_BY": 10}
    assert len(part.entities) < len(graph.entities)
    assert read_graph(films, TENANT, ontology, most=30) == part
    assert read_graph(films, "nobody", read_ontology(films, "nobody")).nodes == ()


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The weights of a small BERT that knows nothing."""
    return random_bert(tmp_path / "tiny", layers=2, hidden=32, heads=4)


def put(db: Database, weights: Path, home: Path, *, ontology: str) -> AdaptedReranker:
    folder = rerankers_folder(home)
    draft = folder / ".draft"
    export_reranker(weights, draft, RerankerRecord("tiny"))
    record, _ = install(
        db,
        draft,
        folder,
        lambda fingerprint: AdaptedReranker(
            TENANT, fingerprint, "tiny", ontology, TEXT_TEMPLATE_VERSION, "2026-11-30", 10, 0.1, 0.2
        ),
    )
    return record


def test_searches_of_the_tenant_use_the_record_and_no_others(
    films: Database, tiny: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    ontology = refresh_ontology(films, TENANT)
    asked: dict[str, Any] = {"start_ids": ["film03"], "max_depth": 1, "strategy": "paths"}
    asked |= {"min_score": 0.0}

    def scores(tenant: str, rag: PathRAG) -> list[float]:
        return [path.score for path in rag.search("who made it?", tenant=tenant, **asked).paths]

    rag = PathRAG(films, home=home)
    shipped = scores(TENANT, rag)
    assert shipped == scores("other", rag)

    record = put(films, tiny, home, ontology=ontology_fingerprint(ontology))
    assert adapted_reranker(films, TENANT) == record
    assert all_adapted_rerankers(films) == (record,)
    rag.refresh()
    own = scores(TENANT, rag)
    assert own != shipped
    assert scores("other", rag) == shipped
    text = rag.search("who made it?", tenant=TENANT, **asked).paths[0].text
    (expected,) = PathReranker(rerankers_folder(home) / record.fingerprint).score(
        "who made it?", [text]
    )
    assert own[0] == expected.answer
    # A reranker that was named stays.
    assert scores(TENANT, PathRAG(films, reranker=rag.reranker, home=home)) == shipped

    check = check_adapted(record, ontology, rerankers_folder(home))
    assert check.state == "ok"
    films.run(
        statement(
            "MATCH (a:__Entity__ {tenant: $tenant, id: 'film00'}) "
            "MATCH (b:__Entity__ {tenant: $tenant, id: 'Norland'}) MERGE (a)-[:SHOT_IN]->(b)"
        ),
        tenant=TENANT,
    )
    drifted = check_adapted(record, refresh_ontology(films, TENANT), rerankers_folder(home))
    assert (drifted.state, drifted.todo) == (
        "todo",
        "Run: pathrag train --adapt --tenant films",
    )

    elsewhere = PathRAG(films, home=tmp_path / "elsewhere")
    (warning, *_) = [
        w for w in elsewhere.search("who made it?", tenant=TENANT, **asked).warnings if "adapt" in w
    ]
    assert "is not on this machine" in warning

    assert remove(films, TENANT, rerankers_folder(home)) == record
    assert adapted_reranker(films, TENANT) is None
    assert not (rerankers_folder(home) / record.fingerprint).exists()
    rag.refresh()
    assert scores(TENANT, rag) == shipped


class Knowing:
    """A reranker that knows the held-out questions of a run: always right, or never."""

    fingerprint = "0"

    def __init__(self, work: Path, *, right: bool) -> None:
        self.name = "right" if right else "wrong"
        groups = read_groups(work / "held_out.jsonl.gz")
        self.answers = {
            (group.question, text): answer if right else 1 - answer
            for group in groups
            for text, answer in zip(group.texts, group.answer, strict=True)
        }

    def score(self, question: str, texts: Sequence[str]) -> list[PathScore]:
        return [PathScore(self.answers[question, text], 0.0) for text in texts]


@pytest.mark.torch
@pytest.mark.once
def test_adapting_from_end_to_end(
    films: Database, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    folder = rerankers_folder(home)
    ontology = refresh_ontology(films, TENANT)
    old = put(films, tiny, home, ontology="another")
    stages: list[str] = []

    def interrupt(at: AdaptProgress) -> None:
        stages.append(at.stage)
        if at.stage == "train" and at.done >= 300:
            os.kill(os.getpid(), signal.SIGINT)

    def adapted(progress: Callable[[AdaptProgress], None], *, known: bool) -> Adapted:
        # What so small a model learns in twenty batches is left to chance, so is compared with
        # what is surely worse, or surely better.
        monkeypatch.setattr(_Adaptation, "in_use", lambda run: Knowing(run.work, right=known))
        return adapt(films, TENANT, base=tiny, home=home, steps=20, progress=progress)

    found = adapted(interrupt, known=False)
    assert (found.outcome, found.record) == ("interrupted", None)
    assert list(dict.fromkeys(stages)) == ["read", "questions", "train"]
    assert adapted_reranker(films, TENANT) == old

    stages.clear()
    found = adapted(lambda at: stages.append(at.stage), known=False)
    assert list(dict.fromkeys(stages)) == ["train", "export", "check"]
    assert found.before is not None
    assert found.after is not None
    assert found.after.questions == found.before.questions > 50
    assert 0 == found.before.hit < found.after.hit < 1
    assert (found.outcome, found.groups, found.replaced) == ("installed", 400, "wrong")
    record = adapted_reranker(films, TENANT)
    assert record is not None
    assert record == found.record
    assert record.ontology == ontology_fingerprint(ontology)
    assert record.after == round(found.after.hit, 4)
    assert found.folder == folder / record.fingerprint
    shown = RerankerRecord.read(found.folder)
    assert (shown.name, shown.trained_on) == ("adapted to films", (TENANT, "world"))
    assert shown.calibration is not None
    # Nothing is left of the run, nor of what was in use before.
    assert [p.name for p in folder.iterdir() if p.is_dir()] == [record.fingerprint]

    found = adapted(lambda at: None, known=True)
    assert (found.outcome, found.replaced) == ("no_better", "right")
    assert adapted_reranker(films, TENANT) == record
    assert [p.name for p in folder.iterdir() if p.is_dir()] == [record.fingerprint]
