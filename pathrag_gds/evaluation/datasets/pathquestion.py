"""PathQuestion (Zhou, Huang, Zhu: COLING 2018): questions of two and three hops with gold paths.

A gold path that visits a node twice is beyond a search that forbids it, and an answer that a
shorter path reaches, too, says little: so questions are in the groups ``simple`` (no node twice)
or ``revisiting``, and of the simple ones ``clean`` (no shorter path either).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from pathrag_gds.evaluation.datasets.dataset import Dataset, Place, digest_of, fault, lines_of
from pathrag_gds.evaluation.graph import Graph, read_graph
from pathrag_gds.evaluation.questions import Question, bucket_of
from pathrag_gds.ingest.inputs import Input

__all__ = ["load"]

END = "#<end>"


def load(place: Place, *, hops: int) -> Dataset:
    """Read the knowledge base and the questions of so many hops.

    Raises:
        ConfigError: The files are not there.
        LoadError: A line has not the format.
    """
    kb = place.file(f"pathquestion/{hops}H-kb.txt")
    path = place.question_file(f"pathquestion/PQ-{hops}H.txt")
    inputs = (Input(kb, kind="triples"),)
    graph = read_graph(inputs)
    name = f"pathquestion-{hops}h"
    distances = lru_cache(maxsize=None)(lambda topic: graph.distances(topic, hops - 1))
    found = []
    for number, line in lines_of(path):
        question = _question(line, f"{name}:{number}", graph, path, number)
        if "simple" in question.groups and not question.entities & distances(
            question.topics[0]
        ).keys() - {question.topics[0]}:
            question = replace(question, groups=("simple", "clean"))
        found.append(question)
    return Dataset(
        name,
        tuple(found),
        digest_of(kb, path),
        inputs,
        graph,
        graph_name=name,
        graph_digest=digest_of(kb),
        report=(3, 4),
        main="simple",
        conditions=("plain", "file", "given"),
    )


def _question(line: str, id_: str, graph: Graph, path: Path, number: int) -> Question:
    cells = line.split("\t")
    if len(cells) != 3:
        raise fault(f"a question has 3 cells between tabs, this line {len(cells)}", path, number)
    text, _, told = cells
    gold = told.partition(END)[0]
    steps = gold.split("#")
    nodes, types = steps[::2], steps[1::2]
    if len(nodes) != len(types) + 1:
        raise fault(f"{gold!r} is no path", path, number)
    chain = tuple((type_, True) for type_ in types)
    walks = graph.walk(nodes[0], chain)
    if not walks:
        raise fault(f"the path {gold!r} is not in the knowledge base", path, number)
    return Question(
        id=id_,
        text=text,
        answers=frozenset((walk.tail, "") for walk in walks),
        bucket=bucket_of(gold),
        topics=(nodes[0],),
        chains=(chain,),
        groups=("simple" if len(set(nodes)) == len(nodes) else "revisiting",),
    )
