"""The export of rerankers: the float graph is the model, the 8-bit graph is near it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pathrag_gds.errors import ModelError
from pathrag_gds.models.export import (
    calibrate,
    export,
    export_reranker,
    read_bert,
    sample_pairs,
    shipped_pairs,
)
from pathrag_gds.models.export.__main__ import main
from pathrag_gds.models.onnx_model import OnnxModel
from pathrag_gds.models.path_reranker import PathReranker, RerankerRecord, pair_ids
from pathrag_gds.models.training.groups import Group, write_groups
from tests.tiny_bert import random_bert

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_bert(tmp_path_factory.mktemp("weights"))


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory, weights: Path) -> Path:
    folder = tmp_path_factory.mktemp("float")
    export_reranker(weights, folder, RerankerRecord("exact"), quantised=False)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, weights: Path) -> Path:
    folder = tmp_path_factory.mktemp("int8")
    export_reranker(weights, folder, RerankerRecord("whole", version="7"))
    return folder


def logits(weights: Path, ids: Sequence[int]) -> Array:
    """Run a BERT classifier over one text as the paper has it, all rows of all layers."""
    bert = read_bert(weights)
    tensors: Mapping[str, Any] = {k: v.astype(np.float64) for k, v in bert.tensors.items()}

    def linear(x: Array, name: str) -> Array:
        return np.asarray(x @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"])

    def norm(x: Array, name: str) -> Array:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + bert.epsilon)
        return np.asarray(x * tensors[f"{name}.weight"] + tensors[f"{name}.bias"])

    def split(x: Array) -> Array:
        return x.reshape(len(ids), bert.heads, -1).transpose(1, 0, 2)

    table = "embeddings.{}_embeddings.weight".format
    x = tensors[table("word")][list(ids)] + tensors[table("position")][: len(ids)]
    x = norm(x + tensors[table("token_type")][0], "embeddings.LayerNorm")
    for layer in range(bert.layers):
        name = f"encoder.layer.{layer}"
        q, k, v = (
            split(linear(x, f"{name}.attention.self.{p}")) for p in ("query", "key", "value")
        )
        weight = np.exp(q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1]))
        context = (weight / weight.sum(-1, keepdims=True)) @ v
        context = context.transpose(1, 0, 2).reshape(len(ids), -1)
        x = norm(
            x + linear(context, f"{name}.attention.output.dense"),
            f"{name}.attention.output.LayerNorm",
        )
        inner = linear(x, f"{name}.intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(x + linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    return linear(np.tanh(linear(x[0], "pooler.dense")), "classifier")


def inputs(folder: Path, texts: Sequence[tuple[str, str]]) -> list[list[int]]:
    tokenizer = OnnxModel(folder, output="logits").tokenizer
    return [pair_ids(tokenizer, question, [text])[0] for question, text in texts]


PAIRS = [*shipped_pairs()[::5], ("", ""), ("who", ""), ("", "cat " * 400), ("q " * 120, "x " * 300)]


def test_float_graph_is_the_classifier(weights: Path, exact: Path) -> None:
    ids = inputs(exact, PAIRS)
    expected = [logits(weights, row) for row in ids]
    assert np.std(expected, axis=0).min() > 0.3
    found = OnnxModel(exact, output="logits").run(ids)
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=0)


def test_eight_bits_are_near_float(exact: Path, whole: Path) -> None:
    texts = [f"{question} {text}" for question, text in shipped_pairs()]
    one = PathReranker(exact).score("where is it now", texts)
    other = PathReranker(whole).score("where is it now", texts)
    answers = np.array([[s.answer for s in scores] for scores in (one, other)])
    assert np.abs(answers[0] - answers[1]).max() < 0.1
    assert np.corrcoef(answers)[0, 1] > 0.99


def test_the_folder_is_whole(whole: Path) -> None:
    assert {path.name for path in whole.iterdir()} == {
        "model.onnx",
        "tokenizer.json",
        "reranker.json",
    }
    assert RerankerRecord.read(whole) == RerankerRecord("whole", version="7")


def test_same_arguments_give_the_same_bytes(tmp_path: Path, weights: Path, whole: Path) -> None:
    export_reranker(weights, tmp_path, RerankerRecord("whole", version="7"))
    for path in whole.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_pairs_decide_how_weights_are_rounded(tmp_path: Path, weights: Path, whole: Path) -> None:
    export_reranker(weights, tmp_path, RerankerRecord("x"), pairs=[("who", "Ada is a Person.")] * 3)
    assert PathReranker(tmp_path).fingerprint != PathReranker(whole).fingerprint


def test_the_last_layer_works_for_one_token_alone(exact: Path) -> None:
    import onnx

    nodes = list(onnx.load(exact / "model.onnx").graph.node)
    attention = [n for n in nodes if n.op_type == "MultiHeadAttention"]
    made_by = {output: node.op_type for node in nodes for output in node.output}
    assert [made_by[n.input[0]] for n in attention] == ["Reshape", "Unsqueeze"]


def test_one_layer_is_enough(tmp_path: Path) -> None:
    weights = random_bert(tmp_path / "weights", layers=1, seed=5)
    export_reranker(weights, tmp_path / "out", RerankerRecord("one"), quantised=False)
    ids = inputs(tmp_path / "out", PAIRS[:4])
    found = OnnxModel(tmp_path / "out", output="logits").run(ids)
    expected = [logits(weights, row) for row in ids]
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=0)


def test_statistics_do_not_depend_on_the_block(
    weights: Path, exact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bert = read_bert(weights)
    ids = inputs(exact, PAIRS[:9])
    expected = calibrate(bert, ids).statistics
    monkeypatch.setattr("pathrag_gds.models.export.run._TOKENS_PER_BLOCK", 90)
    found = calibrate(bert, ids).statistics
    assert found.keys() == expected.keys() >= {"pooler.dense", "encoder.layer.1.output.dense"}
    for site, statistics in expected.items():
        np.testing.assert_array_equal(found[site].top, statistics.top)
        np.testing.assert_allclose(found[site].gram, statistics.gram, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("outputs", [0, 1, 3])
def test_a_reranker_has_two_outputs(tmp_path: Path, outputs: int) -> None:
    weights = random_bert(tmp_path / "weights", layers=1, hidden=8, heads=2, outputs=outputs)
    with pytest.raises(ModelError, match=f"{outputs} outputs, not 2"):
        export_reranker(weights, tmp_path / "out", RerankerRecord("x"))
    assert not (tmp_path / "out").exists()


def test_an_encoder_has_no_classifier(tmp_path: Path, weights: Path) -> None:
    with pytest.raises(ModelError, match="is a classifier, not an encoder"):
        export(weights, tmp_path / "out")


def test_weights_without_a_tokenizer_are_refused(tmp_path: Path) -> None:
    weights = random_bert(tmp_path, layers=1, hidden=8, heads=2)
    (weights / "tokenizer.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelError, match=r"no readable tokenizer\.json"):
        export_reranker(weights, tmp_path / "out", RerankerRecord("x"))


def test_an_encoder_can_be_exported_without_its_weights_being_installed(tmp_path: Path) -> None:
    from pathrag_gds.models.encoder import OnnxEncoder

    weights = random_bert(tmp_path / "weights", layers=1, outputs=0)
    assert main(["--weights", str(weights), "--output", str(tmp_path / "out")]) == 0
    assert OnnxEncoder(tmp_path / "out").encode(["cat", "dog"]).shape == (2, 32)


def test_the_command_makes_a_reranker_of_a_classifier(
    tmp_path: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    groups = [group(number) for number in range(6)]
    write_groups(tmp_path / "groups.jsonl", groups)
    arguments = ["--weights", str(weights), "--output", str(tmp_path / "tiny"), "--base", "random"]
    arguments += ["--groups", str(tmp_path / "groups.jsonl"), "--trained-on", "a", "--trained-on=b"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith(str(tmp_path / "tiny" / "model.onnx"))
    record = RerankerRecord.read(tmp_path / "tiny")
    assert (record.name, record.base, record.trained_on) == ("tiny", "random", ("a", "b"))
    assert record.created.count("-") == 2
    other = tmp_path / "other"
    export_reranker(weights, other, RerankerRecord("other"), pairs=sample_pairs(groups))
    assert (other / "model.onnx").read_bytes() == (tmp_path / "tiny/model.onnx").read_bytes()


def test_the_command_says_what_is_wrong(
    tmp_path: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--weights", str(weights), "--output", str(tmp_path / "out")]
    assert main([*arguments, "--groups", str(tmp_path / "absent.jsonl")]) != 0
    assert "absent.jsonl" in capsys.readouterr().err


def group(number: int) -> Group:
    texts = (f"wrong {number}", f"right {number}", f"bad {number}")
    return Group(f"question {number}", texts, (0.0, 1.0, 0.0), (0.0, 1.0, 0.0))


def test_a_sample_has_the_right_text_and_a_wrong_one_of_each_group() -> None:
    pairs = sample_pairs(group(number) for number in range(5))
    assert [question for question, _ in pairs] == [f"question {n // 2}" for n in range(10)]
    assert [text for _, text in pairs[::2]] == [f"right {n}" for n in range(5)]
    assert all(text.startswith(("wrong", "bad")) for _, text in pairs[1::2])


def test_a_sample_is_drawn_from_all_groups_and_always_the_same() -> None:
    groups = [group(number) for number in range(300)]
    pairs = sample_pairs(groups, count=40)
    assert len(pairs) == 40
    assert len({question for question, _ in pairs}) == 20
    assert max(int(question.split()[1]) for question, _ in pairs) > 200
    assert pairs == sample_pairs(iter(groups), count=40)
    assert pairs != sample_pairs(groups, count=40, seed=1)


def test_a_group_without_a_right_text_gives_two_pairs() -> None:
    none = Group("q", ("a", "b"), (0.0, 0.0), (0.0, 0.0))
    assert sample_pairs([none]) == [("q", "a"), ("q", "b")]
    assert sample_pairs([]) == []


def test_shipped_pairs_are_right_and_wrong_in_turn() -> None:
    pairs = shipped_pairs()
    assert len(pairs) == 120
    assert [pairs[n][0] for n in range(0, 120, 2)] == [pairs[n][0] for n in range(1, 120, 2)]
    assert [text for _, text in pairs[1:-2:2]] == [text for _, text in pairs[2::2]]
    assert all(question and text and text.isprintable() for question, text in pairs)
    assert json.dumps(pairs, ensure_ascii=True)
