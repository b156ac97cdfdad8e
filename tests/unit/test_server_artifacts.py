"""The lock file: what it holds, and that it is read and written without loss."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pathrag_gds.errors import ConfigError
from pathrag_gds.server.artifacts import (
    LANES,
    LOCK_FILE,
    Artifact,
    find_lane,
    locked,
    read_lock,
    write_lock,
)
from pathrag_gds.server.relock import is_plugin, resolve_lane


@pytest.mark.parametrize(("name", "jars", "plugins"), [("lts", 343, 38), ("current", 390, 38)])
def test_lane_is_locked_as_maven_resolved_it(name: str, jars: int, plugins: int) -> None:
    artifacts = locked(name)
    assert len(artifacts) == jars
    assert sum(a.plugin for a in artifacts) == plugins
    assert len({a.file_name for a in artifacts}) == jars
    assert not Counter((a.group, a.artifact, a.classifier) for a in artifacts) - Counter(
        {(a.group, a.artifact, a.classifier) for a in artifacts}
    ), "one jar in two versions"


@pytest.mark.parametrize("name", LANES)
def test_roots_and_main_parts_are_locked(name: str) -> None:
    lane = LANES[name]
    found = {(a.group, a.artifact): a.version for a in locked(lane.name)}
    for group, artifact, version in lane.roots():
        assert found[group, artifact] == version
    assert found["org.neo4j", "neo4j-record-storage-engine"] == lane.neo4j
    assert found["org.neo4j.gds", "cypher-aggregation"] == lane.gds


def test_lock_file_is_what_the_writer_writes() -> None:
    text = LOCK_FILE.read_text(encoding="utf-8")
    assert write_lock(read_lock(text).items()) == text
    assert "://" not in text


def test_path_and_text_of_an_artifact() -> None:
    artifact = Artifact("io.netty", "epoll", "4.1", "linux-x86_64", "0" * 64, 7, False)
    assert str(artifact.path) == "io/netty/epoll/4.1/epoll-4.1-linux-x86_64.jar"
    assert str(artifact) == "io.netty:epoll:4.1:linux-x86_64"
    assert str(replace(artifact, classifier="").path) == "io/netty/epoll/4.1/epoll-4.1.jar"


@pytest.mark.parametrize(
    "line",
    ["[lts]\n123 4 a:b:c", "[lts]\n" + "0" * 64 + " x a:b:c", f"{'0' * 64} 1 a:b:c", "[lts]\nword"],
)
def test_damaged_line_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"line \d is not an artifact|invalid literal"):
        read_lock(line)


def test_unknown_lane_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="'edge'") as caught:
        find_lane("edge")
    assert caught.value.hint == "Lanes: current, lts"
    with pytest.raises(ConfigError):
        locked("edge")


@pytest.mark.parametrize(
    ("group", "artifact", "expected"),
    [
        ("org.neo4j.gds", "proc-catalog", True),
        ("org.neo4j.gds", "opengds-extension", True),
        ("org.neo4j.gds", "cypher-aggregation", True),
        ("org.neo4j.gds", "ml-core", False),
        ("org.neo4j", "procedure-compiler", False),
    ],
)
def test_plugins_are_gds_jars(group: str, artifact: str, expected: bool) -> None:
    assert is_plugin(group, artifact) is expected


def test_resolved_set_leaves_out_tests_and_poms(tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"jar")

    def dependency(name: str, scope: str | None, kind: str = "jar") -> SimpleNamespace:
        artifact = SimpleNamespace(
            key=name, groupId="org.neo4j.gds", artifactId=name, version="1", classifier="",
            resolve=lambda: jar,
        )  # fmt: skip
        return SimpleNamespace(artifact=artifact, scope=scope, type=kind)

    asked: list[str] = []
    found = (
        [dependency("proc", None)],
        [
            dependency("ml-core", "runtime"),
            dependency("junit", "test"),
            dependency("bom", "compile", "pom"),
            dependency("servlet", "provided"),
        ],
    )

    def create_dependency(coordinate: str) -> str:
        asked.append(coordinate)
        return coordinate

    context = SimpleNamespace(
        create_dependency=create_dependency,
        resolver=SimpleNamespace(resolve=lambda roots: found),
    )
    digest = hashlib.sha256(b"jar").hexdigest()
    assert resolve_lane(LANES["lts"], context) == [
        Artifact("org.neo4j.gds", "ml-core", "1", "", digest, 3, False),
        Artifact("org.neo4j.gds", "proc", "1", "", digest, 3, True),
    ]
    assert asked[0] == "org.neo4j:neo4j:5.26.30!"
    assert asked[-1] == "org.neo4j.gds:open-write-services:2.13.9!"
