"""MuSiQue (Trivedi and others: TACL 2022) with the triples that HippoRAG had extracted.

A graph from text: phrases are entities and relationship types exactly as the extraction wrote them,
every triple knows the passage that it was read from. Questions name their topic in free words, and
for some the answer is no entity at all: that is their ceiling.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pathrag_gds.errors import LoadError
from pathrag_gds.evaluation.datasets.dataset import Dataset, Place, digest_of
from pathrag_gds.evaluation.graph import Graph, read_graph
from pathrag_gds.evaluation.questions import Question, bucket_of
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.text import fold

__all__ = ["load"]

_FOLDER = "musique_hipporag"
_TRIPLES = "openie_musique_train_results_ner_gpt-3.5-turbo-1106_1890.json"


def load(place: Place) -> Dataset:
    """Read questions and triples, and write the graph as JSON Lines.

    Raises:
        ConfigError: The files are not there.
        LoadError: A file has not the format.
    """
    triples = place.file(f"{_FOLDER}/{_TRIPLES}")
    path = place.question_file(f"{_FOLDER}/musique_questions.json")
    try:
        documents = _json(triples)["docs"]
        passages = {(d["title"], d["text"]): f"p{n}" for n, d in enumerate(documents)}
        inputs = _write(documents, place.scratch)
        graph = read_graph(inputs)
        found = _questions(_json(path), passages, graph)
    except (KeyError, TypeError, IndexError) as error:
        raise LoadError(f"not the format of this set: {error!r}.", path=path) from None
    return Dataset(
        "musique",
        tuple(found),
        digest_of(triples, path),
        inputs,
        graph,
        graph_name="musique",
        graph_digest=digest_of(triples),
    )


def _json(path: Path) -> Any:
    raw = path.read_bytes()
    try:
        return json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except (OSError, ValueError, EOFError) as error:
        raise LoadError(f"cannot be read: {error}.", path=path) from None


def _write(documents: Iterable[Mapping[str, Any]], folder: Path) -> tuple[Input, Input]:
    """Write chunks, entities and relationships; triples without three parts are left out."""
    of_entity: dict[str, list[str]] = defaultdict(list)
    of_fact: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    chunks = []
    for number, document in enumerate(documents):
        chunk = f"p{number}"
        title, text = document["title"], document["text"]
        chunks.append({"id": chunk, "text": f"{title}\n{text}", "document": chunk, "title": title})
        for triple in document["extracted_triples"]:
            parts = [" ".join(str(part).split()) for part in triple]
            if len(parts) != 3 or not all(parts):
                continue
            head, relation, tail = parts
            of_fact[head, relation, tail].append(chunk)
            for entity in (head, tail):
                of_entity[entity].append(chunk)
    rows: list[Mapping[str, Any]] = [
        {"id": entity, "name": entity, "chunk_ids": list(dict.fromkeys(of_entity[entity]))}
        for entity in sorted(of_entity)
    ]
    rows += [
        {
            "source": head,
            "type": relation,
            "target": tail,
            "chunk_ids": list(dict.fromkeys(of_fact[head, relation, tail])),
        }
        for head, relation, tail in sorted(of_fact)
    ]
    return (
        Input(_lines(folder / "chunks.jsonl", chunks), kind="chunks"),
        Input(_lines(folder / "triples.jsonl", rows), kind="json"),
    )


def _lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return path


def _questions(
    items: Iterable[Mapping[str, Any]], passages: Mapping[tuple[str, str], str], graph: Graph
) -> list[Question]:
    called: dict[str, list[str]] = defaultdict(list)
    for id_, name in graph.names.items():
        called[fold(name)].append(id_)
    found = []
    for item in items:
        names = [item["answer"], *item.get("answer_aliases", ())]
        # A name that is no entity stays as it is: nothing can hit it, which the ceiling says.
        ids = [id_ for name in names for id_ in called.get(fold(name), (name,))]
        present = [id_ for id_ in ids if id_ in graph.names]
        hops = len(item["question_decomposition"])
        found.append(
            Question(
                id=f"musique:{item['id']}",
                text=item["question"],
                answers=frozenset((id_, "") for id_ in present or ids),
                bucket=bucket_of(item["question"]),
                passages=frozenset(
                    passages[p["title"], p["paragraph_text"]]
                    for p in item["paragraphs"]
                    if p["is_supporting"]
                ),
                groups=(f"{hops}-hop",),
            )
        )
    return found
