"""Calibrate, build and write an encoder."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from pathrag_gds.models.encoder import MAX_TOKENS, MODEL_FILE, TOKENIZER_FILE
from pathrag_gds.models.export.bert import Bert, read_bert
from pathrag_gds.models.export.graph import build_model
from pathrag_gds.models.export.weights import InputStatistics, WeightRounding

__all__ = ["calibrate", "export"]


def export(weights: Path, output: Path, *, quantised: bool = True) -> Path:
    """Write ``model.onnx`` and ``tokenizer.json`` into a folder; give the model's path.

    The same weights give the same bytes on the same machine. Each file appears whole or not at all.

    Args:
        weights: Folder with ``config.json``, ``model.safetensors`` and ``tokenizer.json``.
        quantised: 8-bit weights, chosen over ``calibration.txt``; else float32.

    Raises:
        ModelError: The folder holds no BERT model.
        MissingExtra: ``onnx`` is not installed.
    """
    bert = read_bert(weights)
    tokenizer = json.loads((weights / TOKENIZER_FILE).read_text(encoding="utf-8"))
    tokenizer["truncation"] = None
    tokenizer["padding"] = None
    text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")) + "\n"
    rounding = None
    if quantised:
        lines = Path(__file__).with_name("calibration.txt").read_text(encoding="utf-8").splitlines()
        rounding = calibrate(bert, text, lines)
    model = build_model(bert, rounding)
    output.mkdir(parents=True, exist_ok=True)
    _write(output / MODEL_FILE, model.SerializeToString(deterministic=True))
    _write(output / TOKENIZER_FILE, text.encode())
    return output / MODEL_FILE


def calibrate(bert: Bert, tokenizer: str, texts: Sequence[str]) -> WeightRounding:
    """Run the float model over texts and measure the inputs of its linear layers.

    Args:
        tokenizer: Content of ``tokenizer.json``.
    """
    import numpy as np
    import onnxruntime
    from tokenizers import Tokenizer

    model = build_model(bert, None, observed=True)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()][1:]
    rows: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for encoding in Tokenizer.from_str(tokenizer).encode_batch(list(texts)):
        batch = np.array([encoding.ids[:MAX_TOKENS]], dtype=np.int64)
        for name, value in zip(names, session.run(names, {"input_ids": batch}), strict=True):
            rows[name].append(value)
    return WeightRounding(
        {name: InputStatistics.of(np.concatenate(parts)) for name, parts in rows.items()}
    )


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
