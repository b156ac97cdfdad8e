"""Ask the ten questions of the demo with both presets of seeds/000.

    python -m tests.benchmarks.bob [--home DIR] > result.json

Needs a server that holds the demo (``pathrag demo``). Hit@1: the first answer is the gold one, for
a question about an attribute entity and value. Prints JSON with a row per question and preset.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from importlib.metadata import version
from typing import Any

from pathrag_gds import PathRAG
from pathrag_gds.config import PRESETS, SearchConfig
from pathrag_gds.demo import DemoQuestion, questions
from pathrag_gds.types import Answer, SearchResult


def is_gold(answer: Answer, question: DemoQuestion) -> bool:
    """Say whether an answer is the gold one."""
    if (answer.kind, answer.id) != (question.kind, question.id):
        return False
    return question.kind == "entity" or (
        (answer.property, answer.value) == (question.property, question.value)
    )


def row(question: DemoQuestion, result: SearchResult, seconds: float) -> dict[str, Any]:
    """Tell how one question went."""
    first = result.answers[0] if result.answers else None
    return {
        "question": question.question,
        "hit@1": first is not None and is_gold(first, question),
        "hit@5": any(is_gold(answer, question) for answer in result.answers),
        "on_a_path": any(question.id in path.path.nodes for path in result.paths),
        "first": None if first is None else [first.kind, first.id, first.property],
        "depths": [path.path.depth for path in result.paths],
        "round_trips": result.stats.round_trips,
        "texts_scored": result.stats.texts_scored,
        "seconds": round(seconds, 3),
    }


def main() -> int:
    """Run the questions and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--home", help="folder of the embedded server")
    parser.add_argument("--start-from", default=None, help="anchors, both or seeds")
    given = parser.parse_args()
    presets: dict[str, Any] = {}
    with PathRAG.connect(home=given.home) as rag:
        rag.search(questions()[0].question, max_depth=1)  # plans and models are loaded here
        for name in sorted(PRESETS):
            rows = []
            for question in questions():
                # A fresh object has an empty score cache: each preset pays for its own texts.
                asking = PathRAG(rag.database, encoder=rag.encoder)
                began = time.perf_counter()
                result = asking.search(
                    question.question, config=SearchConfig.preset(name, start_from=given.start_from)
                )
                rows.append(row(question, result, time.perf_counter() - began))
            presets[name] = {
                **{
                    key: sum(item[key] for item in rows)
                    for key in ("hit@1", "hit@5", "on_a_path", "texts_scored")
                },
                "median_seconds": statistics.median(item["seconds"] for item in rows),
                "questions": rows,
            }
        summary = {
            "dataset": "bob",
            "n": len(questions()),
            "reranker": rag.reranker.name,
            "versions": {
                "pathrag-gds": version("pathrag-gds"),
                "neo4j": rag.database.capabilities.version,
            },
            "load_average": os.getloadavg()[0],
            "presets": presets,
        }
    json.dump(summary, sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
