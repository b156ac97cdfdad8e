"""MetaQA (Zhang and others: AAAI 2018; CC BY 3.0): films, and questions of one to three hops.

The gold relationships follow from the type of the question, which lies in a file beside it; the
topic, which the file marks by brackets, is never met again on a gold path.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from pathrag_gds.evaluation.datasets.dataset import Dataset, Place, digest_of, fault, lines_of
from pathrag_gds.evaluation.graph import read_graph
from pathrag_gds.evaluation.questions import Chain, Question, bucket_of
from pathrag_gds.ingest.inputs import Input

__all__ = ["chain_of_type", "load"]

_RELATIONS = {
    "actor": "starred_actors",
    "director": "directed_by",
    "genre": "has_genre",
    "imdbrating": "has_imdb_rating",
    "imdbvotes": "has_imdb_votes",
    "language": "in_language",
    "tag": "has_tags",
    "tags": "has_tags",
    "writer": "written_by",
    "year": "release_year",
}
_TOPIC = re.compile(r"\[(.+)\]")


def load(place: Place, *, hops: int) -> Dataset:
    """Read the knowledge base and the development questions of so many hops.

    Raises:
        ConfigError: The files are not there.
        LoadError: A line has not the format.
    """
    kb, entities, relations = (
        place.file(f"metaqa/{name}") for name in ("kb_ids.txt", "entities.dict", "relations.dict")
    )
    path = place.question_file(f"metaqa/{hops}-hop/dev.txt")
    inputs = (Input(kb, kind="triples", entities=entities, relations=relations),)
    types = _types_beside(path)
    chains = [text for _, text in lines_of(types)] if types else []
    name = f"metaqa-{hops}h"
    found = []
    for position, (number, line) in enumerate(lines_of(path)):
        kind = chains[position] if position < len(chains) else ""
        if types and not kind:
            raise fault(f"{types.name} has no type for this question", path, number)
        found.append(_question(line, kind.strip(), f"{name}:{number}", path, number))
    graph_digest = digest_of(kb, entities, relations)
    return Dataset(
        name,
        tuple(found),
        digest_of(kb, entities, relations, path, *([types] if types else [])),
        inputs,
        read_graph(inputs),
        graph_name="metaqa",
        graph_digest=graph_digest,
        report=(0, 1, 2, 3, 4),
        conditions=("plain", "file", "given"),
    )


def _types_beside(path: Path) -> Path | None:
    """Find the file of types that belongs to a file of questions, such as ``qa_dev_qtype.txt``."""
    stem = path.name.partition(".")[0]
    for ending in (".txt", ".txt.gz"):
        beside = path.with_name(f"qa_{stem}_qtype{ending}")
        if beside.is_file():
            return beside
    return None


def chain_of_type(kind: str) -> Chain:
    """Give the relationships of a type such as ``movie_to_director_to_movie``.

    Raises:
        ValueError: A part of it is unknown.
    """
    parts = kind.split("_to_")
    chain = []
    for one, other in pairwise(parts):
        forward = one == "movie"
        relation = _RELATIONS.get(other if forward else one)
        if relation is None or (one == "movie") == (other == "movie"):
            raise ValueError(f"unknown type {kind!r}")
        chain.append((relation, forward))
    return tuple(chain)


def _question(line: str, kind: str, id_: str, path: Path, number: int) -> Question:
    text, tab, answers = line.partition("\t")
    topic = _TOPIC.search(text)
    if not tab or topic is None:
        raise fault(
            "a question marks its topic by brackets and has answers after a tab", path, number
        )
    try:
        chains = (chain_of_type(kind),) if kind else ()
    except ValueError as error:
        raise fault(str(error), path, number) from None
    return Question(
        id=id_,
        text=text,
        answers=frozenset((answer, "") for answer in answers.split("|")),
        bucket=bucket_of(topic[1]),
        topics=(topic[1],),
        chains=chains,
        returns=False,
        groups=(kind,) if kind else (),
    )
