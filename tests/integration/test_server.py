"""The embedded server itself, in homes of its own: starts, crashes, copies, both lanes.

Few tests with many steps, as each start of a server takes seconds.
"""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pathrag_gds.config import Connection
from pathrag_gds.errors import AuthFailed, DatabaseError, EmbeddedServerError
from pathrag_gds.graph.database import Database, probe_gds
from pathrag_gds.server import (
    default_cache,
    dump,
    install,
    logs,
    restore,
    start,
    status,
    stop,
)
from pathrag_gds.server.artifacts import LANES, locked
from pathrag_gds.server.jvm import started_at
from tests.statements import statement

BATCH = 500
ADD = statement(f"UNWIND range(1, {BATCH}) AS i CREATE (:Crash {{batch: $batch, i: i}})")
SIZES = statement(
    "MATCH (n:Crash) WITH n.batch AS batch, count(*) AS size "
    "RETURN count(batch) AS batches, max(batch) AS last, collect(DISTINCT size) AS sizes",
    "read",
)
START = """
import sys
from pathrag_gds.graph.database import probe_gds
from pathrag_gds.server import start
connection = start(sys.argv[1], sys.argv[2], probe=probe_gds)
print(connection.uri, connection.password)
"""


@pytest.fixture
def new_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """Give homes by name; their servers are stopped at the end."""
    # These servers live for seconds: compiling for speed would take longer than it saves.
    monkeypatch.setenv("PATHRAG_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
    made: list[Path] = []

    def make(name: str) -> Path:
        made.append(tmp_path / name)
        return made[-1]

    yield make
    for home in made:
        stop(home, timeout_s=10)


@pytest.mark.timeout(1200)
def test_life_crash_and_copy(new_home: Callable[[str], Path], tmp_path: Path) -> None:
    home = new_home("home")

    # Two commands at once on a new home end in one server.
    command = [sys.executable, "-c", START, str(home), "lts"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said[0] == said[1]
    uri, password = said[0].split()
    connection = Connection(uri, "neo4j", password, "neo4j")
    assert status(home).connection == connection
    assert status(home).state == "running"
    assert start(home, probe=probe_gds) == connection

    # It wants the password, and only this machine can reach it.
    assert probe_gds(connection) == LANES["lts"].gds
    with pytest.raises(AuthFailed):
        probe_gds(replace(connection, password="wrong password"))
    assert stat.S_IMODE((home / "server.json").stat().st_mode) == 0o600
    assert listening_addresses(int(uri.rpartition(":")[2])) == {"127.0.0.1"}
    assert any("Bolt enabled on" in line for line in logs(home))

    # Killed in the middle of a load: what was committed is there, whole.
    committed = kill_during_load(home, connection)
    assert status(home).state == "stale"
    with pytest.raises(EmbeddedServerError, match="recovery") as caught:
        dump(tmp_path / "early.dump", home)
    assert "pathrag server start" in caught.value.hint
    told: list[str] = []
    assert start(home, probe=probe_gds, notify=told.append) == connection
    assert "had ended without being stopped" in told[0]
    before = sizes(connection)
    assert before["sizes"] == [BATCH]
    assert before["batches"] in (committed, committed + 1), "the last one may lack its answer"
    assert before["last"] == before["batches"] - 1

    # A broken dump is refused and changes nothing; what is dumped then has every node.
    assert stop(home) is True
    file = dump(tmp_path / "graph.dump", home)
    broken = tmp_path / "broken.dump"
    broken.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(EmbeddedServerError, match=r"Loading .*broken\.dump failed"):
        restore(broken, home, overwrite=True)
    dump(file, home, overwrite=True)
    other = new_home("hö 東 #1 \\ 'x' $HOME 100%")
    restore(file, other)
    with pytest.raises(EmbeddedServerError, match="already has a database"):
        restore(file, other)
    restore(file, other, overwrite=True)
    copied = start(other, probe=probe_gds)
    assert sizes(copied) == before
    assert copied.password != password


def test_current_lane(new_home: Callable[[str], Path]) -> None:
    home = new_home("home")
    connection = start(home, "current", probe=probe_gds)
    assert probe_gds(connection) == LANES["current"].gds
    with Database(connection) as database:
        assert database.capabilities.version == LANES["current"].neo4j
        assert "gds.maxFlow.stream" in database.capabilities.procedures
    with pytest.raises(EmbeddedServerError, match="was made by lane current; lane lts") as caught:
        start(home, "lts", probe=probe_gds)
    assert "--lane current" in caught.value.hint
    assert stop(home) is True
    # The port is taken when it comes back.
    port = int(connection.uri.rpartition(":")[2])
    with socket.socket() as taker:
        taker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taker.bind(("127.0.0.1", port))
        taker.listen()
        moved = start(home, probe=probe_gds)
    assert moved.uri != connection.uri
    assert probe_gds(moved) == LANES["current"].gds


def test_failing_server_shows_why(new_home: Callable[[str], Path]) -> None:
    home = new_home("home")
    (home / "data").mkdir(parents=True)
    (home / "server.lock").touch()
    (home / "data" / "databases").write_text("in the way")
    with pytest.raises(EmbeddedServerError) as caught:
        start(home, "lts", probe=probe_gds)
    assert str(home / "data") in caught.value.message
    assert "Exception" in caught.value.message
    assert status(home).pid is None


def test_truncated_jar_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("lts")
    monkeypatch.setenv("M2_REPO", str(default_cache()))
    cache = tmp_path / "cache"
    first = install("lts", cache=cache)
    assert (first.fetched, first.reused) == (0, 343)

    victim = min(locked("lts"), key=lambda artifact: artifact.size)
    jar = cache / victim.path
    content = jar.read_bytes()
    jar.unlink()
    jar.write_bytes(content[:-1])
    monkeypatch.setenv("M2_REPO", str(tmp_path / "none"))
    second = install("lts", cache=cache)
    assert (second.fetched, second.reused) == (1, 0)
    assert jar.read_bytes() == content


def kill_during_load(home: Path, connection: Connection) -> int:
    """Load batches until the server is killed, and give how many were confirmed."""
    pid = status(home).pid
    assert pid is not None
    confirmed = 0
    enough = threading.Event()

    def load() -> None:
        nonlocal confirmed
        with Database(connection, retry_s=0) as database:
            while True:
                try:
                    database.run(ADD, batch=confirmed)
                except DatabaseError:
                    return
                confirmed += 1
                if confirmed == 20:
                    enough.set()

    loader = threading.Thread(target=load)
    loader.start()
    assert enough.wait(60)
    os.kill(pid, signal.SIGKILL)
    loader.join()
    # Its connections break some moments before the system has cleared it away.
    while started_at(pid):
        time.sleep(0.05)
    return confirmed


def sizes(connection: Connection) -> dict[str, object]:
    with Database(connection) as database:
        return database.run(SIZES)[0]


def listening_addresses(port: int) -> set[str]:
    """Give the addresses on which somebody listens on this port, as the kernel of Linux has it."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not Path(table).exists():
            continue
        for line in Path(table).read_text().splitlines()[1:]:
            address, _, state = line.split()[1:4]
            host, _, number = address.partition(":")
            if state == "0A" and int(number, 16) == port:
                last_word = bytes.fromhex(host[-8:])[::-1]
                found.add(socket.inet_ntoa(last_word))
    return found
