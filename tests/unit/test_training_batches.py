"""Groups as token ids, and how they are cut into batches and runs."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from tokenizers import Tokenizer

from pathrag_gds.models.encoder import shipped_model
from pathrag_gds.models.training import Group, TokenisedGroups, is_held_out, tokenise
from pathrag_gds.models.training.batches import epoch_batches, runs_of

GROUPS = [
    Group("who?", ("Bob.", "Anna is a cat."), (1.0, 0.0), (1.0, 0.5), "a"),
    Group("where?", ("x", "y", "z z z"), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), "b"),
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(Path(shipped_model()) / "tokenizer.json"))


def some_groups(count: int) -> list[Group]:
    random = Random(0)
    return [_group(number, random) for number in range(count)]


def _group(number: int, random: Random) -> Group:
    texts = tuple("word " * random.randint(1, 80) for _ in range(random.randint(2, 9)))
    labels = (1.0, *[0.0] * (len(texts) - 1))
    return Group(f"question {number}?", texts, labels, labels, f"source {number % 2}")


@pytest.fixture(scope="module")
def data(tokenizer: Tokenizer) -> TokenisedGroups:
    return tokenise(some_groups(300), tokenizer)


def test_tokens_and_labels_of_each_pair(tokenizer: Tokenizer) -> None:
    data = tokenise(iter(GROUPS), tokenizer)
    assert (len(data), data.pairs) == (2, 5)
    assert tokenizer.decode(data.pair(1).tolist(), skip_special_tokens=False) == (
        "[CLS] who? [SEP] anna is a cat. [SEP]"
    )
    assert data.lengths.tolist() == [7, 10, 6, 6, 8]
    assert data.group_starts.tolist() == [0, 2, 5]
    assert data.answer.tolist() == [1, 0, 0, 0, 0]
    assert data.prefix.tolist() == [1, 0.5, 0, 0, 1]
    assert data.counts() == {"a": 1, "b": 1}
    assert data.tokens.dtype == np.uint16


def test_a_long_pair_loses_the_end_of_its_text(tokenizer: Tokenizer) -> None:
    group = Group("q " * 300, ("t " * 300, "t"), (0.0, 0.0), (0.0, 0.0))
    data = tokenise([group], tokenizer, max_tokens=120)
    assert data.lengths.tolist() == [120, 100]
    assert data.pair(0)[[0, 97, 119]].tolist() == [101, 102, 102]


def test_a_subset_keeps_what_belongs_together(data: TokenisedGroups) -> None:
    part = data.subset([7, 3])
    assert part.sources == (data.sources[7], data.sources[3])
    first = int(data.group_starts[3])
    place = int(part.group_starts[1])
    assert part.pair(place).tolist() == data.pair(first).tolist()
    assert part.pairs == sum(data.group_starts[g + 1] - data.group_starts[g] for g in (7, 3))
    assert len(data.subset([])) == 0


def test_the_fingerprint_tells_data_apart(tokenizer: Tokenizer) -> None:
    one, same = tokenise(GROUPS, tokenizer), tokenise(GROUPS, tokenizer)
    assert one.fingerprint() == same.fingerprint()
    assert one.fingerprint() != tokenise(GROUPS[::-1], tokenizer).fingerprint()


def test_an_epoch_holds_each_group_once_in_batches_of_bounded_size(data: TokenisedGroups) -> None:
    batches = epoch_batches(data, 4096, seed=3, epoch=0)
    assert sorted(group for batch in batches for group in batch) == list(range(300))
    totals = [
        sum(int(data.pair_starts[e] - data.pair_starts[s]) for s, e in _bounds(data, batch))
        for batch in batches
    ]
    assert max(totals) <= 4096
    assert np.median(totals) > 3500


def _bounds(data: TokenisedGroups, batch: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(int(data.group_starts[g]), int(data.group_starts[g + 1])) for g in batch]


def test_the_order_depends_on_seed_and_epoch_alone(data: TokenisedGroups) -> None:
    first = epoch_batches(data, 4096, seed=3, epoch=0)
    assert first == epoch_batches(data, 4096, seed=3, epoch=0)
    assert first != epoch_batches(data, 4096, seed=3, epoch=1)
    assert first != epoch_batches(data, 4096, seed=4, epoch=0)


def test_no_groups_no_batches(tokenizer: Tokenizer) -> None:
    assert epoch_batches(tokenise([], tokenizer), 4096, seed=0, epoch=0) == []


def test_a_group_beyond_the_budget_is_a_batch_of_its_own(data: TokenisedGroups) -> None:
    batches = epoch_batches(data, 10, seed=0, epoch=0)
    assert sorted(batches) == [(group,) for group in range(300)]


def test_runs_hold_each_pair_once_the_longest_first(data: TokenisedGroups) -> None:
    runs = list(runs_of(data, [5, 2, 9], 300))
    pairs = np.concatenate([run.pairs for run in runs])
    expected = [n for s, e in _bounds(data, (5, 2, 9)) for n in range(s, e)]
    assert sorted(pairs.tolist()) == sorted(expected)
    lengths = np.concatenate([run.lengths for run in runs])
    assert lengths.tolist() == sorted(data.lengths[expected].tolist(), reverse=True)
    for run in runs:
        assert len(run.ids) == run.lengths.sum() <= 300
        for pair, start, length in zip(run.pairs, run.starts, run.lengths, strict=True):
            assert run.ids[start : start + length].tolist() == data.pair(int(pair)).tolist()
            assert run.places[start : start + length].tolist() == list(range(length))


def test_a_pair_beyond_the_budget_is_a_run_of_its_own(data: TokenisedGroups) -> None:
    assert all(len(run.pairs) == 1 for run in runs_of(data, [1], 1))
    assert list(runs_of(data, [], 100)) == []


def test_a_question_is_held_out_with_all_its_groups() -> None:
    groups = [Group(f"question {n}", ("a", "b"), (0.0, 0.0), (0.0, 0.0)) for n in range(5000)]
    held_out = [group for group in groups if is_held_out(group)]
    assert 70 < len(held_out) < 130
    other = Group(held_out[0].question, ("c", "d"), (1.0, 0.0), (1.0, 0.0))
    assert is_held_out(other)
