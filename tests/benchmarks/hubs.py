"""Measure the expansion at a hub of FB15k-237: 8,642 of 310,116 triples, in 60 ways.

    python -m tests.benchmarks.hubs [--data ../shared/data] [--lane lts | --uri URI] > result.json

- ``balance``: of how many of the hub's types and directions a search gets something, and what that
  costs: ``ours`` is what :func:`pathrag_gds.retrieve.expand.expand_request` asks, ``untyped`` one
  branch per direction with a lazy limit, ``whole`` all of every node read to choose from; same
  columns. ``chains`` is what a search over chains asks
  (:func:`pathrag_gds.retrieve.chain_hops.chains_request`), ids alone. Each is asked about the hub
  alone, about 29 other nodes, and about all 30.
- ``planning``: how long the server plans ``ours`` and ``chains`` for 9, 24 and 237 types, cold (its
  caches of queries emptied before) and warm.

The exit status is 1 where a type of the hub is pushed out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pathrag_gds.graph.database import Database, Row, operators
from pathrag_gds.graph.schema import STRUCTURAL_TYPES, Ontology, read_ontology
from pathrag_gds.ingest import Input, load_files
from pathrag_gds.migrate import up
from pathrag_gds.retrieve.chain_hops import chains_request, read_reach
from pathrag_gds.retrieve.expand import expand_request, plan_of, read_neighbours
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.statements import Request
from tests.benchmarks.server import server
from tests.statements import statement

TENANT = "fb15k237"
HUB = "/m/09c7w0"
CAP = 20
OTHERS = 29
TYPES = (9, 24, 237)
_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

_FAR = "(m:__Entity__) WHERE $tenant IN [m.tenant] AND NOT type(r) IN $structural"
_FORM = """
    UNWIND $frontier AS tail
    MATCH (n:__Entity__ {{tenant: $tenant, id: tail}})
    CALL (n) {{
        MATCH (n)-[r]->{far} {rest}
        UNION ALL
        MATCH (n)<-[r]-{far} {rest}
    }}
    RETURN n.id AS tail, startNode(r) = n AS forward, r.key AS key, type(r) AS type,
           properties(r) AS relationship, m.id AS id, m.name AS name, labels(m) AS labels,
           m {{.*, embedding: null}} AS properties,
           2 * vector.similarity.cosine(m[$vector_property], null) - 1 AS similarity
    """
_FORMS = {
    "untyped": f"RETURN r, m LIMIT {5 * CAP + 1}",
    "whole": (
        f"WITH type(r) AS kind, collect([r, m])[..{CAP + 1}] AS some "
        "UNWIND some AS one RETURN one[0] AS r, one[1] AS m"
    ),
}
_Kinds = set[tuple[str, bool]]

_KINDS = statement(
    "MATCH (n:__Entity__ {tenant: $tenant, id: $id})-[r]-(m:__Entity__) "
    "RETURN count(r) AS degree, count(DISTINCT [type(r), startNode(r) = n]) AS kinds",
    "read",
)
_IDS = statement(
    "MATCH (n:__Entity__ {tenant: $tenant}) WHERE n.id <> $hub RETURN n.id AS id ORDER BY id",
    "read",
)
_CLEAR = statement("CALL db.clearQueryCaches() YIELD value RETURN value", "auto")


def main() -> int:
    """Run the benchmark and print its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=os.environ.get("PATHRAG_DATA") or _DATA)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--lane", default="lts", help="embedded server to start")
    parser.add_argument("--home", type=Path, help="folder of that server; its graph is kept")
    parser.add_argument("--uri", help=f"use this server instead; tenant {TENANT} is written to it")
    given = parser.parse_args()
    with (
        server(given.lane, uri=given.uri, home=given.home) as connection,
        Database(connection, timeout_s=1200) as db,
    ):
        up(db)
        with tempfile.TemporaryDirectory() as folder:
            load_files(db, [triples(given.data / "fb15k237", Path(folder))], tenant=TENANT)
        ontology = read_ontology(db, TENANT)
        result: dict[str, Any] = {
            "command": " ".join(["python -m tests.benchmarks.hubs", *sys.argv[1:]]),
            "versions": {
                "neo4j": db.capabilities.version,
                "driver": version("neo4j"),
                "python": platform.python_version(),
                "pathrag-gds": version("pathrag-gds"),
            },
            "machine": {"cpus": os.cpu_count(), "load_average": round(os.getloadavg()[0], 1)},
            "relationship_types": len(ontology.relation_types),
            "balance": balance(db, ontology, given.repetitions),
            "planning": [planning(db, ontology, types) for types in TYPES],
        }
    result["holds"] = result["balance"]["holds"]
    json.dump(result, sys.stdout, indent=2)
    print()
    return 0 if result["holds"] else 1


def triples(data: Path, folder: Path) -> Input:
    """Write the published files, which hold numbers, as one file of triples."""
    entities = _numbered(gzip.decompress((data / "entity2id.txt.gz").read_bytes()).decode())
    relations = _numbered((data / "relation2id.txt").read_text(encoding="utf-8"))
    lines = []
    for split in ("train", "valid", "test"):
        text = gzip.decompress((data / f"{split}2id.txt.gz").read_bytes()).decode()
        for line in text.splitlines()[1:]:
            head, tail, relation = line.split()
            lines.append("\t".join((entities[head], relations[relation], entities[tail])))
    file = folder / "fb15k237.tsv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return Input(file, kind="triples")


def _numbered(text: str) -> dict[str, str]:
    pairs = (line.rsplit("\t", 1) for line in text.splitlines()[1:] if line)
    return {number: name for name, number in pairs}


def balance(db: Database, ontology: Ontology, repetitions: int) -> dict[str, Any]:
    """Count the hub's types and directions that each form gets something of; times are medians."""
    (graph,) = db.run(_KINDS, tenant=TENANT, id=HUB)
    ids = [row["id"] for row in db.run(_IDS, tenant=TENANT, hub=HUB)]
    others = random.Random(1).sample(ids, OTHERS)
    frontiers = {"hub": [HUB], "others": others, "all": [HUB, *others]}
    measured: dict[str, dict[str, Any]] = {}
    for where, frontier in frontiers.items():
        ours = expansion(ontology, frontier)
        requests = {"ours": ours} | {
            name: Request(
                statement(_FORM.format(far=_FAR, rest=rest), "read"),
                {
                    "tenant": TENANT,
                    "frontier": frontier,
                    "structural": list(STRUCTURAL_TYPES),
                    "vector_property": "embedding",
                },
            )
            for name, rest in _FORMS.items()
        }
        measured[where] = {
            name: _measure(db, r, repetitions, _kinds_of_paths) for name, r in requests.items()
        }
        around = read_neighbours(ours, db.run(ours.query, **ours.parameters))
        measured[where]["ours"] |= {"truncated": len(around.truncated), "lost": dict(around.lost)}
        chains = expansion_of_chains(ontology, frontier)
        measured[where]["chains"] = _measure(db, chains, repetitions, _kinds_of_chains)
        reach = read_reach(chains, db.run(chains.query, **chains.parameters))
        measured[where]["chains"] |= {"truncated": len(reach.truncated), "lost": dict(reach.lost)}
    found = {measured[w][f]["kinds_at_hub"] for w in ("hub", "all") for f in ("ours", "chains")}
    return {
        "degree": graph["degree"],
        "kinds_at_hub": graph["kinds"],
        "cap": CAP,
        **measured,
        "holds": found == {graph["kinds"]},
    }


def _kinds_of_paths(rows: Sequence[Row]) -> _Kinds:
    return {(row["type"], row["forward"]) for row in rows if row["tail"] == HUB}


def _kinds_of_chains(rows: Sequence[Row]) -> _Kinds:
    return {
        (row["type"], row["forward"]) for row in rows for tail, _ in row["links"] if tail == HUB
    }


def expansion(ontology: Ontology, frontier: Sequence[str]) -> Request:
    """Make the request of a search without vectors and targets."""
    request = expand_request(
        frontier,
        tenant=TENANT,
        ontology=ontology,
        restriction=(),
        targets=(),
        cap=CAP,
        predicate=Predicate("", {}),
        vector=None,
        vector_property="embedding",
    )
    return _asked(request)


def expansion_of_chains(ontology: Ontology, frontier: Sequence[str]) -> Request:
    """Make the request of a search over chains, without vectors."""
    request = chains_request(
        frontier,
        tenant=TENANT,
        ontology=ontology,
        restriction=(),
        labels=(),
        cap=CAP,
        width=100,
        predicate=Predicate("", {}),
        vector=None,
        vector_property="embedding",
    )
    return _asked(request)


def _asked(request: Request | None) -> Request:
    if request is None:
        sys.exit("The ontology has no relationship types.")
    return request


def _measure(
    db: Database, request: Request, repetitions: int, kinds: Callable[[Sequence[Row]], _Kinds]
) -> dict[str, Any]:
    rows = db.run(request.query, **request.parameters)
    times = []
    for _ in range(repetitions):
        began = time.perf_counter()
        db.run(request.query, **request.parameters)
        times.append((time.perf_counter() - began) * 1000)
    plan = db.profile(request.query, **request.parameters)["plan"]
    return {
        "rows": len(rows),
        "kinds_at_hub": len(kinds(rows)),
        "db_hits": sum(operator.get("dbHits", 0) for operator in operators(plan)),
        "median_ms": round(statistics.median(times), 1),
        "min_ms": round(min(times), 1),
    }


def planning(db: Database, ontology: Ontology, types: int, times: int = 5) -> dict[str, Any]:
    """Let the server plan the expansions of a graph that had only its most frequent types."""
    frequent = sorted(ontology.relation_types, key=lambda t: (-t.count, t.name))[:types]
    kept = tuple(sorted(frequent, key=lambda t: t.name))
    of_kept = replace(ontology, relation_types=kept)
    branches = plan_of(kept, (), CAP).by_name()
    return {
        "types": types,
        "branches": {name: len(found) for name, found in branches.items() if found},
        "ours": _planned(db, expansion(of_kept, [HUB]), times),
        "chains": _planned(db, expansion_of_chains(of_kept, [HUB]), times),
    }


def _planned(db: Database, request: Request, times: int) -> dict[str, Any]:
    cold, warm = [], []
    for _ in range(times):
        db.run(_CLEAR)
        cold.append(_plan_ms(db, request))
        warm.append(_plan_ms(db, request))
    return {
        "characters": len(request.query.text),
        "cold_ms": round(statistics.median(cold), 1),
        "warm_ms": round(statistics.median(warm), 1),
    }


def _plan_ms(db: Database, request: Request) -> float:
    parameters: Mapping[str, Any] = request.parameters
    began = time.perf_counter()
    db.explain(request.query, **parameters)
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    sys.exit(main())
