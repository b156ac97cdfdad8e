"""Stories in the demo's format: CSV, chunks, and ``questions.json`` with gold answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pathrag_gds.demo import FOLDER
from pathrag_gds.errors import ConfigError, LoadError
from pathrag_gds.evaluation.datasets.dataset import Dataset, Place, digest_of
from pathrag_gds.evaluation.graph import Graph, read_graph
from pathrag_gds.evaluation.questions import AnswerKey, Question, bucket_of
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.types import Edge, Hop
from pathrag_gds.types import Path as GraphPath

__all__ = ["load_bob", "load_story", "load_story2"]

QUESTIONS = "questions.json"


def load_bob(place: Place) -> Dataset:
    """Read the demo that ships with the package."""
    return load_story(FOLDER, "bob", place.questions)


def load_story2(place: Place) -> Dataset:
    """Read the second story: from the data folder, else from the tests of a checkout.

    Raises:
        ConfigError: It is in neither.
    """
    folders = [Path(__file__).parents[3] / "tests" / "data" / "story2"]
    if place.data is not None:
        folders.insert(0, place.data / "story2")
    for folder in folders:
        if (folder / QUESTIONS).is_file():
            return load_story(folder, "story2", place.questions)
    raise ConfigError(
        "The folder story2 is neither in the data folder nor among the tests.",
        hint="It comes with the source: run from a checkout, or name its parent: --data DIR.",
    )


def load_story(folder: Path, name: str, questions: Path | None = None) -> Dataset:
    """Read a folder of CSV files, ``chunks.jsonl`` and ``questions.json``.

    A question is an object with ``question`` (text), ``phrasings`` of it (more texts, asked as
    questions of their own), ``kind`` (``entity`` or ``value``), ``id``, ``also`` (more ids that are
    right), ``property`` and ``value`` for a value, ``groups``, and ``gold_path``: keys of
    relationships in the order of travel, the last one ending at the answer. The first texts are the
    group ``main phrasing`` where there are others.

    Raises:
        ConfigError: The folder has no such files.
        LoadError: A file cannot be read, or a gold answer is not in the graph.
    """
    files = [*sorted(folder.glob("*.csv")), *sorted(folder.glob("*.jsonl"))]
    if not files:
        raise ConfigError(f"{folder} holds no CSV files.")
    inputs = tuple(map(Input, files))
    graph = read_graph(inputs)
    path = questions or folder / QUESTIONS
    by_key = {edge.key: edge for edge in graph.edges.values()}
    found: list[Question] = []
    for number, item in enumerate(_items(path), 1):
        try:
            found += _questions(item, f"{name}:{number}", graph, by_key)
        except (KeyError, ValueError) as error:
            raise LoadError(f"question {number}: {error!r}.", path=path) from None
    return Dataset(
        name,
        tuple(found),
        digest_of(*files, path),
        inputs,
        graph,
        graph_name=name,
        graph_digest=digest_of(*files),
    )


def _items(path: Path) -> list[Mapping[str, Any]]:
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LoadError(f"cannot be read: {error}.", path=path) from None
    if not isinstance(items, list):
        raise LoadError("the file is no list of questions.", path=path)
    return items


def _questions(
    item: Mapping[str, Any], id_: str, graph: Graph, by_key: Mapping[str, Edge]
) -> list[Question]:
    ids: Sequence[str] = [item["id"], *item.get("also", ())]
    for entity in ids:
        if entity not in graph.names:
            raise ValueError(f"no entity {entity}")
    property_ = item.get("property", "") if item["kind"] == "value" else ""
    answers: frozenset[AnswerKey] = frozenset((entity, property_) for entity in ids)
    edges = [by_key[key] for key in item.get("gold_path", ())]
    paths = (oriented(edges, ids),) if edges else ()
    texts = [item["question"], *item.get("phrasings", ())]
    main = [("main phrasing",) if len(texts) > 1 else (), *[()] * (len(texts) - 1)]
    return [
        Question(
            id=id_ if len(texts) == 1 else f"{id_}.{number}",
            text=text,
            answers=answers,
            bucket=bucket_of(texts[0]),
            paths=paths,
            groups=(*of, *item.get("groups", ())),
        )
        for number, (text, of) in enumerate(zip(texts, main, strict=True), 1)
    ]


def oriented(edges: Sequence[Edge], ends: Sequence[str]) -> GraphPath:
    """Make a path of relationships in the order of travel, which ends at one of the ids.

    Raises:
        ValueError: They do not meet, or the last one does not touch an id.
    """
    for end in (edges[-1].target, edges[-1].source):
        hops = _walked(edges, end) if end in ends else ()
        if hops:
            path = GraphPath((hops[0].head,))
            for hop in hops:
                path = path.extend(hop)
            return path
    told = ", ".join(repr(edge.key) for edge in edges)
    raise ValueError(f"{told}: no path that ends at the answer")


def _walked(edges: Sequence[Edge], end: str) -> tuple[Hop, ...]:
    """Turn each relationship so that the walk ends there; nothing where they do not meet."""
    hops: list[Hop] = []
    for edge in reversed(edges):
        if end not in (edge.source, edge.target):
            return ()
        hops.append(Hop(edge, edge.target == end))
        end = hops[-1].head
    return tuple(reversed(hops))
