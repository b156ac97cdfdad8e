"""A program that stands for Java: answers as the server and the administration tool would.

It lets unit tests start, stop, kill and copy real processes in milliseconds. ``FAKE_JAVA`` makes
it misbehave: ``crash`` (ends at once), ``deaf`` (never listens), ``stubborn`` (ignores SIGTERM),
``broken-tool`` (the administration tool fails).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pathrag_gds.server.artifacts import find_lane
from pathrag_gds.server.install import Installation

__all__ = ["fake_installation", "place_fake_java"]

_SCRIPT = r"""#!{python} -SE
import os, pathlib, re, signal, socket, sys, time
mode = os.environ.get("FAKE_JAVA", "")
if sys.argv[1] == "-version":
    print('openjdk version "{version}" 2025-04-15', file=sys.stderr)
    sys.exit(0)
given = pathlib.Path(sys.argv[1][1:]).read_text().splitlines()
given = [line[1:-1] for line in given]
home = pathlib.Path(os.environ["NEO4J_HOME"])
with open(home / "calls.log", "a") as log:
    log.write(" ".join([*given[-4:], *sys.argv[2:]]) + "\n")
if "org.neo4j.cli.AdminTool" in given:
    tool = given[given.index("org.neo4j.cli.AdminTool") + 1:]
    if mode == "broken-tool":
        print("Files: 1/2, data: 50%")
        print("Failed to do it: Active logical log detected")
        sys.exit(1)
    if tool[0] == "dbms":
        (home / "data" / "dbms").mkdir(parents=True)
        (home / "data" / "dbms" / "auth.ini").write_text(tool[2])
    elif tool[1] == "dump":
        content = (home / "data" / "databases" / "neo4j" / "store").read_text()
        pathlib.Path(tool[3].partition("=")[2], "neo4j.dump").write_text(content)
    else:
        content = pathlib.Path(tool[3].partition("=")[2], "neo4j.dump").read_text()
        for kind in ("databases", "transactions"):
            (home / "data" / kind / "neo4j").mkdir(parents=True)
        (home / "data" / "databases" / "neo4j" / "store").write_text(content)
    sys.exit(0)
print("Starting...", flush=True)
if mode == "crash":
    print("ERROR: the store is locked")
    sys.exit(3)
signal.signal(signal.SIGTERM, signal.SIG_IGN if mode == "stubborn" else lambda *_: sys.exit(0))
conf = (home / "conf" / "neo4j.conf").read_text()
if mode != "deaf":
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(re.search(r"bolt.listen_address=127.0.0.1:(\d+)", conf)[1])))
    listener.listen()
    for kind in ("databases/neo4j", "transactions/neo4j", "databases/system"):
        (home / "data" / kind).mkdir(parents=True, exist_ok=True)
    store = home / "data" / "databases" / "neo4j" / "store"
    if not store.exists():
        store.write_text("empty")
while True:
    time.sleep(60)
"""


def place_fake_java(folder: Path, *, version: str = "21.0.8") -> Path:
    """Put the program where ``JAVA_HOME`` would have it, and give that folder."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    text = _SCRIPT.replace("{python}", os.path.realpath(sys.executable))
    java.write_text(text.replace("{version}", version), encoding="utf-8")
    java.chmod(0o755)
    return folder


def fake_installation(folder: Path, lane: str = "lts") -> Installation:
    """Give an installation of two empty jars, one of them a plugin."""
    jars = (folder / "server.jar", folder / "gds.jar")
    for jar in jars:
        jar.touch()
    return Installation(lane=find_lane(lane), folder=folder, jars=jars, plugins=jars[1:])
