"""Questions of many shapes about four graphs, written by hand: 80 probes and 8 controls.

The graphs are Neo4j's movies and Northwind, read from the data folder, and the two stories; each
has a set of its own, and ``probes`` is all four. The questions lie in ``tests/data/probes`` of the
source, each with the query that proves its gold answer. Rules for shapes were mended until these
came out right, so 40 more, ``probes_held_out`` beside them, are only measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pathrag_gds.errors import ConfigError, LoadError
from pathrag_gds.evaluation.datasets import movies, northwind, story
from pathrag_gds.evaluation.datasets.dataset import Dataset, Place, digest_of, fault, lines_of
from pathrag_gds.evaluation.graph import Graph, read_graph
from pathrag_gds.evaluation.probe import CONTROL, EXPECTED, KINDS, Probe, parse_chain
from pathrag_gds.evaluation.questions import AnswerKey, Question, bucket_of
from pathrag_gds.ingest.inputs import Input

__all__ = ["GRAPHS", "Row", "load", "read_rows"]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a file of probes.

    Attributes:
        id: Unique among all probes.
        question: As a person would type it.
        property: Key of the property that the answer is, where it is one of an entity.
        check: Query whose column ``gold``, over its rows, is the gold answer; where it has a column
            ``best``, over the rows that share the first one's. ``$tenant`` is the graph's. Empty
            for a relation, whose paths are looked for in the graph instead.
    """

    id: str
    question: str
    probe: Probe
    property: str
    check: str


def load(place: Place, graph: str, folder: str = "probes") -> Dataset:
    """Read one of :data:`GRAPHS` and its probes.

    Args:
        folder: ``probes`` or ``probes_held_out``.

    Raises:
        ConfigError: The graph's files or the probes are not there.
        LoadError: A line has not the format, or names an entity that is not in the graph.
    """
    path = place.questions or _file(place, graph, folder)
    base = GRAPHS[graph](replace(place, questions=None))
    questions = tuple(_question(row, base.graph, path) for row in read_rows(path))
    return replace(
        base,
        questions=questions,
        digest=digest_of(path),
        report=tuple(range(10)),
        main="",
        conditions=("file",),
    )


def _file(place: Place, graph: str, name: str) -> Path:
    folders = [Path(__file__).parents[3] / "tests" / "data" / name]
    if place.data is not None:
        folders.insert(0, place.data / name)
    for folder in folders:
        if (folder / f"{graph}.jsonl").is_file():
            return folder / f"{graph}.jsonl"
    raise ConfigError(
        f"The folder {name} is neither in the data folder nor among the tests.",
        hint="It comes with the source: run from a checkout, or name its parent: --data DIR.",
    )


def read_rows(path: Path) -> list[Row]:
    """Read a file of probes: JSON objects, one a line.

    ``id``, ``kind``, ``question``, ``expects`` (see :class:`~pathrag_gds.evaluation.probe.Probe`),
    ``gold`` (ids, values, or chains such as ``ACTED_IN> <DIRECTED``, always a list), ``named``, and
    where they apply ``holders``, ``property`` and ``check``.

    Raises:
        LoadError: A line is no such object.
    """
    found = []
    for number, line in lines_of(path):
        try:
            found.append(_row(json.loads(line)))
        except (KeyError, TypeError, ValueError) as error:
            raise fault(f"no probe: {error!r}", path, number) from None
    return found


def _row(item: Mapping[str, Any]) -> Row:
    kind, expected, gold = item["kind"], item["expects"], item["gold"]
    if kind not in (*KINDS, CONTROL) or expected not in EXPECTED or not isinstance(gold, list):
        raise ValueError(f"{kind!r}, {expected!r}, {gold!r}")
    named = tuple(item["named"])
    if expected == "relation" and len(named) != 2:
        raise ValueError("a relation is between two named entities")
    probe = Probe(
        kind,
        expected,
        named,
        ids=frozenset(gold if expected == "entities" else ()),
        values=tuple(gold if expected in ("value", "number", "boolean") else ()),
        holders=frozenset(item.get("holders", ())),
        chains=frozenset(map(parse_chain, gold)) if expected == "relation" else frozenset(),
    )
    return Row(item["id"], item["question"], probe, item.get("property", ""), item.get("check", ""))


def _question(row: Row, graph: Graph, path: Path) -> Question:
    probe = row.probe
    for id_ in (*probe.named, *sorted(probe.ids | probe.holders)):
        if id_ not in graph.names:
            raise LoadError(f"{row.id}: no entity {id_!r}.", path=path)
    keys: frozenset[AnswerKey] = frozenset((id_, "") for id_ in probe.ids)
    if row.property:
        keys |= {(id_, row.property) for id_ in probe.holders}
    return Question(
        id=row.id,
        text=row.question,
        answers=keys,
        bucket=bucket_of(row.question),
        topics=probe.named,
        groups=(probe.kind,),
        probe=probe,
    )


def _movies(place: Place) -> Dataset:
    script = place.file("neo4j_movies/movies.cypher")
    return _converted("movies", movies.convert(script, place.scratch / "movies"))


def _northwind(place: Place) -> Dataset:
    sources = {name: place.file(f"neo4j_northwind/{name}.csv") for name in northwind.FILES}
    return _converted("northwind", northwind.convert(sources, place.scratch / "northwind"))


def _converted(name: str, written: list[Path]) -> Dataset:
    inputs = tuple(map(Input, written))
    digest = digest_of(*written)
    return Dataset(
        name, (), digest, inputs, read_graph(inputs), graph_name=name, graph_digest=digest
    )


GRAPHS: Mapping[str, Callable[[Place], Dataset]] = {
    "movies": _movies,
    "northwind": _northwind,
    "bob": story.load_bob,
    "story2": story.load_story2,
}
"""By name, what reads a graph; the stories bring questions of their own, which are not asked."""
