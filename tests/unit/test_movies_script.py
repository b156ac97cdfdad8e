"""The reader of Neo4j's movies script gives files that a load takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pathrag_gds.evaluation.datasets.movies import convert, parse
from pathrag_gds.ingest.formats import detect, read
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.lines import Lines
from pathrag_gds.ingest.rows import DataRow, NodeRow, RelationshipRow

SCRIPT = """CREATE INDEX IF NOT EXISTS FOR (p:Person) ON (p.born);

CREATE (M1:Movie {title:'A "Few", Good\\'s', released:1992, tagline:"It's"})
CREATE (Ann:Person {name:'Ann', born:1964}) // a comment
CREATE (Bob:Person {name:"Bob"})
CREATE
(Ann)-[:ACTED_IN {roles:['X', "Y; Z"]}]->(M1),
(M1)<-[:DIRECTED]-(Bob),
(Ann)-[:REVIEWED {summary:'Fine', rating:95}]->(M1);
"""


def test_nodes_and_relationships_are_read() -> None:
    nodes, edges = parse(SCRIPT)
    assert nodes == [
        ("M1", "Movie", {"title": 'A "Few", Good\'s', "released": 1992, "tagline": "It's"}),
        ("Ann", "Person", {"name": "Ann", "born": 1964}),
        ("Bob", "Person", {"name": "Bob"}),
    ]
    assert edges == [
        ("Ann", "ACTED_IN", "M1", {"roles": ["X", "Y; Z"]}),
        ("Bob", "DIRECTED", "M1", {}),
        ("Ann", "REVIEWED", "M1", {"summary": "Fine", "rating": 95}),
    ]


def test_another_clause_is_refused() -> None:
    with pytest.raises(ValueError, match="expected"):
        parse("\nCREATE (a:A {x: 1}) MATCH (b) RETURN b")


def test_the_files_can_be_loaded(tmp_path: Path) -> None:
    script = tmp_path / "movies.cypher"
    script.write_text(SCRIPT, encoding="utf-8")
    rows: list[DataRow | None] = []
    for path in convert(script, tmp_path / "out"):
        with Lines(path) as lines:
            rows += [record.row for record in read(detect(Input(path)), lines)]
    movie, ann, _, acted, directed, reviewed = rows
    assert isinstance(movie, NodeRow)
    assert isinstance(ann, NodeRow)
    assert (movie.properties["name"], movie.labels) == ('A "Few", Good\'s', ("Movie",))
    assert ann.properties["born"] == 1964
    assert isinstance(acted, RelationshipRow)
    assert isinstance(directed, RelationshipRow)
    assert isinstance(reviewed, RelationshipRow)
    assert (directed.source, directed.properties) == ("Bob", {})
    assert reviewed.properties == {"summary": "Fine", "rating": 95}
