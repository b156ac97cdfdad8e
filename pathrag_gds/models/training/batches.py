"""Groups as token ids, and the batches of a training run: whole groups, little padding."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from pathrag_gds.models.encoder import MAX_TOKENS
from pathrag_gds.models.path_reranker import pair_ids
from pathrag_gds.models.training.groups import Group

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float32]

__all__ = ["Run", "TokenisedGroups", "epoch_batches", "runs_of", "tokenise"]

# Groups that are sorted by length together: more means less padding, fewer means more chance in
# who shares a batch.
_POOL = 2048


@dataclass(frozen=True, slots=True, eq=False)
class TokenisedGroups:
    """Groups as token ids, all in a few arrays; a pair takes two bytes a token.

    Attributes:
        tokens: The ids of all pairs, one after the other.
        pair_starts: Where each pair begins in ``tokens``, and the end: (pairs + 1,).
        group_starts: Where each group begins among the pairs, and the end: (groups + 1,).
        answer: Label of each pair, (pairs,).
        prefix: Label of each pair, (pairs,).
        sources: Source of each group.
    """

    tokens: Any
    pair_starts: Ints
    group_starts: Ints
    answer: Floats
    prefix: Floats
    sources: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def pairs(self) -> int:
        """Count the pairs of all groups."""
        return len(self.answer)

    @property
    def lengths(self) -> Ints:
        """Give the tokens of each pair, (pairs,)."""
        return self.pair_starts[1:] - self.pair_starts[:-1]

    def pair(self, number: int) -> Any:
        """Give the token ids of a pair."""
        return self.tokens[self.pair_starts[number] : self.pair_starts[number + 1]]

    def subset(self, groups: Sequence[int]) -> TokenisedGroups:
        """Give some of the groups, in the order of their numbers here."""
        import numpy as np

        pairs = [
            pair
            for group in groups
            for pair in range(int(self.group_starts[group]), int(self.group_starts[group + 1]))
        ]
        starts = self.group_starts
        return TokenisedGroups(
            tokens=np.concatenate([self.tokens[:0], *(self.pair(pair) for pair in pairs)]),
            pair_starts=_starts([len(self.pair(pair)) for pair in pairs]),
            group_starts=_starts([int(starts[group + 1] - starts[group]) for group in groups]),
            answer=self.answer[pairs],
            prefix=self.prefix[pairs],
            sources=tuple(self.sources[group] for group in groups),
        )

    def counts(self) -> dict[str, int]:
        """Count the groups of each source, by its name."""
        return dict(sorted(Counter(self.sources).items()))

    def fingerprint(self) -> str:
        """Hash all of it, so that a run goes on only with the data it began with."""
        digest = hashlib.sha256()
        starts = (self.pair_starts, self.group_starts)
        for values in (self.tokens, *starts, self.answer, self.prefix):
            digest.update(str(values.shape).encode())
            digest.update(values.tobytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Pairs that go through the model together, one after the other, the longest first.

    Attributes:
        pairs: Their numbers, (pairs,).
        lengths: Tokens of each, (pairs,), in descending order.
        ids: Token ids of all, (tokens,).
    """

    pairs: Ints
    lengths: Ints
    ids: Ints

    @property
    def starts(self) -> Ints:
        """Give where each pair begins, (pairs,)."""
        return _starts(self.lengths)[:-1]

    @property
    def places(self) -> Ints:
        """Give the place of each token in its pair, from 0, (tokens,)."""
        import numpy as np

        return np.arange(len(self.ids)) - np.repeat(self.starts, self.lengths)


def tokenise(
    groups: Iterable[Group], tokenizer: Any, *, max_tokens: int = MAX_TOKENS
) -> TokenisedGroups:
    """Turn groups into token ids, as :func:`~pathrag_gds.models.path_reranker.pair_ids` does.

    Args:
        groups: Read once; a stream will do.
        tokenizer: Of the library ``tokenizers``, with neither padding nor truncation.
        max_tokens: Of a pair; a longer one loses the end of its text.
    """
    import numpy as np

    small = tokenizer.get_vocab_size() <= np.iinfo(np.uint16).max + 1
    tokens = array("H" if small else "I")
    lengths: list[int] = []
    sizes: list[int] = []
    answer: list[float] = []
    prefix: list[float] = []
    sources: list[str] = []
    for group in groups:
        for ids in pair_ids(tokenizer, group.question, group.texts, max_tokens=max_tokens):
            tokens.extend(ids)
            lengths.append(len(ids))
        sizes.append(len(group.texts))
        answer += group.answer
        prefix += group.prefix
        sources.append(group.source)
    return TokenisedGroups(
        tokens=np.array(tokens),
        pair_starts=_starts(lengths),
        group_starts=_starts(sizes),
        answer=np.array(answer, np.float32),
        prefix=np.array(prefix, np.float32),
        sources=tuple(sources),
    )


def epoch_batches(
    data: TokenisedGroups, tokens: int, *, seed: int, epoch: int
) -> list[tuple[int, ...]]:
    """Cut all groups into batches of groups of similar length, in random order.

    Args:
        tokens: Most tokens of a batch; a group that has more is a batch of its own.
        seed: With ``epoch`` it settles everything.

    Returns:
        Numbers of groups; each group is in one batch.
    """
    import numpy as np

    random = Random(f"{seed}:{epoch}")
    order = list(range(len(data)))
    random.shuffle(order)
    totals = np.add.reduceat(data.lengths, data.group_starts[:-1]) if order else np.zeros(0)
    means = totals / (data.group_starts[1:] - data.group_starts[:-1])
    batches: list[tuple[int, ...]] = []
    for start in range(0, len(order), _POOL):
        pool = sorted(order[start : start + _POOL], key=lambda group: (means[group], group))
        batch: list[int] = []
        filled = 0
        for group in pool:
            if batch and filled + totals[group] > tokens:
                batches.append(tuple(batch))
                batch, filled = [], 0
            batch.append(group)
            filled += int(totals[group])
        batches.append(tuple(batch))
    random.shuffle(batches)
    return batches


def runs_of(data: TokenisedGroups, groups: Sequence[int], tokens: int) -> Iterator[Run]:
    """Cut the pairs of some groups into runs of similar length, longest first.

    Args:
        groups: Numbers of groups; none, no runs.
        tokens: Most tokens of a run; a longer pair is a run of its own.
    """
    import numpy as np

    numbers = [
        number
        for group in groups
        for number in range(int(data.group_starts[group]), int(data.group_starts[group + 1]))
    ]
    lengths = {
        number: int(data.pair_starts[number + 1] - data.pair_starts[number]) for number in numbers
    }
    numbers.sort(key=lambda number: (-lengths[number], number))
    start = 0
    while start < len(numbers):
        filled, end = 0, start
        while end < len(numbers) and (end == start or filled + lengths[numbers[end]] <= tokens):
            filled += lengths[numbers[end]]
            end += 1
        chosen = numbers[start:end]
        yield Run(
            pairs=np.array(chosen),
            lengths=np.array([lengths[number] for number in chosen]),
            ids=np.concatenate([data.pair(number) for number in chosen]).astype(np.int64),
        )
        start = end


def _starts(sizes: Sequence[int] | Ints) -> Ints:
    import numpy as np

    return np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))]).astype(np.int64)
