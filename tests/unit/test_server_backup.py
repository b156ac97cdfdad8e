"""Dump and restore, with a program that stands for Neo4j's administration tool."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.config import Connection
from pathrag_gds.errors import ConfigError, EmbeddedServerError
from pathrag_gds.server import backup, dump, process, restore, start, status, stop
from tests.fake_java import fake_installation, place_fake_java


def ready(connection: Connection) -> str:
    return "2.13.9"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the home of a stopped server with one store file."""
    monkeypatch.setenv("JAVA_HOME", str(place_fake_java(tmp_path / "java")))

    def install(lane: str, progress: Any = None, *, cache: Path | None = None) -> Any:
        return fake_installation(tmp_path, lane)

    monkeypatch.setattr(process, "install", install)
    monkeypatch.setattr(backup, "install", install)
    place = tmp_path / "home"
    start(place, probe=ready)
    stop(place)
    store(place).write_text("first")
    yield place
    stop(place, timeout_s=0)


def store(home: Path) -> Path:
    return home / "data" / "databases" / "neo4j" / "store"


def test_dump_goes_into_another_home_and_keeps_its_lane(home: Path, tmp_path: Path) -> None:
    file = dump(tmp_path / "new folder" / "a.dump", home)
    assert file == tmp_path / "new folder" / "a.dump"
    assert [p.name for p in file.parent.iterdir()] == ["a.dump"]
    other = tmp_path / "other"
    restore(file, other, lane="current")
    assert store(other).read_text() == "first"
    assert status(other).lane == "current"
    assert not (other / "restoring").exists()
    start(other, probe=ready)
    assert store(other).read_text() == "first"
    stop(other)


def test_file_that_is_there_is_only_replaced_when_asked(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.dump"
    file.write_text("mine")
    with pytest.raises(EmbeddedServerError, match=r"a\.dump is already there") as caught:
        dump(file, home)
    assert "--overwrite" in caught.value.hint
    assert file.read_text() == "mine"
    dump(file, home, overwrite=True)
    assert file.read_text() == "first"
    with pytest.raises(EmbeddedServerError, match="is a folder"):
        dump(tmp_path, home, overwrite=True)


def test_database_that_is_there_is_only_replaced_when_asked(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.dump"
    file.write_text("second")
    with pytest.raises(EmbeddedServerError, match="already has a database") as caught:
        restore(file, home)
    assert "--overwrite" in caught.value.hint
    assert store(home).read_text() == "first"
    restore(file, home, overwrite=True)
    assert store(home).read_text() == "second"
    assert not (home / "restoring").exists()


def test_running_server_is_left_alone(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.dump"
    start(home, probe=ready)
    with pytest.raises(EmbeddedServerError, match="its files are in use") as caught:
        dump(file, home)
    assert f"pathrag server stop --home {home}" in caught.value.hint
    file.write_text("second")
    with pytest.raises(EmbeddedServerError, match="its files are in use"):
        restore(file, home, overwrite=True)
    assert status(home).state == "running"
    assert store(home).read_text() == "first"


def test_failed_tool_changes_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.dump"
    file.write_text("mine")
    monkeypatch.setenv("FAKE_JAVA", "broken-tool")
    with pytest.raises(EmbeddedServerError, match="Active logical log detected") as caught:
        dump(file, home, overwrite=True)
    assert "pathrag server start" in caught.value.hint
    with pytest.raises(EmbeddedServerError, match=r"Loading .*a\.dump failed"):
        restore(file, home, overwrite=True)
    assert file.read_text() == "mine"
    assert store(home).read_text() == "first"
    assert not list(tmp_path.glob(".dump-*"))
    assert not (home / "restoring").exists()


def test_restore_that_is_cut_off_in_the_exchange_is_noticed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.dump"
    file.write_text("second")
    real = os.replace

    def cut_off(source: Path, target: Path) -> None:
        if Path(target).name == "old-databases":
            raise KeyboardInterrupt
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", cut_off)
        with pytest.raises(KeyboardInterrupt):
            restore(file, home, overwrite=True)
    with pytest.raises(EmbeddedServerError, match="was cut off while it exchanged") as caught:
        start(home, probe=ready)
    assert f"pathrag server restore FILE --overwrite --home {home}" in caught.value.hint
    restore(file, home, overwrite=True)
    start(home, probe=ready)
    assert store(home).read_text() == "second"
    assert sorted(p.name for p in (home / "run").iterdir()) == ["server.args", "server.pid"]


def test_dump_needs_a_database_and_restore_a_file(home: Path, tmp_path: Path) -> None:
    with pytest.raises(EmbeddedServerError, match="has no database to dump"):
        dump(tmp_path / "a.dump", tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
    with pytest.raises(EmbeddedServerError, match=r"There is no file .*none\.dump") as caught:
        restore(tmp_path / "none.dump", home)
    assert "pathrag server dump" in caught.value.hint
    (tmp_path / "a.dump").touch()
    with pytest.raises(ConfigError, match="no server lane"):
        restore(tmp_path / "a.dump", tmp_path / "nowhere", lane="edge")


def test_data_are_saved_from_a_home_whose_password_is_lost(home: Path, tmp_path: Path) -> None:
    (home / "server.json").write_text("{")
    with pytest.raises(EmbeddedServerError, match=r"server\.json is damaged") as caught:
        start(home, probe=ready)
    assert f"pathrag server dump FILE --home {home} --lane" in caught.value.hint
    with pytest.raises(EmbeddedServerError, match=r"server\.json is damaged"):
        status(home)
    file = dump(tmp_path / "a.dump", home, lane="lts")
    restore(file, tmp_path / "new")
    assert store(tmp_path / "new").read_text() == "first"


def test_home_of_the_other_lane_is_refused(home: Path, tmp_path: Path) -> None:
    file = dump(tmp_path / "a.dump", home)
    with pytest.raises(EmbeddedServerError, match="was made by lane lts; lane current"):
        dump(tmp_path / "b.dump", home, lane="current")
    with pytest.raises(EmbeddedServerError, match="was made by lane lts; lane current"):
        restore(file, home, lane="current", overwrite=True)
