"""Rankings of entities and texts, made of scripted rows and fused: worked by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from pathrag_gds.answer.methods import (
    FusedResult,
    FusionOptions,
    check_unrestricted,
    find,
    passages_of_paths,
    shown_of,
)
from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import ConfigError, EncoderMismatch
from pathrag_gds.graph.schema import VectorRecord
from pathrag_gds.retrieve.nearest import (
    NearestContext,
    nearest_request,
    read_nearest,
    read_nearest_context,
)
from pathrag_gds.types import (
    Answer,
    Edge,
    Entity,
    Hop,
    Path,
    Pattern,
    RankedPath,
    ResultHop,
    SearchResult,
    SearchStats,
    Source,
)
from tests.fakes import RecordingDatabase
from tests.unit.test_context import RECORD, Encoder

QUESTION = "Where does Bob sleep?"
CONFIG = SearchConfig().with_(top_k=3)
RECORDED: dict[str, Any] = dict(RECORD)
VECTORS = VectorRecord(**RECORDED)
CONTEXT = NearestContext("t", VECTORS, VECTORS, entities=10, chunks=10)


def row(what: str, via: str, score: float, id_: str, *chunks: str) -> dict[str, Any]:
    return {
        "what": what,
        "via": via,
        "score": score,
        "id": id_,
        "name": id_.upper() if what == "entity" else None,
        "labels": ["__Entity__", "Cat"] if what == "entity" else ["Chunk"],
        "chunk_ids": list(chunks) if what == "entity" else None,
    }


ROWS = [
    row("entity", "vector", 0.9, "bob", "c1"),
    row("entity", "vector", 0.8, "ann"),
    row("entity", "text", 2.0, "bob", "c1"),
    row("chunk", "vector", 0.9, "c2"),
    row("chunk", "vector", 0.7, "c1"),
    row("chunk", "text", 3.0, "c1"),
    row("chunk", "text", 1.0, "c3"),
]
PASSAGES = [
    {"chunk": "c1", "text": "Bob sleeps.", "document": "d"},
    {"chunk": "c2", "text": None, "document": None},
]


def ranked(rank: int, confidence: float, *nodes: Entity, chunk: str = "") -> RankedPath:
    hops = tuple(Hop(Edge(f"{a.id}-{b.id}", a.id, b.id, "R"), True) for a, b in pairwise(nodes))
    path = Path((nodes[0].id,))
    for hop in hops:
        path = path.extend(hop)
    sources = (Source(chunk),) if chunk else ()
    return RankedPath(
        rank,
        confidence,
        confidence,
        {},
        "",
        path,
        nodes,
        tuple(ResultHop(hop, sources) for hop in hops),
    )


def entity(id_: str, *chunks: str) -> Entity:
    return Entity(id_, id_.upper(), chunk_ids=chunks)


def searched(*paths: RankedPath, answers: tuple[Answer, ...] = (), **changes: Any) -> SearchResult:
    made = SearchResult(
        question=QUESTION,
        tenant="t",
        method="path",
        outcome="answered",
        anchors=(),
        answers=answers,
        paths=paths,
        cut=(),
        stats=SearchStats(round_trips=4, setup_round_trips=2),
        config={},
    )
    return replace(made, **changes)


PATHS = (
    ranked(1, 0.5, entity("bob", "c1"), entity("bed"), chunk="c4"),
    ranked(2, 0.1, entity("bob", "c1"), entity("mat", "c5")),
)
ANSWERS = (
    Answer("entity", "bed", "BED", confidence=0.5, paths=(1,)),
    Answer("entity", "mat", "MAT", confidence=0.1, paths=(2,)),
)


def fused(
    method: Any = "hybrid",
    *,
    weights: Mapping[Any, float] | None = None,
    answers: Mapping[str, Any] | None = None,
    context: NearestContext = CONTEXT,
) -> tuple[FusedResult, RecordingDatabase]:
    scripted: dict[str, Any] = {
        "retrieve/nearest": ROWS,
        "retrieve/passages": PASSAGES,
        "communities/live_run": [],
    }
    db = RecordingDatabase(scripted | dict(answers or {}))
    result = find(
        db,
        Encoder(),
        QUESTION,
        method=method,
        context=context,
        config=CONFIG,
        options=FusionOptions(weights or {}),
        search=lambda config: searched(*PATHS, answers=ANSWERS),
    )
    return result, db


def places(result: FusedResult) -> dict[str, list[tuple[str, int]]]:
    return {p.id: [(one.ranking, one.rank) for one in p.places] for p in result.passages}


def test_hybrid_adds_the_shares_of_its_rankings() -> None:
    result, db = fused()
    # path: c4 and c1, both 1/61 (bob is on the second, too: 1/61 + 1/62), so c1, c4, c5;
    # vector: c2, c1; text: c1, c3. A place counts weight / (5 + rank), text by a half.
    # c1: 2/6 + 1/7 + 0.5/6; c4: 2/7; c5: 2/8; c2: 1/6; c3: 0.5/7.
    assert [(p.id, p.score) for p in result.passages] == [
        ("c1", round(2 / 6 + 1 / 7 + 0.5 / 6, 9)),
        ("c4", round(2 / 7, 9)),
        ("c5", round(2 / 8, 9)),
    ]
    assert places(result) == {
        "c1": [("path", 1), ("vector", 2), ("text", 1)],
        "c4": [("path", 2)],
        "c5": [("path", 3)],
    }
    # path: bed, mat (the answers), bob; vector: bob, ann; text: bob.
    # bob: 2/8 + 1/6 + 0.5/6; bed: 2/6; mat: 2/7.
    assert [(e.id, e.name, e.score) for e in result.entities] == [
        ("bob", "BOB", round(2 / 8 + 1.5 / 6, 9)),
        ("bed", "BED", round(2 / 6, 9)),
        ("mat", "MAT", round(2 / 7, 9)),
    ]
    assert [(p.text, p.document) for p in result.passages] == [
        ("Bob sleeps.", "d"),
        ("", None),
        ("", None),
    ]
    # What the paths took, the nearest, the run of communities, the texts.
    assert db.names == ["retrieve/nearest", "communities/live_run", "retrieve/passages"]
    assert result.search.stats.round_trips == 4 + 3
    assert [(r.name, r.weight, r.entities, r.passages) for r in result.rankings] == [
        ("path", 2.0, 3, 3),
        ("vector", 1.0, 2, 2),
        ("text", 0.5, 1, 2),
    ]


def test_without_communities_it_goes_on_and_says_so() -> None:
    result, _ = fused()
    (warning,) = result.warnings
    assert warning.startswith("Communities are left out: ")
    assert warning.endswith("pathrag communities detect")


def test_answers_are_those_of_paths_that_pass_the_threshold() -> None:
    result, _ = fused()
    told = result.to_dict()
    assert [answer["id"] for answer in told["answers"]] == ["bed"]
    assert [path["rank"] for path in told["paths"]] == [1]
    assert (told["method"], told["outcome"]) == ("hybrid", "answered")
    assert told["config"]["weights"] == {"path": 2.0, "community": 1.0, "vector": 1.0, "text": 0.5}
    assert told["passages"][0]["rankings"][0] == {
        "name": "path",
        "rank": 1,
        "share": round(2 / 6, 9),
    }
    assert set(searched().to_dict()) <= set(told)


def test_vector_runs_one_ranking_and_no_search() -> None:
    result, db = fused("vector")
    assert [p.id for p in result.passages] == ["c2", "c1"]
    assert [e.id for e in result.entities] == ["bob", "ann"]
    assert [e.chunk_ids for e in result.entities] == [("c1",), ()]
    assert (result.search.answers, result.search.paths) == ((), ())
    assert (result.search.outcome, result.search.method) == ("answered", "vector")
    assert db.names == ["retrieve/nearest", "retrieve/passages"]
    assert "db.index" not in db.texts[0]
    assert "'text' AS via" not in db.texts[0]
    assert result.warnings == ()


def test_a_weight_of_zero_runs_nothing() -> None:
    result, db = fused(weights={"path": 0, "community": 0, "vector": 0})
    assert [p.id for p in result.passages] == ["c1", "c3"]
    assert "'vector' AS via" not in db.texts[0]
    assert db.calls[0][1]["vector"] is None
    assert result.search.outcome == "answered"


def test_where_no_chunk_has_a_vector_the_chunks_of_the_entities_stand_in() -> None:
    rows = [one for one in ROWS if one["what"] == "entity"]
    result, db = fused(
        "vector",
        answers={"retrieve/nearest": rows},
        context=replace(CONTEXT, chunk_vectors=None),
    )
    assert [p.id for p in result.passages] == ["c1"]
    assert "Chunk" not in db.texts[0]
    assert result.warnings == (
        "No chunk has a vector, so texts are found by words. Run: pathrag embed",
    )


def test_an_empty_tenant_asks_nothing_and_says_why() -> None:
    result, db = fused("vector", context=NearestContext("t"))
    assert (result.entities, result.passages, db.names) == ((), (), [])
    assert result.search.outcome == "not_in_graph"
    assert "has no texts" in result.warnings[0]


def test_the_ranking_of_paths_points_to_what_few_chunks_tell() -> None:
    wide = entity("usa", "a", "b", "c", "d")
    path = ranked(1, 0.5, wide, entity("bob", "c1"), entity("bed", "c2", "c3"), chunk="c9")
    # In 61sts: c1 and c9 1, c2 and c3 1/2, a to d 1/4; ties by id.
    assert passages_of_paths([path]) == ("c1", "c9", "c2", "c3", "a", "b", "c", "d")
    # The second path adds 1/62 to c2, which then has 0.5/61 + 1/62.
    second = ranked(2, 0.4, entity("cot", "c2"))
    assert passages_of_paths([path, second])[:3] == ("c2", "c1", "c9")
    assert passages_of_paths([ranked(1, 0.5, entity("bob"))]) == ()


def test_a_threshold_counts_ranks_and_patterns_anew() -> None:
    low, high = ranked(1, 0.1, entity("a")), ranked(2, 0.9, entity("b"))
    patterns = tuple(Pattern((), text, "", {}) for text in ("low", "high"))
    wide = searched(
        low,
        high,
        answers=(
            Answer("entity", "a", "A", confidence=0.1, paths=(1,), pattern=0),
            Answer("entity", "b", "B", confidence=0.9, paths=(2,), pattern=1),
            Answer("entity", "c", "C", confidence=0.9, pattern=1),
        ),
        patterns=patterns,
    )
    shown = shown_of(wide, SearchConfig().with_(min_score=0.5))
    assert [(path.rank, path.path.tail) for path in shown.paths] == [(1, "b")]
    assert [(a.id, a.paths, a.pattern) for a in shown.answers] == [("b", (1,), 0), ("c", (), 0)]
    assert [pattern.text for pattern in shown.patterns] == ["high"]
    nothing = shown_of(wide, SearchConfig().with_(min_score=0.95))
    assert (nothing.outcome, nothing.answers, nothing.paths) == ("not_in_graph", (), ())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": {"nope": 1.0}}, "no ranking 'nope'"),
        ({"weights": {"path": -1.0}}, "'path' is at least 0, not -1.0"),
        ({"weights": {"path": float("nan")}}, "'path' is at least 0"),
        ({"weights": dict.fromkeys(("path", "community", "vector", "text"), 0.0)}, "nothing"),
        ({"k": -1.0}, "k must be at least 0"),
        ({"reach": 0}, "reach must be at least 1"),
        ({"hops": 4}, "hops must be at most 3"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        FusionOptions(**options)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"scope": ("person",), "rel_types": ("owns",)}, "rel_types, scope: only paths"),
        ({"labels": ("person",)}, "labels: only paths"),
        ({"node_filter": {"role": "cook"}}, "node_filter: only paths"),
        ({"relationship_filter": {"since": 2}}, "relationship_filter: only paths"),
    ],
)
def test_other_methods_refuse_what_only_paths_keep_to(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        check_unrestricted("hybrid", SearchConfig(**given))
    check_unrestricted("hybrid", SearchConfig(top_k=3))


def test_large_tenants_ask_the_indexes_as_far_as_others_crowd_them() -> None:
    context = replace(CONTEXT, entities=5_000, crowding_entities=3, chunks=5_000)
    request = nearest_request(QUESTION, context, [1.0, 0.0], count=50)
    assert request is not None
    assert request.parameters["over_entities"] == 50 * 4 * 3
    assert request.parameters["over_chunks"] == 50 * 4
    assert request.query.text.count("db.index.vector.queryNodes") == 2
    assert request.query.text.count("db.index.fulltext.queryNodes") == 2
    assert request.parameters["text"] == '"bob" OR "sleep"'


def test_ties_of_a_ranking_go_by_id() -> None:
    found = read_nearest([row("chunk", "text", 1.0, id_) for id_ in ("b", "a", "c")])
    assert found.chunks_by_text == ("a", "b", "c")


def test_sizes_and_vectors_are_read_in_three_statements() -> None:
    sizes = {"entities": 10, "chunks": 4, "all_entities": 25, "all_chunks": 4}
    db = RecordingDatabase({"schema/sizes": [sizes], "schema/vector_record": [{"record": RECORD}]})
    context = read_nearest_context(db, "t", Encoder())
    assert (context.crowding_entities, context.crowding_chunks) == (3, 1)
    assert len(db.names) == 3
    other = RecordingDatabase(
        {
            "schema/sizes": [sizes],
            "schema/vector_record": [{"record": {**RECORD, "fingerprint": "other"}}],
        }
    )
    with pytest.raises(EncoderMismatch, match="'tiny model' \\(other\\)"):
        read_nearest_context(other, "t", Encoder())
