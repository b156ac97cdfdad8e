"""Questions of the user's own: what is read, and what is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pathrag_gds.errors import LoadError
from pathrag_gds.evaluation.own import read_own
from pathrag_gds.evaluation.questions import bucket_of

LINES = '{"question": "Who owns Bob?", "answers": ["Jane", "jan"]}\n\n'
LINES += '{"question": "How old?", "answers": ["3"]}\n'


def test_json_lines_have_answers_by_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.test.jsonl"
    path.write_text(LINES)
    dataset, by_name = read_own(path)
    assert (dataset.name, by_name) == ("mine", True)
    one, other = dataset.questions
    assert (one.id, one.text, other.id) == ("mine:1", "Who owns Bob?", "mine:3")
    assert one.answers == {("Jane", ""), ("jan", "")}
    assert one.bucket == bucket_of("Who owns Bob?")


def test_a_list_has_answers_by_id_and_phrasings(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    items = [
        {"question": "Who?", "phrasings": ["Which one?"], "id": "a", "also": ["b"]},
        {"question": "When?", "kind": "value", "id": "c", "property": "year", "value": 3},
    ]
    path.write_text("\ufeff" + json.dumps(items), encoding="utf-8")
    dataset, by_name = read_own(path)
    assert not by_name
    assert [(q.id, q.text) for q in dataset.questions] == [
        ("q:1.1", "Who?"),
        ("q:1.2", "Which one?"),
        ("q:2", "When?"),
    ]
    assert dataset.questions[1].answers == {("a", ""), ("b", "")}
    # Phrasings of one question belong together.
    assert dataset.questions[0].bucket == dataset.questions[1].bucket
    assert dataset.questions[2].answers == {("c", "year")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "There is no question in it"),
        ("[]", "There is no question in it"),
        ('[{"question": "Who?"', "neither JSON nor JSON Lines"),
        ('[{"question": "Who?", "id": "a"}, 3]', "question 2: it is no object"),
        ('[{"question": "", "id": "a"}]', "question 1: 'question' is no text"),
        ('[{"question": "Who?"}]', "question 1: 'id' is no text"),
        ('[{"question": "Who?", "id": "a", "also": "b"}]', "question 1: 'also' is no list"),
        ('[{"question": "Who?", "id": "a", "kind": "value"}]', "1: 'property' is no text"),
        ('{"question": "Who?", "answers": ["a"]}\n{"question": "x"}', "q.json:2: "),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "q.json"
    path.write_text(text)
    with pytest.raises(LoadError) as caught:
        read_own(path)
    assert message in caught.value.message
    assert str(path) in caught.value.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot be read"):
        read_own(tmp_path / "none.jsonl")
