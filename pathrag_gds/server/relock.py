"""Resolve the artifacts of every lane anew and write ``artifacts.lock``.

Run ``python -m pathrag_gds.server.relock`` after a version in ``artifacts.py`` changed.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pathrag_gds.server.artifacts import LANES, LOCK_FILE, Artifact, Lane, write_lock

__all__ = ["is_plugin", "resolve_lane"]

_PLUGIN_PREFIXES = (
    "algo",
    "core",
    "cypher-aggregation",
    "graph",
    "open-model",
    "open-write",
    "opengds",
    "proc",
)


def is_plugin(group: str, artifact: str) -> bool:
    """Tell whether the server must scan this jar for procedures and functions."""
    return group == "org.neo4j.gds" and artifact.startswith(_PLUGIN_PREFIXES)


def resolve_lane(lane: Lane, context: Any) -> list[Artifact]:
    """Resolve what a lane needs at run time, download it and hash it.

    Args:
        context: A ``jgo.maven.MavenContext``.

    Returns:
        Jars of scope compile and runtime, sorted.
    """
    # "!": the roots are not imported as bills of materials, so the set is the one Maven resolves.
    roots = [context.create_dependency(":".join(root) + "!") for root in lane.roots()]
    inputs, transitive = context.resolver.resolve(roots)
    wanted = {
        dependency.artifact.key: dependency.artifact
        for dependency in [*inputs, *transitive]
        if dependency.type == "jar" and (dependency.scope or "compile") in ("compile", "runtime")
    }
    with ThreadPoolExecutor(max_workers=12) as pool:
        return sorted(pool.map(_describe, wanted.values()))


def _describe(artifact: Any) -> Artifact:
    content = Path(artifact.resolve()).read_bytes()
    return Artifact(
        group=artifact.groupId,
        artifact=artifact.artifactId,
        version=artifact.version,
        classifier=artifact.classifier or "",
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        plugin=is_plugin(artifact.groupId, artifact.artifactId),
    )


def main() -> None:
    """Write the lock file beside this module, from scratch."""
    from jgo.maven import MavenContext

    from pathrag_gds.server.install import local_repository

    local = local_repository()
    with tempfile.TemporaryDirectory() as folder:
        context = MavenContext(
            repo_cache=Path(folder), local_repos=[local] if local else [], timeout=60
        )
        lanes = [(name, resolve_lane(lane, context)) for name, lane in LANES.items()]
    draft = LOCK_FILE.with_suffix(".draft")
    draft.write_text(write_lock(lanes), encoding="utf-8")
    os.replace(draft, LOCK_FILE)
    for name, artifacts in lanes:
        size = sum(artifact.size for artifact in artifacts)
        print(f"{name}: {len(artifacts)} jars, {size / 1e6:.0f} MB", file=sys.stderr)


if __name__ == "__main__":
    main()
