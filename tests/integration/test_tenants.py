"""Two tenants with the same ids and names in one database: neither shows or touches the other."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds import PathRAG
from pathrag_gds.communities import search_communities
from pathrag_gds.communities.store import live_run
from pathrag_gds.config import Connection, Endpoint
from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import load
from pathrag_gds.ingest import embed, load_files
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.models.llm import ChatClient
from pathrag_gds.models.reranker import load_reranker
from tests.endpoint import ScriptedEndpoint, serving, streams
from tests.statements import statement
from tests.tenancy import QUESTION, SAVED, TENANTS, Done, Place, operations, write_files

pytestmark = pytest.mark.integration

ENCODER = load_encoder(None)
HELD = statement(
    "MATCH (n {tenant: $tenant}) OPTIONAL MATCH (n)-[r]-(m) "
    "RETURN labels(n) AS labels, properties(n) AS node, type(r) AS type, "
    "properties(r) AS relationship, m.tenant AS tenant, m.id AS id",
    "read",
)
# What must be done before the rest shows anything.
FIRST = (
    "pathrag load",
    "pathrag embed",
    "pathrag schema refresh",
    "pathrag communities detect",
    "pathrag communities report",
    "pathrag query --save",
)


def answers(handler: BaseHTTPRequestHandler, endpoint: ScriptedEndpoint) -> None:
    """Answer with what was asked, as a report or in a sentence: a model repeats what it is told."""
    user = str(endpoint.asked[-1].body["messages"][-1]["content"])
    report = {"title": "Told", "summary": user, "key_entities": ["p0"]}
    streams(json.dumps(report) if "key_entities" in json.dumps(endpoint.asked[-1].body) else user)(
        handler, endpoint
    )


@pytest.fixture
def place(
    migrated: Database, server: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for tenant in TENANTS:
        write_files(tmp_path / tenant, tenant)
    with serving(answers) as endpoint:
        llm = ChatClient(Endpoint(endpoint.base_url, "tiny"))
        rag = PathRAG(migrated, encoder=ENCODER, llm=llm)
        yield Place(rag, server, endpoint, tmp_path)


def held(db: Database, tenant: str) -> Counter[str]:
    """Give all that the database holds of a tenant, with what it is linked to."""
    rows = db.run(HELD, tenant=tenant)
    # A link to another tenant would be the end of both.
    assert {row["tenant"] for row in rows} <= {tenant, None}
    return Counter(json.dumps(row, sort_keys=True, default=str) for row in rows)


def prepare(place: Place, tenant: str) -> None:
    for name in FIRST:
        done = operations()[name](place, tenant)
        assert not done.failed, f"{name}: {done.text}"


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_is_done_with_one_shows_and_touches_nothing_of_the_other(
    place: Place, seed: int
) -> None:
    for tenant in TENANTS:
        prepare(place, tenant)
    steps = [(name, tenant) for name in operations() for tenant in TENANTS]
    random.Random(seed).shuffle(steps)
    shown: Counter[str] = Counter()
    leaks: list[str] = []
    for name, tenant in steps:
        (other,) = set(TENANTS) - {tenant}
        before = held(place.rag.database, other)
        done = operations()[name](place, tenant)
        if other in done.text.casefold():
            leaks.append(f"{name} of {tenant} shows: {done.text}")
        if held(place.rag.database, other) != before:
            leaks.append(f"{name} of {tenant} changes what {other} holds")
        shown[name] += f"{tenant}ine" in done.text.casefold()
    assert not leaks, "\n".join(leaks)
    # It would be easy to show nothing of the other where nothing is shown at all.
    assert {name for name, count in shown.items() if count == len(TENANTS)} >= {
        "PathRAG.ask",
        "PathRAG.explain",
        "PathRAG.prompt",
        "PathRAG.search",
        "pathrag ask",
        "pathrag explain",
        "pathrag prompt",
        "pathrag query",
    }


def plain(done: Done) -> str:
    assert not done.failed, done.text
    told: dict[str, Any] = json.loads(done.text.partition("\n}\n")[0] + "\n}")
    stats = told["result"]["stats"] if "result" in told else told["stats"]
    stats.pop("millis")
    # Read once for each process, and here it may be read anew.
    stats.pop("setup_round_trips")
    return json.dumps(told)


def test_results_are_those_that_the_tenant_gets_alone(place: Place) -> None:
    amber, cobalt = TENANTS
    asked = ("pathrag query", "pathrag explain", "pathrag query by flow")
    prepare(place, amber)
    alone = [plain(operations()[name](place, amber)) for name in asked]
    prepare(place, cobalt)
    assert [plain(operations()[name](place, amber)) for name in asked] == alone
    # Cobalt's words have other vectors, so its scores are its own.
    assert [plain(operations()[name](place, cobalt)) for name in asked] != alone


def test_threads_of_two_tenants_share_an_object(place: Place) -> None:
    for tenant in TENANTS:
        prepare(place, tenant)

    def ask(tenant: str) -> tuple[str, str]:
        return tenant, repr(place.rag.search(QUESTION, tenant=tenant)).casefold()

    with ThreadPoolExecutor(4) as pool:
        for tenant, told in pool.map(ask, [*TENANTS] * 6):
            (other,) = set(TENANTS) - {tenant}
            assert f"{tenant}ine" in told
            assert other not in told


def test_a_look_up_of_what_another_tenant_has_finds_nothing(place: Place) -> None:
    amber, cobalt = TENANTS
    prepare(place, amber)
    load_files(place.rag.database, [place.files(cobalt) / "nodes.csv"], tenant=cobalt)
    embed(place.rag.database, ENCODER, tenant=cobalt)
    db = place.rag.database
    assert place.rag.patterns(tenant=cobalt) == ()
    with pytest.raises(ConfigError, match=SAVED):
        place.rag.run_pattern(SAVED, tenant=cobalt)
    with pytest.raises(ConfigError, match=SAVED):
        place.rag.delete_pattern(SAVED, tenant=cobalt)
    assert len(place.rag.patterns(tenant=amber)) == 1
    assert live_run(db, cobalt) is None
    with pytest.raises(ConfigError, match="has no communities yet"):
        search_communities(db, ENCODER, QUESTION, tenant=cobalt)
    # Cobalt has no relationship: those of the same ids in amber lead it nowhere.
    assert place.rag.search(QUESTION, tenant=cobalt, min_score=0.0).stats.candidates <= 8
    run = live_run(db, amber)
    assert run is not None
    community = db.run(load("communities/read_communities"), tenant=amber, run=run["id"])[0]["id"]
    for name, more in (
        ("communities/community_entities", {"community": community}),
        ("communities/read_communities", {"run": run["id"]}),
        ("communities/coarsest", {"run": run["id"]}),
        ("retrieve/chunk_texts", {"chunk_ids": ["c0"]}),
        ("retrieve/provenance", {"chunk_ids": ["c0"]}),
    ):
        assert db.run(load(name), tenant=amber, **more), name
        assert db.run(load(name), tenant=cobalt, **more) == [], name


MILK = "Who spilled the milk in the village?"
CROWD = statement(
    "UNWIND range(1, $count) AS i "
    "MERGE (e:__Entity__ {tenant: $tenant, id: 'm' + i}) "
    "SET e.name = $name, e.name_key = toLower($name), e.description = $told, e += $vector"
)


def crowd(db: Database, tenant: str, count: int) -> None:
    """Fill a tenant with entities that are as near to the question as can be."""
    vector = {"embedding": ENCODER.encode([MILK])[0].tolist()}
    db.run(CROWD, tenant=tenant, count=count, name="milk", told=MILK, vector=vector)
    db.run(statement("CALL db.awaitIndexes(300)", "read"))


def test_ten_entities_beside_a_large_tenant_get_the_seeds_that_they_get_alone(
    migrated: Database, tmp_path: Path
) -> None:
    rows = [f"n{i},Thing {i},{'Milk of a village' if i % 2 else 'A stone'}" for i in range(9)]
    path = tmp_path / "nodes.csv"
    path.write_text("id:ID,name,description\n" + "\n".join([*rows, "milk,milk,White"]) + "\n")
    load_files(migrated, [path], tenant="ten")
    embed(migrated, ENCODER, tenant="ten")

    def found() -> tuple[Any, ...]:
        rag = PathRAG(migrated, encoder=ENCODER, reranker=load_reranker("cosine", ENCODER))
        result = rag.search(MILK, tenant="ten", max_depth=1)
        return result.anchors, result.seeds

    alone = found()
    assert len(alone[1]) == 10
    assert [anchor.id for anchor in alone[0]] == ["milk"]
    crowd(migrated, "large", 20_000)
    assert found() == alone


def test_a_large_tenant_beside_a_larger_one_gets_its_own_seeds(
    migrated: Database, tmp_path: Path
) -> None:
    """More than are scanned: the index gives the crowd's rows first, and is asked again."""
    rows = [f"n{i},Thing {i},Number {i} of the list" for i in range(2_100)]
    path = tmp_path / "nodes.csv"
    path.write_text("id:ID,name,description\n" + "\n".join(rows) + "\n")
    load_files(migrated, [path], tenant="many")
    embed(migrated, ENCODER, tenant="many")
    migrated.run(statement("CALL db.awaitIndexes(300)", "read"))

    def found() -> list[str]:
        rag = PathRAG(migrated, encoder=ENCODER, reranker=load_reranker("cosine", ENCODER))
        result = rag.search("Number 7 of the list", tenant="many", max_depth=0, seed_k=10)
        return [seed.id for seed in result.seeds]

    alone = found()
    assert len(alone) == 10
    crowd(migrated, "large", 5_000)
    beside = found()
    assert len(beside) == 10
    assert beside[0] == alone[0]
    assert all(id_.startswith("n") for id_ in beside)
