"""Compare the ways of choosing paths, each with one reranker, on questions with known answers.

    python -m tests.benchmarks.flow_modes --data DIR --home DIR --set metaqa-2h --limit 60 > x.json

Needs a server that holds the graph (``pathrag eval metaqa-2h`` loads it into a tenant of its own).
Every way answers the same questions of the reporting split, the first by MD5, one question after
the other, so that all of them share the weather of the machine. Told are Hit@1, the recall of gold
paths among the first five, tokens of the prompt that the first 15 paths make, texts that the
reranker read, and seconds (median); and the paired 95 % interval of Hit@1 against the beam, by a
bootstrap of 10,000 resamples. ``pathrag eval --pruner …`` measures one of them in full.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from pathrag_gds import PathRAG, SearchConfig
from pathrag_gds.answer.prompt import build_prompt
from pathrag_gds.config import Pruner
from pathrag_gds.evaluation.datasets import open_dataset
from pathrag_gds.evaluation.metrics import (
    hit_at,
    mean_of,
    paired_bootstrap,
    path_recall_at,
    percentile,
)
from pathrag_gds.evaluation.questions import asked_text, select, start_ids
from pathrag_gds.evaluation.systems import PROMPT_PATHS
from pathrag_gds.evaluation.tenant import tenant_of
from pathrag_gds.models.path_reranker import shipped_reranker
from pathrag_gds.types import Path as GraphPath

# The best fifty, as ``pathrag eval`` asks for, so that there are paths beyond the first five.
TOP_K = 50
BASE: Pruner = "beam"
WAYS: tuple[Pruner, ...] = (
    "beam",
    "flow:paper",
    "flow:reference",
    "flow:pagerank",
    "flow:yens",
    "flow:hops",
    "flow:random",
)


def measure(
    rag: PathRAG, text: str, config: SearchConfig, starts: Sequence[str]
) -> tuple[list[tuple[str, str]], list[GraphPath], dict[str, Any]]:
    """Ask one question; give the answers and the paths, best first, and what it took."""
    began = time.perf_counter()
    result = rag.search(text, config=config, start_ids=starts)
    seconds = time.perf_counter() - began
    shown = replace(result, paths=result.paths[:PROMPT_PATHS])
    prompt = build_prompt(shown, count_tokens=rag.encoder.count_tokens)
    took = {"seconds": round(seconds, 3), "tokens": prompt.tokens}
    took["texts"] = result.stats.texts_scored
    answers = [(answer.id, answer.property) for answer in result.answers]
    return answers, [ranked.path for ranked in result.paths], took


def summary(rows: Sequence[dict[str, Any]], base: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Sum up the rows of a way beside those of another, of the same questions in order."""
    interval = paired_bootstrap([r["hit@1"] for r in base], [r["hit@1"] for r in rows])
    recall = mean_of(rows, "path_recall@5")
    return {
        "n": len(rows),
        "hit@1": round(interval.second, 4),
        "against_beam": [round(v, 4) for v in (interval.difference, interval.low, interval.high)],
        "path_recall@5": None if recall is None else round(recall, 4),
        "tokens": round(mean_of(rows, "tokens") or 0.0),
        "texts": round(mean_of(rows, "texts") or 0.0),
        "p50_s": percentile([row["seconds"] for row in rows], 0.5),
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--home", required=True)
    parser.add_argument("--set", required=True)
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--way", action="append", choices=get_args(Pruner))
    given = parser.parse_args(argv)
    ways = [BASE, *(way for way in given.way or WAYS if way != BASE)]
    rows: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    with open_dataset(given.set, data=given.data) as dataset:
        questions = select(
            dataset.questions, buckets=dataset.report, group=dataset.main, limit=given.limit
        )
        condition = dataset.conditions[0]
        with PathRAG.connect(
            home=given.home, tenant=tenant_of(dataset), reranker=str(shipped_reranker())
        ) as rag:
            for question in questions:
                text = asked_text(question, condition)
                gold = dataset.graph.gold_paths(question)
                for way in ways:
                    config = SearchConfig(pruner=way, top_k=TOP_K)
                    answers, paths, took = measure(
                        rag, text, config, start_ids(question, condition)
                    )
                    row = {"hit@1": hit_at(answers, question.answers, 1), **took}
                    recall = path_recall_at(paths, gold, 5)
                    rows[way].append(row if recall is None else {**row, "path_recall@5": recall})
                print(f"{len(rows[BASE])}/{len(questions)}", end=" ", file=sys.stderr, flush=True)
    told = {way: summary(found, rows[BASE]) for way, found in rows.items()}
    print(json.dumps({"set": given.set, "condition": condition, "ways": told}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
