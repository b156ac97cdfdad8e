"""Our own reranker: the same score in any company, clear about what it is, clear when it fails."""

from __future__ import annotations

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.errors import ModelError
from pathrag_gds.models.encoder import OnnxEncoder, shipped_model
from pathrag_gds.models.export import export_reranker
from pathrag_gds.models.path_reranker import (
    Calibration,
    PathReranker,
    RerankerRecord,
    pair_ids,
    shipped_reranker,
)
from pathrag_gds.models.reranker import (
    CachedReranker,
    PathScore,
    Reranker,
    confidence_of,
    load_reranker,
)
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION
from tests.tiny_bert import random_bert

QUESTION = "In which village does the cat live?"
WORDS = (
    *("river", "house", "cat", "milk", "old", "Elmford", "1969", "of", "the", "and", "in", "|||"),
    *("born", "directed", "acted", "village", "bridge", "mother", "film", "Lisbon", "treaty."),
    *("bees", "harbour", "grey", "under", "signed,", "founded:", "company's", "(since", "1923)"),
)
RECORD = RerankerRecord(
    "tiny",
    version="3",
    calibration=Calibration(0.8, -0.5),
    base="random",
    trained_on=("nothing", "Zoë's graph"),
    created="2026-01-02",
    ontology="0fa1",
)
# Scores are rounded to 6 decimals, so two that differ by 1e-9 may lie one last digit apart.
LAST_DIGIT = 1.000001e-6


@pytest.fixture(scope="module", params=["int8", "float"])
def folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    weights = random_bert(tmp_path_factory.mktemp("weights"), seed=1)
    folder = tmp_path_factory.mktemp("model")
    export_reranker(weights, folder, RECORD, quantised=request.param == "int8")
    return folder


@pytest.fixture(scope="module")
def reranker(folder: Path) -> PathReranker:
    return PathReranker(folder)


def mixed_texts(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    lengths = (0, 1, 1, 2, 3, 5, 8, 8, 8, 13, 13, 21, 34, 55, 100, 180, 300)
    return [" ".join(draw.choices(WORDS, k=draw.choice(lengths))) for _ in range(count)]


def same(one: list[PathScore], other: list[PathScore]) -> bool:
    assert len(one) == len(other)
    return all(
        abs(a - b) <= LAST_DIGIT
        for left, right in zip(one, other, strict=True)
        for a, b in zip(left, right, strict=True)
    )


def changed(folder: Path, tmp_path: Path, **changes: Any) -> Path:
    """Copy a folder with another record."""
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    record = json.loads((folder / "reranker.json").read_text(encoding="utf-8")) | changes
    text = json.dumps({key: value for key, value in record.items() if value is not ...})
    (tmp_path / "reranker.json").write_text(text, encoding="utf-8")
    return tmp_path


def test_scores_are_two_different_values_from_0_to_1(reranker: PathReranker) -> None:
    scores = reranker.score(QUESTION, mixed_texts(40, seed=1))
    assert all(isinstance(score, PathScore) for score in scores)
    assert all(0 < value < 1 and value == round(value, 6) for score in scores for value in score)
    assert len({score.answer for score in scores}) > 30
    assert sum(score.answer != score.prefix for score in scores) > 30


@pytest.mark.parametrize("seed", range(4))
def test_company_and_order_do_not_change_a_score(reranker: PathReranker, seed: int) -> None:
    draw = random.Random(seed)
    texts = mixed_texts(90, seed=seed) + [f"number {n}" for n in range(70)]
    together = reranker.score(QUESTION, texts)
    for _ in range(6):
        chosen = draw.choices(range(len(texts)), k=draw.choice((1, 2, 3, 8, 64, 200)))
        scores = reranker.score(QUESTION, [texts[row] for row in chosen])
        assert same(scores, [together[row] for row in chosen])
    for row in range(0, len(texts), 7):
        assert same(reranker.score(QUESTION, [texts[row]]), [together[row]])


def test_number_of_threads_does_not_change_a_score(folder: Path, reranker: PathReranker) -> None:
    texts = mixed_texts(30, seed=5)
    expected = reranker.score(QUESTION, texts)
    for threads in (1, 3):
        assert same(PathReranker(folder, threads=threads).score(QUESTION, texts), expected)


def test_many_threads_get_what_one_gets(folder: Path, reranker: PathReranker) -> None:
    fresh = PathReranker(folder)
    jobs = [mixed_texts(5, seed) for seed in range(10)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda job: fresh.score(QUESTION, job), jobs))
    for job, result in zip(jobs, results, strict=True):
        assert same(reranker.score(QUESTION, job), result)


def test_no_texts_give_no_scores_and_open_no_model(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "reranker.json").write_bytes((folder / "reranker.json").read_bytes())
    assert PathReranker(tmp_path).score(QUESTION, []) == []


@pytest.mark.parametrize("text", ["", " ", "\x00", "\ud800", "東京", "a\udfffb"], ids=ascii)
def test_odd_text_has_a_score_as_question_and_as_text(reranker: PathReranker, text: str) -> None:
    (one,) = reranker.score(QUESTION, [text])
    (other,) = reranker.score(text, ["The cat lives in Elmford."])
    assert all(0 < value < 1 for value in (*one, *other))


def test_a_pair_is_question_and_text_between_marks(reranker: PathReranker) -> None:
    tokenizer = reranker._model.tokenizer
    start, end = tokenizer.encode("").ids
    cat, dog, old = (tokenizer.encode(w).ids[1] for w in ("cat", "dog", "old"))
    assert pair_ids(tokenizer, "cat", ["dog", "", "old dog"]) == [
        [start, cat, end, dog, end],
        [start, cat, end, end],
        [start, cat, end, old, dog, end],
    ]


def test_a_long_text_loses_its_end_and_a_long_question_what_is_beyond_96(
    reranker: PathReranker,
) -> None:
    tokenizer = reranker._model.tokenizer
    (ids,) = pair_ids(tokenizer, "cat " * 200, ["dog " * 300])
    start, end = tokenizer.encode("").ids
    cat, dog = (tokenizer.encode(w).ids[1] for w in ("cat", "dog"))
    assert ids == [start, *[cat] * 96, end, *[dog] * 157, end]
    assert len(ids) == reranker.max_tokens == 256
    (short,) = pair_ids(tokenizer, "cat", ["dog " * 300])
    assert short == [start, cat, end, *[dog] * 252, end]
    kept, cut, other = reranker.score("cat", ["dog " * 252, "dog " * 252 + "milk", "dog " * 251])
    assert kept == cut != other


def test_tokens_are_counted_with_both_marks(reranker: PathReranker) -> None:
    assert [reranker.count_tokens(text) for text in ("", "hello world")] == [2, 4]


def test_fewer_tokens_count_when_the_record_says_so(folder: Path, tmp_path: Path) -> None:
    small = PathReranker(changed(folder, tmp_path, max_tokens=104))
    assert small.max_tokens == 104
    kept, cut = small.score("cat", ["dog " * 100, "dog " * 100 + "milk"])
    assert kept == cut
    assert small.fingerprint != PathReranker(folder).fingerprint


def test_a_tokenizer_with_other_marks_is_refused() -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    bare = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    with pytest.raises(ModelError, match="0 marks"):
        pair_ids(bare, "who", ["me"])


def test_the_record_is_read_as_it_was_written(tmp_path: Path, folder: Path) -> None:
    assert RerankerRecord.read(folder) == RECORD
    plain = RerankerRecord("plain")
    assert plain.write(tmp_path) == tmp_path / "reranker.json"
    assert RerankerRecord.read(tmp_path) == plain
    assert [path.name for path in tmp_path.iterdir()] == ["reranker.json"]
    assert (plain.template, plain.max_tokens) == (TEXT_TEMPLATE_VERSION, 256)


def test_a_reranker_is_what_its_record_says(reranker: PathReranker) -> None:
    ranker: Reranker = reranker
    assert ranker.name == "tiny"
    assert reranker.calibration == Calibration(0.8, -0.5)
    assert reranker.record == RECORD


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(0.5, 0.377541), (0.0, 0.000006), (1.0, 0.999985), (0.9, 0.778644)],
)
def test_confidence_is_the_calibrated_answer(
    reranker: PathReranker, answer: float, expected: float
) -> None:
    # sigmoid(0.8 · logit(answer) - 0.5); 0 and 1 count as half of the last digit away.
    assert reranker.confidence(answer) == expected
    assert CachedReranker(reranker).confidence(answer) == expected
    assert confidence_of(reranker, answer) == expected


def test_confidence_orders_as_the_answer_does() -> None:
    for calibration in (Calibration(), Calibration(0.3, -4.0), Calibration(9.0, 30.0)):
        values = [calibration.apply(step / 500) for step in range(501)]
        assert values == sorted(values)
        assert 0 <= values[0] <= values[-1] <= 1
    assert Calibration().apply(0.25) == 0.25


def test_without_a_calibration_the_answer_is_the_confidence(folder: Path, tmp_path: Path) -> None:
    plain = PathReranker(changed(folder, tmp_path, calibration=None))
    assert plain.calibration is None
    assert plain.confidence(0.123456) == 0.123456


@pytest.mark.parametrize("values", [(0.0, 0.0), (-1.0, 0.0), (float("nan"), 0.0), (1.0, 1e999)])
def test_a_calibration_that_orders_otherwise_is_refused(values: tuple[float, float]) -> None:
    with pytest.raises(ModelError, match="slope above 0"):
        Calibration(*values)


def test_fingerprint_changes_with_whatever_changes_scores(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = PathReranker(folder).fingerprint
    assert len(expected) == 16
    # Neither the name nor the calibration change what score() gives.
    copy = changed(folder, tmp_path, calibration=None, name="other")
    assert PathReranker(copy).fingerprint == expected
    found = {expected}
    for name in ("tokenizer.json", "model.onnx"):
        with (copy / name).open("ab") as file:
            file.write(b"\n")
        found.add(PathReranker(copy).fingerprint)
    monkeypatch.setattr("pathrag_gds.models.path_reranker._INPUT_VERSION", "next")
    found.add(PathReranker(copy).fingerprint)
    assert len(found) == 4


def test_a_folder_that_is_no_reranker_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"is no path reranker: reranker\.json is missing") as e:
        PathReranker(tmp_path)
    assert str(tmp_path) in str(e.value)
    assert e.value.exit_code == 7
    with pytest.raises(ModelError, match="is no path reranker"):
        PathReranker(shipped_model())


@pytest.mark.parametrize("text", ["{", "[]", "{}", "\udcff", '"x"', "null"], ids=ascii)
def test_a_damaged_record_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "reranker.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ModelError, match=r"reranker\.json is no"):
        PathReranker(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ...},
        {"max_tokens": 99},
        {"max_tokens": 257},
        {"max_tokens": "many"},
        {"calibration": {"kind": "isotonic"}},
        {"calibration": {"kind": "platt", "slope": 1}},
        {"calibration": 3},
        {"trained_on": 3},
    ],
    ids=str,
)
def test_a_record_with_a_wrong_value_is_named(
    folder: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    with pytest.raises(ModelError, match=r"reranker\.json is no record"):
        PathReranker(changed(folder, tmp_path, **changes))


def test_other_path_texts_than_it_was_trained_on_are_refused(folder: Path, tmp_path: Path) -> None:
    old = changed(folder, tmp_path, template="0")
    with pytest.raises(ModelError, match=r"version '0'; this version writes") as caught:
        PathReranker(old)
    assert "pathrag train" in caught.value.hint
    assert RerankerRecord.read(old) == replace(RECORD, template="0")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_or_damaged_file_is_named(folder: Path, tmp_path: Path, name: str) -> None:
    copy = changed(folder, tmp_path)
    data = (copy / name).read_bytes()
    (copy / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelError, match="cannot be loaded"):
        PathReranker(copy).score(QUESTION, ["x"])
    (copy / name).unlink()
    with pytest.raises(ModelError, match=name):
        PathReranker(copy).score(QUESTION, ["x"])


def test_a_reranker_and_an_encoder_are_not_taken_for_each_other(
    folder: Path, tmp_path: Path
) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_bytes((shipped_model() / name).read_bytes())
    RECORD.write(tmp_path)
    with pytest.raises(ModelError, match="gives embedding, not logits"):
        PathReranker(tmp_path).score(QUESTION, ["x"])
    with pytest.raises(ModelError, match="gives logits, not embedding"):
        OnnxEncoder(folder).encode(["x"])


def test_a_folder_is_loaded_by_name_without_torch(
    folder: Path, reranker: PathReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    loaded = load_reranker(str(folder), OnnxEncoder())
    assert isinstance(loaded, CachedReranker)
    assert isinstance(loaded.reranker, PathReranker)
    assert loaded.fingerprint == reranker.fingerprint
    texts = mixed_texts(9, seed=7)
    assert same(loaded.score(QUESTION, texts), reranker.score(QUESTION, texts))


@pytest.mark.parametrize("name", [None, "", "default"])
def test_default_names_give_the_shipped_reranker_where_there_is_one(
    name: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shipped_reranker().name == "path-reranker-int8"
    monkeypatch.setattr("pathrag_gds.models.path_reranker.shipped_reranker", lambda: folder)
    loaded = load_reranker(name, OnnxEncoder())
    assert isinstance(loaded.reranker, PathReranker)
    assert loaded.name == PathReranker().name == "tiny"
    assert load_reranker("cosine", OnnxEncoder()).name.startswith("cosine")
