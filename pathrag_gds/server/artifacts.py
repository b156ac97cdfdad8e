"""What the embedded server is made of: two lanes, each a locked list of Maven artifacts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from pathrag_gds.errors import ConfigError, EmbeddedServerError

__all__ = ["DEFAULT_LANE", "LANES", "LOCK_FILE", "Artifact", "Lane", "find_lane", "locked"]

LOCK_FILE = Path(__file__).with_name("artifacts.lock")
DEFAULT_LANE = "lts"


@dataclass(frozen=True, slots=True)
class Lane:
    """A server line and the plugin line that belongs to it.

    Attributes:
        main_class: What the JVM runs.
        java: Major versions of Java that the line is supported on.
    """

    name: str
    neo4j: str
    gds: str
    main_class: str
    java: tuple[int, ...]
    gds_artifacts: tuple[str, ...]

    def roots(self) -> list[tuple[str, str, str]]:
        """Give group, artifact and version of what the rest depends on, server first."""
        return [
            # neo4j-server alone lacks the bootstrapper and the storage engine.
            ("org.neo4j", "neo4j", self.neo4j),
            ("org.neo4j.app", "neo4j-server", self.neo4j),
            *(("org.neo4j.gds", artifact, self.gds) for artifact in self.gds_artifacts),
        ]


LANES = {
    lane.name: lane
    for lane in (
        Lane(
            name="lts",
            neo4j="5.26.30",
            gds="2.13.9",
            main_class="org.neo4j.server.CommunityEntryPoint",
            java=tuple(range(17, 22)),
            gds_artifacts=(
                "proc",
                "opengds-extension",
                "open-model-catalog",
                "open-write-services",
            ),
        ),
        Lane(
            name="current",
            neo4j="2026.01.4",
            gds="2.26.0",
            main_class="org.neo4j.server.Neo4jCommunity",
            java=(21, 25),
            gds_artifacts=("proc", "opengds-extension", "open-model-catalog"),
        ),
    )
}


@dataclass(frozen=True, slots=True, order=True)
class Artifact:
    """One jar.

    Attributes:
        classifier: Such as ``linux-x86_64``, mostly empty.
        size: Bytes.
        plugin: Whether the server must also find it in its plugins folder.
    """

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str
    size: int
    plugin: bool

    @property
    def file_name(self) -> str:
        """Name of the jar, as Maven writes it."""
        suffix = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{suffix}.jar"

    @property
    def path(self) -> PurePosixPath:
        """Place of the jar in a Maven repository, relative to its root."""
        return PurePosixPath(*self.group.split("."), self.artifact, self.version, self.file_name)

    def __str__(self) -> str:
        parts = (self.group, self.artifact, self.version, self.classifier)
        return ":".join(part for part in parts if part)


def find_lane(name: str) -> Lane:
    """Give the lane of that name.

    Raises:
        ConfigError: There is none.
    """
    if name not in LANES:
        raise ConfigError(
            f"There is no server lane {name!r}.", hint="Lanes: " + ", ".join(sorted(LANES))
        )
    return LANES[name]


@cache
def locked(lane: str) -> tuple[Artifact, ...]:
    """Give the locked artifacts of a lane, in the order of the class path.

    Raises:
        ConfigError: There is no such lane.
        EmbeddedServerError: The lock file of this installation is damaged.
    """
    find_lane(lane)
    try:
        return read_lock(LOCK_FILE.read_text(encoding="utf-8"))[lane]
    except (OSError, ValueError, KeyError) as error:
        raise EmbeddedServerError(
            f"{LOCK_FILE} is damaged: {error}", hint="Install pathrag-gds again."
        ) from error


def read_lock(text: str) -> dict[str, tuple[Artifact, ...]]:
    """Parse a lock file into the artifacts of each lane.

    Raises:
        ValueError: A line is not a section, a comment or an artifact; names the line.
    """
    lanes: dict[str, list[Artifact]] = {}
    section: list[Artifact] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            section = lanes.setdefault(line.strip("[]"), [])
            continue
        fields = line.split()
        coordinates = fields[2].split(":") if len(fields) in (3, 4) else []
        if section is None or len(coordinates) not in (3, 4) or len(fields[0]) != 64:
            raise ValueError(f"line {number} is not an artifact")
        section.append(
            Artifact(
                group=coordinates[0],
                artifact=coordinates[1],
                version=coordinates[2],
                classifier=coordinates[3] if len(coordinates) == 4 else "",
                sha256=fields[0],
                size=int(fields[1]),
                plugin=fields[3:] == ["plugin"],
            )
        )
    return {lane: tuple(artifacts) for lane, artifacts in lanes.items()}


def write_lock(lanes: Iterable[tuple[str, Iterable[Artifact]]]) -> str:
    """Give the text of a lock file: a section per lane, a line per artifact, sorted."""
    lines = [
        "# The jars of the embedded server: sha256, bytes, group:artifact:version[:classifier].",
        "# `plugin`: also linked into the plugins folder.",
        "# Written by `python -m pathrag_gds.server.relock`; do not edit.",
    ]
    for name, artifacts in lanes:
        lines += ["", f"[{name}]"]
        lines += [
            f"{a.sha256} {a.size} {a}{' plugin' if a.plugin else ''}" for a in sorted(artifacts)
        ]
    return "\n".join(lines) + "\n"
