"""Questions of the user's own, about a graph of their own: read from a file. Pure but for that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from pathrag_gds.adapt.pairs import read_pairs
from pathrag_gds.errors import LoadError
from pathrag_gds.evaluation.datasets.dataset import Dataset
from pathrag_gds.evaluation.questions import AnswerKey, Question, bucket_of

__all__ = ["read_own"]

_HINT = 'A question looks like {"question": "Who owns Bob?", "id": "jane"}'


def read_own(path: Path) -> tuple[Dataset, bool]:
    """Read questions with their answers; the graph is in a tenant, so none is in the data set.

    Two formats: JSON Lines of ``{"question": …, "answers": […]}`` as ``pathrag train --adapt
    --pairs`` takes them, whose answers are names or ids, or values; and a JSON list as in
    ``questions.json`` of the demo, with ``question``, ``phrasings``, ``id``, ``also`` and, where
    ``kind`` is ``value``, ``property``.

    Returns:
        A set named as the file, and whether its answers are names, ids or values as a person
        wrote them (JSON Lines) rather than ids.

    Raises:
        LoadError: The file cannot be read, holds no question, or one is wrong; names file and
            place.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LoadError(f"The file cannot be read: {error.strerror}.", path=path) from error
    name = path.name.partition(".")[0] or "questions"
    is_list = content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
    questions = _of_list(content, name, path) if is_list else _of_lines(name, path)
    if not questions:
        raise LoadError("There is no question in it.", path=path, hint=_HINT)
    return Dataset(name, tuple(questions), sha256(content).hexdigest()), not is_list


def _of_lines(name: str, path: Path) -> list[Question]:
    return [
        Question(
            f"{name}:{pair.line}",
            pair.question,
            frozenset((answer, "") for answer in pair.answers),
            bucket=bucket_of(pair.question),
        )
        for pair in read_pairs(path)
    ]


def _of_list(content: bytes, name: str, path: Path) -> list[Question]:
    try:
        items = json.loads(content.decode("utf-8-sig"))
    except ValueError as error:
        raise LoadError(f"The file is neither JSON nor JSON Lines: {error}.", path=path) from None
    found: list[Question] = []
    for number, item in enumerate(items, 1):
        try:
            found += _questions(item, f"{name}:{number}")
        except ValueError as error:
            raise LoadError(f"question {number}: {error}.", path=path, hint=_HINT) from None
    return found


def _questions(item: Any, id_: str) -> list[Question]:
    if not isinstance(item, Mapping):
        raise ValueError("it is no object")
    texts = _texts([item.get("question"), *_list(item, "phrasings")], "question")
    ids = _texts([item.get("id"), *_list(item, "also")], "id")
    property_ = ""
    if item.get("kind") == "value":
        (property_,) = _texts([item.get("property")], "property")
    answers: frozenset[AnswerKey] = frozenset((entity, property_) for entity in ids)
    return [
        Question(
            id_ if len(texts) == 1 else f"{id_}.{number}",
            text,
            answers,
            bucket=bucket_of(texts[0]),
        )
        for number, text in enumerate(texts, 1)
    ]


def _list(item: Mapping[str, Any], key: str) -> list[Any]:
    value = item.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key!r} is no list")
    return value


def _texts(values: list[Any], key: str) -> list[str]:
    if not all(isinstance(value, str) and value.strip() for value in values):
        raise ValueError(f"{key!r} is no text")
    return values
