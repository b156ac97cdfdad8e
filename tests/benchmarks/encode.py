"""Measure the shipped encoder: texts per second, and agreement with its float32 origin.

Run ``python -m tests.benchmarks.encode [--output FILE]``. Without the extra ``test-torch`` there is
no float32 model to compare with, and the shipped one is measured alone. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from pathrag_gds.errors import MissingExtra
from pathrag_gds.models.encoder import Encoder, OnnxEncoder
from tests.benchmarks.sentences import PAIRS, SENTENCES

LENGTHS = (16, 32, 64)
BATCHES = (1, 64)
_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm")


def texts_per_second(encoder: Encoder, batch: int, tokens: int, *, rounds: int) -> float:
    """Give the best of some rounds: the machine may be shared, and the best is disturbed least."""
    # One token a word, so each text has exactly the length that is asked for.
    words = ["river", "house", "cat", "milk", "old", "village", "bridge", "film", "actor", "year"]
    texts = [
        " ".join(words[(row + place) % len(words)] for place in range(tokens - 2))
        for row in range(batch)
    ]
    if encoder.count_tokens(texts[0]) != tokens:
        raise AssertionError("a word of the benchmark is more than one token")
    encoder.encode(texts)
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        encoder.encode(texts)
        best = min(best, time.perf_counter() - begin)
    return round(batch / best, 1)


def speed(encoders: dict[str, Encoder], rounds: int) -> list[dict[str, Any]]:
    """Measure every batch and length; encoders take turns, so a disturbance meets both."""
    rows = []
    for batch in BATCHES:
        for tokens in LENGTHS:
            row: dict[str, Any] = {"batch": batch, "tokens": tokens}
            for name, encoder in encoders.items():
                count = rounds if batch > 1 else rounds * 8
                row[name] = texts_per_second(encoder, batch, tokens, rounds=count)
            if "float32" in row:
                row["ratio"] = round(row["int8"] / row["float32"], 2)
            rows.append(row)
    return rows


def mixed(encoder: Encoder) -> float:
    """Give texts per second over sentences of many lengths, eight times each."""
    texts = SENTENCES * 8
    encoder.encode(texts)
    begin = time.perf_counter()
    encoder.encode(texts)
    return round(len(texts) / (time.perf_counter() - begin), 1)


def agreement(one: Encoder, other: Encoder) -> dict[str, float]:
    """Compare two encoders on the sentences and the graded pairs."""
    left, right = one.encode(SENTENCES), other.encode(SENTENCES)
    cosines = (left * right).sum(axis=1)
    upper = np.triu_indices(len(SENTENCES), 1)
    ours, theirs = (left @ left.T)[upper], (right @ right.T)[upper]
    grades = np.array([pair.grade for pair in PAIRS])
    return {
        "cosine_mean": round(float(cosines.mean()), 5),
        "cosine_min": round(float(cosines.min()), 5),
        "pair_cosine_error_mean": round(float(np.abs(ours - theirs).mean()), 5),
        "pair_cosine_error_max": round(float(np.abs(ours - theirs).max()), 5),
        "rank_correlation_all_pairs": round(spearman(ours, theirs), 5),
        "rank_correlation_with_grades": round(spearman(graded(one), grades), 4),
        "rank_correlation_with_grades_float32": round(spearman(graded(other), grades), 4),
    }


def graded(encoder: Encoder) -> np.ndarray:
    """Give the cosine of each graded pair."""
    left = encoder.encode([pair.left for pair in PAIRS])
    right = encoder.encode([pair.right for pair in PAIRS])
    return np.asarray((left * right).sum(axis=1))


def spearman(one: np.ndarray, other: np.ndarray) -> float:
    """Give the rank correlation; equal values share their mean rank."""

    def ranks(values: np.ndarray) -> np.ndarray:
        _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse])

    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def machine() -> dict[str, Any]:
    """Describe the processor and the versions that decide speed."""
    flags: list[str] = []
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        text = cpuinfo.read_text(encoding="utf-8")
        lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        fields = {name.strip(): value.strip() for name, value in lines.items()}
        model = fields.get("model name", model)
        known = set(fields.get("flags", fields.get("Features", "")).split())
        flags = [flag for flag in _FLAGS if flag in known]
    return {
        "cpu": model,
        "flags": flags,
        "python": platform.python_version(),
        **{name: version(name) for name in ("onnxruntime", "tokenizers", "numpy")},
    }


def float_encoder(folder: Path, threads: int) -> Encoder | None:
    """Export the float32 model into a folder, or give None where its weights are not installed."""
    from pathrag_gds.models.export import default_weights, export

    try:
        export(default_weights(), folder, quantised=False)
    except MissingExtra as error:
        print(error, file=sys.stderr)
        return None
    return OnnxEncoder(folder, name="float32", threads=threads)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.encode")
    parser.add_argument("--threads", type=int, default=0, help="0: all cores")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    encoders: dict[str, Encoder] = {"int8": OnnxEncoder(threads=options.threads)}
    with tempfile.TemporaryDirectory() as folder:
        reference = float_encoder(Path(folder), options.threads)
        if reference is not None:
            encoders["float32"] = reference
        result = {
            "machine": machine(),
            "threads": options.threads,
            "fingerprint": encoders["int8"].fingerprint,
            "texts_per_second": speed(encoders, options.rounds),
            "texts_per_second_mixed": {name: mixed(e) for name, e in encoders.items()},
        }
        if reference is not None:
            result["agreement"] = agreement(encoders["int8"], reference)
    text = json.dumps(result, indent=2)
    print(text)
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
