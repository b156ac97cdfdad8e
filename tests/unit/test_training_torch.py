"""Training with torch: the same function as transformers, exact resumption, and what is saved."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tokenizers import Tokenizer

from cli import cli
from pathrag_gds.errors import ConfigError, ModelError
from pathrag_gds.models.encoder import shipped_model
from pathrag_gds.models.export.bert import Bert, read_bert
from pathrag_gds.models.training import Group, TokenisedGroups, tokenise, write_groups
from pathrag_gds.models.training.base import Base, load_base, save_model
from pathrag_gds.models.training.batches import Run, runs_of
from pathrag_gds.models.training.network import Network
from pathrag_gds.models.training.trainer import (
    CHECKPOINT_FILE,
    REPORT_FILE,
    Progress,
    TrainingRecipe,
    group_loss,
    predict,
    train,
)

pytestmark = [
    pytest.mark.torch,
    # Warnings of torch, transformers and what they import are not ours to mend; those that our
    # calls cause are.
    pytest.mark.filterwarnings("ignore", "error:::pathrag_gds.models.training"),
]

HIDDEN, LAYERS, INNER = 32, 3, 64
WORDS = ["red", "blue", "green", "tall", "small", "old", "new", "wide", "long", "short"]


def some_groups(count: int) -> list[Group]:
    """Give groups whose right text holds the colour of the question."""
    groups = []
    for number in range(count):
        asked = WORDS[number % 3]
        wrong = [word for word in WORDS[:3] if word != asked]
        fill = " ".join(WORDS[3 + (number + n) % 7] for n in range(number % 11))
        texts = (f"{asked} {fill}", f"{wrong[0]} {fill} {fill}", f"{fill} {wrong[1]}")
        groups.append(
            Group(f"which {asked} {number}", texts, (1.0, 0.0, 0.0), (1.0, 0.0, 0.0), "colours")
        )
    return groups


@pytest.fixture(scope="module")
def base() -> Base:
    random = np.random.default_rng(0)
    tokenizer = (shipped_model() / "tokenizer.json").read_text(encoding="utf-8")

    def matrix(*shape: int) -> Any:
        return random.normal(0, 0.15, shape).astype(np.float32)

    tensors = {
        "embeddings.word_embeddings.weight": matrix(30522, HIDDEN),
        "embeddings.position_embeddings.weight": matrix(256, HIDDEN),
        "embeddings.token_type_embeddings.weight": matrix(2, HIDDEN),
        "pooler.dense.weight": matrix(HIDDEN, HIDDEN),
        "pooler.dense.bias": matrix(HIDDEN),
        "classifier.weight": matrix(2, HIDDEN),
        "classifier.bias": matrix(2),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
        sizes = {
            "attention.self.query": (HIDDEN, HIDDEN),
            "attention.self.key": (HIDDEN, HIDDEN),
            "attention.self.value": (HIDDEN, HIDDEN),
            "attention.output.dense": (HIDDEN, HIDDEN),
            "intermediate.dense": (INNER, HIDDEN),
            "output.dense": (HIDDEN, INNER),
        }
        for part, shape in sizes.items():
            tensors[f"{name}.{part}.weight"] = matrix(*shape)
            tensors[f"{name}.{part}.bias"] = matrix(shape[0])
    for norm in norms:
        tensors[f"{norm}.weight"] = 1 + matrix(HIDDEN)
        tensors[f"{norm}.bias"] = matrix(HIDDEN)
    bert = Bert(LAYERS, 4, HIDDEN, 1e-12, 2, tensors)
    return Base(bert, tokenizer, "tiny", 2e-3)


@pytest.fixture(scope="module")
def data(base: Base) -> TokenisedGroups:
    return tokenise(some_groups(60), Tokenizer.from_str(base.tokenizer))


@pytest.fixture(scope="module")
def folder(base: Base, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("saved")
    save_model(base.bert, base.tokenizer, path)
    return path


def recipe(**changes: Any) -> TrainingRecipe:
    settings: dict[str, Any] = {
        "steps": 20,
        "precision": "float32",
        "tokens_per_batch": 400,
        "threads": 1,
    }
    return TrainingRecipe(**(settings | {"learning_rate": 2e-3} | changes))


def padded(run: Run) -> tuple[Any, Any]:
    import torch

    ids = torch.zeros(len(run.pairs), int(run.lengths[0]), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, (start, length) in enumerate(zip(run.starts, run.lengths, strict=True)):
        ids[row, :length] = torch.from_numpy(run.ids[start : start + length])
        mask[row, :length] = 1
    return ids, mask


def test_logits_and_gradients_are_those_of_transformers(
    base: Base, data: TokenisedGroups, folder: Path
) -> None:
    import torch
    from transformers import BertForSequenceClassification

    (run,) = runs_of(data, range(60), 100_000)
    model = BertForSequenceClassification.from_pretrained(folder, attn_implementation="eager")
    model.train()  # there is no dropout in the folder
    ids, mask = padded(run)
    expected = model(input_ids=ids, attention_mask=mask).logits
    network = Network(base.bert, precision="float32", frozen_embeddings=False)
    found = network.logits(run)
    assert torch.allclose(found, expected, atol=1e-5)
    # The second type has the vector of the first, so tools that tell texts apart see no change.
    typed = model(input_ids=ids, attention_mask=mask, token_type_ids=mask).logits
    assert torch.allclose(typed, expected, atol=1e-6)

    direction = torch.randn(expected.shape, generator=torch.Generator().manual_seed(0))
    expected.backward(direction)
    found.backward(direction)
    network.clear()
    network.collect()
    gradients = network.gradients()
    compared = 0
    for name, parameter in model.named_parameters():
        mine = gradients[name.removeprefix("bert.")]
        if "token_type" in name:  # the two rows are one to us
            mine, theirs = mine[0], parameter.grad.sum(0)
        else:
            theirs = parameter.grad
        assert np.allclose(mine, theirs, atol=1e-4 * max(1, float(theirs.abs().max()))), name
        compared += 1
    assert compared == len(gradients)


def test_bfloat16_is_close(base: Base, data: TokenisedGroups) -> None:
    exact = predict(Network(base.bert, precision="float32"), data)
    rough = predict(Network(base.bert, precision="bfloat16"), data)
    assert 0 < np.abs(exact - rough).max() < 0.1 * np.abs(exact).max()


def test_a_network_gives_back_what_it_was_made_of(base: Base) -> None:
    given = Network(base.bert, precision="bfloat16").bert()
    assert given.tensors.keys() == base.bert.tensors.keys()
    for name, values in base.bert.tensors.items():
        assert np.array_equal(given.tensors[name], values), name


def test_an_encoder_gets_a_new_head(base: Base, tmp_path: Path) -> None:
    tensors = {
        name: values
        for name, values in base.bert.tensors.items()
        if not name.startswith(("pooler", "classifier"))
    }
    save_model(replace(base.bert, outputs=0, tensors=tensors), base.tokenizer, tmp_path)
    one, same, other = (load_base(tmp_path, seed=seed) for seed in (0, 0, 1))
    assert one.bert.outputs == 2
    assert one.learning_rate > load_learning_rate(base, tmp_path / "again")
    weight = one.bert.tensors["classifier.weight"]
    assert weight.shape == (2, HIDDEN)
    assert np.array_equal(weight, same.bert.tensors["classifier.weight"])
    assert not np.array_equal(weight, other.bert.tensors["classifier.weight"])


def load_learning_rate(base: Base, folder: Path) -> float:
    save_model(base.bert, base.tokenizer, folder)
    return load_base(folder).learning_rate


def test_folders_that_are_no_base(base: Base, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"neither model\.safetensors nor model\.onnx"):
        load_base(tmp_path)
    tensors = dict(base.bert.tensors)
    tensors["classifier.weight"] = tensors["classifier.weight"][:1]
    tensors["classifier.bias"] = tensors["classifier.bias"][:1]
    save_model(replace(base.bert, outputs=1, tensors=tensors), base.tokenizer, tmp_path)
    with pytest.raises(ModelError, match="1 outputs, not 2"):
        load_base(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelError, match="cannot be made float again"):
        load_base(tmp_path)


@pytest.mark.parametrize("quantised", [True, False])
def test_an_onnx_model_is_made_float_again(
    base: Base, data: TokenisedGroups, folder: Path, tmp_path: Path, quantised: bool
) -> None:
    from pathrag_gds.models.export import export_reranker
    from pathrag_gds.models.path_reranker import PathReranker, RerankerRecord

    export_reranker(folder, tmp_path, RerankerRecord("tiny"), quantised=quantised)
    again = load_base(tmp_path)
    logits = predict(Network(again.bert, precision="float32"), data)
    reranker = PathReranker(tmp_path)
    groups = some_groups(60)
    scores = np.array([s for g in groups for s in reranker.score(g.question, g.texts)])
    mine = 1 / (1 + np.exp(-logits.astype(np.float64)))
    assert np.abs(mine - scores).max() < (1e-2 if quantised else 1e-5)
    # Close to the origin, too: it is the weights that came back, not any that fit.
    for name in ("encoder.layer.1.output.dense.weight", "encoder.layer.1.attention.self.key.bias"):
        assert np.abs(again.bert.tensors[name] - base.bert.tensors[name]).max() < 0.05


def test_the_loss_of_groups() -> None:
    import torch

    logits = torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, -1.0], [2.0, 0.5], [0.0, 0.0]])
    labels = torch.tensor([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    members = [[0, 1], [2, 3, 4]]
    alone = group_loss(logits, labels, members, 0.0)
    bce = torch.nn.functional.binary_cross_entropy_with_logits
    assert alone.item() == pytest.approx(2 * bce(logits, labels).item())
    # One group competes: one right of two by answer, both right by prefix; each costs ln 2.
    whole = group_loss(logits, labels, members, 0.5)
    assert (whole - alone).item() == pytest.approx(0.5 * 2 * np.log(2), rel=1e-5)
    nothing = group_loss(logits, torch.zeros(5, 2), members, 1.0)
    assert nothing.item() == pytest.approx(2 * bce(logits, torch.zeros(5, 2)).item())


def test_training_learns_and_reports(base: Base, data: TokenisedGroups, tmp_path: Path) -> None:
    seen: list[Progress] = []
    outcome = train(base, data, tmp_path, recipe(steps=120), held_out=data, progress=seen.append)
    assert outcome.finished
    assert outcome.figures is not None
    assert outcome.figures.hit == 1
    assert outcome.calibration is not None
    assert [at.step for at in seen] == list(range(1, 121))
    assert seen[-1].share == 1
    assert seen[-1].loss < 0.5 * seen[0].loss
    assert not (tmp_path / CHECKPOINT_FILE).exists()
    report = json.loads((tmp_path / REPORT_FILE).read_text(encoding="utf-8"))
    assert report["data"]["sources"] == {"colours": 60}
    assert report["recipe"]["steps"] == 120
    assert report["training"]["steps"] == 120
    assert report["held_out"]["hit"] == 1
    assert report["held_out"]["sources"]["colours"]["groups"] == 60
    assert report["calibration"]["slope"] > 0
    assert 0 <= report["calibration"]["error_after"] <= 1
    bins = report["calibration"]["bins"]
    assert sum(found["count"] for found in bins) == 180
    assert set(bins[0]) == {"low", "high", "count", "confidence", "accuracy"}
    assert report["machine"]["threads"] == 1
    saved = load_base(tmp_path)
    logits = predict(Network(saved.bert, precision="float32"), data)
    best = [int(np.argmax(logits[3 * group : 3 * group + 3, 0])) for group in range(60)]
    assert best == [0] * 60
    # Frozen embeddings stay as they were, type rows aside.
    name = "embeddings.word_embeddings.weight"
    assert np.array_equal(saved.bert.tensors[name], base.bert.tensors[name])


def weights(folder: Path) -> dict[str, Any]:
    return read_bert(folder).tensors


def same_weights(one: Path, two: Path) -> bool:
    mine, theirs = weights(one), weights(two)
    return mine.keys() == theirs.keys() and all(
        np.array_equal(mine[name], theirs[name]) for name in mine
    )


def interrupt_at(step: int) -> Any:
    def watch(at: Progress) -> None:
        if at.step == step:
            os.kill(os.getpid(), signal.SIGINT)

    return watch


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_an_interrupted_run_goes_on_exactly(
    base: Base, data: TokenisedGroups, tmp_path: Path, precision: str
) -> None:
    straight, parted = tmp_path / "straight", tmp_path / "parted"
    how = recipe(precision=precision)
    train(base, data, straight, how)
    handler = signal.getsignal(signal.SIGINT)
    first = train(base, data, parted, how, progress=interrupt_at(9))
    assert signal.getsignal(signal.SIGINT) is handler
    # The signal comes between two batches, and the batch that follows is still learnt.
    assert (first.finished, first.step) == (False, 10)
    assert [path.name for path in parted.iterdir()] == [CHECKPOINT_FILE]
    second = train(base, data, parted, how, resume=True)
    assert (second.finished, second.step) == (True, 20)
    assert same_weights(straight, parted)
    assert not np.array_equal(
        weights(straight)["classifier.weight"], base.bert.tensors["classifier.weight"]
    )


def test_seeds_make_the_difference(base: Base, data: TokenisedGroups, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(base, data, tmp_path / name, recipe(steps=3, seed=seed))
    assert same_weights(tmp_path / "a", tmp_path / "b")
    assert not same_weights(tmp_path / "a", tmp_path / "c")


def test_blended_weights_lie_between_the_base_and_what_was_learnt(
    base: Base, data: TokenisedGroups, tmp_path: Path
) -> None:
    train(base, data, tmp_path / "learnt", recipe())
    train(base, data, tmp_path / "blended", recipe(blend=0.25))
    # An encoder's types are both saved as the first, so they are no measure.
    types = "embeddings.token_type_embeddings.weight"
    learnt, blended = weights(tmp_path / "learnt"), weights(tmp_path / "blended")
    for name in learnt.keys() - {types}:
        start = base.bert.tensors[name]
        assert blended[name] == pytest.approx(0.75 * start + 0.25 * learnt[name], abs=1e-6), name


def test_a_checkpoint_is_neither_overwritten_nor_mixed_up(
    base: Base, data: TokenisedGroups, tmp_path: Path
) -> None:
    train(base, data, tmp_path, recipe(), progress=interrupt_at(1))
    with pytest.raises(ConfigError, match="not finished") as caught:
        train(base, data, tmp_path, recipe())
    assert "--resume" in caught.value.hint
    with pytest.raises(ConfigError, match="differs in: learning_rate"):
        train(base, data, tmp_path, recipe(learning_rate=1e-3), resume=True)
    with pytest.raises(ConfigError, match="differs in: data"):
        train(base, data.subset(range(50)), tmp_path, recipe(), resume=True)
    with pytest.raises(ConfigError, match="differs in: base"):
        train(replace(base, name="other"), data, tmp_path, recipe(), resume=True)
    with pytest.raises(ConfigError, match="no checkpoint"):
        train(base, data, tmp_path / "absent", recipe(), resume=True)
    (tmp_path / CHECKPOINT_FILE).write_bytes(b"damaged")
    with pytest.raises(ModelError, match="damaged"):
        train(base, data, tmp_path, recipe(), resume=True)


def test_a_run_ends_after_its_minutes(base: Base, data: TokenisedGroups, tmp_path: Path) -> None:
    how = recipe(steps=None, minutes=0.02, evaluate_every=0.005, keep="best")
    seen: list[Progress] = []
    outcome = train(base, data, tmp_path, how, held_out=data, progress=seen.append)
    assert outcome.finished
    assert 1.2 <= outcome.seconds < 30
    assert any(at.figures for at in seen)
    report = json.loads((tmp_path / REPORT_FILE).read_text(encoding="utf-8"))
    best = max(entry["hit"] for entry in report["training"]["history"])
    assert report["held_out"]["hit"] == best


def test_each_group_is_seen_once_an_epoch(
    base: Base, data: TokenisedGroups, tmp_path: Path
) -> None:
    train(base, data, tmp_path, recipe(steps=None, epochs=2))
    report = json.loads((tmp_path / REPORT_FILE).read_text(encoding="utf-8"))
    assert report["training"]["pairs"] == 2 * data.pairs
    assert report["training"]["epochs"] == 2


def test_a_loss_that_is_no_number_ends_the_run(
    base: Base, data: TokenisedGroups, tmp_path: Path
) -> None:
    broken = dict(base.bert.tensors)
    broken["classifier.bias"] = np.array([np.nan, 0], np.float32)
    with pytest.raises(ModelError, match="The loss is nan after 0 batches"):
        train(replace(base, bert=replace(base.bert, tensors=broken)), data, tmp_path, recipe())


def test_nothing_to_learn_from(base: Base, data: TokenisedGroups, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no group"):
        train(base, data.subset([]), tmp_path, recipe())


def test_the_command(folder: Path, tmp_path: Path) -> None:
    write_groups(tmp_path / "groups.jsonl", some_groups(200))
    output = tmp_path / "model"
    arguments = ["train", "--data", str(tmp_path / "groups.jsonl"), "--output", str(output)]
    arguments += ["--from", str(folder), "--steps", "2", "--threads", "1", "--json"]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["batches"] == 2
    assert facts["hit"] is not None
    report = json.loads((output / REPORT_FILE).read_text(encoding="utf-8"))
    assert report["recipe"]["learning_rate"] == 5e-5
    assert report["data"]["groups"] + report["held_out"]["groups"] == 200
    again = CliRunner().invoke(cli, [*arguments, "--resume"])
    assert again.exit_code == 2
    assert "no checkpoint" in again.stderr
