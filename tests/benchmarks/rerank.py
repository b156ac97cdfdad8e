"""Measure the path reranker: texts per second beside sentence-transformers, and 8 bits beside 32.

Run ``python -m tests.benchmarks.rerank [--weights FOLDER] [--model FOLDER] [--groups FILE]
[--output FILE]`` (extra ``test-torch``). All contenders have the same weights and take turns within
one run; each figure is the median of the rounds. Prints a table, and JSON when no output is named.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Any

import numpy as np

from pathrag_gds.models.export import default_weights, export_reranker
from pathrag_gds.models.path_reranker import PathReranker, RerankerRecord
from pathrag_gds.models.reranker import CrossEncoderReranker, Reranker
from pathrag_gds.models.training.groups import Group, read_groups
from tests.benchmarks.encode import machine, spearman
from tests.tiny_bert import with_random_head

BATCHES = (1, 8, 64, 256)
# Tokens of question, text and marks; the last stands for lengths drawn evenly from 25 to 100.
LENGTHS = ("40", "85", "25-100")
QUESTION = "in which village is the house of the cat"
_QUESTION_TOKENS = 9
_MARKS = 3
# A round of small batches asks several times, so that it is long enough to be measured.
_TEXTS_PER_ROUND = 16
# One token each.
_WORDS = ("river", "house", "cat", "milk", "old", "village", "bridge", "film", "actor", "year")


def texts_of(tokens: str, count: int) -> list[str]:
    """Make texts whose pairs with the question have so many tokens."""
    draw = Random(0)
    least, _, most = tokens.partition("-")
    lengths = [draw.randint(int(least), int(most or least)) for _ in range(count)]
    return [" ".join(draw.choices(_WORDS, k=n - _MARKS - _QUESTION_TOKENS)) for n in lengths]


def speed(
    contenders: dict[str, Reranker],
    *,
    rounds: int,
    lengths: Sequence[str] = LENGTHS,
    batches: Sequence[int] = BATCHES,
    clock: Callable[[], float] = time.perf_counter,
) -> list[dict[str, Any]]:
    """Measure each batch and length: texts per second by contender, and ratios to int8's."""
    rows = []
    for tokens in lengths:
        for batch in batches:
            texts = texts_of(tokens, max(batch, _TEXTS_PER_ROUND))
            seconds = take_turns(contenders, texts, batch, rounds, clock)
            rates = {name: len(texts) / value for name, value in seconds.items()}
            row: dict[str, Any] = {"tokens": tokens, "batch": batch}
            row |= {name: round(rate, 1) for name, rate in rates.items()}
            row |= {
                f"int8 / {name}": round(rates["int8"] / rate, 2)
                for name, rate in rates.items()
                if name != "int8"
            }
            rows.append(row)
    return rows


def take_turns(
    contenders: dict[str, Reranker],
    texts: Sequence[str],
    batch: int,
    rounds: int,
    clock: Callable[[], float],
) -> dict[str, float]:
    """Give the median seconds of each contender; who begins changes from round to round."""
    batches = [texts[start : start + batch] for start in range(0, len(texts), batch)]
    names = list(contenders)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for contender in contenders.values():
        contender.score(QUESTION, batches[0])
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            begin = clock()
            for part in batches:
                contenders[name].score(QUESTION, part)
            seconds[name].append(clock() - begin)
    return {name: median(values) for name, values in seconds.items()}


def agreement(one: Reranker, other: Reranker, groups: Sequence[Group]) -> dict[str, Any]:
    """Compare the scores of two rerankers within groups of competing texts.

    Differences are of sigmoid values; ``hit@1`` is over groups with a right text.
    """
    differences: list[np.ndarray] = []
    correlations: list[float] = []
    same_first = 0
    hits = [0, 0]
    answerable = 0
    for group in groups:
        scores = [np.array(r.score(group.question, group.texts)) for r in (one, other)]
        differences.append(np.abs(scores[0] - scores[1]))
        answers = [values[:, 0] for values in scores]
        firsts = [int(values.argmax()) for values in answers]
        same_first += firsts[0] == firsts[1]
        if all(len(set(values)) > 1 for values in answers):
            correlations.append(spearman(*answers))
        if max(group.answer) > 0:
            answerable += 1
            for side, first in enumerate(firsts):
                hits[side] += group.answer[first] > 0
    together = np.concatenate(differences)
    return {
        "groups": len(groups),
        "texts": len(together),
        "difference_mean": [round(float(v), 6) for v in together.mean(0)],
        "difference_p99": [round(float(v), 6) for v in np.quantile(together, 0.99, axis=0)],
        "difference_max": [round(float(v), 6) for v in together.max(0)],
        "same_first_text": round(same_first / len(groups), 4),
        "rank_correlation": round(fmean(correlations), 4) if correlations else None,
        "hit@1": [round(hit / answerable, 4) for hit in hits] if answerable else None,
    }


def batch_error(reranker: Reranker, groups: Sequence[Group]) -> float:
    """Give the largest change of a score between a text alone and in company."""
    worst = 0.0
    for group in groups[:50]:
        together = np.array(reranker.score(group.question, group.texts))
        alone = np.array([reranker.score(group.question, [text])[0] for text in group.texts])
        worst = max(worst, float(np.abs(together - alone).max()))
    return worst


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Write rows of equal keys as a Markdown table."""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([str(v) for v in r.values()] for r in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.rerank")
    parser.add_argument(
        "--weights", type=Path, help="BERT classifier; the base model with a random head if absent"
    )
    parser.add_argument("--model", type=Path, help="8-bit export of it; made if absent")
    parser.add_argument("--groups", type=Path, help="training groups to compare scores on")
    parser.add_argument("--limit", type=int, default=300, help="groups at most")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--lengths", nargs="+", default=LENGTHS, metavar="TOKENS")
    parser.add_argument("--batches", nargs="+", default=BATCHES, type=int, metavar="TEXTS")
    parser.add_argument("--threads", type=int, default=0, help="of each contender; 0: all cores")
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="seconds of processor time, for a busy machine; means little with several threads",
    )
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    # Read first, so that a wrong name does not cost a run.
    groups = list(islice(read_groups(options.groups), options.limit)) if options.groups else []
    import torch

    if options.threads:
        torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        weights = options.weights or with_random_head(default_weights(), work / "weights")
        export_reranker(weights, work / "float32", RerankerRecord("float32"), quantised=False)
        if options.model is None:
            export_reranker(weights, work / "int8", RerankerRecord("int8"))
        int8 = PathReranker(options.model or work / "int8", threads=options.threads)
        float32 = PathReranker(work / "float32", threads=options.threads)
        contenders: dict[str, Reranker] = {
            "int8": int8,
            "float32": float32,
            "sentence-transformers": CrossEncoderReranker(weights, device="cpu"),
        }
        for tokens in LENGTHS[:2]:
            pair = int8.count_tokens(f"{QUESTION} {texts_of(tokens, 1)[0]}") + 1
            if pair != int(tokens):
                raise AssertionError("a word of the benchmark is more than one token")
        before = os.getloadavg()
        rows = speed(
            contenders,
            rounds=options.rounds,
            lengths=options.lengths,
            batches=options.batches,
            clock=time.process_time if options.cpu_time else time.perf_counter,
        )
        result: dict[str, Any] = {
            "machine": machine(),
            "versions": {n: version(n) for n in ("torch", "transformers", "sentence-transformers")},
            "cores": os.cpu_count(),
            "threads": options.threads or os.cpu_count(),
            "torch_threads": torch.get_num_threads(),
            "load_average": {"before": before, "after": os.getloadavg()},
            "weights": "random head" if options.weights is None else options.weights.name,
            "fingerprint": int8.fingerprint,
            "rounds": options.rounds,
            "clock": "processor" if options.cpu_time else "wall",
            "texts_per_second": rows,
        }
        if groups:
            result["int8_against_float32"] = agreement(int8, float32, groups)
            result["alone_against_in_company"] = batch_error(int8, groups)
    text = json.dumps(result, indent=2)
    print(table(rows))
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
