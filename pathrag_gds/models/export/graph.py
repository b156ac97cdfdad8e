"""Build the ONNX graph of a BERT encoder or classifier, operator by operator.

It is built rather than traced and quantised afterwards, because the usual dynamic quantisation
takes one activation scale for the whole batch, and a text's vector would then depend on its
company. Here every token has a scale of its own: ``q = round(x / s) + 128`` with
``s = max|x| / 127`` over the token's row. Integer products are exact, so nothing depends on how
rows are cut into blocks.
"""

from __future__ import annotations

from typing import Any

from pathrag_gds.errors import MissingExtra
from pathrag_gds.models.encoder import MAX_TOKENS
from pathrag_gds.models.export.bert import Bert
from pathrag_gds.models.export.weights import TABLE_LEVELS, WeightRounding, scales

__all__ = ["GELU_MINIMUM", "build_model"]

_CONTRIB = "com.microsoft"
_OPSET = 18
_IR_VERSION = 9
# GELU never falls below this, so a row of its outputs is quantised from here up: one bit gained.
GELU_MINIMUM = -0.17


def build_model(bert: Bert, rounding: WeightRounding | None, *, observed: bool = False) -> Any:
    """Build the ONNX model: token ids (batch, length) of equal length to one row for each.

    Args:
        bert: An encoder, or a classifier.
        rounding: Chooses the 8-bit weights; None builds the float32 reference of the same shape.
        observed: Also give the inputs of the linear layers as outputs, named by their sites.

    Returns:
        An ``onnx.ModelProto`` with input ``input_ids`` (int64). An encoder's output is
        ``embedding`` (batch, hidden), of unit length; a classifier's ``logits`` (batch, outputs).
        There is no attention mask: texts of one batch must have equal length.

    Raises:
        MissingExtra: ``onnx`` is not installed.
    """
    return _Builder(bert, rounding, observed).model()


class _Builder:
    def __init__(self, bert: Bert, rounding: WeightRounding | None, observed: bool) -> None:
        try:
            import onnx
        except ImportError as error:
            raise MissingExtra("train", needed_for="The export of a model") from error
        self.onnx = onnx
        self.bert = bert
        self.rounding = rounding
        self.observed: list[str] | None = [] if observed else None
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
        output, width = self.classify(x) if self.bert.outputs else self.embed(x)
        outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", width])] + [
            helper.make_tensor_value_info(site, TensorProto.FLOAT, None)
            for site in self.observed or ()
        ]
        graph = helper.make_graph(
            self.nodes,
            "encoder",
            [helper.make_tensor_value_info(ids, TensorProto.INT64, ["batch", "length"])],
            outputs,
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

    def embed(self, x: str) -> tuple[str, int]:
        """Append what follows the embeddings of an encoder; give the output and its width."""
        norm = "embeddings.LayerNorm"
        for layer in range(self.bert.layers):
            x, norm = self.layer(x, norm, f"encoder.layer.{layer}")
        x = self.normalise(x, norm)
        tokens = self.node("Reshape", x, self.batch_shape)
        mean = self.node("ReduceMean", tokens, self.constant("axis_1", [1], "int64"), keepdims=0)
        return self.node("LpNormalization", mean, axis=1, p=2, output="embedding"), self.bert.hidden

    def classify(self, x: str) -> tuple[str, int]:
        """Append what follows the embeddings of a classifier; give the output and its width."""
        norm = "embeddings.LayerNorm"
        last = self.bert.layers - 1
        for layer in range(last):
            x, norm = self.layer(x, norm, f"encoder.layer.{layer}")
        x, norm = self.last_layer(x, norm, f"encoder.layer.{last}")
        site = "pooler.dense"
        x, divisors = self.smoothed(x, norm, site, [site])
        product, bias = self.product(x, self.quantise(x, site), site, site, divisors)
        pooled = self.node("Tanh", self.node("Add", product, self.constant(f"{site}.bias", bias)))
        # Not a matrix product, which sums one row otherwise than the same row among others.
        axis = self.constant("axis_1", [1], "int64")
        terms = self.node(
            "Mul",
            self.node("Unsqueeze", pooled, axis),
            self.constant("classifier.weight", self.tensor("classifier.weight")),
        )
        sums = self.node("ReduceSum", terms, self.constant("axis_2", [2], "int64"), keepdims=0)
        bias = self.constant("classifier.bias", self.tensor("classifier.bias"))
        return self.node("Add", sums, bias, output="logits"), self.bert.outputs

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
        if self.rounding:
            scale = scales(np.abs(table).max(1, keepdims=True), TABLE_LEVELS)
            whole = self.constant("words", np.round(table / scale), "int8")
            floats = self.node(
                "Cast", self.node("Gather", whole, ids), to=self.onnx.TensorProto.FLOAT
            )
            row_scales = self.node("Gather", self.constant("words.scale", scale), ids)
            words = self.node("Mul", floats, row_scales)
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
        return self.node("Add", words, used)

    def layer(self, total: str, norm: str, name: str) -> tuple[str, str]:
        """Append one layer to a sum not yet normalised; give the next such sum and its norm."""
        site = f"{name}.attention.self"
        x, divisors = self.smoothed(total, norm, site, _parts(site))
        rows = self.quantise(x, site)
        projected = [self.project(x, rows, site, part, divisors) for part in _parts(site)]
        return self.rest(x, divisors, self.attention(site, projected), name)

    def last_layer(self, total: str, norm: str, name: str) -> tuple[str, str]:
        """Append a layer for the first token of each text alone, which sees all of them."""
        site = f"{name}.attention.self"
        x, divisors = self.smoothed(total, norm, site, _parts(site))
        rows = self.quantise(x, site)
        query, key, value = _parts(site)
        seen = [self.project(x, rows, site, part, divisors) for part in (key, value)]
        first = self.constant("first", [0], "int64")
        x = self.node("Gather", self.node("Reshape", x, self.batch_shape), first, axis=1)
        x = self.node("Reshape", x, self.rows())
        product, bias = self.product(x, self.quantise(x, query), query, query, divisors)
        asked = self.node("Unsqueeze", product, self.constant("axis_1", [1], "int64")), bias
        return self.rest(x, divisors, self.attention(site, [asked, *seen]), name)

    def project(
        self, x: str, rows: tuple[str, str] | None, site: str, part: str, divisors: Any | None
    ) -> tuple[str, Any]:
        """Give a projection of all tokens (batch, length, hidden) without bias, and its bias."""
        product, bias = self.product(x, rows, site, part, divisors)
        return self.node("Reshape", product, self.batch_shape), bias

    def attention(self, site: str, projected: list[tuple[str, Any]]) -> str:
        """Let queries attend to keys and values; give the context of each query as a row."""
        import numpy as np

        context = self.node(
            "MultiHeadAttention",
            *(product for product, _ in projected),
            self.constant(f"{site}.bias", np.concatenate([bias for _, bias in projected])),
            domain=_CONTRIB,
            num_heads=self.bert.heads,
        )
        return self.node("Reshape", context, self.rows())

    def rest(self, x: str, divisors: Any | None, context: str, name: str) -> tuple[str, str]:
        """Append what a layer does to each row by itself after attention."""
        total = self.residual(x, divisors, context, f"{name}.attention.output.dense")
        norm = f"{name}.attention.output.LayerNorm"

        site = f"{name}.intermediate.dense"
        x, divisors = self.smoothed(total, norm, site, [site])
        product, bias = self.product(x, self.quantise(x, site), site, site, divisors)
        inner = self.node("BiasGelu", product, self.constant(f"{site}.bias", bias), domain=_CONTRIB)
        total = self.residual(x, divisors, inner, f"{name}.output.dense", GELU_MINIMUM)
        return total, f"{name}.output.LayerNorm"

    def residual(
        self, x: str, divisors: Any | None, inner: str, site: str, minimum: float | None = None
    ) -> str:
        rows = self.quantise(inner, site, minimum)
        product, bias = self.product(inner, rows, site, site, None, minimum)
        if divisors is not None:
            x = self.node("Mul", x, self.constant(f"{site}.unsmooth", divisors))
        total = self.node("Add", product, x)
        return self.node("Add", total, self.constant(f"{site}.bias", bias))

    def smoothed(
        self, total: str, norm: str, site: str, weights: list[str]
    ) -> tuple[str, Any | None]:
        """Normalise; with 8 bits also divide channels, at no cost, within the normalisation."""
        import numpy as np

        if self.rounding is None:
            return self.normalise(total, norm), None
        weight = np.concatenate([self.tensor(f"{name}.weight") for name in weights]).T
        divisors = self.rounding.smoothing(site, weight)
        return self.normalise(total, norm, divisors), divisors

    def normalise(self, x: str, name: str, divisors: Any = 1) -> str:
        return self.node(
            "LayerNormalization",
            x,
            self.constant(f"{name}.weight", self.tensor(f"{name}.weight") / divisors),
            self.constant(f"{name}.bias", self.tensor(f"{name}.bias") / divisors),
            axis=-1,
            epsilon=self.bert.epsilon,
        )

    def quantise(self, x: str, site: str, minimum: float | None = None) -> tuple[str, str] | None:
        """Turn rows into bytes; give the bytes and the scale of each row (rows, 1)."""
        if self.observed is not None:
            self.observed.append(self.node("Identity", x, output=site))
        if self.rounding is None:
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
        self,
        x: str,
        rows: tuple[str, str] | None,
        site: str,
        name: str,
        divisors: Any | None,
        minimum: float | None = None,
    ) -> tuple[str, Any]:
        """Multiply rows by a weight; give the product without bias, and the bias to add."""
        import numpy as np

        weight = self.tensor(f"{name}.weight").T
        bias = self.tensor(f"{name}.bias")
        if self.rounding is None or rows is None:
            return self.node("MatMul", x, self.constant(f"{name}.weight", weight)), bias
        whole, scale = self.rounding.round(site, weight, divisors)
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


def _parts(site: str) -> list[str]:
    return [f"{site}.{part}" for part in ("query", "key", "value")]
