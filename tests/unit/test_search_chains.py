"""Chains of relations: read once each, before the paths or instead of them."""

from __future__ import annotations

from collections.abc import Generator
from itertools import count
from typing import TypeVar

import pytest

from pathrag_gds.config import SearchConfig
from pathrag_gds.graph.database import Row
from pathrag_gds.graph.schema import EntityType, Ontology, RelationType
from pathrag_gds.retrieve.chains import ChainBeam
from pathrag_gds.retrieve.session import Session
from pathrag_gds.retrieve.statements import Request
from pathrag_gds.types import Chain, DepthTrace, Step
from tests.fakes import MemoryGraph, RecordingDatabase, WordOverlapReranker
from tests.searching import QUESTION, ask, context, cuts, nodes

T = TypeVar("T")

# s has three R-neighbours, each with one T-neighbour, and one Q-neighbour.
FAN = [
    *(("s", "R", f"r{i}") for i in range(3)),
    *((f"r{i}", "T", f"t{i}") for i in range(3)),
    ("s", "Q", "q0"),
]


def test_paths_of_one_chain_are_read_once() -> None:
    graph = MemoryGraph(FAN, seeds=["s"])
    scores = {"s.": 0.2, "s r A. The": 0.5, "s q A. The": 0.1, "s r A. A t B. The": 0.9}
    result = ask(graph, scores, strategy="chains", max_depth=2)
    # s; s-R-A; s-Q-A; s-R-A-T-B.
    assert result.stats.texts_scored == 4
    assert [(n, p.score) for n, p in zip(nodes(result), result.paths, strict=True)] == [
        ("sr0t0", 0.9),
        ("sr1t1", 0.9),
        ("sr2t2", 0.9),
        ("sr0", 0.5),
        ("sr1", 0.5),
    ]
    assert result.paths[0].text == "s r A. A t B. The answer is B."
    assert result.paths[0].terms == {
        "rerank": 0.9,
        "similarity": 0.0,
        "type": 0.0,
        "link": 0.0,
        "coverage": 0.0,
        "relation_prior": 0.0,
    }
    # Chains were considered, not paths: s; s-R, s-Q; s-R-T.
    assert result.stats.candidates == 4
    assert (result.stats.strategy, result.stats.strategy_reason) == ("chains", "as asked for")


def test_chains_take_one_statement_per_depth() -> None:
    database = RecordingDatabase(MemoryGraph(FAN, seeds=["s"]).answers)
    result = ask(MemoryGraph(FAN, seeds=["s"]), database=database, strategy="chains", max_depth=2)
    assert database.names == [
        "retrieve/seeds",
        "retrieve/expand_chains",
        "retrieve/expand_chains",
        "retrieve/hydrate_hops",
        "retrieve/provenance",
    ]
    assert (result.stats.depth, result.stats.round_trips) == (2, 5)
    frontiers = [p["frontier"] for name, p in database.calls if name.endswith("expand_chains")]
    assert [sorted(ids) for ids in frontiers] == [["s"], ["q0", "r0", "r1", "r2"]]


def test_shown_paths_of_chains_are_read_whole() -> None:
    edge = {"key": "k", "since": 3, "chunk_ids": ["c1"]}
    graph = MemoryGraph(
        [("a", "R", "b", edge)], seeds=["a"], nodes={"b": {"hue": "red"}}, documents={"c1": "doc"}
    )
    best = ask(graph, {"a r A.": 0.9}, strategy="chains", max_depth=1).to_dict()["paths"][0]
    assert best["text"] == "a r A. The answer is A."
    assert best["nodes"][1] == {"id": "b", "name": "b", "labels": [], "properties": {"hue": "red"}}
    assert best["hops"][0] == {
        "id": "k",
        "type": "R",
        "source": "a",
        "target": "b",
        "forward": True,
        "properties": {"since": 3},
        "sources": [{"document": "doc", "chunk": "c1"}],
    }


def test_width_of_a_beam_of_chains() -> None:
    graph = MemoryGraph(FAN, seeds=["s"])
    trace: list[DepthTrace] = []
    scores = {"s r A. The": 0.5, "s q A. The": 0.1}
    result = ask(graph, scores, strategy="chains", max_depth=2, beam_width=1, trace=trace)
    told = [("".join(t.path.nodes), t.steer, t.reason) for t in trace[1].paths]
    # Each chain is told by one of its paths.
    assert told == [("sr0", 0.5, ""), ("sq0", 0.1, "beam_width")]
    assert [t.chain for t in trace[1].paths] == [
        Chain("s", (Step("R", True),)),
        Chain("s", (Step("Q", True),)),
    ]
    assert trace[1].names == {"s": "s", "r0": "r0", "q0": "q0"}
    assert [(d, r) for d, r in cuts(result) if r == "beam_width"] == [(1, "beam_width")]


def test_chains_that_read_the_same_share_one_place_in_the_beam() -> None:
    fan = [("s1", "R", "a"), ("s2", "R", "b"), ("a", "T", "c"), ("b", "T", "d")]
    names = {"s1": {"name": "sun"}, "s2": {"name": "sun"}}
    graph = MemoryGraph(fan, seeds=["s1", "s2"], nodes=names)
    result = ask(graph, {"sun r A. A t B.": 0.9}, strategy="chains", max_depth=2, beam_width=1)
    assert nodes(result)[:2] == ["s1ac", "s2bd"]


def test_ends_with_different_labels_are_different_chains() -> None:
    fan = [("s", "R", "a"), ("s", "R", "b"), ("s", "R", "c")]
    labels = {"a": ["cat"], "b": ["dog", "cat"], "c": ["dog"]}
    graph = MemoryGraph(
        fan, seeds=["s"], nodes={id_: {"labels": each} for id_, each in labels.items()}
    )
    types = (EntityType("cat", 2), EntityType("dog", 2))
    ontology = Ontology("t", (RelationType("R", 3, max_out=3),), types)
    scores = {"s r dog A.": 0.9, "s r cat A.": 0.8}
    result = ask(graph, scores, strategy="chains", max_depth=1, changes={"ontology": ontology})
    # Of two labels the more frequent counts, of equally frequent ones the first by name.
    assert [(n, p.text) for n, p in zip(nodes(result), result.paths, strict=True)][:3] == [
        ("sc", "s r dog A. The answer is dog A."),
        ("sa", "s r cat A. The answer is cat A."),
        ("sb", "s r cat A. The answer is cat A."),
    ]


def test_a_wide_frontier_keeps_the_nodes_nearest_to_the_question() -> None:
    similarity = {"r0": 0.1, "r1": 0.7, "r2": 0.4}
    graph = MemoryGraph(FAN, seeds=["s"], similarity=similarity)
    scores = {"s r A. The": 0.5, "s r A. A t B. The": 0.9}
    database = RecordingDatabase(graph.answers)
    result = ask(graph, scores, strategy="chains", max_depth=2, frontier_width=2, database=database)
    assert nodes(result)[:2] == ["sr1t1", "sr2t2"]
    frontiers = [p["frontier"] for name, p in database.calls if name.endswith("expand_chains")]
    assert frontiers[1] == ["r1", "r2", "q0"]


def test_what_caps_on_a_depth_left_out_is_counted_and_told() -> None:
    graph = MemoryGraph(FAN, seeds=["s"])
    trace: list[DepthTrace] = []
    result = ask(graph, strategy="chains", max_depth=1, max_rows=3, trace=trace)
    # Of the four relationships of s the last is not read: the chain s-Q is unknown.
    assert cuts(result)[1, "row_cap"] == 1
    assert [t.chain for t in trace[1].paths] == [Chain("s", (Step("R", True),))]
    assert [(c.reason, c.count) for c in trace[1].cut if c.reason == "row_cap"] == [("row_cap", 1)]
    assert result.stats.truncated == 0


@pytest.mark.parametrize(("max_rows", "sampled"), [(4, False), (3, True)])
def test_of_a_capped_depth_every_chain_may_lead_further(max_rows: int, sampled: bool) -> None:
    graph = MemoryGraph(FAN, seeds=["s"])
    database = RecordingDatabase(graph.answers)
    config = SearchConfig(strategy="chains", max_rows=max_rows)
    session = Session(QUESTION, config, context(graph, WordOverlapReranker()), None)
    beam = ChainBeam(session)
    beam.start(session.begin(answered(database, session.find_seeds())))
    answered(database, beam.go_deeper(1))
    steps = {scored.growth.chain.steps: scored.growth.sampled for scored in beam.scored}
    assert steps[()] is False
    assert steps[Step("R", True),] is sampled


def answered(database: RecordingDatabase, steps: Generator[Request, list[Row], T]) -> T:
    """Run what asks for statements to its end."""
    try:
        request = next(steps)
        while True:
            request = steps.send(database.run(request.query, **request.parameters))
    except StopIteration as stop:
        value: T = stop.value
        return value


def test_too_many_chains_are_not_read() -> None:
    fan = [("s", type_, f"{type_}0") for type_ in "ABCD"] + [("t", "E", "E0")]
    graph = MemoryGraph(fan, seeds=["s", "t"])
    result = ask(graph, strategy="chains", max_depth=1, rerank_limit=3)
    assert cuts(result)[1, "rerank_limit"] == 2
    # Parents take turns: one of t's is among the three.
    assert result.stats.texts_scored == 5


def test_chains_stop_at_the_time_limit() -> None:
    ticks = count()
    graph = MemoryGraph(FAN, seeds=["s"])
    changes = {"clock": lambda: float(next(ticks))}
    database = RecordingDatabase(graph.answers)
    result = ask(graph, database=database, strategy="chains", changes=changes, time_limit_s=1)
    assert (result.outcome, nodes(result)) == ("partial", ["s"])
    assert database.names == ["retrieve/seeds", "retrieve/hydrate_hops", "retrieve/provenance"]


def test_chains_choose_which_paths_are_read() -> None:
    graph = MemoryGraph(FAN, seeds=["s"], similarity={"q0": 0.9})
    scores = {"s r A. The": 0.6, "s q A. The": 0.1, "s r r0. |||": 0.4, "s r r1. |||": 0.8}
    result = ask(graph, scores, strategy="both", max_depth=1, rerank_limit=2, weight_chain=0.25)
    assert cuts(result) == {(1, "rerank_limit"): 2}
    # A quarter of the chain's score and three quarters of the path's.
    assert [(n, p.score) for n, p in zip(nodes(result), result.paths, strict=True)][:2] == [
        ("sr1", 0.75),
        ("sr0", 0.45),
    ]


class ChainReading(WordOverlapReranker):
    reads_chains = True


def test_auto_reads_chains_only_with_a_reranker_that_learnt_to() -> None:
    graph = MemoryGraph(FAN[:1], seeds=["s"])
    assert ask(graph, max_depth=1).stats.texts_scored == 2
    learnt = ask(graph, max_depth=1, changes={"reranker": ChainReading()})
    assert learnt.stats.texts_scored == 3


@pytest.mark.parametrize(("properties", "texts"), [(("name",), 2), (("name", "description"), 3)])
def test_auto_reads_chains_alone_where_nodes_have_nothing_but_names(
    properties: tuple[str, ...], texts: int
) -> None:
    graph = MemoryGraph(FAN[:1], seeds=["s"])
    ontology = Ontology("t", (RelationType("R", 9, max_out=1),), (EntityType("", 2, properties),))
    changes = {"reranker": ChainReading(), "ontology": ontology}
    assert ask(graph, max_depth=1, changes=changes).stats.texts_scored == texts


def test_auto_reads_paths_where_there_are_nearly_as_many_chains() -> None:
    types = tuple(RelationType(name, 4, max_out=1) for name in "RST")
    ontology = Ontology("t", types, (EntityType("", 2, ("name",)),))
    changes = {"reranker": ChainReading(), "ontology": ontology}
    stats = ask(MemoryGraph(FAN[:1], seeds=["s"]), max_depth=1, changes=changes).stats
    assert stats.strategy == "both"
    assert stats.strategy_reason == "there are nearly as many chains as paths"


def test_weak_prefixes_are_not_extended() -> None:
    graph = MemoryGraph(FAN, seeds=["s"])
    scores = {"s.": 0.5, "s r r1.": 0.6, "s r": 0.3, "s q": 0.5}
    trace: list[DepthTrace] = []
    result = ask(graph, scores, strategy="paths", max_depth=2, min_prefix=0.4, trace=trace)
    assert cuts(result)[1, "min_prefix"] == 2
    assert [t.reason for t in trace[1].paths].count("min_prefix") == 2
    assert "sr0t0" not in nodes(result)
    assert "sr1t1" in nodes(result)


def test_a_trained_reranker_finds_the_property_that_no_word_names() -> None:
    cook = {"labels": ["person"], "job": "cook", "born": 1901, "description": "Tall."}
    graph = MemoryGraph([("ann", "R", "b")], seeds=[], nodes={"ann": cook})
    scores = {
        "ann is a person. Tall. ann's born": 0.9,
        "ann is a person. ann's job is cook.": 0.8,
        "ann is a person. ann's born is 1901.": 0.3,
        "ann is a person. Tall.": 0.2,
    }
    question = "What does ann do for a living?"
    changes = {"reranker": ChainReading(scores)}
    (answer,) = ask(graph, question=question, changes=changes, max_depth=0).answers
    assert (answer.kind, answer.property, answer.value) == ("value", "job", "cook")
    assert ask(graph, scores, question=question, max_depth=0).answers == ()
