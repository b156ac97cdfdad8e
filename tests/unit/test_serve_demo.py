"""Where the demo goes, when it starts a server, and which commands it names next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import pathrag_gds.serve.demo as demo
from pathrag_gds import server
from pathrag_gds.config import Connection, Settings
from pathrag_gds.demo import DOCUMENT, keys
from pathrag_gds.errors import ConfigError, EmbeddedServerError, EncoderMismatch, IndexMissing
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.models.reranker import Reranker
from pathrag_gds.serve.demo import choose_tenant
from pathrag_gds.server import Installation, ServerStatus
from pathrag_gds.server.artifacts import find_lane
from pathrag_gds.server.home import Home, Record
from pathrag_gds.types import SearchResult, SearchStats
from tests.fakes import RecordingDatabase

EMPTY = {"occupied": False, "demo": False, "digest": None}
HELD = {"occupied": True, "demo": True, "digest": None}
OTHER = {"occupied": True, "demo": False, "digest": None}
PREPARED = ["_migrate", "_load", "_embed"]
RESULT = SearchResult("?", "t", "path", "answered", (), (), (), (), SearchStats(), {})
QUERY = 'pathrag query "Who are Bob\'s friends?"'


def database(**tenants: dict[str, Any]) -> RecordingDatabase:
    """Make a database that holds something in some tenants."""
    return RecordingDatabase({"demo/tenant_state": lambda given: [tenants[given["tenant"]]]})


@pytest.mark.parametrize(
    ("held", "wanted", "chosen"),
    [
        ({"default": EMPTY}, "", "default"),
        ({"default": HELD}, "", "default"),
        ({"default": OTHER, "demo": EMPTY}, "", "demo"),
        ({"default": OTHER, "demo": HELD}, "", "demo"),
        ({"mine": EMPTY}, "mine", "mine"),
    ],
)
def test_an_empty_tenant_or_the_demos_own_is_taken(
    held: dict[str, Any], wanted: str, chosen: str
) -> None:
    db = database(**held)
    assert choose_tenant(db, wanted) == chosen
    assert {given["document"] for _, given in db.calls} == {DOCUMENT}
    own = keys()
    for _, given in db.calls:
        told = [tuple(given[name]) for name in ("entities", "chunks", "keys")]
        assert told == [own.entities, own.chunks, own.relationships]


@pytest.mark.parametrize(
    ("held", "wanted", "told"),
    [
        ({"default": OTHER, "demo": OTHER}, "", "Tenant 'default' and 'demo' of this database"),
        ({"mine": OTHER}, "mine", "Tenant 'mine' of this database holds other data"),
    ],
)
def test_other_data_are_never_mixed_with(held: dict[str, Any], wanted: str, told: str) -> None:
    with pytest.raises(ConfigError, match="--tenant NAME") as caught:
        choose_tenant(database(**held), wanted)
    assert told in caught.value.message


class Stage:
    """The rooms that the demo calls, each noting that it was called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
        self.done: list[str] = []
        self.connection: Connection | None = None
        status = ServerStatus("stopped", home)
        monkeypatch.setattr(server, "status", lambda _home=None: status)
        monkeypatch.setattr(server, "install", self.install)
        monkeypatch.setattr(server, "start", self.start)
        monkeypatch.setattr(demo, "Database", self.database)
        monkeypatch.setattr(demo, "choose_tenant", lambda db, wanted: wanted or "default")
        for name in ("_migrate", "_load", "_embed"):
            monkeypatch.setattr(demo, name, self.noting(name))
        self.complete = False
        self.failures: list[Exception] = []
        monkeypatch.setattr(demo, "_is_complete", lambda *_: self.complete)
        monkeypatch.setattr(demo, "_search", self.search)

    def search(self, *_: object) -> SearchResult:
        self.done.append("search")
        if self.failures:
            raise self.failures.pop()
        return RESULT

    def noting(self, name: str) -> Callable[..., None]:
        return lambda *_: self.done.append(name)

    def install(self, lane: str, progress: object, *, verify: bool) -> Installation:
        self.done.append(f"install {lane}")
        return Installation(find_lane(lane), Path("/jars"), (), (), 0, 0)

    def start(self, home: str | None, lane: str | None, *, probe: object) -> Connection:
        self.done.append(f"start {lane}")
        return Connection("bolt://127.0.0.1:7000")

    @contextmanager
    def database(self, connection: Connection) -> Iterator[RecordingDatabase]:
        self.connection = connection
        yield RecordingDatabase({"demo/mark": []})


@contextmanager
def silent(what: str, *, unit: str = "") -> Iterator[Callable[..., None]]:
    """Show no progress."""
    yield lambda *_: None


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stage:
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.setenv("PATHRAG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Stage(monkeypatch, tmp_path / "home")


def test_without_a_uri_the_embedded_server_is_installed_and_started(stage: Stage) -> None:
    report = demo.run_demo(Settings(lane="current"), None, progress=silent)
    assert stage.done == ["install current", "start current", *PREPARED, "search"]
    assert stage.connection == Connection("bolt://127.0.0.1:7000")
    assert [step.name for step in report.steps] == ["jars", "server"]
    assert report.next == (QUERY, "pathrag server stop")


def test_a_server_that_is_named_is_left_as_it_is(stage: Stage) -> None:
    settings = Settings("bolt://mine:7687", "neo4j", "secret", tenant="my story")
    report = demo.run_demo(settings, None, progress=silent)
    assert stage.done == [*PREPARED, "search"]
    assert stage.connection == Connection("bolt://mine:7687", "neo4j", "secret")
    assert report.next == (f"{QUERY} --tenant 'my story' --uri bolt://mine:7687",)


def test_next_commands_name_the_home_where_another_server_would_be_taken(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NEO4J_URI", "bolt://elsewhere:7687")
    report = demo.run_demo(Settings(), None, progress=silent)
    home = tmp_path / "home"
    assert report.next == (f"{QUERY} --home {home}", f"pathrag server stop --home {home}")


def test_a_home_of_the_other_lane_is_refused_before_anything_is_fetched(
    stage: Stage, tmp_path: Path
) -> None:
    home = Home.at(tmp_path / "other")
    home.make()
    home.write(Record("current", 7000, password="secret"))
    settings = Settings(home=str(home.path), lane="lts")
    with pytest.raises(EmbeddedServerError, match="was made by lane current"):
        demo.run_demo(settings, None, progress=silent)
    assert stage.done == []
    demo.run_demo(Settings(home=str(home.path)), None, progress=silent)
    assert stage.done[:2] == ["install current", "start current"]


def test_next_commands_name_user_and_database_of_a_server_that_is_named(stage: Stage) -> None:
    settings = Settings("bolt://mine:7687", "ann", "secret", database="my graph")
    report = demo.run_demo(settings, None, progress=silent)
    where = "--uri bolt://mine:7687 --username ann --database 'my graph'"
    assert report.next == (f"{QUERY} {where}",)


def test_what_an_earlier_run_did_is_not_done_again(stage: Stage) -> None:
    stage.complete = True
    report = demo.run_demo(Settings("bolt://mine:7687"), None, progress=silent)
    assert stage.done == ["search"]
    assert [(step.name, step.detail) for step in report.steps] == [
        ("story", "is in tenant default already, with its vectors")
    ]


@pytest.mark.parametrize("error", [IndexMissing("gone"), EncoderMismatch("other")])
def test_what_was_broken_since_is_mended(stage: Stage, error: Exception) -> None:
    stage.complete = True
    stage.failures = [error]
    demo.run_demo(Settings("bolt://mine:7687"), None, progress=silent)
    assert stage.done == ["search", *PREPARED, "search"]


@pytest.mark.parametrize(("named", "given"), [("", None), ("cosine", "cosine(all-MiniLM-L6-v2)")])
def test_a_reranker_is_given_only_where_one_is_named(
    named: str, given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str | None, str | None]] = []

    class Asked:
        def __init__(
            self, db: object, *, reranker: Reranker | None, home: str | None, **_: object
        ) -> None:
            asked.append((None if reranker is None else reranker.name, home))

        def search(self, question: str) -> SearchResult:
            return RESULT

    monkeypatch.setattr(demo, "PathRAG", Asked)
    settings = Settings(home="/mine", reranker=named)
    db: Any = database()
    demo._search(db, "default", load_encoder(None), settings, "?", demo._Clock())
    assert asked == [(given, "/mine")]


@pytest.mark.parametrize(
    ("digest", "size", "complete"),
    [("right", (104, 165, 32), True), ("right", (104, 164, 32), False), ("old", None, False)],
)
def test_the_story_is_complete_when_files_and_counts_are_right(
    digest: str,
    size: tuple[int, int, int] | None,
    complete: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demo, "_digest", lambda _: "right")
    db = database(default={**HELD, "digest": digest})
    if size:
        names = ("entities", "relationships", "chunks")
        db.answers["demo/contents"] = [dict(zip(names, size, strict=True))]
    assert demo._is_complete(db, "default", load_encoder(None)) is complete
