"""The shipped encoder: right, the same in any company, safe in threads, clear when it fails."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pathrag_gds.errors import MissingExtra, ModelError
from pathrag_gds.models.encoder import (
    OnnxEncoder,
    fingerprint_of,
    load_encoder,
    shipped_model,
    well_formed,
)

QUESTION = "In which village was Bob when the milk was spilled?"
PATH = "Bob lives in the house of Martha. Martha's house is located in Elmford."
MARKET = "The stock market fell sharply."
NAME = "Zoë Kazan"
SENTENCES = [QUESTION, PATH, MARKET, NAME]

# From the float32 model in sentence-transformers 6.2, not from the model under test.
FLOAT_COSINES = [
    [1.0, 0.4741, 0.1147, 0.0904],
    [0.4741, 1.0, -0.0517, 0.0797],
    [0.1147, -0.0517, 1.0, 0.0121],
    [0.0904, 0.0797, 0.0121, 1.0],
]
FLOAT_HEADS = [
    [0.0346, 0.0124, -0.0304, 0.0056],
    [0.0550, -0.0122, -0.0213, -0.0773],
    [0.0645, -0.0048, 0.0574, 0.0878],
    [-0.1046, -0.0276, -0.0644, 0.0194],
]

WORDS = (
    *("river", "house", "cat", "milk", "old", "Elmford", "1969", "of", "the", "and", "in"),
    *("born", "directed", "acted", "village", "bridge", "mother", "film", "Lisbon", "treaty"),
    *("bees", "harbour", "grey", "under", "signed,", "founded:", "company's", "(since", "1923)"),
)


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    return OnnxEncoder()


def mixed_texts(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    lengths = (1, 1, 2, 3, 5, 8, 8, 8, 13, 21, 34, 55, 100, 180, 300)
    return [" ".join(draw.choices(WORDS, k=draw.choice(lengths))) for _ in range(count)]


def test_vectors_agree_with_the_float_model(encoder: OnnxEncoder) -> None:
    vectors = encoder.encode(SENTENCES)
    assert vectors.dtype == np.float32
    assert vectors.shape == (4, 384)
    np.testing.assert_allclose(vectors[:, :4], FLOAT_HEADS, atol=0.012)
    np.testing.assert_allclose(vectors @ vectors.T, FLOAT_COSINES, atol=0.03)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_company_and_order_do_not_change_a_vector(encoder: OnnxEncoder) -> None:
    # Many texts of one length fill several runs; a long and an odd one are among them.
    texts = [*mixed_texts(60, seed=1), *[f"number {n}" for n in range(260)], "x" * 5000, "", "\n"]
    together = encoder.encode(texts)
    backwards = encoder.encode(texts[::-1])[::-1]
    np.testing.assert_allclose(backwards, together, atol=1e-6, rtol=0)
    for row in range(0, len(texts), 9):
        alone = encoder.encode([texts[row]])[0]
        np.testing.assert_allclose(alone, together[row], atol=1e-6, rtol=0)
    for size in (2, 3, 7, 64):
        part = encoder.encode(texts[5 : 5 + size])
        np.testing.assert_allclose(part, together[5 : 5 + size], atol=1e-6, rtol=0)


def test_number_of_threads_does_not_change_a_vector(encoder: OnnxEncoder) -> None:
    texts = mixed_texts(16, seed=2)
    expected = encoder.encode(texts)
    for threads in (1, 3):
        vectors = OnnxEncoder(threads=threads).encode(texts)
        np.testing.assert_allclose(vectors, expected, atol=1e-6, rtol=0)


def test_order_is_kept_over_chunks(monkeypatch: pytest.MonkeyPatch, encoder: OnnxEncoder) -> None:
    texts = mixed_texts(23, seed=3)
    expected = encoder.encode(texts)
    monkeypatch.setattr("pathrag_gds.models.encoder._TEXTS_PER_CHUNK", 5)
    monkeypatch.setattr("pathrag_gds.models.onnx_model._TOKENS_PER_RUN", 16)
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-6, rtol=0)


def test_no_texts_give_no_rows(encoder: OnnxEncoder) -> None:
    vectors = encoder.encode([])
    assert vectors.shape == (0, 384)
    assert vectors.dtype == np.float32


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00",
        "\ud800",
        "a\udfffb",
        "\N{ZERO WIDTH JOINER}",
        "\U0001f408\u200d\u2b1b",
        "東京",
    ],
    ids=ascii,
)
def test_odd_text_has_a_unit_vector(encoder: OnnxEncoder, text: str) -> None:
    (vector,) = encoder.encode([text])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_lone_surrogates_are_replaced_and_pairs_are_kept() -> None:
    assert well_formed("a\ud800b") == "a\N{REPLACEMENT CHARACTER}b"
    assert well_formed("\U0001f408 Zoë\x00") == "\U0001f408 Zoë\x00"


def test_a_byte_order_mark_is_text_not_encoding() -> None:
    assert well_formed("\ufeffname") == "\ufeffname"
    assert well_formed("\ufffename") == "\ufffename"


def test_case_and_accents_do_not_count(encoder: OnnxEncoder) -> None:
    upper, lower = encoder.encode(["ZOË KAZAN", "zoe kazan"])
    np.testing.assert_allclose(upper, lower, atol=1e-6, rtol=0)


def test_long_text_is_cut_at_the_limit(encoder: OnnxEncoder) -> None:
    long = " ".join(random.Random(4).choices(WORDS, k=3000))
    assert encoder.count_tokens(long) > 3000
    kept = "cat " * 254
    assert encoder.count_tokens(kept) == encoder.max_tokens == 256
    vectors = encoder.encode([kept, kept + "dog " * 900, kept[4:] + "dog", long])
    np.testing.assert_allclose(vectors[1], vectors[0], atol=1e-6, rtol=0)
    assert float(vectors[2] @ vectors[0]) < 1 - 1e-4
    assert np.isfinite(vectors).all()


def test_tokens_are_counted_with_both_marks(encoder: OnnxEncoder) -> None:
    assert encoder.count_tokens("") == 2
    assert encoder.count_tokens("hello world") == 4


def test_progress_ends_at_all_texts(encoder: OnnxEncoder) -> None:
    seen: list[tuple[int, int]] = []
    texts = mixed_texts(30, seed=5)
    encoder.encode(texts, progress=lambda done, total: seen.append((done, total)))
    assert [total for _, total in seen] == [30] * len(seen)
    done = [count for count, _ in seen]
    assert done == sorted(set(done))
    assert done[-1] == 30


def test_many_threads_get_what_one_gets() -> None:
    fresh = OnnxEncoder()
    jobs: list[Sequence[str]] = [mixed_texts(4, seed) for seed in range(8)]
    expected = OnnxEncoder().encode(jobs[0])
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(fresh.encode, jobs))
    np.testing.assert_allclose(results[0], expected, atol=1e-6, rtol=0)
    for job, result in zip(jobs, results, strict=True):
        np.testing.assert_allclose(fresh.encode(job), result, atol=1e-6, rtol=0)


def test_fingerprint_is_the_same_in_every_process(encoder: OnnxEncoder) -> None:
    assert len(encoder.fingerprint) == 16
    int(encoder.fingerprint, 16)
    code = (
        "import sys\n"
        "from pathrag_gds.models.encoder import load_encoder\n"
        "print(load_encoder().fingerprint)\n"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'torch'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    for seed in ("0", "7"):
        result = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path.cwd())},
        )
        assert result.stdout.strip() == encoder.fingerprint


def test_fingerprint_changes_with_whatever_changes_vectors(
    tmp_path: Path, encoder: OnnxEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_bytes((shipped_model() / name).read_bytes())
    assert OnnxEncoder(tmp_path).fingerprint == encoder.fingerprint
    found = {encoder.fingerprint, OnnxEncoder(tmp_path, max_tokens=128).fingerprint}
    with (tmp_path / "tokenizer.json").open("a") as file:
        file.write("\n")
    found.add(OnnxEncoder(tmp_path).fingerprint)
    monkeypatch.setattr("pathrag_gds.models.encoder.INPUT_VERSION", "next")
    found.add(OnnxEncoder().fingerprint)
    assert len(found) == 4


def test_border_between_parts_counts_in_a_fingerprint() -> None:
    assert fingerprint_of(b"ab", b"c") != fingerprint_of(b"a", b"bc")


@pytest.mark.parametrize("name", [None, "", "default", "all-MiniLM-L6-v2"])
def test_default_names_give_the_shipped_model(name: str | None, encoder: OnnxEncoder) -> None:
    loaded = load_encoder(name)
    assert isinstance(loaded, OnnxEncoder)
    assert loaded.name == "all-MiniLM-L6-v2"
    assert loaded.fingerprint == encoder.fingerprint
    assert (loaded.dimension, loaded.max_tokens) == (384, 256)


def test_a_folder_of_the_export_is_opened_with_onnx_runtime() -> None:
    loaded = load_encoder(str(shipped_model()))
    assert isinstance(loaded, OnnxEncoder)
    assert loaded.name == "all-MiniLM-L6-v2-int8"


def test_another_name_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra) as caught:
        load_encoder("some/other-model")
    assert caught.value.extra == "sentence-transformers"
    assert "pip install" in caught.value.hint


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.onnx"):
        _ = OnnxEncoder(tmp_path).fingerprint
    (tmp_path / "tokenizer.json").write_bytes((shipped_model() / "tokenizer.json").read_bytes())
    with pytest.raises(ModelError, match=r"model\.onnx"):
        OnnxEncoder(tmp_path).encode(["x"])


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json"])
def test_a_damaged_model_is_named(tmp_path: Path, broken: str) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        data = (shipped_model() / name).read_bytes()
        (tmp_path / name).write_bytes(data[: len(data) // 2] if name == broken else data)
    with pytest.raises(ModelError) as caught:
        OnnxEncoder(tmp_path).encode(["x"])
    assert str(tmp_path) in str(caught.value)
    assert caught.value.exit_code == 7


def test_shipped_folder_is_whole_and_small() -> None:
    files = {path.name: path.stat().st_size for path in shipped_model().iterdir()}
    assert set(files) == {"LICENSE", "README.md", "model.onnx", "tokenizer.json"}
    assert files["model.onnx"] <= 25_000_000
    assert "license: apache-2.0" in (shipped_model() / "README.md").read_text(encoding="utf-8")
