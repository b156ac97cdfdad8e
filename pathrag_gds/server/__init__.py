"""A real Neo4j with GDS in a process of its own, without Docker.

Nothing here imports a driver: ``start`` is given the probe that asks the server whether it is
ready, ``pathrag_gds.graph.database.probe_gds``.
"""

from pathrag_gds.server.artifacts import DEFAULT_LANE, LANES, find_lane
from pathrag_gds.server.backup import dump, restore
from pathrag_gds.server.home import default_home
from pathrag_gds.server.install import Installation, default_cache, install
from pathrag_gds.server.java import find_java
from pathrag_gds.server.process import ServerStatus, logs, start, status, stop

__all__ = [
    "DEFAULT_LANE",
    "LANES",
    "Installation",
    "ServerStatus",
    "default_cache",
    "default_home",
    "dump",
    "find_java",
    "find_lane",
    "install",
    "logs",
    "restore",
    "start",
    "status",
    "stop",
]
