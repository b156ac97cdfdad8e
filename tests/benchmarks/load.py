"""Measure how fast MetaQA (133,582 triples) is loaded and embedded.

    python -m tests.benchmarks.load [--data ../shared/data] [--lane lts | --uri URI] > result.json

Loads twice (the second time nothing is new), embeds twice (the second time nothing changed) and
prints JSON. The exit status is 1 where the counts are not those of the data.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pathrag_gds.graph.database import Database
from pathrag_gds.ingest import EmbedProgress, Input, LoadProgress, embed, load_files
from pathrag_gds.migrate import up
from pathrag_gds.models.encoder import load_encoder
from tests.benchmarks.server import server
from tests.statements import statement

TENANT = "metaqa"
ENTITIES, TRIPLES = 43_234, 133_582
_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
_COUNTS = statement(
    "MATCH (e:__Entity__ {tenant: $tenant}) "
    "RETURN count(e) AS entities, sum(COUNT { (e)-->(:__Entity__) }) AS relationships, "
    "count(e.embedding) AS vectors",
    "read",
)


def main() -> int:
    """Run the benchmark and print its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=os.environ.get("PATHRAG_DATA") or _DATA)
    parser.add_argument("--lane", default="lts", help="embedded server to start")
    parser.add_argument("--uri", help="use this server instead; tenant metaqa is written to it")
    given = parser.parse_args()
    with server(given.lane, uri=given.uri) as connection, Database(connection) as db:
        up(db)
        result: dict[str, Any] = {
            "versions": {
                "pathrag-gds": version("pathrag-gds"),
                "neo4j": db.capabilities.version,
                "python": platform.python_version(),
            },
            "machine": {"cpus": os.cpu_count(), "load_average": os.getloadavg()[0]},
            **measure(db, metaqa(given.data / "metaqa")),
        }
    json.dump(result, sys.stdout, indent=2)
    print()
    return 0 if result["holds"] else 1


def metaqa(folder: Path) -> Input:
    """Give the MetaQA graph as an input: triples of codes, with their dictionaries."""
    return Input(
        folder / "kb_ids.txt.gz",
        kind="triples",
        entities=folder / "entities.dict.gz",
        relations=folder / "relations.dict.gz",
    )


def measure(db: Database, source: Input) -> dict[str, Any]:
    """Load and embed twice; rates are per second of wall time."""
    encoder = load_encoder(None)
    encoder.encode(["warm"])
    loads = [load_files(db, [source], tenant=TENANT, progress=_say) for _ in range(2)]
    embeddings = [embed(db, encoder, tenant=TENANT, progress=_say) for _ in range(2)]
    (counts,) = db.run(_COUNTS, tenant=TENANT)
    return {
        "load": {
            "rows": loads[0].rows,
            "seconds": round(loads[0].seconds, 1),
            "rows_per_s": round(loads[0].rows_per_s),
            "again_rows_per_s": round(loads[1].rows_per_s),
        },
        "embed": {
            "encoder": encoder.name,
            "texts": embeddings[0].embedded,
            "seconds": round(embeddings[0].seconds, 1),
            "texts_per_s": round(embeddings[0].texts_per_s),
            "encode_texts_per_s": round(
                embeddings[0].embedded / max(embeddings[0].encode_seconds, 1e-9)
            ),
            "again_seconds": round(embeddings[1].seconds, 1),
            "again_embedded": embeddings[1].embedded,
        },
        "counts": counts,
        "holds": counts == {"entities": ENTITIES, "relationships": TRIPLES, "vectors": ENTITIES}
        and embeddings[1].embedded == 0,
    }


def _say(progress: LoadProgress | EmbedProgress) -> None:
    print(progress, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
