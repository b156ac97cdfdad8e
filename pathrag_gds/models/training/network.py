"""The classifier in torch, as fast to train on a processor as we know how.

It computes what ``BertForSequenceClassification`` computes without dropout, but twice as fast:
pairs lie one after the other without padding; query, key and value are one product; attention is
written out, since torch's fused attention is slow in bfloat16; the last layer runs for the first
token alone, which is all that the head reads; and all weights lie in a few flat arrays, so that the
optimizer makes few and long steps.

In bfloat16 the products read copies of the weights; the weights themselves, the sums between the
layers, the normalisation and the head stay float32.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pathrag_gds.errors import ConfigError
from pathrag_gds.models.export.bert import Bert
from pathrag_gds.models.training.attention import Block, attend, attend_from_first, blocks_of
from pathrag_gds.models.training.batches import Run
from pathrag_gds.models.training.torch_import import import_torch

__all__ = ["PRECISIONS", "Network", "fastest_precision", "processor_flags"]

PRECISIONS = ("auto", "float32", "bfloat16")

# Without one of these bfloat16 is emulated, and slower than float32.
_BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16"})
_EMBEDDINGS = "embeddings."
_PARTS = ("query", "key", "value")


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
        lengths = [int(length) for length in run.lengths]
        blocks = blocks_of(lengths, self._bert.heads, self._kind)
        x = self._embed(torch.from_numpy(run.ids), torch.from_numpy(run.places))
        last = self._bert.layers - 1
        for layer in range(last):
            x = self._layer(x, f"encoder.layer.{layer}", blocks)
        x = self._last_layer(x, f"encoder.layer.{last}", blocks, torch.from_numpy(run.starts))
        pooled = torch.tanh(self._linear(x, "pooler.dense"))
        return self._linear(pooled, "classifier")

    def bert(self) -> Bert:
        """Give the classifier as it is now."""
        tensors = {name: values.numpy() for name, values in self._constants.items()}
        for block, _ in self._blocks:
            tensors |= _arrays(block.names, block.views)
        return replace(self._bert, tensors=_parted(tensors, self._bert.layers))

    def gradients(self) -> dict[str, Any]:
        """Give what was collected, as arrays named as the tensors of a BERT are."""
        found: dict[str, Any] = {}
        for block, _ in self._blocks:
            found |= _arrays(block.names, block.gradients)
        return _parted(found, self._bert.layers)

    def _weight(self, name: str) -> Any:
        return self._weights[name] if name in self._weights else self._constants[name]

    def _embed(self, ids: Any, places: Any) -> Any:
        """Give the normalised embeddings, (tokens, hidden)."""
        embed = self._torch.nn.functional.embedding
        words = embed(ids, self._weight(f"{_EMBEDDINGS}word_embeddings.weight"))
        table = self._weight(f"{_EMBEDDINGS}position_embeddings.weight")
        kind = self._weight(f"{_EMBEDDINGS}token_type_embeddings.weight")[0]
        return self._norm(words + embed(places, table + kind), f"{_EMBEDDINGS}LayerNorm")

    def _layer(self, x: Any, name: str, blocks: list[Block]) -> Any:
        joined = self._linear(x.to(self._kind), f"{name}.attention.self.joined")
        return self._rest(x, attend(joined, blocks, self._bert.heads), name)

    def _last_layer(self, x: Any, name: str, blocks: list[Block], starts: Any) -> Any:
        """Give the first tokens alone, (rows, hidden), since the head reads nothing else."""
        linear, hidden = self._torch.nn.functional.linear, self._bert.hidden
        site = f"{name}.attention.self.joined"
        weight, bias = self._weight(f"{site}.weight"), self._weight(f"{site}.bias")
        joined = linear(x.to(self._kind), weight[hidden:], bias[hidden:])
        x = x.index_select(0, starts)
        query = linear(x.to(self._kind), weight[:hidden], bias[:hidden])
        return self._rest(x, attend_from_first(query, joined, blocks, self._bert.heads), name)

    def _rest(self, x: Any, context: Any, name: str) -> Any:
        """Do what a layer does to each token by itself after attention."""
        inner = self._linear(context, f"{name}.attention.output.dense")
        x = self._norm(x + inner, f"{name}.attention.output.LayerNorm")
        inner = self._linear(x.to(self._kind), f"{name}.intermediate.dense")
        inner = self._linear(self._torch.nn.functional.gelu(inner), f"{name}.output.dense")
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


def _arrays(names: list[str], tensors: list[Any]) -> dict[str, Any]:
    return {name: tensor.numpy().copy() for name, tensor in zip(names, tensors, strict=True)}


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
