"""The classifier in torch, as fast to train on a processor as we know how.

It computes what ``BertForSequenceClassification`` computes without dropout, but twice as fast:
query, key and value are one product; attention is written out, since torch's fused attention is
slow in bfloat16; the last layer runs for the first token alone, which is all that the head reads;
and all weights lie in a few flat arrays, so that the optimizer makes few and long steps.

In bfloat16 the products read copies of the weights; the weights themselves, the sums between the
layers, the normalisation and the head stay float32.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pathrag_gds.errors import ConfigError, MissingExtra
from pathrag_gds.models.export.bert import Bert
from pathrag_gds.models.training.batches import Run

__all__ = ["PRECISIONS", "Network", "fastest_precision", "import_torch", "processor_flags"]

PRECISIONS = ("auto", "float32", "bfloat16")

# Without one of these bfloat16 is emulated, and slower than float32.
_BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16"})
_MASKED = -1e4
_EMBEDDINGS = "embeddings."
_PARTS = ("query", "key", "value")


def import_torch() -> Any:
    """Import torch, or raise ``MissingExtra``."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("train", needed_for="Training") from error
    return torch


def processor_flags() -> frozenset[str]:
    """Give the names of what the processor can do, as Linux tells them; none elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()


def fastest_precision() -> str:
    """Give ``bfloat16`` where the processor multiplies in it, else ``float32``."""
    return "bfloat16" if processor_flags() & _BFLOAT16_FLAGS else "float32"


@dataclass(slots=True)
class _Block:
    """Weights of one kind in one flat array, and their copies that the products read."""

    names: list[str]
    master: Any
    gradient: Any
    copy: Any
    leaves: list[Any]
    views: list[Any]
    gradients: list[Any]


class Network:
    """A BERT classifier that is trained.

    Args:
        bert: Where it starts; not changed.
        precision: Of the products: ``auto``, ``float32`` or ``bfloat16``.
        frozen_embeddings: Leave the embeddings as they are.

    Attributes:
        precision: ``float32`` or ``bfloat16``.

    Raises:
        MissingExtra: torch is not installed.
        ConfigError: There is no such precision.
    """

    def __init__(
        self, bert: Bert, *, precision: str = "auto", frozen_embeddings: bool = True
    ) -> None:
        if precision not in PRECISIONS:
            raise ConfigError(f"There is no precision {precision!r}; choose of {PRECISIONS}.")
        self._torch = import_torch()
        self.precision = fastest_precision() if precision == "auto" else precision
        self._bert = bert
        self._kind = getattr(self._torch, self.precision)
        self._frozen = frozen_embeddings
        self._constants: dict[str, Any] = {}
        self._weights: dict[str, Any] = {}
        self._blocks: list[tuple[_Block, bool]] = []
        self._build()

    def _build(self) -> None:
        torch = self._torch
        kinds: dict[tuple[bool, Any], dict[str, Any]] = {}
        for name, values in _joined(self._bert).items():
            tensor = torch.tensor(values)
            if self._frozen and name.startswith(_EMBEDDINGS):
                self._constants[name] = tensor
                continue
            decayed = name.endswith("weight") and "LayerNorm" not in name
            inside = name.startswith("encoder.") and "LayerNorm" not in name
            kind = self._kind if inside else torch.float32
            kinds.setdefault((decayed, kind), {})[name] = tensor
        for (decayed, kind), tensors in kinds.items():
            block = self._block(tensors, kind)
            self._weights |= dict(zip(block.names, block.leaves, strict=True))
            self._blocks.append((block, decayed))

    def _block(self, tensors: dict[str, Any], kind: Any) -> _Block:
        torch = self._torch
        master = torch.nn.Parameter(torch.cat([tensor.flatten() for tensor in tensors.values()]))
        # The optimizer reads the gradient from here; it is filled by `collect`.
        master.grad = torch.zeros_like(master)
        copy = master.detach().to(kind)  # shares memory with the master when both are float32

        def cut(flat: Any) -> list[Any]:
            parts = flat.split([tensor.numel() for tensor in tensors.values()])
            return [
                part.view(tensor.shape)
                for part, tensor in zip(parts, tensors.values(), strict=True)
            ]

        leaves = [part.detach().requires_grad_() for part in cut(copy)]
        return _Block(
            list(tensors), master, master.grad, copy, leaves, cut(master.detach()), cut(master.grad)
        )

    def parameters(self, weight_decay: float) -> list[dict[str, Any]]:
        """Give the flat weights for an optimizer of torch; norms and biases do not decay."""
        return [
            {"params": [block.master], "weight_decay": weight_decay if decayed else 0.0}
            for block, decayed in self._blocks
        ]

    def masters(self) -> list[Any]:
        """Give the flat weights, in an order that depends on the model alone."""
        return [block.master for block, _ in self._blocks]

    def load(self, masters: list[Any]) -> None:
        """Take weights over that :meth:`masters` gave."""
        with self._torch.no_grad():
            for (block, _), saved in zip(self._blocks, masters, strict=True):
                block.master.copy_(saved)
        self.refresh()

    def refresh(self) -> None:
        """Let the products see weights that the optimizer has changed."""
        for block, _ in self._blocks:
            if block.copy.dtype != block.master.dtype:
                block.copy.copy_(block.master.detach())

    def clear(self) -> None:
        """Forget the gradients."""
        for block, _ in self._blocks:
            block.gradient.zero_()

    def collect(self) -> None:
        """Add the gradients of a backward pass to those of the flat weights, in float32."""
        for block, _ in self._blocks:
            for leaf, gradient in zip(block.leaves, block.gradients, strict=True):
                if leaf.grad is not None:
                    gradient.add_(leaf.grad)
                    leaf.grad = None

    def clip(self, most: float) -> float:
        """Shrink the gradient to a length of at most ``most``; give its length before."""
        return float(self._torch.nn.utils.clip_grad_norm_(self.masters(), most))

    def logits(self, run: Run) -> Any:
        """Give the logits of a run, (rows, 2), float32, with what a backward pass needs."""
        torch = self._torch
        rows, longest = run.ids.shape
        bias = self._padding(run)
        x = self._embed(torch.from_numpy(run.ids))
        last = self._bert.layers - 1
        for layer in range(self._bert.layers):
            x = self._layer(x, f"encoder.layer.{layer}", rows, longest, bias, layer == last)
        pooled = torch.tanh(self._linear(x, "pooler.dense"))
        return self._linear(pooled, "classifier")

    def bert(self) -> Bert:
        """Give the classifier as it is now."""
        tensors = {name: values.numpy() for name, values in self._constants.items()}
        for block, _ in self._blocks:
            tensors |= {
                name: view.clone().numpy()
                for name, view in zip(block.names, block.views, strict=True)
            }
        return replace(self._bert, tensors=_parted(tensors, self._bert.layers))

    def _padding(self, run: Run) -> Any | None:
        """Give what is added to attention so that padding is not seen; None without padding."""
        torch = self._torch
        rows, longest = run.ids.shape
        if int(run.lengths[-1]) == longest:
            return None
        beyond = torch.arange(longest)[None] >= torch.from_numpy(run.lengths)[:, None]
        bias = torch.zeros(rows, 1, 1, longest, dtype=self._kind).masked_fill_(
            beyond[:, None, None], _MASKED
        )
        return bias.expand(-1, self._bert.heads, -1, -1).reshape(-1, 1, longest)

    def _weight(self, name: str) -> Any:
        return self._weights[name] if name in self._weights else self._constants[name]

    def _embed(self, ids: Any) -> Any:
        """Give the normalised embeddings, (rows * longest, hidden)."""
        embed = self._torch.nn.functional.embedding
        words = embed(ids, self._weight(f"{_EMBEDDINGS}word_embeddings.weight"))
        places = self._weight(f"{_EMBEDDINGS}position_embeddings.weight")[: ids.shape[1]]
        kind = self._weight(f"{_EMBEDDINGS}token_type_embeddings.weight")[0]
        total = words + (places + kind)
        return self._norm(total.view(-1, self._bert.hidden), f"{_EMBEDDINGS}LayerNorm")

    def _layer(
        self, x: Any, name: str, rows: int, longest: int, bias: Any | None, is_last: bool
    ) -> Any:
        torch, hidden = self._torch, self._bert.hidden
        site = f"{name}.attention.self.joined"
        weight, offset = self._weight(f"{site}.weight"), self._weight(f"{site}.bias")
        heads, width = self._bert.heads, hidden // self._bert.heads
        linear = torch.nn.functional.linear

        def split(values: Any, parts: int) -> list[Any]:
            by_head = values.view(rows, -1, parts, heads, width).permute(2, 0, 3, 1, 4)
            return [part.reshape(rows * heads, -1, width) for part in by_head.unbind(0)]

        if is_last:
            low = x.to(self._kind)
            key, value = split(linear(low, weight[hidden:], offset[hidden:]), 2)
            x = x.view(rows, longest, hidden)[:, 0]
            (query,) = split(linear(x.to(self._kind), weight[:hidden], offset[:hidden]), 1)
        else:
            query, key, value = split(linear(x.to(self._kind), weight, offset), 3)
        scores = torch.baddbmm(
            query.new_zeros(1, 1, 1) if bias is None else bias,
            query,
            key.transpose(1, 2),
            alpha=1 / math.sqrt(width),
        )
        context = torch.bmm(scores.softmax(-1), value)
        context = context.view(rows, heads, -1, width).transpose(1, 2).reshape(-1, hidden)
        inner = self._linear(context, f"{name}.attention.output.dense")
        x = self._norm(x + inner, f"{name}.attention.output.LayerNorm")
        inner = torch.nn.functional.gelu(
            self._linear(x.to(self._kind), f"{name}.intermediate.dense")
        )
        inner = self._linear(inner, f"{name}.output.dense")
        return self._norm(x + inner, f"{name}.output.LayerNorm")

    def _linear(self, x: Any, name: str) -> Any:
        return self._torch.nn.functional.linear(
            x, self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        )

    def _norm(self, x: Any, name: str) -> Any:
        return self._torch.nn.functional.layer_norm(
            x,
            (self._bert.hidden,),
            self._weight(f"{name}.weight"),
            self._weight(f"{name}.bias"),
            self._bert.epsilon,
        )


def _sites(layers: int) -> list[str]:
    return [f"encoder.layer.{layer}.attention.self" for layer in range(layers)]


def _joined(bert: Bert) -> dict[str, Any]:
    """Give the tensors, with query, key and value of each layer as one, sorted by name."""
    import numpy as np

    tensors = dict(bert.tensors)
    for site in _sites(bert.layers):
        for kind in ("weight", "bias"):
            parts = [tensors.pop(f"{site}.{part}.{kind}") for part in _PARTS]
            tensors[f"{site}.joined.{kind}"] = np.concatenate(parts)
    return dict(sorted(tensors.items()))


def _parted(tensors: dict[str, Any], layers: int) -> dict[str, Any]:
    """Undo :func:`_joined`."""
    import numpy as np

    tensors = dict(tensors)
    for site in _sites(layers):
        for kind in ("weight", "bias"):
            values = np.split(tensors.pop(f"{site}.joined.{kind}"), len(_PARTS))
            for part, value in zip(_PARTS, values, strict=True):
                tensors[f"{site}.{part}.{kind}"] = value
    return dict(sorted(tensors.items()))
