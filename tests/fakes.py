"""Stand-ins for the database and the reranker, so that searches run without server or model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pathrag_gds.graph.database import Row
from pathrag_gds.graph.queries import Query
from pathrag_gds.models.reranker import PathScore
from pathrag_gds.text import fold, words

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
        query.check(parameters)
        self.calls.append((query.name, parameters))
        self.texts.append(query.text)
        answer = self.answers[query.name]
        return list(answer(parameters) if callable(answer) else answer)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


class WordOverlapReranker:
    """Score a text by the share of the question's words that it has; remembers what it read."""

    name = "word-overlap"
    fingerprint = "0"

    def __init__(self, scores: Mapping[str, float] | None = None) -> None:
        self.scores = dict(scores or {})
        self.read: list[str] = []

    def score(self, question: str, texts: Sequence[str]) -> list[PathScore]:
        self.read.extend(texts)
        return [PathScore(value, value) for value in (self._value(question, t) for t in texts)]

    def _value(self, question: str, text: str) -> float:
        given = next((v for part, v in self.scores.items() if text.startswith(part)), None)
        if given is not None:
            return given
        asked = set(words(question))
        return round(len(asked & set(words(text))) / len(asked), 6)


class MemoryGraph:
    """Answer the statements of a search from a few nodes and relationships.

    Args:
        relationships: (source, type, target) or (source, type, target, properties); a node's id
            is its name, its similarity 0 unless given.
        seeds: Ids in the order in which the vector ranking gives them.
    """

    def __init__(
        self,
        relationships: Sequence[tuple[Any, ...]],
        *,
        seeds: Sequence[str],
        nodes: Mapping[str, Mapping[str, Any]] | None = None,
        similarity: Mapping[str, float] | None = None,
        documents: Mapping[str, str] | None = None,
    ) -> None:
        self.relationships = [(*r, {}) if len(r) == 3 else r for r in relationships]
        self.seeds = list(seeds)
        self.nodes = dict(nodes or {})
        self.similarity = dict(similarity or {})
        self.documents = dict(documents or {})

    @property
    def answers(self) -> dict[str, Answer]:
        """What a recording database answers with."""
        return {
            "retrieve/seeds": self._seeds,
            "retrieve/expand": self._expand,
            "retrieve/subgraph": self._subgraph,
            "retrieve/expand_chains": self._expand_chains,
            "retrieve/hydrate_hops": self._hydrate_hops,
            # Patterns are held against a real server: here their statement brings nothing.
            "retrieve/answers": (),
            "retrieve/hydrate": lambda p: [self._node(id_) for id_ in p["ids"]],
            "retrieve/provenance": lambda p: [
                {"chunk": c, "document": self.documents.get(c)} for c in p["chunk_ids"]
            ],
        }

    def _node(self, id_: str) -> Row:
        properties = {"id": id_, "name": id_, **self.nodes.get(id_, {})}
        labels = ["__Entity__", *properties.pop("labels", [])]
        return {"id": id_, "name": properties["name"], "labels": labels, "properties": properties}

    def _seeds(self, parameters: Mapping[str, Any]) -> list[Row]:
        rows = [
            {**self._node(id_), "via": "vector", "score": 1.0, "keys": []} for id_ in self.seeds
        ]
        rows += [
            {**self._node(id_), "via": "name", "score": 1.0, "keys": [fold(id_)]}
            for id_ in sorted(self._ids())
            if fold(id_) in parameters["keys"] and not parameters["start_ids"]
        ]
        rows += [
            {**self._node(id_), "via": "given", "score": 1.0, "keys": []}
            for id_ in sorted(self._ids() & set(parameters["start_ids"]))
        ]
        return [{**row, "similarity": self.similarity.get(row["id"], 0.0)} for row in rows]

    def _ids(self) -> set[str]:
        return {*self.seeds, *self.nodes, *(r[end] for r in self.relationships for end in (0, 2))}

    def _expand_chains(self, parameters: Mapping[str, Any]) -> list[Row]:
        groups: dict[tuple[str, bool, str], dict[str, list[str]]] = {}
        around = self._around(parameters["frontier"])
        for row in around[: parameters["row_cap"]]:
            label = next((each for each in parameters["labels"] if each in row["labels"]), "")
            links = groups.setdefault((row["type"], row["forward"], label), {})
            links.setdefault(row["tail"], []).append(row["id"])
        rows = []
        for (type_, forward, label), links in groups.items():
            ends = dict.fromkeys(end for found in links.values() for end in found)
            many = len(ends) > parameters["width"]
            near = [[end, self.similarity.get(end)] for end in ends] if many else []
            row = {"type": type_, "forward": forward, "label": label, "near": near}
            row |= {"links": [[tail, found] for tail, found in links.items()]}
            rows.append({**row, "cut": [], "total": len(around)})
        return rows

    def _hydrate_hops(self, parameters: Mapping[str, Any]) -> list[Row]:
        none = {"tail": None, "forward": None, "key": None, "type": None, "relationship": None}
        rows = [{**self._node(id_), **none} for id_ in parameters["ids"]]
        for hop in parameters["hops"]:
            found = self._around([hop["tail"]])
            rows += [row for row in found if all(row[key] == hop[key] for key in hop)]
        return rows

    def _subgraph(self, parameters: Mapping[str, Any]) -> list[Row]:
        near, read = set(parameters["starts"]), set()
        for _ in range(parameters["rounds"]):
            found = {i for i, r in enumerate(self.relationships) if near & {r[0], r[2]}}
            read |= found
            near |= {self.relationships[i][end] for i in found for end in (0, 2)}
        degree = {id_: sum(id_ in (r[0], r[2]) for r in self.relationships) for id_ in self._ids()}
        return [
            {
                "tail": source,
                "id": target,
                "forward": True,
                "key": properties.get("key", f"{source}-{type_}-{target}"),
                "type": type_,
                "relationship": properties,
                "tail_degree": degree[source],
                "head_degree": degree[target],
                "left_out": 0,
            }
            for i, (source, type_, target, properties) in enumerate(self.relationships)
            if i in read
        ]

    def _expand(self, parameters: Mapping[str, Any]) -> list[Row]:
        rows = self._around(parameters["frontier"])
        return [{**row, "total": len(rows)} for row in rows[: parameters["row_cap"]]]

    def _around(self, frontier: Sequence[str]) -> list[Row]:
        rows = []
        for source, type_, target, properties in self.relationships:
            for tail, other, forward in ((source, target, True), (target, source, False)):
                if tail in frontier:
                    row = {
                        **self._node(other),
                        "tail": tail,
                        "forward": forward,
                        "key": properties.get("key", f"{source}-{type_}-{target}"),
                        "type": type_,
                        "relationship": properties,
                        "similarity": self.similarity.get(other, 0.0),
                        "cut": False,
                    }
                    rows.append(row)
        return rows
