"""2WikiMultihopQA (Ho and others: COLING 2020): the 101 questions that three systems answered.

A graph of passages without any extraction: each passage is an entity named by its title, and leads
to every passage whose title its text mentions. The questions, their gold titles and what the three
systems found are those of fast-graphrag's benchmark; answers are not part of it, so that passages
are all that can be judged.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pathrag_gds.errors import LoadError
from pathrag_gds.evaluation.datasets.dataset import Dataset, Place, digest_of
from pathrag_gds.evaluation.graph import read_graph
from pathrag_gds.evaluation.questions import Question, bucket_of
from pathrag_gds.ingest.inputs import Input

__all__ = ["SHIPPED", "Mentions", "load"]

_FOLDER = "twowiki"
_CORPUS = "2wikimultihopqa_corpus.json"
SHIPPED: Mapping[str, str] = {
    "fast-graphrag": "results_fastgraphrag_101.json",
    "lightrag": "results_lightrag_101.json",
    "plain-vectors": "results_vectordb_101.json",
}
"""By name of the system, the file that holds what it found."""

_WORD = re.compile(r"\w+")
_DISAMBIGUATION = re.compile(r"\s*\([^()]*\)$")
# Where a sentence ends; a point after an initial or in "No. 1" is none.
_SENTENCE = re.compile(r"(?<=[^\W\d_]{2}[.!?])\s+(?=[A-Z])")


class Mentions:
    """Find the titles that a text mentions, as they are written.

    A title counts without what stands in parentheses at its end, unless only one word is left:
    "Princess (2010 film)" is not every princess. Of titles that begin at the same word the longest
    counts; titles that differ in the parentheses alone are all meant.

    Args:
        titles: Each once.
    """

    def __init__(self, titles: Iterable[str]) -> None:
        of_words: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for title in titles:
            bare = _bare(title)
            words = tuple(_WORD.findall(bare))
            if len(words) > 1 or words == (title,):
                of_words[words].append(title)
        self._titles = {words: tuple(sorted(named)) for words, named in of_words.items()}
        by_first: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        for words in self._titles:
            by_first[words[0]].append(words)
        self._by_first = {
            first: sorted(some, key=lambda words: (-len(words), words))
            for first, some in by_first.items()
        }

    def find(self, text: str) -> dict[str, int]:
        """Give the titles that a text mentions, each with the place of its first letter."""
        found: dict[str, int] = {}
        words = list(_WORD.finditer(text))
        told = [word[0] for word in words]
        place = 0
        while place < len(told):
            match = next(
                (
                    some
                    for some in self._by_first.get(told[place], ())
                    if tuple(told[place : place + len(some)]) == some
                ),
                None,
            )
            if match is None:
                place += 1
                continue
            for title in self._titles[match]:
                found.setdefault(title, words[place].start())
            place += len(match)
        return found


def _bare(title: str) -> str:
    return _DISAMBIGUATION.sub("", title)


def load(place: Place) -> Dataset:
    """Read corpus and questions, and write the graph as JSON Lines.

    Raises:
        ConfigError: The files are not there.
        LoadError: A file has not the format, or a gold title is not in the corpus.
    """
    corpus = place.file(f"{_FOLDER}/{_CORPUS}")
    shipped = {name: place.file(f"{_FOLDER}/{file}") for name, file in SHIPPED.items()}
    path = place.questions or shipped["fast-graphrag"]
    try:
        passages = {row["title"]: row["text"] for row in _json(corpus)}
        inputs = _write(passages, place.scratch)
        questions = tuple(_questions(_json(path), passages, path))
        recorded = {name: _recorded(_json(file)) for name, file in shipped.items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise LoadError(f"not the format of this set: {error!r}.", path=path) from None
    return Dataset(
        "twowiki",
        questions,
        digest_of(corpus, path, *shipped.values()),
        inputs,
        read_graph(inputs),
        graph_name="twowiki",
        graph_digest=digest_of(corpus),
        recorded=recorded,
    )


def _json(path: Path) -> Any:
    raw = path.read_bytes()
    try:
        return json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except (OSError, ValueError, EOFError) as error:
        raise LoadError(f"cannot be read: {error}.", path=path) from None


def _write(passages: Mapping[str, str], folder: Path) -> tuple[Input, Input]:
    mentions = Mentions(passages)
    chunks = [
        {"id": title, "text": f"{title}\n{text}", "document": title, "title": title}
        for title, text in passages.items()
    ]
    return (
        Input(_lines(folder / "chunks.jsonl", chunks), kind="chunks"),
        Input(_lines(folder / "passages.jsonl", _rows(passages, mentions)), kind="json"),
    )


def _rows(passages: Mapping[str, str], mentions: Mentions) -> Iterator[Mapping[str, Any]]:
    for title, text in passages.items():
        bare = _bare(title)
        yield {
            "id": title,
            "name": title,
            "aliases": [bare] if bare != title else [],
            "description": text,
            "chunk_ids": [title],
        }
    for title, text in passages.items():
        for other, place in sorted(mentions.find(text).items()):
            if other != title:
                yield {
                    "source": title,
                    "type": "mentions",
                    "target": other,
                    "sentence": _sentence_at(text, place),
                    "chunk_ids": [title],
                }


def _sentence_at(text: str, place: int) -> str:
    start = max((end.end() for end in _SENTENCE.finditer(text) if end.end() <= place), default=0)
    following = _SENTENCE.search(text, place)
    return text[start : following.start() if following else None].strip()


def _lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return path


def _questions(
    items: Sequence[Mapping[str, Any]], passages: Mapping[str, str], path: Path
) -> Iterator[Question]:
    for item in items:
        gold = frozenset(item["ground_truth"])
        if missing := sorted(gold - passages.keys()):
            raise LoadError(f"the corpus has no passage {missing[0]!r}.", path=path)
        yield Question(
            id=_id(item),
            text=item["question"],
            answers=frozenset(),
            bucket=bucket_of(item["question"]),
            passages=gold,
            groups=(f"{len(gold)} passages",),
        )


def _recorded(items: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    # A title with a comma was cut there by whoever wrote the file: then it is nothing of ours.
    return {_id(item): tuple(item["evidence"]) for item in items}


def _id(item: Mapping[str, Any]) -> str:
    return f"2wiki:{item['question']}"
