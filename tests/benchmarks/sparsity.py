"""Measure the search on a graph of which relationships are missing.

    python -m tests.benchmarks.sparsity --data DIR --home DIR --svg sparsity.svg > sparsity.json

Needs a server that holds the graph (``pathrag eval pathquestion-2h`` loads it into a tenant of its
own). From 0 to 50 % of the relationships are hidden by a filter, as ``--delete-gold`` does; nothing
is deleted. Which ones follows from the SHA-256 of seed and key, so that those of a smaller share
are among those of a larger one. ``reachable`` is the share of questions of which a gold path is
left whole: what no search can exceed but by another way to the same answer.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from pathrag_gds import PathRAG, SearchConfig
from pathrag_gds.config import DEFAULT_TENANT, Pruner
from pathrag_gds.evaluation.datasets import open_dataset
from pathrag_gds.evaluation.datasets.dataset import Dataset
from pathrag_gds.evaluation.metrics import paired_bootstrap
from pathrag_gds.evaluation.questions import Question, asked_text, select, start_ids
from pathrag_gds.evaluation.tenant import tenant_of
from tests.benchmarks.curves import shares_svg

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
PRUNERS: tuple[Pruner, ...] = ("beam", "flow:paper")


def hidden(keys: Sequence[str], share: float, seed: int) -> list[str]:
    """Choose the keys that are missing, about that share of them; none at 0."""
    limit = round(share * 2**32)

    def place(key: str) -> int:
        return int.from_bytes(sha256(f"{seed}\0{key}".encode()).digest()[:4], "big")

    return sorted(key for key in keys if place(key) < limit)


def keys_of(dataset: Dataset) -> list[str]:
    """List the keys of all relationships of the graph of a data set."""
    return sorted({edge.key for edge in dataset.graph.edges.values()})


def hits(
    rag: PathRAG, dataset: Dataset, questions: Sequence[Question], config: SearchConfig
) -> list[float]:
    """Give 1 for each question whose first answer is right, else 0."""
    condition = dataset.conditions[0]
    found = []
    for question in questions:
        result = rag.search(
            asked_text(question, condition),
            tenant=tenant_of(dataset),
            config=config,
            start_ids=start_ids(question, condition),
        )
        first = {(answer.id, answer.property) for answer in result.answers[:1]}
        found.append(float(bool(first & set(question.answers))))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--home", required=True)
    parser.add_argument("--set", default="pathquestion-2h")
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--svg", type=Path)
    given = parser.parse_args(argv)
    told: dict[str, Any] = {"set": given.set, "seed": given.seed, "shares": []}
    curves: dict[str, list[tuple[float, float]]] = {}
    with (
        open_dataset(given.set, data=given.data) as dataset,
        PathRAG.connect(home=given.home, tenant=DEFAULT_TENANT) as rag,
    ):
        questions = select(dataset.questions, buckets=dataset.report, limit=given.limit)
        told["questions"] = len(questions)
        keys = keys_of(dataset)
        for share in SHARES:
            gone = hidden(keys, share, given.seed)
            missing = set(gone)
            left = [
                any(
                    missing.isdisjoint(hop.edge.key for hop in path.hops)
                    for path in dataset.graph.gold_paths(question)
                )
                for question in questions
            ]
            filtered = {"key": {"$nin": gone}} if gone else {}
            found = {
                pruner: hits(
                    rag,
                    dataset,
                    questions,
                    SearchConfig(relationship_filter=filtered, pruner=pruner, patterns=0),
                )
                for pruner in PRUNERS
            }
            interval = paired_bootstrap(found["beam"], found["flow:paper"], seed=given.seed)
            row = {
                "share": share,
                "hidden": len(gone),
                "of": len(keys),
                "reachable": round(sum(left) / len(left), 4),
                "hit@1": {name: round(sum(got) / len(got), 4) for name, got in found.items()},
                "flow:paper - beam": [round(v, 4) for v in (interval.low, interval.high)],
            }
            told["shares"].append(row)
            print(json.dumps(row), file=sys.stderr, flush=True)
            curves.setdefault("reachable", []).append((share, sum(left) / len(left)))
            for name, got in found.items():
                curves.setdefault(f"Hit@1, {name}", []).append((share, sum(got) / len(got)))
    print(json.dumps(told, indent=2))
    if given.svg:
        picture = shares_svg(given.set, "relationships that are missing", curves)
        given.svg.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
