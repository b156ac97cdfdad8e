"""Candidate paths of WebQSP questions, as GNN-RAG retrieved them from Freebase.

There is no graph to search: the reranker alone puts the candidates of a question in order. Their
relationships are printed without direction. ``mixed`` questions have a candidate with a gold answer
on it and one without; for the others every order is right, or none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pathrag_gds.evaluation.datasets.dataset import Dataset, Place, digest_of, fault, lines_of
from pathrag_gds.evaluation.questions import Question, bucket_of
from pathrag_gds.types import Edge, Hop
from pathrag_gds.types import Path as GraphPath

__all__ = ["load"]

_ARROW = " -> "
_HEAD, _TAIL = "Reasoning Paths:\n", "\n\nQuestion:"


def load(place: Place) -> Dataset:
    """Read the questions that have candidates.

    Raises:
        ConfigError: The file is not there.
        LoadError: A line has not the format.
    """
    path = place.question_file("webqsp_paths/gnnrag_lmsr_predictions.jsonl")
    found = []
    for number, line in lines_of(path):
        question = _question(line, path, number)
        if question.candidates:
            found.append(question)
    return Dataset(
        "webqsp-paths",
        tuple(found),
        digest_of(path),
        report=(0, 1, 2, 3, 4),
        conditions=("file",),
    )


def _question(line: str, path: Path, number: int) -> Question:
    try:
        row: dict[str, Any] = json.loads(line)
        text, answers = str(row["question"]), list(map(str, row["ground_truth"]))
        told = str(row["input"]).partition(_HEAD)[2].partition(_TAIL)[0]
        id_ = str(row["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise fault(f"no question of this set: {error!r}", path, number) from None
    candidates = tuple(
        dict.fromkeys(_path(one) for one in told.split("\n") if one.count(_ARROW) >= 2)
    )
    right = [any(node in answers for node in candidate.nodes) for candidate in candidates]
    return Question(
        id=f"webqsp-paths:{id_}",
        text=text,
        answers=frozenset((answer, "") for answer in answers),
        bucket=bucket_of(text),
        candidates=candidates,
        groups=("mixed",) if any(right) and not all(right) else (),
    )


def _path(told: str) -> GraphPath:
    steps: Sequence[str] = told.split(_ARROW)
    path = GraphPath((steps[0],))
    for type_, node in zip(steps[1::2], steps[2::2], strict=False):
        edge = Edge(f"{path.tail}|{type_}|{node}", path.tail, node, type_)
        path = path.extend(Hop(edge, True))
    return path
