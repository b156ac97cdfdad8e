"""Inputs that broke the published code of PathRAG, from a file to an answer.

D8 and the like are the numbers of those defects; the others are tested where their part is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds import PathRAG
from pathrag_gds.answer.prompt import PathPrompt
from pathrag_gds.errors import LoadError
from pathrag_gds.graph.database import Database
from pathrag_gds.ingest import load_files
from pathrag_gds.types import SearchResult
from tests.fakes import WordOverlapReranker
from tests.statements import statement

pytestmark = pytest.mark.integration

ADD = statement(
    "MATCH (a:__Entity__ {tenant: 't', id: $source}) "
    "MATCH (b:__Entity__ {tenant: 't', id: $target}) "
    "CREATE (a)-[:OWNS {key: 'new'}]->(b)"
)
DELETE = statement("MATCH (e:__Entity__ {tenant: 't', id: $id}) DETACH DELETE e")
ODD = statement(
    "MERGE (a:__Entity__ {tenant: 't', id: 'bare'}) SET a.description = 42, a.list = [1, 2] "
    "MERGE (b:__Entity__ {tenant: 't', id: 'other'}) SET b.name = 'Other' "
    "CREATE (a)-[:`RELATED {TO}`]->(b)"
)


def load(db: Database, folder: Path, *rows: dict[str, Any]) -> PathRAG:
    """Load rows and give a search of them."""
    path = folder / "graph.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    report = load_files(db, [path], tenant="t")
    assert report.rejected == 0
    return search_of(db)


def search_of(db: Database) -> PathRAG:
    """Give a search with a reranker that tells nothing apart."""
    reranker: Any = WordOverlapReranker({"": 0.5})
    return PathRAG(db, tenant="t", reranker=reranker)


def found(result: SearchResult) -> set[str]:
    return {"-".join(ranked.path.nodes) for ranked in result.paths}


def paths_of(prompt: PathPrompt) -> list[str]:
    return prompt.user.split("<paths>\n")[1].split("\n</paths>")[0].splitlines()


BOB = {"id": "bob", "name": "Bob", "labels": ["Cat"]}
JANE = {"id": "jane", "name": "Jane", "labels": ["Person"]}
OWNS = {"source": "jane", "type": "OWNS", "target": "bob"}


@pytest.mark.parametrize("pruner", ["beam", "flow:paper", "flow:reference", "flow:pagerank"])
def test_what_lacks_everything_that_it_may_lack_is_found(
    migrated: Database, tmp_path: Path, pruner: str
) -> None:
    """D8, D25: no name, no labels, no key, a number for a description, braces in a type."""
    rag = load(migrated, tmp_path, BOB)
    migrated.run(ODD)
    rag.refresh()
    result = rag.search("What?", start_ids=["bare"], pruner=pruner, max_depth=2, min_score=0.0)
    assert "bare-other" in found(result)
    lines = paths_of(rag.prompt_of(result))
    assert any("bare" in line and "42" in line and "Other" in line for line in lines)
    assert {hop.hop.edge.type for ranked in result.paths for hop in ranked.hops} == {"RELATED {TO}"}
    json.dumps(result.to_dict())


def test_control_characters_and_lines_survive(migrated: Database, tmp_path: Path) -> None:
    """D9, D11: they are stored as they are, and stand in no prompt."""
    text = "one\u0001two\nthree"
    rag = load(migrated, tmp_path, {**BOB, "description": text}, JANE, OWNS)
    result = rag.search("Whose is Bob?", max_depth=1, min_score=0.0)
    stored = {node.id: node.description for ranked in result.paths for node in ranked.nodes}
    assert stored["bob"] == text
    lines = paths_of(rag.prompt_of(result))
    assert len(lines) == len(result.paths)
    assert any("onetwo three" in line for line in lines)


def test_values_of_any_kind_are_loaded(migrated: Database, tmp_path: Path) -> None:
    """D10: no value, a list, lists in lists, an object."""
    values = {"none": None, "list": [1, 2], "mixed": [1, "a"], "deep": [[1], [2]], "map": {"a": 1}}
    rag = load(migrated, tmp_path, {**BOB, **values}, JANE, {**OWNS, **values})
    result = rag.search("Whose is Bob?", max_depth=1, min_score=0.0)
    (node,) = {n.id: n for r in result.paths for n in r.nodes if n.id == "bob"}.values()
    assert "none" not in node.properties
    assert node.properties["list"] == [1, 2]
    assert {"mixed", "deep", "map"} <= node.properties.keys()
    json.dumps(result.to_dict())


def test_a_node_that_only_a_relationship_names_can_be_asked_about(
    migrated: Database, tmp_path: Path
) -> None:
    """D12, D16, D26: in triples it is an entity like any other; ids are never joined or changed."""
    triples = tmp_path / "kb.txt"
    triples.write_text('AB\tR\tC\nA\tR\tBC\n"A"\tR\tx\n', encoding="utf-8")
    load_files(migrated, [triples], tenant="t")
    rag = search_of(migrated)
    for name, other in (("AB", "C"), ("A", "BC"), ('"A"', "x")):
        result = rag.search("What?", start_ids=[name], max_depth=1, min_score=0.0)
        assert found(result) == {name, f"{name}-{other}"}
    linked = rag.search("Where is BC?", max_depth=1, min_score=0.0)
    assert [anchor.id for anchor in linked.anchors] == ["BC"]


def test_a_relationship_of_a_node_that_is_not_there_is_refused(
    migrated: Database, tmp_path: Path
) -> None:
    """D12: where nodes have rows of their own, one that has none is a mistake that is named."""
    with pytest.raises(LoadError, match=r"graph\.jsonl:2, .*no node has the id 'jane'"):
        load(migrated, tmp_path, BOB, OWNS)


def test_nothing_that_is_written_or_asked_meanwhile_is_answered_from_before(
    migrated: Database, tmp_path: Path
) -> None:
    """D7, D18: other options, what is new and what is gone show in the next answer."""
    mill = {"id": "mill", "name": "Mill", "labels": ["Place"]}
    rag = load(migrated, tmp_path, BOB, JANE, mill, OWNS)
    question = "Whose is Bob?"
    first = rag.search(question, max_depth=2, min_score=0.0, top_k=9)
    assert {"bob-jane"} <= found(first)
    assert len(rag.search(question, max_depth=2, min_score=0.0, top_k=1).paths) == 1
    migrated.run(ADD, source="mill", target="bob")
    assert "bob-mill" in found(rag.search(question, max_depth=2, min_score=0.0, top_k=9))
    migrated.run(DELETE, id="jane")
    assert found(rag.search(question, max_depth=2, min_score=0.0, top_k=9)) == {"bob", "bob-mill"}
