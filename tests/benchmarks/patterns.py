"""Hold the answers of searches against the sets that their patterns' Cypher returns.

    python -m tests.benchmarks.patterns --data DIR [--home DIR] [--set metaqa-1h …] > result.json

Needs a server that holds the graph (``pathrag eval metaqa-1h …`` loads it into a tenant of its
own). The Cypher runs in a plain driver session with the parameters of the pattern. ``equal`` counts
questions whose answers are exactly what their patterns return, all together; ``part`` those with
more answers than are shown; ``different`` and ``wrong_total`` must not be. Prints JSON with every
question that differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from pathrag_gds import PathRAG
from pathrag_gds.evaluation.datasets import open_dataset
from pathrag_gds.evaluation.questions import asked_text, select
from pathrag_gds.evaluation.tenant import tenant_of
from pathrag_gds.retrieve.pattern import answering
from pathrag_gds.types import Pattern, SearchResult

REPORTING = range(5)


def returned(rag: PathRAG, pattern: Pattern) -> set[str]:
    """Run a pattern's Cypher as a user would, and give the ids."""
    with rag.database.lent_driver("patterns") as driver, driver.session() as session:
        rows = session.run(pattern.cypher, dict(pattern.parameters))
        return {row["id"] for row in rows}


def judged(rag: PathRAG, result: SearchResult) -> tuple[str, dict[str, Any]]:
    """Say how a result compares with its patterns."""
    patterns = answering(result)
    if not patterns:
        return "no_pattern", {}
    sets = [returned(rag, pattern) for pattern in patterns]
    wrong = [
        {"cypher": p.cypher, "told": p.total, "returned": len(found)}
        for p, found in zip(patterns, sets, strict=True)
        if p.total is not None and p.total != len(found)
    ]
    if wrong:
        return "wrong_total", {"patterns": wrong}
    shown = {answer.id for answer in result.answers if answer.pattern is not None}
    there = set().union(*sets)
    if not all(pattern.complete for pattern in patterns):
        # Too many to show: what is shown must be among them.
        kind = "part" if shown <= there else "different"
    else:
        kind = "equal" if shown == there else "different"
    return kind, {"more": sorted(shown - there)[:5], "fewer": sorted(there - shown)[:5]}


def main() -> int:
    """Ask, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--home", help="folder of the embedded server")
    parser.add_argument("--data", type=Path, help="folder of the public sets")
    parser.add_argument(
        "--set", action="append", dest="sets", choices=["metaqa-1h", "metaqa-2h", "metaqa-3h"]
    )
    parser.add_argument("--limit", type=int, default=500, help="questions, of all sets together")
    given = parser.parse_args()
    sets = given.sets or ["metaqa-1h", "metaqa-2h", "metaqa-3h"]
    report: dict[str, Any] = {}
    with PathRAG.connect(home=given.home) as rag:
        for at, name in enumerate(sets):
            share = given.limit * (at + 1) // len(sets) - given.limit * at // len(sets)
            counts: Counter[str] = Counter()
            differing = []
            with open_dataset(name, data=given.data) as dataset:
                for question in select(dataset.questions, buckets=REPORTING, limit=share):
                    text = asked_text(question, "plain")
                    result = rag.search(text, tenant=tenant_of(dataset))
                    kind, why = judged(rag, result)
                    counts[kind] += 1
                    if kind in ("wrong_total", "different"):
                        differing.append({"question": text, "kind": kind, **why})
            report[name] = {"questions": share, **dict(sorted(counts.items()))}
            report[name]["differing"] = differing
    json.dump(report, sys.stdout, ensure_ascii=False, indent=2)
    return int(any(row["differing"] for row in report.values()))


if __name__ == "__main__":
    raise SystemExit(main())
