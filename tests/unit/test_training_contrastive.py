"""Pairs that teach the encoder, and the training with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from pathrag_gds.models.export.bert import read_bert
from pathrag_gds.models.training.contrastive import (
    event_choices,
    lexicon_pairs,
    train_encoder,
)
from pathrag_gds.models.training.lexicon import (
    Attribute,
    Frame,
    Lexicon,
    RelationWords,
    Thing,
    load_lexicon,
)
from tests.tiny_bert import random_bert

NAMES: Mapping[str, dict[str, list[str]]] = {"person": {"first": ["Ada", "Ben"]}}
SPILL = Frame(
    kind="spill",
    roles={"agent": ("person",), "patient": ("drink",)},
    fillers={"patient": ("milk",)},
    titles=("a wet floor",),
    descriptions=("{agent} sees {patient} run to {place}.",),
    clauses=("{patient} was spilled",),
    did=("{agent} spill {patient}",),
    nominals=("the {patient.bare} spill",),
)
MARRIED = RelationWords(
    types=("spouse",),
    inverse_types=(),
    source=Thing("person", (("person", "people"),)),
    target=Thing("person", (("person", "people"),)),
    to_target=("whom {x} wed",),
    to_source=("whom {x} wed",),
    ask_target=("who wed {x}",),
    ask_source=("who wed {x}",),
    share_source=(),
    share_target=(),
    many_targets=False,
    many_sources=False,
    symmetric=True,
)
FUR = Attribute(("fur color",), ("animal",), ("grey",), ("what fur has {x}",), ())
SMALL = Lexicon((MARRIED,), (SPILL,), (), (FUR,), (), NAMES)


def test_pairs_of_each_part_of_the_lexicon() -> None:
    pairs = {pair.kind: pair for pair in lexicon_pairs(SMALL, 3, Random(1))}
    assert sorted(pairs) == ["attribute fur color", "event spill", "relation spouse person person"]
    who, other = (
        ("Ada", "Ben") if "Ada" in pairs["attribute fur color"].question else ("Ben", "Ada")
    )
    assert pairs["attribute fur color"].question == f"what fur has {who}"
    assert pairs["attribute fur color"].text == f"{who}'s fur color is grey."
    told = pairs["relation spouse person person"]
    assert told.question in (f"whom {who} wed", f"who wed {who}")
    assert told.text == f"{who} spouse person B. The answer is person B."
    event = pairs["event spill"]
    assert event.text in (
        f"a wet floor. {who} sees the milk run to the hall.",
        f"a wet floor is a event. {who} sees the milk run to the hall.",
    )
    assert other not in event.question + event.text


def test_pairs_of_the_lexicon_differ_in_kind_and_not_in_names() -> None:
    lexicon = load_lexicon()
    pairs = lexicon_pairs(lexicon, 96, Random(7))
    assert len(pairs) == len({pair.kind for pair in pairs}) == 96
    assert not [p for p in pairs if "{" in p.question + p.text or "someone" in p.question]
    assert pairs == lexicon_pairs(lexicon, 96, Random(7))
    kinds = [pair.kind.split()[0] for pair in pairs]
    assert kinds.count("event") > kinds.count("relation") > kinds.count("attribute") > 0


def test_choices_hold_the_meant_text_first() -> None:
    lexicon = load_lexicon()
    choices = event_choices(lexicon, 20, Random(3))
    assert {len(texts) for _, texts in choices} == {20}
    alone = event_choices(replace(lexicon, frames=(SPILL,)), 1, Random(3))
    assert "milk" in alone[0][0]
    assert len(alone[0][1]) == 1
    assert "milk" in alone[0][1][0]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore", "error:::pathrag_gds.models.training")
def test_training_moves_the_weights_and_writes_an_encoder(tmp_path: Path) -> None:
    base = random_bert(tmp_path / "base", outputs=0)
    out = tmp_path / "out"
    before, after = train_encoder(out, minutes=0.02, base=base, learning_rate=1e-2)
    assert 0 <= before <= 1
    assert 0 <= after <= 1
    name = "encoder.layer.0.output.dense.weight"
    written = read_bert(out)
    assert written.outputs == 0
    assert np.abs(written.tensors[name] - read_bert(base).tensors[name]).max() > 1e-4
    assert (out / "tokenizer.json").is_file()
