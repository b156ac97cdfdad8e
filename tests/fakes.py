"""A recording stand-in for the database, so that statements can be counted without a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pathrag_gds.graph.database import Row, _check_parameters
from pathrag_gds.graph.queries import Query

Answer = Sequence[Row] | Callable[[Mapping[str, Any]], Sequence[Row]]


class RecordingDatabase:
    """Keep every call as (name, parameters) and answer from a map by statement name.

    A statement without an answer fails the test: a fake must not invent rows. Parameters are
    checked as the real seam checks them.
    """

    def __init__(self, answers: Mapping[str, Answer] | None = None) -> None:
        self.answers = dict(answers or {})
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.texts: list[str] = []

    def run(self, query: Query, /, **parameters: Any) -> list[Row]:
        _check_parameters(query, parameters)
        self.calls.append((query.name, parameters))
        self.texts.append(query.text)
        answer = self.answers[query.name]
        return list(answer(parameters) if callable(answer) else answer)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]
