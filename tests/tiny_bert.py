"""Write small BERT models with random weights, by numpy alone."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pathrag_gds.models.encoder import shipped_model
from pathrag_gds.models.export import read_bert

__all__ = ["random_bert", "with_random_head", "write_safetensors"]

Tensors = Mapping[str, NDArray[np.float32]]


def write_safetensors(path: Path, tensors: Tensors) -> None:
    """Write float32 tensors in the format of the library ``safetensors``."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(np.ascontiguousarray(tensor).tobytes() for tensor in tensors.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def random_bert(
    folder: Path,
    *,
    layers: int = 2,
    hidden: int = 32,
    heads: int = 4,
    outputs: int = 2,
    seed: int = 0,
) -> Path:
    """Write a BERT classifier (an encoder with no outputs) that reads as the shipped encoder does.

    Weights are spread so widely that scores differ by far more than rounding.
    """
    draw = np.random.default_rng(seed)
    tokenizer = (shipped_model() / "tokenizer.json").read_text(encoding="utf-8")
    words = len(json.loads(tokenizer)["model"]["vocab"])

    def linear(name: str, rows: int, columns: int) -> dict[str, NDArray[np.float32]]:
        spread = 1.5 / columns**0.5
        return {
            f"{name}.weight": draw.normal(0, spread, (rows, columns)).astype(np.float32),
            f"{name}.bias": draw.normal(0, 0.1, rows).astype(np.float32),
        }

    def norm(name: str) -> dict[str, NDArray[np.float32]]:
        return {
            f"{name}.weight": draw.normal(1, 0.2, hidden).astype(np.float32),
            f"{name}.bias": draw.normal(0, 0.2, hidden).astype(np.float32),
        }

    trunk = {
        f"embeddings.{kind}_embeddings.weight": draw.normal(0, 1, (rows, hidden)).astype(np.float32)
        for kind, rows in (("word", words), ("position", 256), ("token_type", 2))
    }
    trunk |= norm("embeddings.LayerNorm")
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            trunk |= linear(f"{name}.attention.self.{part}", hidden, hidden)
        trunk |= linear(f"{name}.attention.output.dense", hidden, hidden)
        trunk |= norm(f"{name}.attention.output.LayerNorm")
        trunk |= linear(f"{name}.intermediate.dense", 2 * hidden, hidden)
        trunk |= linear(f"{name}.output.dense", hidden, 2 * hidden)
        trunk |= norm(f"{name}.output.LayerNorm")
    trunk |= linear("pooler.dense", hidden, hidden)
    tensors = trunk
    if outputs:
        tensors = {f"bert.{key}": value for key, value in trunk.items()}
        tensors |= linear("classifier", outputs, hidden)
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "max_position_embeddings": 256,
        "vocab_size": words,
        "layer_norm_eps": 1e-12,
    }
    return _write(folder, config, tensors, tokenizer)


def with_random_head(weights: Path, folder: Path, *, seed: int = 0) -> Path:
    """Write a classifier of a BERT encoder's weights: two outputs, by a head drawn at random."""
    bert = read_bert(weights)
    draw = np.random.default_rng(seed)
    tensors = {
        f"bert.{name}": value for name, value in bert.tensors.items() if value.dtype == np.float32
    }
    # Token types are 0 everywhere: with equal rows it makes no difference to other libraries.
    types = tensors["bert.embeddings.token_type_embeddings.weight"]
    tensors["bert.embeddings.token_type_embeddings.weight"] = np.repeat(types[:1], 2, axis=0)
    tensors["classifier.weight"] = draw.normal(0, 0.3, (2, bert.hidden)).astype(np.float32)
    tensors["classifier.bias"] = np.zeros(2, dtype=np.float32)
    config = json.loads((weights / "config.json").read_text(encoding="utf-8"))
    config |= {"architectures": ["BertForSequenceClassification"], "num_labels": 2}
    tokenizer = (weights / "tokenizer.json").read_text(encoding="utf-8")
    _write(folder, config, tensors, tokenizer)
    for name in ("tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        if (weights / name).exists():
            (folder / name).write_bytes((weights / name).read_bytes())
    return folder


def _write(folder: Path, config: Mapping[str, Any], tensors: Tensors, tokenizer: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    write_safetensors(folder / "model.safetensors", tensors)
    return folder
