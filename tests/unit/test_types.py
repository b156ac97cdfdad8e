"""Paths, their keys, and the JSON shape of a result."""

from __future__ import annotations

import dataclasses
import json

import pytest

from pathrag_gds.types import (
    Anchor,
    Answer,
    Cut,
    Edge,
    Entity,
    Hop,
    Path,
    RankedPath,
    ResultHop,
    SearchResult,
    SearchStats,
    Source,
)

KNOWS = Edge("k1", "a", "b", "KNOWS", {"since": 1999})
LIKES = Edge("k2", "c", "b", "LIKES")


def test_an_edge_is_compared_without_its_properties() -> None:
    same = dataclasses.replace(KNOWS, properties={}, chunk_ids=("x",))
    assert same == KNOWS
    assert hash(same) == hash(KNOWS)
    assert KNOWS.identity == ("a", "KNOWS", "b", "k1")
    assert dataclasses.replace(KNOWS, key="k9") != KNOWS


def test_a_hop_has_the_direction_of_travel() -> None:
    assert (Hop(KNOWS, True).head, Hop(KNOWS, True).tail) == ("a", "b")
    assert (Hop(KNOWS, False).head, Hop(KNOWS, False).tail) == ("b", "a")


def test_a_path_grows_at_its_tail() -> None:
    start = Path(("a",))
    assert (start.start, start.tail, start.depth, start.key) == ("a", "a", 0, (("a",),))
    path = start.extend(Hop(KNOWS, True)).extend(Hop(LIKES, False))
    assert path.nodes == ("a", "b", "c")
    assert (path.start, path.tail, path.depth) == ("a", "c", 2)
    with pytest.raises(ValueError, match="hop starts at 'a', the path ends at 'c'"):
        path.extend(Hop(KNOWS, True))


def test_a_path_walked_backwards_has_the_same_key() -> None:
    there = Path(("a",)).extend(Hop(KNOWS, True)).extend(Hop(LIKES, False))
    back = Path(("c",)).extend(Hop(LIKES, True)).extend(Hop(KNOWS, False))
    assert there.key == back.key == (("a", "KNOWS", "b", "k1"), ("c", "LIKES", "b", "k2"))
    assert there != back


def test_parallel_relationships_make_different_paths() -> None:
    other = dataclasses.replace(KNOWS, key="k3")
    assert Path(("a",)).extend(Hop(KNOWS, True)).key != Path(("a",)).extend(Hop(other, True)).key


@pytest.mark.parametrize("value", [KNOWS, Hop(KNOWS, True), Path(("a",)), Entity("a", "A")])
def test_values_are_frozen_and_hashable(value: object) -> None:
    assert len({value, dataclasses.replace(value)}) == 1  # type: ignore[type-var]
    name = dataclasses.fields(value)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, "other")


def result() -> SearchResult:
    path = Path(("a",)).extend(Hop(KNOWS, True))
    return SearchResult(
        question="who?",
        tenant="default",
        method="path",
        outcome="answered",
        anchors=(Anchor("a", "Ann", "ann", 1.0),),
        answers=(Answer("entity", "b", "Bob", confidence=0.5, paths=(1,)),),
        paths=(
            RankedPath(
                rank=1,
                score=0.5,
                confidence=0.5,
                terms={"rerank": 0.5},
                text="Ann knows Bob",
                path=path,
                nodes=(
                    Entity("a", "Ann", ("Person",), "a person", {"age": 3}),
                    Entity("b", "Bob"),
                ),
                hops=(ResultHop(path.hops[0], (Source("c1", "d1"),)),),
            ),
        ),
        cut=(Cut(1, "score", 3),),
        stats=SearchStats(round_trips=4, millis={"total": 1.5}),
        config={"top_k": 5},
        warnings=("careful",),
    )


def test_the_json_shape() -> None:
    shape = result().to_dict()
    assert list(shape) == [
        "version",
        "question",
        "tenant",
        "method",
        "shape",
        "outcome",
        "anchors",
        "answers",
        "paths",
        "patterns",
        "cut",
        "stats",
        "config",
        "warnings",
    ]
    assert shape["anchors"] == [{"id": "a", "name": "Ann", "mention": "ann", "score": 1.0}]
    (answer,) = shape["answers"]
    assert list(answer) == [
        "kind",
        "id",
        "name",
        "property",
        "value",
        "confidence",
        "paths",
        "pattern",
    ]
    (path,) = shape["paths"]
    assert list(path) == ["rank", "score", "confidence", "terms", "text", "nodes", "hops"]
    assert path["nodes"][0] == {
        "id": "a",
        "name": "Ann",
        "labels": ["Person"],
        "properties": {"description": "a person", "age": 3},
    }
    assert path["nodes"][1]["properties"] == {}
    assert path["hops"] == [
        {
            "id": "k1",
            "type": "KNOWS",
            "source": "a",
            "target": "b",
            "forward": True,
            "properties": {"since": 1999},
            "sources": [{"document": "d1", "chunk": "c1"}],
        }
    ]
    assert shape["cut"] == [{"depth": 1, "reason": "score", "count": 3}]
    assert shape["stats"]["round_trips"] == 4
    assert set(shape["stats"]) >= {
        "setup_round_trips",
        "depth",
        "candidates",
        "texts_scored",
        "cache_hits",
        "truncated",
        "millis",
    }
    assert json.loads(json.dumps(shape)) == shape
