"""Measure how communities of FB15k-237 (310,116 triples) are found, beside igraph's Leiden.

    python -m tests.benchmarks.communities [--data ../shared/data] [--lane lts | --uri URI]

Loads the triples, finds communities with Louvain and with Leiden, twice each, and prints JSON.
igraph gets the same links, weighted by how many relationships stand for one; all modularities are
of the same formula and the same links. The exit status is 1 where two runs differ, or Leiden gives
a community that does not hang together.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pathrag_gds.communities import Detection, detect_communities
from pathrag_gds.communities.detect import read_links
from pathrag_gds.communities.partition import modularity
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.gds_client import CommunityAlgorithm
from pathrag_gds.ingest import Input, load_files
from pathrag_gds.migrate import up
from tests.benchmarks.server import server

TENANT = "fb15k237"
TRIPLES = 310_116
ALGORITHMS: tuple[CommunityAlgorithm, ...] = ("louvain", "leiden")
_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def main() -> int:
    """Run the benchmark and print its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=os.environ.get("PATHRAG_DATA") or _DATA)
    parser.add_argument("--lane", default="lts", help="embedded server to start")
    parser.add_argument("--uri", help="use this server instead; tenant fb15k237 is written to it")
    given = parser.parse_args()
    with server(given.lane, uri=given.uri) as connection, Database(connection) as db:
        up(db)
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "fb15k237.tsv"
            source.write_text("".join(triples(given.data / "fb15k237")), encoding="utf-8")
            load_files(db, [Input(source, kind="triples")], tenant=TENANT)
        result: dict[str, Any] = {
            "versions": {
                "pathrag-gds": version("pathrag-gds"),
                "igraph": version("igraph"),
                "neo4j": db.capabilities.version,
                "gds": db.capabilities.gds_version,
                "python": platform.python_version(),
            },
            "machine": {"cpus": os.cpu_count(), "load_average": os.getloadavg()[0]},
            **measure(db),
        }
    json.dump(result, sys.stdout, indent=2)
    print()
    return 0 if result["holds"] else 1


def triples(folder: Path) -> Iterator[str]:
    """Give the lines of all three splits as head, relation and tail; their order is head, tail."""
    entities = _names(folder / "entity2id.txt.gz")
    relations = _names(folder / "relation2id.txt")
    for split in ("train", "valid", "test"):
        for line in _lines(folder / f"{split}2id.txt.gz"):
            head, tail, relation = line.split()
            yield f"{entities[head]}\t{relations[relation]}\t{entities[tail]}\n"


def _names(path: Path) -> dict[str, str]:
    return {code: name for name, code in (line.split() for line in _lines(path))}


def _lines(path: Path) -> list[str]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    # The first line is how many follow.
    return text.decode().splitlines()[1:]


def measure(db: Database) -> dict[str, Any]:
    """Find communities twice with each algorithm, and once with igraph."""
    started = time.monotonic()
    links = read_links(db, TENANT)
    read_s = time.monotonic() - started
    found = {
        algorithm: [detect_communities(db, tenant=TENANT, algorithm=algorithm) for _ in range(2)]
        for algorithm in ALGORITHMS
    }
    return {
        "entities": len(links),
        "read_links_s": round(read_s, 1),
        "found": {algorithm: _told(runs[0]) for algorithm, runs in found.items()},
        "igraph": _igraph(links),
        "holds": all(first.levels == second.levels for first, second in found.values())
        and not any(level.disconnected for level in found["leiden"][0].levels),
    }


def _told(run: Detection) -> dict[str, Any]:
    return {
        "seconds": run.seconds,
        "relationships": run.relationships,
        "levels": [
            {
                "communities": level.communities,
                "largest": level.largest,
                "modularity": level.modularity,
                "disconnected": level.disconnected,
            }
            for level in run.levels
        ],
    }


def _igraph(links: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    import igraph

    names = list(links)
    numbers = {name: number for number, name in enumerate(names)}
    pairs = [
        (numbers[a], numbers[b], weight)
        for a, ends in links.items()
        for b, weight in ends.items()
        if a < b
    ]
    graph = igraph.Graph(len(names), [pair[:2] for pair in pairs])
    started = time.monotonic()
    leiden = graph.community_leiden(
        objective_function="modularity",
        weights=[weight for *_, weight in pairs],
        n_iterations=-1,
    )
    seconds = time.monotonic() - started
    labels = dict(zip(names, leiden.membership, strict=True))
    return {
        "seconds": round(seconds, 2),
        "communities": len(leiden),
        "modularity": round(modularity(labels, links), 6),
    }


if __name__ == "__main__":
    sys.exit(main())
