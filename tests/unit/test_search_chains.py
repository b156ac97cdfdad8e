"""Chains of relations: read once each, before the paths or instead of them."""

from __future__ import annotations

import pytest

from pathrag_gds.graph.schema import EntityType, Ontology, RelationType
from pathrag_gds.types import DepthTrace
from tests.fakes import MemoryGraph, WordOverlapReranker
from tests.searching import ask, cuts, nodes

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


def test_width_of_a_beam_of_chains() -> None:
    graph = MemoryGraph(FAN, seeds=["s"])
    trace: list[DepthTrace] = []
    scores = {"s r A. The": 0.5, "s q A. The": 0.1}
    result = ask(
        graph, scores, strategy="chains", max_depth=1, beam_width=1, chain_width=2, trace=trace
    )
    kept = ["".join(t.path.nodes) for t in trace[1].paths if not t.reason]
    assert kept == ["sr0", "sr1"]
    assert cuts(result)[1, "beam_width"] == 2


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
    ontology = Ontology("t", (RelationType("R", 1, max_out=1),), (EntityType("", 2, properties),))
    changes = {"reranker": ChainReading(), "ontology": ontology}
    assert ask(graph, max_depth=1, changes=changes).stats.texts_scored == texts


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
