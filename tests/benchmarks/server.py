"""The server that a benchmark runs on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pathrag_gds.config import Connection
from pathrag_gds.graph.database import probe_gds

__all__ = ["server"]


@contextmanager
def server(lane: str, *, uri: str | None = None, home: Path | None = None) -> Iterator[Connection]:
    """Give a server that runs, or an embedded one for the while.

    Args:
        lane: Of the embedded server.
        uri: Of a server that runs; its user and password are in the environment.
        home: Of the embedded server; a temporary folder by default.
    """
    if uri:
        yield Connection(
            uri,
            os.environ.get("NEO4J_USERNAME") or "neo4j",
            os.environ.get("NEO4J_PASSWORD", ""),
        )
        return
    from pathrag_gds.server import start, stop

    with tempfile.TemporaryDirectory() as temporary:
        place = home or Path(temporary) / "home"
        connection = start(place, lane, probe=probe_gds)
        try:
            yield connection
        finally:
            stop(place)
