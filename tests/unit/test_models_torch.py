"""The shipped encoder against its float32 origin, and the sentence-transformers back ends."""

from __future__ import annotations

import math
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pathrag_gds.errors import ModelError
from pathrag_gds.models.encoder import OnnxEncoder, load_encoder, shipped_model
from pathrag_gds.models.onnx_model import OnnxModel
from pathrag_gds.models.path_reranker import PathReranker, RerankerRecord, pair_ids
from pathrag_gds.models.reranker import (
    CachedReranker,
    CrossEncoderReranker,
    PathScore,
    load_reranker,
)
from tests.benchmarks.sentences import PAIRS, SENTENCES
from tests.tiny_bert import with_random_head

pytestmark = [
    pytest.mark.torch,
    # Warnings of torch, transformers and what they import are not ours to mend; those that our
    # calls cause are.
    pytest.mark.filterwarnings(
        "ignore",
        "error:::pathrag_gds.models.sentence_transformer",
        "error:::pathrag_gds.models.reranker",
    ),
]


@pytest.fixture(scope="module")
def weights() -> Path:
    from pathrag_gds.models.export import default_weights

    return default_weights()


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a local model reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def cross_encoder(folder: Path, weights: Path, outputs: int) -> Path:
    """Write a tiny random BERT classifier with the tokenizer of the encoder."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.manual_seed(outputs)
    config = BertConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        num_labels=outputs,
        # Wide enough that random outputs differ by far more than rounding.
        initializer_range=0.5,
    )
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    BertTokenizerFast.from_pretrained(weights).save_pretrained(folder)
    return folder


def logits(folder: Path, question: str, texts: list[str]) -> list[list[float]]:
    """Run the classifier by transformers alone, one pair at a time (lists, or "" is no pair)."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return [
            model(**tokenizer([question], [text], return_tensors="pt")).logits[0].tolist()
            for text in texts
        ]


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def test_float_graph_equals_sentence_transformers(tmp_path: Path, weights: Path) -> None:
    from pathrag_gds.models.export import export

    export(weights, tmp_path, quantised=False)
    texts = [*SENTENCES, "", "word " * 600]
    ours = OnnxEncoder(tmp_path).encode(texts)
    theirs = load_encoder(str(weights)).encode(texts)
    np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=0)


def test_shipped_model_agrees_with_float(weights: Path) -> None:
    ours = OnnxEncoder().encode(SENTENCES)
    theirs = load_encoder(str(weights)).encode(SENTENCES)
    agreement = (ours * theirs).sum(axis=1)
    assert agreement.mean() >= 0.997
    assert agreement.min() >= 0.99


def test_shipped_model_ranks_pairs_as_float_does(weights: Path) -> None:
    def ranks(encoder: Any) -> np.ndarray:
        left = encoder.encode([pair.left for pair in PAIRS])
        right = encoder.encode([pair.right for pair in PAIRS])
        return np.argsort(np.argsort((left * right).sum(axis=1)))

    correlation = np.corrcoef(ranks(OnnxEncoder()), ranks(load_encoder(str(weights))))[0, 1]
    assert correlation >= 0.99


def test_exporting_again_gives_the_same_encoder(tmp_path: Path, weights: Path) -> None:
    from pathrag_gds.models.export.__main__ import main

    assert main(["--output", str(tmp_path), "--weights", str(weights)]) == 0
    assert (tmp_path / "model.onnx").stat().st_size <= 25_000_000
    again = OnnxEncoder(tmp_path).encode(SENTENCES)
    # Another processor may sum in another order and round a few weights the other way.
    assert (again * OnnxEncoder().encode(SENTENCES)).sum(axis=1).min() >= 0.99
    assert OnnxEncoder(tmp_path).count_tokens("hello world") == 4


def test_the_graph_of_the_shipped_encoder_is_what_the_export_builds(weights: Path) -> None:
    import onnx

    from pathrag_gds.models.export import calibrate, read_bert
    from pathrag_gds.models.export.graph import build_model

    # Any calibration will do: it decides numbers, not operators.
    again = build_model(read_bert(weights), calibrate(read_bert(weights), [[101, 4937, 102]]))
    shipped = onnx.load(shipped_model() / "model.onnx")
    assert list(again.graph.node) == list(shipped.graph.node)
    assert [t.name for t in again.graph.initializer] == [t.name for t in shipped.graph.initializer]


def test_float_reranker_equals_transformers(tmp_path: Path, weights: Path) -> None:
    from pathrag_gds.models.export import export_reranker, shipped_pairs

    folder = with_random_head(weights, tmp_path / "weights", seed=3)
    export_reranker(folder, tmp_path / "float", RerankerRecord("float"), quantised=False)
    model = OnnxModel(tmp_path / "float", output="logits")
    pairs = [*shipped_pairs()[::3], ("", ""), ("", "x"), ("who", "")]
    ids = [pair_ids(model.tokenizer, question, [text])[0] for question, text in pairs]
    expected = [logits(folder, question, [text])[0] for question, text in pairs]
    assert np.std(expected, axis=0).min() > 0.1
    np.testing.assert_allclose(model.run(ids), expected, atol=1e-4, rtol=0)


def test_path_reranker_scores_as_a_cross_encoder_of_its_weights(
    tmp_path: Path, weights: Path
) -> None:
    from pathrag_gds.models.export import export_reranker

    folder = with_random_head(weights, tmp_path / "weights", seed=4)
    export_reranker(folder, tmp_path / "float", RerankerRecord("float"), quantised=False)
    export_reranker(folder, tmp_path / "int8", RerankerRecord("int8"))
    texts = [*TEXTS, *SENTENCES]
    theirs = CrossEncoderReranker(folder).score(QUESTION, texts)
    exact = PathReranker(tmp_path / "float").score(QUESTION, texts)
    whole = PathReranker(tmp_path / "int8").score(QUESTION, texts)
    np.testing.assert_allclose(exact, theirs, atol=1e-5, rtol=0)
    np.testing.assert_allclose(whole, theirs, atol=0.03, rtol=0)
    assert (tmp_path / "int8" / "model.onnx").stat().st_size <= 25_000_000


def test_export_refuses_what_is_no_bert(tmp_path: Path) -> None:
    from pathrag_gds.models.export.__main__ import main

    assert main(["--output", str(tmp_path / "out"), "--weights", str(tmp_path)]) == 7
    assert not (tmp_path / "out").exists()


def test_encoder_by_path_works_without_network(weights: Path, no_network: None) -> None:
    encoder = load_encoder(str(weights))
    assert (encoder.dimension, encoder.max_tokens) == (384, 256)
    assert encoder.name == str(weights)
    assert encoder.count_tokens("hello world") == 4
    seen: list[tuple[int, int]] = []
    texts = ["", "Zoë", "\ud800", "cat " * 900]
    vectors = encoder.encode(texts, progress=lambda done, total: seen.append((done, total)))
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert seen == [(4, 4)]
    assert encoder.encode([]).shape == (0, 384)


def test_encoder_by_path_has_a_stable_fingerprint_of_its_own(weights: Path) -> None:
    first, second = load_encoder(str(weights)), load_encoder(str(weights))
    assert first.fingerprint == second.fingerprint
    assert first.fingerprint != OnnxEncoder().fingerprint


def test_encoder_by_path_serves_many_threads(weights: Path) -> None:
    encoder = load_encoder(str(weights))
    expected = encoder.encode(SENTENCES[:8])
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(encoder.encode, [SENTENCES[:8]] * 8):
            np.testing.assert_allclose(vectors, expected, atol=1e-5, rtol=0)


def test_a_folder_that_is_no_model_is_named(tmp_path: Path, no_network: None) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match=tmp_path.name):
        load_encoder(str(tmp_path))
    with pytest.raises(ModelError, match=tmp_path.name):
        CrossEncoderReranker(tmp_path)


QUESTION = "Where does the cat live?"
TEXTS = [
    "The cat lives in Elmford. Elmford is a village by the river. ||| Elmford: old, small, quiet.",
    "Stocks fell.",
    "",
    "The cat lives in Elmford.",
    "Stocks fell.",
]


def test_one_output_gives_both_values(tmp_path: Path, weights: Path, no_network: None) -> None:
    folder = cross_encoder(tmp_path, weights, outputs=1)
    scores = CrossEncoderReranker(folder).score(QUESTION, TEXTS)
    expected = [sigmoid(row[0]) for row in logits(folder, QUESTION, TEXTS)]
    assert [s.answer for s in scores] == pytest.approx(expected, abs=2e-6)
    assert [s.prefix for s in scores] == [s.answer for s in scores]
    assert len({s.answer for s in scores}) == 4


def test_two_outputs_are_answer_and_prefix(tmp_path: Path, weights: Path) -> None:
    folder = cross_encoder(tmp_path, weights, outputs=2)
    reranker = load_reranker(str(folder), OnnxEncoder())
    assert isinstance(reranker, CachedReranker)
    scores = reranker.score(QUESTION, TEXTS)
    expected = [[sigmoid(v) for v in row] for row in logits(folder, QUESTION, TEXTS)]
    assert [s.answer for s in scores] == pytest.approx([row[0] for row in expected], abs=2e-6)
    assert [s.prefix for s in scores] == pytest.approx([row[1] for row in expected], abs=2e-6)
    assert all(value == round(value, 6) for score in scores for value in score)
    assert (reranker.hits, reranker.misses) == (0, 4)
    assert reranker.score(QUESTION, TEXTS) == scores
    assert (reranker.hits, reranker.misses) == (4, 4)


def test_cross_encoder_scores_alone_as_in_company(tmp_path: Path, weights: Path) -> None:
    reranker = CrossEncoderReranker(cross_encoder(tmp_path, weights, outputs=2), batch_size=2)
    together = reranker.score(QUESTION, TEXTS)
    for text, score in zip(TEXTS, together, strict=True):
        (alone,) = reranker.score(QUESTION, [text])
        assert alone == pytest.approx(score, abs=2e-6)
    assert reranker.score(QUESTION, []) == []
    assert isinstance(together[0], PathScore)


def test_cross_encoder_with_three_outputs_is_refused(tmp_path: Path, weights: Path) -> None:
    folder = cross_encoder(tmp_path, weights, outputs=3)
    with pytest.raises(ModelError, match="3 outputs"):
        CrossEncoderReranker(folder)


def test_fingerprints_of_cross_encoders_differ_by_weights(tmp_path: Path, weights: Path) -> None:
    one = CrossEncoderReranker(cross_encoder(tmp_path / "1", weights, outputs=1))
    again = CrossEncoderReranker(tmp_path / "1")
    two = CrossEncoderReranker(cross_encoder(tmp_path / "2", weights, outputs=2))
    assert one.fingerprint == again.fingerprint != two.fingerprint
