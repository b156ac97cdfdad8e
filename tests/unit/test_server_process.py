"""Starting, finding and stopping, with real processes of a program that stands for Java."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.config import Connection
from pathrag_gds.errors import (
    AuthFailed,
    ConfigError,
    EmbeddedServerError,
    GdsMissing,
    ServerUnavailable,
)
from pathrag_gds.server import ServerStatus, logs, process, start, status, stop
from pathrag_gds.server.home import Home, Record, free_port
from pathrag_gds.server.jvm import Process, started_at
from tests.fake_java import fake_installation, place_fake_java


def ready(connection: Connection) -> str:
    return "2.13.9"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("JAVA_HOME", str(place_fake_java(tmp_path / "java")))
    monkeypatch.setenv("NEO4J_CONF", "/another/neo4j")

    def install(lane: str, progress: Any = None, *, cache: Path | None = None) -> Any:
        return fake_installation(tmp_path, lane)

    monkeypatch.setattr(process, "install", install)
    place = tmp_path / 'a "home"'
    yield place
    stop(place, timeout_s=0)


def pid_of(home: Path) -> int:
    pid = status(home).pid
    assert pid is not None
    return pid


def kill(home: Path) -> None:
    noted = Process.read(Home(home))
    assert noted is not None
    os.killpg(noted.pid, signal.SIGKILL)
    while noted.alive():
        time.sleep(0.01)


def calls(home: Path) -> list[str]:
    return (home / "calls.log").read_text().splitlines()


def test_life_of_a_server(home: Path) -> None:
    assert status(home) == ServerStatus("stopped", home)
    assert stop(home) is False
    assert not home.exists()

    connection = start(home, probe=ready)
    seen = status(home)
    assert (seen.state, seen.lane, seen.connection) == ("running", "lts", connection)
    assert connection.username == "neo4j"
    assert connection.password
    assert os.getsid(pid_of(home)) == pid_of(home) != os.getsid(0)
    assert logs(home) == ["Starting..."]

    assert start(home, probe=ready) == connection
    assert pid_of(home) == seen.pid

    assert stop(home) is True
    assert status(home) == ServerStatus("stopped", home, "lts", None, connection)
    assert stop(home) is False

    assert start(home, probe=ready) == connection, "address and password are kept"
    tool, first, second = calls(home)
    assert tool.startswith("org.neo4j.cli.AdminTool dbms set-initial-password")
    assert first == second
    assert f"CommunityEntryPoint --home-dir={home}" in first


def test_password_is_never_on_a_command_line_nor_left_behind(home: Path) -> None:
    connection = start(home, probe=ready)
    command = Path(f"/proc/{pid_of(home)}/cmdline")
    if command.exists():
        assert connection.password not in command.read_text()
    assert not (home / "run" / "admin.args").exists()
    assert connection.password not in (home / "run" / "server.args").read_text()
    assert connection.password not in (home / "conf" / "neo4j.conf").read_text()


def test_lane_of_a_new_home_and_the_other_lane(home: Path) -> None:
    start(home, "current", probe=ready)
    assert "Neo4jCommunity" in calls(home)[-1]
    with pytest.raises(EmbeddedServerError, match="was made by lane current; lane lts"):
        start(home, "lts", probe=ready)
    assert status(home).state == "running"


def test_waits_until_the_probe_is_content(home: Path) -> None:
    asked: list[str] = []

    def slow(connection: Connection) -> None:
        asked.append(connection.uri)
        if len(asked) < 3:
            raise ServerUnavailable("not yet")

    connection = start(home, probe=slow)
    assert asked == [connection.uri] * 3


def test_two_starts_at_once_end_in_one_server(home: Path) -> None:
    connections: list[Connection] = []
    starts = [
        threading.Thread(target=lambda: connections.append(start(home, probe=ready)))
        for _ in range(4)
    ]
    for one in starts:
        one.start()
    for one in starts:
        one.join()
    assert len(connections) == 4
    assert len(set(connections)) == 1
    assert len(calls(home)) == 2, "one password, one server"


def test_killed_server_is_stale_and_starts_again(home: Path) -> None:
    connection = start(home, probe=ready)
    kill(home)
    seen = status(home)
    assert (seen.state, seen.pid) == ("stale", None)
    told: list[str] = []
    assert start(home, probe=ready, notify=told.append) == connection
    assert len(told) == 1
    assert "had ended without being stopped" in told[0]
    kill(home)
    assert stop(home) is False
    assert status(home).state == "stopped"


def test_reused_pid_is_not_taken_for_the_server_nor_killed(home: Path) -> None:
    start(home, probe=ready)
    stop(home)
    other = Process(os.getpid(), "long ago")
    other.write(Home(home))
    assert status(home).state == "stale"
    assert stop(home) is False
    other.write(Home(home))
    start(home, probe=ready)
    assert pid_of(home) != os.getpid()


def test_wanted_port_is_used_and_a_taken_one_refused(home: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        with pytest.raises(EmbeddedServerError, match=f"Port {taken} of 127.0.0.1 is taken") as e:
            start(home, probe=ready, port=taken)
        assert "--port" in e.value.hint
    wanted = free_port()
    assert start(home, probe=ready, port=wanted).uri == f"bolt://127.0.0.1:{wanted}"
    with pytest.raises(EmbeddedServerError, match=f"already runs, on port {wanted}") as caught:
        start(home, probe=ready, port=free_port())
    assert "pathrag server stop" in caught.value.hint


def test_kept_port_that_is_taken_gives_way(home: Path) -> None:
    first = start(home, probe=ready)
    stop(home)
    told: list[str] = []
    port = int(first.uri.rpartition(":")[2])
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        second = start(home, probe=ready, notify=told.append)
    assert second.uri != first.uri
    assert second.password == first.password
    assert told == [
        f"Port {port} is taken by another program; the server now uses "
        f"{second.uri.rpartition(':')[2]}."
    ]
    assert status(home).connection == second


def test_server_that_ends_shows_its_last_output(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_JAVA", "crash")
    with pytest.raises(EmbeddedServerError, match="ended while it started") as caught:
        start(home, probe=ready)
    assert "  ERROR: the store is locked" in caught.value.message
    assert f"pathrag server logs --home {home}" in caught.value.hint
    assert status(home).state == "stopped"


def test_server_that_never_listens_is_ended(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_JAVA", "deaf")
    with pytest.raises(EmbeddedServerError, match=r"not ready after 0 s \(it does not listen yet"):
        start(home, probe=ready, timeout_s=0.4)
    assert status(home).state == "stopped"


def test_last_answer_of_the_probe_is_told(home: Path) -> None:
    def never(connection: Connection) -> None:
        raise ServerUnavailable("the system database is not there yet")

    with pytest.raises(EmbeddedServerError, match="the system database is not there yet"):
        start(home, probe=never, timeout_s=1)
    assert status(home).state == "stopped"


@pytest.mark.parametrize("error", [AuthFailed("wrong password"), GdsMissing("no gds")])
def test_answer_that_time_does_not_mend_ends_the_wait(home: Path, error: Exception) -> None:
    def refuse(connection: Connection) -> None:
        raise error

    with pytest.raises(EmbeddedServerError, match=f"refuses to work with us: {error}"):
        start(home, probe=refuse, timeout_s=60)
    assert status(home).state == "stopped"


def test_failed_probe_leaves_a_server_alone_that_ran_before(home: Path) -> None:
    start(home, probe=ready)
    pid = pid_of(home)

    def refuse(connection: Connection) -> None:
        raise AuthFailed("wrong password")

    with pytest.raises(EmbeddedServerError, match="wrong password"):
        start(home, probe=refuse)
    assert pid_of(home) == pid


def test_interrupted_start_leaves_no_server(home: Path) -> None:
    noted: list[Process] = []

    def interrupt(connection: Connection) -> None:
        found = Process.read(Home(home))
        assert found is not None
        noted.append(found)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(home, probe=interrupt)
    assert not noted[0].alive()
    assert status(home).state == "stopped"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device"), EmbeddedServerError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_server_that_cannot_be_noted_is_ended(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    told: type[BaseException],
) -> None:
    started: list[int] = []

    def write(noted: Process, place: Home) -> None:
        started.append(noted.pid)
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(Process, "write", write)
        with pytest.raises(told):
            start(home, probe=ready)
    (pid,) = started
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert status(home).state == "stopped"
    start(home, probe=ready)
    assert status(home).state == "running"


def test_failing_tool_is_shown_without_its_progress(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_JAVA", "broken-tool")
    with pytest.raises(EmbeddedServerError, match="Setting the server's first password fail") as e:
        start(home, probe=ready)
    assert "Active logical log detected" in e.value.message
    assert "Files:" not in e.value.message
    monkeypatch.delenv("FAKE_JAVA")
    start(home, probe=ready)


def test_server_that_ignores_the_request_is_killed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_JAVA", "stubborn")
    start(home, probe=ready)
    pid = pid_of(home)
    assert stop(home, timeout_s=0.3) is True
    assert started_at(pid) == ""
    assert status(home).state == "stopped"


def test_server_that_does_not_listen_yet_is_starting(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def look(connection: Connection) -> None:
        seen.append(status(home).state)

    start(home, probe=look)
    Home(home).write(Record(lane="lts", port=free_port(), password="x"))
    seen.append(status(home).state)
    assert seen == ["running", "starting"]


def test_stop_waits_for_a_start_and_then_tells(home: Path) -> None:
    def blocked(connection: Connection) -> None:
        with pytest.raises(EmbeddedServerError, match=r"still starting, stopping or copying"):
            stop(home, timeout_s=0)

    start(home, probe=blocked)
    assert status(home).state == "running"


def test_wrong_arguments_make_nothing(home: Path) -> None:
    with pytest.raises(ConfigError, match="no server lane 'edge'"):
        start(home, "edge", probe=ready)
    with pytest.raises(ConfigError, match="--heap must be"):
        start(home, probe=ready, heap="lots")
    with pytest.raises(ConfigError, match="--page-cache must be"):
        start(home, probe=ready, page_cache="1 TB")
    assert not home.exists()


@pytest.fixture
def unprivileged(tmp_path: Path) -> Iterator[Path]:
    """Give a folder that this process cannot write in, even when the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="pathrag-read-only-"))
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_read_only_folder_is_named(unprivileged: Path) -> None:
    for place in (unprivileged, unprivileged / "home"):
        with pytest.raises(EmbeddedServerError, match=f"in {place}: Permission denied") as caught:
            start(place, probe=ready)
        assert "--home" in caught.value.hint
        assert status(place).state == "stopped"
        assert list(unprivileged.iterdir()) == []


def test_server_of_another_user_is_not_touched(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(home, probe=ready)

    def refuse(pid: int, number: int) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", refuse)
        with pytest.raises(EmbeddedServerError, match="belongs to another user"):
            stop(home)
    assert status(home).state == "running"


def test_heap_and_extra_options_reach_java(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATHRAG_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 '-Dname=a b'")
    start(home, probe=ready, heap="128M", page_cache="32m")
    given = (home / "run" / "server.args").read_text().splitlines()
    for option in ("-Xmx128m", "-Xms128m", "-XX:TieredStopAtLevel=1", "-Dname=a b"):
        assert f'"{option}"' in given
    assert "server.memory.pagecache.size=32m" in (home / "conf" / "neo4j.conf").read_text()
