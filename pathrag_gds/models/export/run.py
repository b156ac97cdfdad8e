"""Calibrate, build and write an encoder or a reranker."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from pathrag_gds.errors import ModelError
from pathrag_gds.models.encoder import MAX_TOKENS
from pathrag_gds.models.export.bert import Bert, read_bert
from pathrag_gds.models.export.graph import build_model
from pathrag_gds.models.export.weights import InputStatistics, WeightRounding
from pathrag_gds.models.files import write_whole
from pathrag_gds.models.onnx_model import MODEL_FILE, TOKENIZER_FILE
from pathrag_gds.models.path_reranker import OUTPUTS, RerankerRecord, pair_ids
from pathrag_gds.models.training.groups import Group

__all__ = ["Pair", "calibrate", "export", "export_reranker", "sample_pairs", "shipped_pairs"]

Pair = tuple[str, str]
"""A question and the text of a path."""

# Tokens whose layer inputs lie in memory at once: about 60 kB each in a model of six layers.
_TOKENS_PER_BLOCK = 8192
_SAMPLED_PAIRS = 400


def export(weights: Path, output: Path, *, quantised: bool = True) -> Path:
    """Write ``model.onnx`` and ``tokenizer.json`` of an encoder into a folder; give the model's.

    The same weights give the same bytes on the same machine. Each file appears whole or not at all.

    Args:
        weights: Folder with ``config.json``, ``model.safetensors`` and ``tokenizer.json``.
        quantised: 8-bit weights, chosen over ``calibration.txt``; else float32.

    Raises:
        ModelError: The folder holds no BERT encoder.
        MissingExtra: ``onnx`` is not installed.
    """
    bert = read_bert(weights)
    if bert.outputs:
        raise ModelError(f"{weights} is a classifier, not an encoder.")
    tokenizer = _tokenizer(weights)
    rounding = None
    if quantised:
        lines = _shipped("calibration.txt")
        encodings = _open(tokenizer).encode_batch(lines)
        rounding = calibrate(bert, [encoding.ids[:MAX_TOKENS] for encoding in encodings])
    return _write(output, build_model(bert, rounding), tokenizer)


def export_reranker(
    weights: Path,
    output: Path,
    record: RerankerRecord,
    *,
    pairs: Sequence[Pair] = (),
    quantised: bool = True,
) -> Path:
    """Write ``model.onnx``, ``tokenizer.json`` and ``reranker.json``; give the model's path.

    The same arguments give the same bytes on the same machine. Each file appears whole or not at
    all, ``reranker.json`` last.

    Args:
        weights: Folder with ``config.json``, ``model.safetensors`` and ``tokenizer.json`` of a BERT
            classifier with two outputs, answer and prefix.
        output: Folder to write into; made when absent.
        record: What is written into ``reranker.json``.
        pairs: What the reranker will read, for choosing the 8-bit weights: a few hundred, right
            and wrong ones. Those that ship with the package when empty.
        quantised: 8-bit weights; else float32.

    Raises:
        ModelError: The folder holds no such classifier.
        MissingExtra: ``onnx`` is not installed.
    """
    bert = read_bert(weights)
    if bert.outputs != OUTPUTS:
        raise ModelError(
            f"{weights} is a BERT model with {bert.outputs} outputs, not {OUTPUTS}.",
            hint="A path reranker is a sequence classifier with two labels: answer and prefix.",
        )
    tokenizer = _tokenizer(weights)
    rounding = None
    if quantised:
        reader = _open(tokenizer)
        ids = [
            pair_ids(reader, question, [text], max_tokens=record.max_tokens)[0]
            for question, text in pairs or shipped_pairs()
        ]
        rounding = calibrate(bert, ids)
    path = _write(output, build_model(bert, rounding), tokenizer)
    record.write(output)
    return path


def shipped_pairs() -> list[Pair]:
    """Give the questions of ``calibration_pairs.txt``, each with its path and with the next one's.

    So half of the pairs are right and half are wrong.
    """
    lines = [line.split("\t") for line in _shipped("calibration_pairs.txt")]
    return [
        (question, text)
        for (question, right), (_, wrong) in zip(lines, lines[1:] + lines[:1], strict=True)
        for text in (right, wrong)
    ]


def sample_pairs(
    groups: Iterable[Group], *, count: int = _SAMPLED_PAIRS, seed: int = 0
) -> list[Pair]:
    """Draw training groups, and of each the text that fits best and one of the others.

    Args:
        count: Pairs at most; fewer where there are fewer groups than half of it.
        seed: Of the draw: the same groups and seed give the same pairs.
    """
    random = Random(seed)
    drawn: list[Group] = []
    for position, group in enumerate(groups):
        if len(drawn) < count // 2:
            drawn.append(group)
        elif (place := random.randrange(position + 1)) < len(drawn):
            drawn[place] = group
    pairs = []
    for group in drawn:
        best = max(range(len(group.texts)), key=lambda row: (group.answer[row], -row))
        other = random.choice([row for row in range(len(group.texts)) if row != best])
        pairs += [(group.question, group.texts[row]) for row in (best, other)]
    return pairs


def calibrate(bert: Bert, ids: Sequence[Sequence[int]]) -> WeightRounding:
    """Run the float model over texts and measure the inputs of its linear layers.

    Args:
        ids: Token ids of each text, at most 256.
    """
    import onnxruntime

    model = build_model(bert, None, observed=True)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    statistics: dict[str, InputStatistics] = {}
    for block in _blocks(ids):
        for name, found in _observe(session, block).items():
            known = statistics.get(name)
            statistics[name] = found if known is None else known.merged(found)
    return WeightRounding(statistics)


def _observe(session: Any, ids: Sequence[Sequence[int]]) -> dict[str, InputStatistics]:
    import numpy as np

    names = [output.name for output in session.get_outputs()][1:]
    rows: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for row in ids:
        batch = np.array([row], dtype=np.int64)
        for name, value in zip(names, session.run(names, {"input_ids": batch}), strict=True):
            rows[name].append(value)
    return {name: InputStatistics.of(np.concatenate(parts)) for name, parts in rows.items()}


def _blocks(ids: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    block: list[Sequence[int]] = []
    tokens = 0
    for row in ids:
        block.append(row)
        tokens += len(row)
        if tokens >= _TOKENS_PER_BLOCK:
            yield block
            block, tokens = [], 0
    if block:
        yield block


def _shipped(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()


def _tokenizer(weights: Path) -> str:
    """Give the content of ``tokenizer.json`` without padding and cutting, in one line."""
    try:
        tokenizer = json.loads((weights / TOKENIZER_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{weights} has no readable {TOKENIZER_FILE}: {error}") from error
    tokenizer["truncation"] = None
    tokenizer["padding"] = None
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")) + "\n"


def _open(tokenizer: str) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_str(tokenizer)


def _write(output: Path, model: Any, tokenizer: str) -> Path:
    output.mkdir(parents=True, exist_ok=True)
    write_whole(output / MODEL_FILE, model.SerializeToString(deterministic=True))
    write_whole(output / TOKENIZER_FILE, tokenizer.encode())
    return output / MODEL_FILE
