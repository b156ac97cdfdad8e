"""Measure one hop of the search around a hub, and count the round trips of whole searches.

    python -m tests.benchmarks.expand [--hub 200000] [--lane lts | --uri URI] > result.json

Forms of the same hop, run in turn in one session so that a busy machine slows all alike:

- ``ours``: what :func:`pathrag_gds.retrieve.expand.expand_request` asks
- ``hand_written``: the best statement for this very graph with the same columns and rows
- ``ordered``: each hub type's relationships sorted before its limit; same columns
- ``uncapped``: no limit, and its rows only counted, since nobody would send them

The exit status is 1 where a bound does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pathrag_gds import PathRAG
from pathrag_gds.graph.database import Database, Row, operators
from pathrag_gds.graph.queries import Query
from pathrag_gds.graph.schema import Ontology, read_ontology, refresh_ontology
from pathrag_gds.migrate.runner import up
from pathrag_gds.models.encoder import Encoder, load_encoder
from pathrag_gds.retrieve.expand import branches_of, expand_request
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.statements import Request
from tests.benchmarks.hub_graph import GROUP, HUB, HUB_TYPES, make_hub_graph, node_id
from tests.benchmarks.server import server
from tests.statements import statement

TENANT = "benchmark"
QUESTION = "Which thing is near Thing 5 and was visited by Thing 0?"
CAP = 20
FRONTIER = 30
TARGETS = 50
BAD_OPERATORS = ("AllNodesScan", "NodeByLabelScan", "NodeIndexScan", "CartesianProduct", "Eager")

_HEAD = """
    MATCH (t:__Entity__ {tenant: $tenant}) WHERE t.id IN $targets
    WITH collect(t) AS targets
    UNWIND $frontier AS tail
    MATCH (n:__Entity__ {tenant: $tenant, id: tail})
    CALL (n, targets) {
    """
_COLUMNS = """
    WITH n, r, m, properties(r) AS relationship,
         m {.id, .name, .description, .aliases, .chunk_ids, .colour, .open, .weight, .year}
             AS properties
    RETURN n.id AS tail, startNode(r) = n AS forward, relationship.key AS key, type(r) AS type,
           relationship, properties.id AS id, properties.name AS name, labels(m) AS labels,
           properties, 2 * vector.similarity.cosine(m.embedding, $vector) - 1 AS similarity
    """
_REST = ("-[r:FRIEND_OF|NEAR]-", "-[r:IN_GROUP|KNOWS|VISITED]->", "<-[r:MENTIONS|OWNS|SUPPLIES]-")
_HUBS = ("<-[r:IN_GROUP]-", *(f"-[r:{t}]->" if out else f"<-[r:{t}]-" for t, out in HUB_TYPES))
_FOUND = """
    WITH n, targets WHERE COUNT { (n)--() } > 20
    UNWIND targets AS m
    MATCH (n)-[r:IN_GROUP|KNOWS|MENTIONS|OWNS|SUPPLIES|VISITED]-(m)
    RETURN r, m
    """
_FOREIGN = statement(
    "MATCH (n) WHERE n.tenant IS NULL OR n.tenant <> $tenant "
    "UNWIND [label IN labels(n) WHERE NOT label STARTS WITH '__'] AS label "
    "RETURN label LIMIT 1",
    "read",
)
_DEGREE = statement(
    "MATCH (n:__Entity__ {tenant: $tenant, id: $id}) RETURN COUNT { (n)--() } AS degree", "read"
)


def main() -> int:
    """Run the benchmark and print its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--hub", type=int, default=200_000, help="relationships of the hub")
    parser.add_argument("--repetitions", type=int, default=21)
    parser.add_argument("--lane", default="lts", help="embedded server to start")
    parser.add_argument("--home", type=Path, help="folder of that server; its graph is kept")
    parser.add_argument("--uri", help="use this server instead; its database must be empty")
    given = parser.parse_args()
    if given.hub < 5 * GROUP or given.hub % len(HUB_TYPES):
        parser.error(f"--hub must be a multiple of {len(HUB_TYPES)}, at least {5 * GROUP}")
    encoder = load_encoder(None)
    with (
        server(given.lane, uri=given.uri, home=given.home) as connection,
        Database(connection, timeout_s=1200) as db,
    ):
        ontology, load_s = _graph(db, given.hub, encoder)
        result: dict[str, Any] = {
            "versions": _versions(db),
            "machine": _machine(),
            "graph": {
                "hub": given.hub,
                "relationship_types": len(ontology.relation_types),
                "load_s": load_s,
            },
            "expansion": measure(db, ontology, encoder, given.repetitions),
            "searches": [count_round_trips(db, encoder, width) for width in (1, 30, 100)],
        }
    result["holds"] = all(
        bound["holds"] for bound in result["expansion"]["bounds"].values()
    ) and all(s["round_trips"] == s["bound"] for s in result["searches"])
    json.dump(result, sys.stdout, indent=2)
    print()
    return 0 if result["holds"] else 1


def _graph(db: Database, hub: int, encoder: Encoder) -> tuple[Ontology, float]:
    """Make the graph, unless it is there; seconds are 0 then."""
    if db.run(_FOREIGN, tenant=TENANT):
        sys.exit("The database holds other data. Give an empty one.")
    up(db)
    degree = db.run(_DEGREE, tenant=TENANT, id=HUB)
    if degree:
        if degree[0]["degree"] != hub:
            sys.exit(f"The graph there has a hub of {degree[0]['degree']}, not {hub}.")
        return read_ontology(db, TENANT), 0.0
    began = time.perf_counter()
    make_hub_graph(db, hub=hub, tenant=TENANT, encoder=encoder)
    return refresh_ontology(db, TENANT), round(time.perf_counter() - began, 1)


def measure(db: Database, ontology: Ontology, encoder: Encoder, repetitions: int) -> dict[str, Any]:
    """Run the forms in turn; times are medians and minima in milliseconds."""
    request = _request(ontology, encoder)
    forms = {
        "ours": request,
        "hand_written": _form(request, _capped()),
        "ordered": _form(request, _capped(order="ORDER BY r.since DESC ")),
        "uncapped": _form(request, _uncapped()),
    }
    measured: dict[str, dict[str, Any]] = {}
    plans: dict[str, Mapping[str, Any]] = {}
    rows: dict[str, list[Row]] = {}
    for name, form in forms.items():
        began = time.perf_counter()
        rows[name] = db.run(form.query, **form.parameters)
        cold = (time.perf_counter() - began) * 1000
        plans[name] = db.profile(form.query, **form.parameters)["plan"]
        hits = sum(operator.get("dbHits", 0) for operator in operators(plans[name]))
        count = rows[name][0]["rows"] if name == "uncapped" else len(rows[name])
        measured[name] = {"rows": count, "db_hits": hits, "first_run_ms": round(cold, 1)}
    times: dict[str, list[float]] = {name: [] for name in forms}
    for repetition in range(repetitions):
        for name, form in forms.items():
            if name == "uncapped" and repetition >= 3:
                continue
            began = time.perf_counter()
            db.run(form.query, **form.parameters)
            times[name].append((time.perf_counter() - began) * 1000)
    for name, values in times.items():
        measured[name] |= {
            "median_ms": round(statistics.median(values), 1),
            "min_ms": round(min(values), 1),
            "repetitions": len(values),
        }
    branches = sum(map(len, branches_of(ontology.relation_types, (), CAP)))
    hits_bound = 20 * len(rows["ours"]) + 10 * FRONTIER * branches + 5 * FRONTIER * TARGETS
    names = sorted({o["operatorType"].split("@")[0] for o in operators(plans["ours"])})
    ratio = round(measured["ours"]["median_ms"] / measured["hand_written"]["median_ms"], 2)
    return {
        "frontier": FRONTIER,
        "targets": TARGETS,
        "cap": CAP,
        "branches": branches,
        "forms": measured,
        "operators": names,
        "bounds": {
            "time": {"ratio": ratio, "at_most": 1.5, "holds": ratio <= 1.5},
            "db_hits": {
                "found": measured["ours"]["db_hits"],
                "at_most": hits_bound,
                "holds": measured["ours"]["db_hits"] <= hits_bound,
            },
            "plan": {
                "unwanted": [name for name in names if name in BAD_OPERATORS],
                "holds": not set(names) & set(BAD_OPERATORS) and "Expand(All)" in names,
            },
            "same_rows": {"holds": _identities(rows["ours"]) == _identities(rows["hand_written"])},
        },
    }


def _request(ontology: Ontology, encoder: Encoder) -> Request:
    groups = [node_id(1 + GROUP * k) for k in range(3)]
    others = [node_id(k) for k in range(5, 5 + FRONTIER - 1 - len(groups))]
    request = expand_request(
        [HUB, *groups, *others],
        tenant=TENANT,
        ontology=ontology,
        restriction=(),
        targets=[node_id(20 + k) for k in range(TARGETS)],
        cap=CAP,
        predicate=Predicate("", {}),
        vector=[float(x) for x in encoder.encode([QUESTION])[0]],
        vector_property="embedding",
    )
    if request is None:
        sys.exit("The ontology has no relationship types.")
    return request


def _capped(order: str = "") -> str:
    far = "(m:__Entity__) WHERE $tenant IN [m.tenant] RETURN r, m"
    branches = [f"MATCH (n){step}{far} LIMIT 501" for step in _REST]
    branches += [f"MATCH (n){step}{far} {order}LIMIT 21" for step in _HUBS]
    return _HEAD + " UNION ALL ".join([*branches, _FOUND + " LIMIT 501"]) + "}" + _COLUMNS


def _uncapped() -> str:
    far = "(m:__Entity__) WHERE $tenant IN [m.tenant] RETURN r, m"
    branches = [f"MATCH (n){step}{far}" for step in (*_REST, *_HUBS)]
    return _HEAD + " UNION ALL ".join([*branches, _FOUND]) + "} RETURN count(r) AS rows"


def _form(request: Request, text: str) -> Request:
    query: Query = statement(text, "read")
    names = [param.name for param in query.params]
    return Request(query, {name: request.parameters[name] for name in names})


def _identities(rows: list[Row]) -> set[tuple[str, str, bool]]:
    return {(row["tail"], row["key"], row["forward"]) for row in rows}


def count_round_trips(db: Database, encoder: Encoder, beam_width: int) -> dict[str, Any]:
    """Search the graph once to warm it up and once to count."""
    rag = PathRAG(db, tenant=TENANT, encoder=encoder)
    for _ in range(2):
        result = rag.search(QUESTION, beam_width=beam_width, max_depth=3)
    return {
        "beam_width": beam_width,
        "depth": result.stats.depth,
        "round_trips": result.stats.round_trips,
        "bound": result.stats.depth + 3,
        "texts_scored": result.stats.texts_scored,
        "truncated": result.stats.truncated,
        "millis": dict(result.stats.millis),
    }


def _versions(db: Database) -> dict[str, str]:
    server = db.capabilities
    return {
        "neo4j": f"{server.version} {server.edition}",
        "gds": server.gds_version,
        "driver": version("neo4j"),
        "python": platform.python_version(),
        "pathrag_gds": version("pathrag-gds"),
    }


def _machine() -> dict[str, Any]:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    values = {key.strip(): value.strip() for key, value in fields.items()}
    flags = values.get("flags", "").split()
    return {
        "cpu": values.get("model name", platform.processor()),
        "cpus": os.cpu_count(),
        "flags": [f for f in flags if f.startswith(("avx", "amx")) or f == "fma"],
        "load_average": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
    }


if __name__ == "__main__":
    sys.exit(main())
