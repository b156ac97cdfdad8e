"""The recipe of the reranker that ships: which graphs its training groups are made of.

``python -m pathrag_gds.models.training.recipe --output FOLDER`` writes ``train.jsonl.gz`` and
``held_out.jsonl.gz``. All of it is licence-clean: worlds made from the lexicon of this package, the
graphs of MuSiQue's OpenIE triples (CC BY 4.0), UMLS, Nations and Countries (MIT), and with
``--metaqa`` the questions of MetaQA's training buckets (CC BY 3.0). PathQuestion, WebQSP, WC2014,
the demo and ``story2`` are never read.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path as FilePath
from random import Random

from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.models.training.candidates import Asked
from pathrag_gds.models.training.generate import (
    event_groups,
    graph_groups,
    groups_of,
    relation_groups,
)
from pathrag_gds.models.training.graph import TrainingGraph
from pathrag_gds.models.training.groups import Group, write_groups
from pathrag_gds.models.training.lexicon import Lexicon, load_lexicon
from pathrag_gds.models.training.questions import noise
from pathrag_gds.types import Edge, Entity

__all__ = ["SHARES", "held_out_lexicon", "main", "training_groups"]

SHARES = {
    "events": 0.62,
    "relations": 0.28,
    "musique": 0.06,
    "umls": 0.02,
    "nations": 0.01,
    "countries": 0.01,
}
"""How much of the groups each source gives, before MetaQA."""

# One in so many entries of the lexicon is never trained on, so that unseen words can be tested.
_HELD_OUT = 14


def held_out_lexicon(lexicon: Lexicon, held_out: bool) -> Lexicon:
    """Give the entries that are trained on, or those that are held out: about one in fourteen.

    An entry's own words decide, so that it stays where it is when others are added.
    """

    def chosen(name: str) -> bool:
        return (int(hashlib.md5(name.encode()).hexdigest(), 16) % _HELD_OUT == 0) == held_out

    return replace(
        lexicon,
        relations=tuple(
            words
            for words in lexicon.relations
            if chosen(f"{words.types[0]} {words.source.kind} {words.target.kind}")
        ),
        frames=tuple(frame for frame in lexicon.frames if chosen(frame.kind)),
    )


def training_groups(
    data: FilePath | None,
    lexicon: Lexicon,
    count: int,
    seed: int,
    count_tokens: Callable[[str], int],
) -> Iterator[Group]:
    """Give about so many groups, source after source.

    Args:
        data: Folder of the public sets; None gives the groups of worlds alone.
    """
    yield from islice(event_groups(lexicon, seed, count_tokens), int(count * SHARES["events"]))
    yield from islice(
        relation_groups(lexicon, seed, count_tokens), int(count * SHARES["relations"])
    )
    if data is None:
        return
    for graph in public_graphs(data):
        wanted = int(count * SHARES[graph.name])
        yield from islice(graph_groups(graph, lexicon, seed, count_tokens), wanted)


def public_graphs(data: FilePath) -> Iterator[TrainingGraph]:
    """Read the licence-clean graphs that walks are taken through."""
    openie = json.loads(
        gzip.decompress(next((data / "musique_hipporag").glob("openie*.json.gz")).read_bytes())
    )
    yield graph_of_triples(
        "musique",
        (t for doc in openie["docs"] for t in doc["extracted_triples"] if len(t) == 3),
    )
    names = dict(
        line.split("\t")[:2]
        for line in (data / "kgc_small/umls/entity2text.txt")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    yield graph_of_triples("umls", _rows(data / "kgc_small/umls/train.txt.gz"), names)
    yield graph_of_triples("nations", _rows(data / "kgc_small/nations/train.txt"))
    yield graph_of_triples("countries", _rows(data / "kgc_small/countries_S1/train.txt"))


def graph_of_triples(
    name: str, triples: Iterable[Sequence[str]], names: dict[str, str] | None = None
) -> TrainingGraph:
    """Make a graph of (head, relation, tail); an empty part drops the triple."""
    kept = [tuple(part.strip() for part in triple) for triple in triples]
    kept = [triple for triple in kept if all(triple)]
    ids = sorted({end for head, _, tail in kept for end in (head, tail)})
    return TrainingGraph.of(
        name,
        [Entity(id_, (names or {}).get(id_, id_)) for id_ in ids],
        [Edge(f"{h} {r} {t}", h, t, r) for h, r, t in kept],
    )


def _rows(path: FilePath) -> list[list[str]]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    return [line.split("\t") for line in text.split("\n") if line]


# MetaQA

_RELATIONS = {
    "director": "directed_by",
    "writer": "written_by",
    "actor": "starred_actors",
    "year": "release_year",
    "language": "in_language",
    "tags": "has_tags",
    "genre": "has_genre",
    "imdbrating": "has_imdb_rating",
    "imdbvotes": "has_imdb_votes",
}
_TRAINING_BUCKETS = range(5, 10)


def metaqa_groups(
    data: FilePath, per_hop: int, seed: int, count_tokens: Callable[[str], int]
) -> Iterator[Group]:
    """Give groups of MetaQA questions whose topic is in the training buckets."""
    random = Random(f"metaqa {seed}")
    folder = data / "metaqa"
    graph = metaqa_graph(folder)
    by_name = {entity.name: id_ for id_, entity in graph.entities.items()}
    for hops in (1, 2, 3):
        rows = list(
            zip(
                _rows(folder / f"{hops}-hop/dev.txt.gz"),
                _rows(folder / f"{hops}-hop/qa_dev_qtype.txt.gz"),
                strict=True,
            )
        )
        random.shuffle(rows)
        asked: list[Asked] = []
        for (question, *_), (kind, *_) in rows:
            found = re.search(r"\[(.*)\]", question)
            if len(asked) >= per_hop or found is None:
                continue
            topic = found[1]
            bucket = int(hashlib.md5(topic.encode()).hexdigest(), 16) % 10
            chain = _chain_of(kind)
            if bucket not in _TRAINING_BUCKETS or topic not in by_name or not chain:
                continue
            gold = graph.follow(by_name[topic], chain, limit=500)
            if not gold:
                continue
            random.shuffle(gold)
            text = noise(question.replace("[", "").replace("]", ""), random)
            asked.append(Asked(text, tuple(gold), starts=(by_name[topic],), kind=f"metaqa{hops}"))
        yield from groups_of(asked, graph, random, count_tokens, chains=0.6)


def metaqa_graph(folder: FilePath) -> TrainingGraph:
    """Read MetaQA's knowledge base."""
    entities = {id_: name for id_, name in _rows(folder / "entities.dict.gz")}
    relations = {id_: name for id_, name in _rows(folder / "relations.dict.gz")}
    triples = (" ".join(line).split() for line in _rows(folder / "kb_ids.txt.gz"))
    return TrainingGraph.of(
        "metaqa",
        [Entity(id_, name) for id_, name in entities.items()],
        [Edge(f"{h} {r} {t}", h, t, relations[r]) for h, r, t in triples],
    )


def _chain_of(kind: str) -> tuple[tuple[str, bool], ...]:
    """Read a question type such as ``movie_to_actor_to_movie``; empty for an unknown one."""
    parts = kind.strip().split("_to_")
    chain = []
    for one, other in pairwise(parts):
        forward = one == "movie"
        relation = _RELATIONS.get(other if forward else one)
        if relation is None:
            return ()
        chain.append((relation, forward))
    return tuple(chain)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the groups as the arguments say; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pathrag_gds.models.training.recipe")
    parser.add_argument("--data", type=FilePath, default=os.environ.get("PATHRAG_DATA"))
    parser.add_argument("--output", type=FilePath, required=True)
    parser.add_argument("--groups", type=int, default=30_000)
    parser.add_argument("--metaqa", type=int, default=0, help="MetaQA questions of each hop count")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    data = FilePath(options.data) if options.data else None
    count_tokens = load_encoder(None).count_tokens
    lexicon = load_lexicon()
    options.output.mkdir(parents=True, exist_ok=True)
    groups = list(
        training_groups(
            data, held_out_lexicon(lexicon, False), options.groups, options.seed, count_tokens
        )
    )
    if data is not None and options.metaqa:
        groups += metaqa_groups(data, options.metaqa, options.seed, count_tokens)
    Random(options.seed).shuffle(groups)
    write_groups(options.output / "train.jsonl.gz", groups)
    held_out = training_groups(
        None, held_out_lexicon(lexicon, True), options.groups // 15, options.seed + 1, count_tokens
    )
    write_groups(options.output / "held_out.jsonl.gz", list(held_out))
    print(f"{len(groups)} groups", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
