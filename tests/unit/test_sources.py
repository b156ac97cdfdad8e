"""Which servers the integration tests choose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.config import Connection
from pathrag_gds.errors import EmbeddedServerError
from pathrag_gds.server import process
from pathrag_gds.server.artifacts import LANES
from tests import sources
from tests.fake_java import fake_installation, place_fake_java
from tests.sources import GIVEN, Source, choose_sources, describe, embedded

SERVER = {
    "PATHRAG_TEST_NEO4J_URI": "bolt://127.0.0.1:1",
    "PATHRAG_TEST_NEO4J_USERNAME": "u",
    "PATHRAG_TEST_NEO4J_PASSWORD": "geheim-geheim",
    "PATHRAG_TEST_NEO4J_DATABASE": "d",
}


def test_both_lanes_unless_told_otherwise() -> None:
    assert choose_sources({}) == (Source("lts"), Source("current"))
    assert choose_sources({"PATHRAG_TEST_LANE": "all"}) == choose_sources({})
    assert choose_sources({"PATHRAG_TEST_LANE": "current"}) == (Source("current"),)
    assert choose_sources({"PATHRAG_TEST_LANE": "current"}, lane="lts") == (Source("lts"),)
    with pytest.raises(ValueError, match="'newest'"):
        choose_sources({"PATHRAG_TEST_LANE": "newest"})


def test_a_given_server_comes_first_and_is_wiped_only_on_request() -> None:
    expected = Connection("bolt://127.0.0.1:1", "u", "geheim-geheim", "d")
    assert choose_sources({**SERVER, "PATHRAG_TEST_LANE": "lts"}) == (Source(GIVEN, expected),)
    (wiped,) = choose_sources({**SERVER, "PATHRAG_TEST_NEO4J_WIPE": "1"})
    assert wiped.wipe
    for value in ("", "0", "true"):
        (kept,) = choose_sources({**SERVER, "PATHRAG_TEST_NEO4J_WIPE": value})
        assert not kept.wipe


def test_the_settings_of_the_program_choose_no_test_server() -> None:
    real = {"NEO4J_URI": "bolt://real", "NEO4J_PASSWORD": "real-password"}
    assert all(source.connection is None for source in choose_sources(real))


def test_the_header_tells_versions_or_why_there_are_none() -> None:
    for name, lane in LANES.items():
        assert describe(Source(name)) == (
            f"embedded, lane {name}: {lane.neo4j} community, GDS {lane.gds}"
        )
    (given,) = choose_sources(SERVER)
    text = describe(given)
    assert text.startswith("bolt://127.0.0.1:1 (PATHRAG_TEST_NEO4J_URI): none, No Neo4j answers")
    assert "geheim" not in text


def test_a_server_that_is_there_and_does_not_start_is_no_skip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(lane: str, *_: Any, **__: Any) -> Any:
        return fake_installation(tmp_path, lane)

    monkeypatch.setattr(sources, "install", install)
    monkeypatch.setattr(process, "install", install)
    monkeypatch.setenv("JAVA_HOME", str(place_fake_java(tmp_path / "java")))
    monkeypatch.setenv("FAKE_JAVA", "crash")
    with (
        pytest.raises(EmbeddedServerError, match="ended while it started"),
        embedded("lts", tmp_path / "home"),
    ):
        pass


@pytest.mark.parametrize("lacking", ["install", "find_java"])
def test_a_server_that_cannot_be_had_is_a_skip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    def refuse(*_: Any) -> Any:
        raise EmbeddedServerError(f"no {lacking}")

    monkeypatch.setattr(sources, "install", lambda lane: fake_installation(tmp_path, lane))
    monkeypatch.setattr(sources, lacking, refuse)
    with (
        pytest.raises(pytest.skip.Exception, match=f"no server of lane lts: no {lacking}"),
        embedded("lts", tmp_path / "home"),
    ):
        pass
    assert not (tmp_path / "home").exists()
