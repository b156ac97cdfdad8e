"""Attention over pairs that lie one after the other without padding, with its gradient.

Everything else in a transformer treats each token by itself, so only attention has to know where a
pair begins. It is written by hand because each copy of the tokens costs as much as a product with
them: pairs are padded here alone, a few of similar length at a time, and the gradients are written
where they belong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pathrag_gds.models.training.torch_import import import_torch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

__all__ = ["Block", "attend", "attend_from_first", "blocks_of"]

# Tokens of a block, padding included: larger ones pad more, smaller ones make more calls.
_TOKENS_PER_BLOCK = 1024
_MASKED = -1e4


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Neighbouring pairs of similar length that are padded together.

    Attributes:
        rows: The pairs, as a range of their places.
        tokens: Their tokens, as a range of places.
        longest: Tokens of the longest pair.
        real: Places of the tokens in the padded block, (tokens,); None where all are as long.
        bias: What hides the padding, (rows * heads, 1, longest); None likewise.
    """

    rows: slice
    tokens: slice
    longest: int
    real: Any | None
    bias: Any | None

    @property
    def count(self) -> int:
        """Count the pairs."""
        return int(self.rows.stop - self.rows.start)


def blocks_of(lengths: Sequence[int], heads: int, kind: Any) -> list[Block]:
    """Cut pairs into blocks.

    Args:
        lengths: Tokens of each pair, in descending order.
        kind: The torch type of the values.
    """
    torch = import_torch()
    blocks = []
    row = token = 0
    while row < len(lengths):
        longest = lengths[row]
        inside = lengths[row : row + max(1, _TOKENS_PER_BLOCK // longest)]
        real = bias = None
        if inside[-1] < longest:
            there = torch.arange(longest)[None] < torch.tensor(inside)[:, None]
            real = there.flatten().nonzero().flatten()
            bias = torch.zeros(len(inside), 1, 1, longest, dtype=kind)
            bias = bias.masked_fill_(~there[:, None, None], _MASKED)
            bias = bias.expand(-1, heads, -1, -1).reshape(-1, 1, longest)
        rows = slice(row, row + len(inside))
        blocks.append(Block(rows, slice(token, token + sum(inside)), longest, real, bias))
        row, token = rows.stop, token + sum(inside)
    return blocks


def attend(joined: Any, blocks: Sequence[Block], heads: int) -> Any:
    """Let every token attend to those of its pair.

    Args:
        joined: Query, key and value of each token, (tokens, 3 * hidden).

    Returns:
        (tokens, hidden).
    """
    return _functions()[0].apply(joined, blocks, heads)


def attend_from_first(query: Any, joined: Any, blocks: Sequence[Block], heads: int) -> Any:
    """Let the first token of each pair attend to all of the pair.

    Args:
        query: Of each first token, (pairs, hidden).
        joined: Key and value of each token, (tokens, 2 * hidden).

    Returns:
        (pairs, hidden).
    """
    return _functions()[1].apply(query, joined, blocks, heads)


def _split(tokens: Any, block: Block, parts: int, heads: int) -> Any:
    """Pad the tokens of a block and part their heads: (parts, pairs * heads, longest, width)."""
    if block.real is not None:
        padded = tokens.new_zeros(block.count * block.longest, tokens.shape[1])
        tokens = padded.index_copy_(0, block.real, tokens)
    shape = (block.count, -1, parts, heads, tokens.shape[1] // (parts * heads))
    by_head = tokens.view(shape).permute(2, 0, 3, 1, 4).contiguous()
    return by_head.view(parts, block.count * heads, -1, shape[-1])


def _merge(by_head: Any, block: Block, heads: int, out: Any) -> None:
    """Undo :func:`_split` into the tokens ``out``."""
    parts, _, length, width = by_head.shape
    joined = by_head.view(parts, block.count, heads, length, width).permute(1, 3, 0, 2, 4)
    if block.real is None:
        out.view(joined.shape).copy_(joined)
    else:
        padded = joined.reshape(block.count * length, -1)
        import_torch().index_select(padded, 0, block.real, out=out)


def _forward(query: Any, key: Any, value: Any, bias: Any | None) -> tuple[Any, Any]:
    torch = import_torch()
    scores = torch.baddbmm(
        query.new_zeros(1, 1, 1) if bias is None else bias,
        query,
        key.transpose(1, 2),
        alpha=1 / math.sqrt(query.shape[-1]),
    )
    shares = scores.softmax(-1)
    return torch.bmm(shares, value), shares


def _backward(
    gradient: Any, shares: Any, query: Any, key: Any, value: Any, out: Sequence[Any]
) -> None:
    """Write the gradients of query, key and value into ``out``."""
    torch = import_torch()
    torch.bmm(shares.transpose(1, 2), gradient, out=out[2])
    inner = torch.bmm(gradient, value.transpose(1, 2))
    # d softmax: shares * (inner - sum(inner * shares))
    inner.mul_(shares)
    inner.addcmul_(shares, inner.sum(-1, keepdim=True), value=-1)
    inner.mul_(1 / math.sqrt(query.shape[-1]))
    torch.bmm(inner, key, out=out[0])
    torch.bmm(inner.transpose(1, 2), query, out=out[1])


@cache
def _functions() -> tuple[Any, Any]:
    """Make the two functions of torch's automatic differentiation; torch is imported here."""
    torch = import_torch()

    class Attend(torch.autograd.Function):  # type: ignore[name-defined, misc]
        @staticmethod
        def forward(ctx: Any, joined: Any, blocks: Sequence[Block], heads: int) -> Any:
            context = joined.new_empty(len(joined), joined.shape[1] // 3)
            saved = []
            for block in blocks:
                parts = _split(joined[block.tokens], block, 3, heads)
                query, key, value = parts
                by_head, shares = _forward(query, key, value, block.bias)
                _merge(by_head[None], block, heads, context[block.tokens])
                saved += [parts, shares]
            ctx.save_for_backward(*saved)
            ctx.blocks, ctx.heads = blocks, heads
            return context

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> tuple[Any, None, None]:
            out = gradient.new_empty(len(gradient), gradient.shape[1] * 3)
            for number, block in enumerate(ctx.blocks):
                parts, shares = ctx.saved_tensors[2 * number : 2 * number + 2]
                (asked,) = _split(gradient[block.tokens], block, 1, ctx.heads)
                found = torch.empty_like(parts)
                query, key, value = parts
                _backward(asked, shares, query, key, value, found)
                _merge(found, block, ctx.heads, out[block.tokens])
            return out, None, None

    class AttendFromFirst(torch.autograd.Function):  # type: ignore[name-defined, misc]
        @staticmethod
        def forward(ctx: Any, query: Any, joined: Any, blocks: Sequence[Block], heads: int) -> Any:
            context = torch.empty_like(query)
            saved = []
            for block in blocks:
                parts = _split(joined[block.tokens], block, 2, heads)
                shape = (block.count * heads, 1, -1)
                asked = query[block.rows].reshape(shape)
                key, value = parts
                by_head, shares = _forward(asked, key, value, block.bias)
                context[block.rows] = by_head.view(block.count, -1)
                saved += [asked, parts, shares]
            ctx.save_for_backward(*saved)
            ctx.blocks, ctx.heads = blocks, heads
            return context

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> tuple[Any, Any, None, None]:
            tokens = ctx.blocks[-1].tokens.stop if ctx.blocks else 0
            of_query = torch.empty_like(gradient)
            out = gradient.new_empty(tokens, gradient.shape[1] * 2)
            for number, block in enumerate(ctx.blocks):
                asked, parts, shares = ctx.saved_tensors[3 * number : 3 * number + 3]
                found, of_asked = torch.empty_like(parts), torch.empty_like(asked)
                inner = gradient[block.rows].reshape(asked.shape)
                key, value = parts
                _backward(inner, shares, asked, key, value, [of_asked, *found])
                of_query[block.rows] = of_asked.view(block.count, -1)
                _merge(found, block, ctx.heads, out[block.tokens])
            return of_query, out, None, None

    return Attend, AttendFromFirst
