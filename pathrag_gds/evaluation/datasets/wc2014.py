"""WorldCup2014 (Zhang, Winn, Tomioka: 2016): two hops, and conjunctions of two single hops.

Every fact is stored twice, as ``r`` and ``r_inverse``, so recall of nodes says more than recall of
relationships.
"""

from __future__ import annotations

from pathlib import Path

from pathrag_gds.evaluation.datasets.dataset import Dataset, Place, digest_of, fault, lines_of
from pathrag_gds.evaluation.graph import Graph, read_graph
from pathrag_gds.evaluation.questions import Question, bucket_of
from pathrag_gds.ingest.inputs import Input

__all__ = ["load"]


def load(place: Place, *, conjunctive: bool) -> Dataset:
    """Read the knowledge base and one of the two files of questions.

    Raises:
        ConfigError: The files are not there.
        LoadError: A line has not the format.
    """
    kb = place.file("wc2014/WC2014.txt")
    path = place.question_file(f"wc2014/WC-{'C' if conjunctive else 'P2'}.txt")
    inputs = (Input(kb, kind="triples"),)
    graph = read_graph(inputs)
    name = f"wc2014-{'c' if conjunctive else 'p2'}"
    return Dataset(
        name,
        tuple(
            _question(line, f"{name}:{number}", graph, path, number)
            for number, line in lines_of(path)
        ),
        digest_of(kb, path),
        inputs,
        graph,
        graph_name="wc2014",
        graph_digest=digest_of(kb),
        conditions=("plain", "file", "given"),
    )


def _question(line: str, id_: str, graph: Graph, path: Path, number: int) -> Question:
    cells = line.split("\t")
    if len(cells) < 4:
        raise fault(f"a question has 4 cells or more between tabs, not {len(cells)}", path, number)
    text, _, told, answers = cells[:4]
    topics, chains = [], []
    for one in told.split("*"):
        steps = one.partition("#<end>")[0].split("#")
        if len(steps) % 2 == 0:
            raise fault(f"{one!r} is no path", path, number)
        topics.append(steps[0])
        chains.append(tuple((type_, True) for type_ in steps[1::2]))
    gold = frozenset((answer, "") for answer in answers.split("/") if answer)
    if not gold or any(id_ not in graph.names for id_, _ in gold):
        raise fault(f"an answer of {answers!r} is not in the knowledge base", path, number)
    return Question(
        id=id_,
        text=text,
        answers=gold,
        bucket=bucket_of(text),
        topics=tuple(topics),
        chains=tuple(chains),
    )
