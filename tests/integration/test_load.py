"""Loading on a real server: what is written, what is refused, and what an interruption leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.config import Connection
from pathrag_gds.errors import IndexMissing, LoadError, ServerUnavailable, TenantError
from pathrag_gds.graph.database import Database, Row
from pathrag_gds.graph.schema import read_ontology
from pathrag_gds.ingest import Input, LoadProgress, LoadReport, load_files
from pathrag_gds.ingest.batches import BatchWriter, Numbered
from tests.statements import statement

NODES = statement(
    "MATCH (e:__Entity__ {tenant: $tenant}) "
    "RETURN e {.*} AS properties, [x IN labels(e) WHERE x <> '__Entity__' | x] AS labels "
    "ORDER BY e.id",
    "read",
)
EDGES = statement(
    "MATCH (a:__Entity__ {tenant: $tenant})-[r]->(b:__Entity__) "
    "RETURN a.id AS source, type(r) AS type, b.id AS target, properties(r) AS properties "
    "ORDER BY source, type, target, r.key",
    "read",
)
TOTAL = statement("MATCH (n) RETURN count(n) AS n", "read")
NOTES = statement("MATCH (l:__Load__) RETURN l.records AS records, l.finished AS finished", "read")


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def nodes(db: Database, tenant: str = "t") -> dict[str, Row]:
    rows = db.run(NODES, tenant=tenant)
    return {row["properties"]["id"]: {**row, "labels": sorted(row["labels"])} for row in rows}


def edges(db: Database, tenant: str = "t") -> list[Row]:
    return db.run(EDGES, tenant=tenant)


def triples(db: Database, tenant: str = "t") -> list[tuple[str, str, str]]:
    return [(row["source"], row["type"], row["target"]) for row in edges(db, tenant)]


def test_nodes_relationships_and_chunks_in_any_order(migrated: Database, tmp_path: Path) -> None:
    people = write(
        tmp_path,
        "people.csv",
        "id:ID,name,age:int,aliases,chunk_ids:string[],:LABEL\n"
        "ann,Zoë_Ann,30,Annie;A,c1;c2,Person;Legal Person\n"
        "acme,Acme,,,,Company\n",
    )
    works = write(
        tmp_path,
        "works.csv",
        ":START_ID,:TYPE,:END_ID,key,since:date,chunk_ids\nann,WORKS FOR,acme,k1,2020-02-03,c1\n",
    )
    chunks = write(
        tmp_path,
        "chunks.jsonl",
        '{"id": "c2", "text": "Two.", "document": "d", "position": 1}\n'
        '{"id": "c1", "text": "One.", "document": "d", "position": 0, "title": "D"}\n',
    )
    seen: list[LoadProgress] = []
    report = load_files(migrated, [works, people, chunks], tenant="t", progress=seen.append)
    assert (report.nodes, report.relationships, report.chunks) == (2, 1, 2)
    assert report.warnings == ()
    assert [p.stage for p in seen] == ["chunks", "nodes", "relationships", "finishing"]
    assert all(p.bytes_done == p.bytes_total for p in seen)
    found = nodes(migrated)
    assert found["ann"] == {
        "properties": {
            "id": "ann",
            "tenant": "t",
            "name": "Zoë_Ann",
            "name_key": "zoe ann",
            "age": 30,
            "aliases": ["Annie", "A"],
            "alias_keys": ["annie", "a"],
            "chunk_ids": ["c1", "c2"],
        },
        "labels": ["Legal Person", "Person"],
    }
    assert edges(migrated) == [
        {
            "source": "ann",
            "type": "WORKS FOR",
            "target": "acme",
            "properties": {"key": "k1", "since": "2020-02-03", "chunk_ids": ["c1"]},
        }
    ]
    links = statement(
        "MATCH (a)-[r:FROM_CHUNK|FROM_DOCUMENT|NEXT_CHUNK]->(b) "
        "RETURN a.id AS a, type(r) AS r, b.id AS b ORDER BY r, a, b",
        "read",
    )
    assert [tuple(row.values()) for row in migrated.run(links)] == [
        ("ann", "FROM_CHUNK", "c1"),
        ("ann", "FROM_CHUNK", "c2"),
        ("c1", "FROM_DOCUMENT", "d"),
        ("c2", "FROM_DOCUMENT", "d"),
        ("c1", "NEXT_CHUNK", "c2"),
    ]
    ontology = read_ontology(migrated, "t")
    assert ontology.recorded
    assert [t.name for t in ontology.relation_types] == ["WORKS FOR"]
    assert migrated.run(NOTES) == []


def test_a_second_load_changes_nothing(migrated: Database, tmp_path: Path) -> None:
    text = "a\tKNOWS\tb\na\tKNOWS\tb\nb\tKNOWS\ta\na\tLIKES\tb\na\tIS\ta\n"
    path = write(tmp_path, "kb.txt", text)
    load_files(migrated, [path], tenant="t")
    before, total = (nodes(migrated), edges(migrated)), migrated.run(TOTAL)
    load_files(migrated, [path], tenant="t")
    assert (nodes(migrated), edges(migrated)) == before
    assert migrated.run(TOTAL) == total
    assert triples(migrated) == [
        ("a", "IS", "a"),
        ("a", "KNOWS", "b"),
        ("a", "LIKES", "b"),
        ("b", "KNOWS", "a"),
    ]


def test_parallel_relationships_survive_by_their_key(migrated: Database, tmp_path: Path) -> None:
    people = write(tmp_path, "n.csv", "id:ID\na\nb\n")
    header = ":START_ID,:TYPE,:END_ID,key,amount:int\n"
    pays = write(tmp_path, "r.csv", header + "a,PAYS,b,1,10\na,PAYS,b,2,20\na,PAYS,b,,30\n")
    load_files(migrated, [people, pays], tenant="t")
    later = write(tmp_path, "r2.csv", header + "a,PAYS,b,2,21\na,PAYS,b,,31\n")
    load_files(migrated, [later], tenant="t")
    amounts = {row["properties"]["key"]: row["properties"]["amount"] for row in edges(migrated)}
    assert amounts == {"1": 10, "2": 21, '["a","PAYS","b"]': 31}


def test_a_later_row_adds_and_replaces_but_removes_nothing(
    migrated: Database, tmp_path: Path
) -> None:
    load_files(migrated, [write(tmp_path, "kb.txt", "a\tR\tb\n")], tenant="t")
    assert nodes(migrated)["a"]["properties"]["name"] == "a"
    first = write(tmp_path, "1.csv", "id:ID,name,x:int,:LABEL\na,Ann,1,P\n")
    second = write(tmp_path, "2.csv", "id:ID,x:int,y:int,:LABEL\na,2,3,Q\n")
    load_files(migrated, [first, second], tenant="t")
    assert nodes(migrated)["a"] == {
        "properties": {"id": "a", "tenant": "t", "name": "Ann", "name_key": "ann", "x": 2, "y": 3},
        "labels": ["P", "Q"],
    }


ODD_NAMES = [
    "WORKS FOR",
    "2_year_Period",
    "a`b",
    "`RelType`",
    "a\\u0060b",
    "definiert_ICP-Kriterien_für",
    "由...组成",
    "X]->() DETACH DELETE n //",
    "a`: 1}) DETACH DELETE (n) //",
    "ORGANIZATION, LOCATION",
    "a:b",
    "/film/directed.by",
    "O'Brien \\ Sons",
    'say "hi"',
    "$(x)",
    "ＤＥＬＥＴＥ",
    "a\u2028b",
    "\u0085",
    "😀",
]


@pytest.mark.parametrize("kind", ["json", "triples"])
def test_odd_labels_types_keys_and_values_are_kept_exactly(
    migrated: Database, tmp_path: Path, kind: str
) -> None:
    if kind == "triples":
        text = "".join(f"{name}\t{name}\tend\n" for name in ODD_NAMES)
        load_files(migrated, [write(tmp_path, "kb.txt", text)], tenant="t")
        assert {row[0] for row in triples(migrated)} == set(ODD_NAMES)
    else:
        rows: list[dict[str, Any]] = [{"id": "end"}]
        for name in ODD_NAMES:
            rows.append({"id": name, "name": name, "labels": [name], "properties": {name: name}})
            rows.append(
                {"source": name, "type": name, "target": "end", "properties": {name: name + "\n\t"}}
            )
        text = "".join(json.dumps(row) + "\n" for row in rows)
        load_files(migrated, [write(tmp_path, "g.jsonl", text)], tenant="t")
        found = nodes(migrated)
        for name in ODD_NAMES:
            assert found[name]["labels"] == [name]
            assert found[name]["properties"][name] == name
        assert {row["properties"][row["type"]] for row in edges(migrated)} == {
            name + "\n\t" for name in ODD_NAMES
        }
    assert {row[1] for row in triples(migrated)} == set(ODD_NAMES)
    assert len(nodes(migrated)) == len(ODD_NAMES) + 1


def test_names_that_look_alike_stay_apart(migrated: Database, tmp_path: Path) -> None:
    names = ["US", "us", "Electrons", "electrons", "김철수", "이영희", "é", "e\u0301", "..d"]
    text = "".join(f"{name}\tR\tx\n" for name in names)
    load_files(migrated, [write(tmp_path, "kb.txt", text)], tenant="t")
    assert set(nodes(migrated)) == {*names, "x"}


def test_values_that_neo4j_cannot_hold_become_json_text(migrated: Database, tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "id": "a",
        "address": {"city": "Oslo"},
        "roles": [{"t": 1}],
        "mixed": [1, "x"],
    }
    row["n"] = None
    load_files(migrated, [write(tmp_path, "g.jsonl", json.dumps(row))], tenant="t")
    properties = nodes(migrated)["a"]["properties"]
    assert properties["address"] == '{"city":"Oslo"}'
    assert properties["roles"] == '[{"t":1}]'
    assert properties["mixed"] == '[1,"x"]'
    assert "n" not in properties


def test_typed_columns_become_typed_values(migrated: Database, tmp_path: Path) -> None:
    header = "id:ID,a:date,b:datetime,c:localtime,d:boolean,e:double,f:float[],g:long\n"
    row = "x,2014-06-12,2014-06-12T10:00:00+02:00,12:50:00.5,true,1.5,1;2.5,-9223372036854775808\n"
    load_files(migrated, [write(tmp_path, "n.csv", header + row)], tenant="t")
    kinds = statement(
        "MATCH (e:__Entity__ {tenant: 't'}) RETURN valueType(e.a) AS a, valueType(e.b) AS b, "
        "valueType(e.c) AS c, valueType(e.d) AS d, e.e AS e, e.f AS f, e.g AS g",
        "read",
    )
    assert migrated.run(kinds) == [
        {
            "a": "DATE NOT NULL",
            "b": "ZONED DATETIME NOT NULL",
            "c": "LOCAL TIME NOT NULL",
            "d": "BOOLEAN NOT NULL",
            "e": 1.5,
            "f": [1.0, 2.5],
            "g": -(2**63),
        }
    ]


def test_a_bad_row_stops_the_load_with_nothing_of_its_batch(
    migrated: Database, tmp_path: Path
) -> None:
    text = "id:ID,age:int\n" + "".join(f"n{i},{i}\n" for i in range(10)) + "bad,x\nlast,1\n"
    path = write(tmp_path, "n.csv", text)
    with pytest.raises(LoadError) as caught:
        load_files(migrated, [path], tenant="t", batch_size=4)
    assert (caught.value.path, caught.value.line, caught.value.column) == (path, 12, "age:int")
    assert set(nodes(migrated)) == {f"n{i}" for i in range(8)}


def test_an_end_that_no_row_defines_is_named(migrated: Database, tmp_path: Path) -> None:
    people = write(tmp_path, "n.csv", "id:ID\na\nb\n")
    knows = write(tmp_path, "r.csv", ":START_ID,:TYPE,:END_ID\na,R,b\nb,R,ghost\n")
    with pytest.raises(LoadError, match="no node has the id 'ghost'") as caught:
        load_files(migrated, [people, knows], tenant="t")
    assert (caught.value.line, caught.value.column) == (3, ":END_ID")
    assert triples(migrated) == []
    report = load_files(migrated, [people, knows], tenant="t", create_missing=True)
    assert report.relationships == 2
    assert nodes(migrated)["ghost"]["properties"]["name"] == "ghost"


def test_bad_rows_can_be_skipped_into_a_reject_file(migrated: Database, tmp_path: Path) -> None:
    people = write(tmp_path, "n.csv", "id:ID,age:int\na,1\nb,x\nc,3\n")
    knows = write(tmp_path, "r.csv", ":START_ID,:TYPE,:END_ID\na,R,c\na,R,b\nc,,a\n")
    report = load_files(
        migrated, [people, knows], tenant="t", on_error="skip", reject_folder=tmp_path
    )
    assert (report.nodes, report.relationships, report.rejected) == (2, 1, 3)
    assert report.reject_files == (tmp_path / "n.rejected.csv", tmp_path / "r.rejected.csv")
    assert report.reject_files[1].read_text() == (
        ":START_ID,:TYPE,:END_ID,reason:IGNORE\n"
        'c,,a,":TYPE: the type is empty"\n'
        "a,R,b,\":END_ID: no node has the id 'b'\"\n"
    )
    error = report.partial_error()
    assert error is not None
    assert "3 rows were loaded, 3 were not" in error.message
    assert triples(migrated) == [("a", "R", "c")]


def test_a_row_that_the_server_refuses_is_found(migrated: Database, tmp_path: Path) -> None:
    constraint = statement(
        "CREATE CONSTRAINT passport IF NOT EXISTS FOR (p:Person) REQUIRE p.passport IS UNIQUE",
        "schema",
    )
    migrated.run(constraint)
    rows = [f"n{i},{i},Person\n" for i in range(9)]
    rows.insert(6, "twin,3,Person\n")
    path = write(tmp_path, "n.csv", "id:ID,passport:int,:LABEL\n" + "".join(rows))
    try:
        with pytest.raises(LoadError, match="refuses the row") as caught:
            load_files(migrated, [path], tenant="t")
        assert caught.value.line == 8
        assert nodes(migrated) == {}
        report = load_files(migrated, [path], tenant="t", on_error="skip", reject_folder=tmp_path)
        assert (report.nodes, report.rejected) == (9, 1)
        assert set(nodes(migrated)) == {f"n{i}" for i in range(9)}
    finally:
        migrated.run(statement("DROP CONSTRAINT passport", "schema"))


def test_tenants_do_not_touch_each_other(migrated: Database, tmp_path: Path) -> None:
    path = write(tmp_path, "kb.txt", "a\tR\tb\n")
    load_files(migrated, [path], tenant="one")
    load_files(migrated, [write(tmp_path, "kb2.txt", "a\tS\tb\n")], tenant="acme-eu")
    assert triples(migrated, "one") == [("a", "R", "b")]
    assert triples(migrated, "acme-eu") == [("a", "S", "b")]
    orphan = write(tmp_path, "r.csv", ":START_ID,:TYPE,:END_ID\na,R,b\n")
    with pytest.raises(LoadError, match="no node has the id 'a'"):
        load_files(migrated, [orphan], tenant="three")
    for tenant in ("", "acme\n", "a\0b", " x"):
        with pytest.raises(TenantError):
            load_files(migrated, [path], tenant=tenant)


def test_texts_are_not_taken_for_entities(migrated: Database, tmp_path: Path) -> None:
    """As a GraphRAG export has them: one node for a chunk and an entity has one place for both."""
    rows: list[dict[str, Any]] = [
        {"type": "node", "id": "0", "labels": ["Person"], "properties": {"name": "Ann"}},
        {"type": "node", "id": "1", "labels": ["Chunk"], "properties": {"text": "Ann sleeps."}},
    ]
    path = write(tmp_path, "export.json", "".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(LoadError, match="label 'Chunk'") as caught:
        load_files(migrated, [path], tenant="t")
    assert (caught.value.line, caught.value.column) == (2, "labels")
    assert "pathrag load --chunks" in caught.value.hint
    assert nodes(migrated) == {}

    report = load_files(migrated, [path], tenant="t", on_error="skip", reject_folder=tmp_path)
    assert (report.nodes, report.rejected) == (1, 1)
    assert list(nodes(migrated)) == ["0"]


def test_properties_and_types_of_ours_are_reported(migrated: Database, tmp_path: Path) -> None:
    people = write(tmp_path, "n.csv", ":ID,id:int,embedding:float[]\na,7,1;2\nb,8,1;2\n")
    parts = write(tmp_path, "r.csv", ":START_ID,:TYPE,:END_ID\na,PART_OF,b\n")
    report = load_files(migrated, [people, parts], tenant="t")
    assert nodes(migrated)["a"]["properties"]["id_"] == 7
    assert report.warnings == (
        "n.csv: property 'embedding' is computed here and was left out (2 rows)",
        "n.csv: property 'id' is stored as 'id_' (2 rows)",
        "r.csv: relationships of type PART_OF are never followed",
    )


def test_chunks_are_linked_anew_when_they_change(migrated: Database, tmp_path: Path) -> None:
    row = '{{"id": "{0}", "text": "t", "document": "d", "position": {1}}}\n'
    first = write(tmp_path, "c1.jsonl", row.format("x", 0) + row.format("z", 1))
    people = write(tmp_path, "n.csv", "id:ID,chunk_ids\na,x;y\n")
    load_files(migrated, [people, first], tenant="t")
    second = write(tmp_path, "c2.jsonl", row.format("y", 1) + row.format("z", 2))
    load_files(migrated, [second], tenant="t")
    load_files(migrated, [write(tmp_path, "m.csv", "id:ID,chunk_ids\na,y\n")], tenant="t")
    chain = statement("MATCH (a)-[:NEXT_CHUNK]->(b) RETURN a.id + b.id AS x ORDER BY x", "read")
    assert [r["x"] for r in migrated.run(chain)] == ["xy", "yz"]
    source = statement("MATCH (:__Entity__)-[:FROM_CHUNK]->(b) RETURN b.id AS x", "read")
    assert [r["x"] for r in migrated.run(source)] == ["y"]


def test_a_database_without_our_schema_is_refused(database: Database, tmp_path: Path) -> None:
    path = write(tmp_path, "kb.txt", "a\tR\tb\n")
    with pytest.raises(IndexMissing, match="pathrag migrate up"):
        load_files(database, [path], tenant="t")
    assert database.run(TOTAL) == [{"n": 0}]


def test_an_interrupted_load_goes_on_after_its_last_batch(
    migrated: Database, tmp_path: Path
) -> None:
    path = write(tmp_path, "kb.txt", "".join(f"a{i}\tR\tb\n" for i in range(10)))

    def stop(progress: LoadProgress) -> None:
        if progress.rows == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_files(migrated, [path], tenant="t", batch_size=3, progress=stop)
    assert len(triples(migrated)) == 6
    assert migrated.run(NOTES) == [{"records": 6, "finished": False}]
    moved = path.rename(tmp_path / "moved.txt")
    report = load_files(migrated, [moved], tenant="t", batch_size=3)
    assert (report.resumed, report.relationships) == (6, 4)
    assert len(triples(migrated)) == 10
    assert migrated.run(NOTES) == []


def test_chunks_are_chained_when_their_load_goes_on(migrated: Database, tmp_path: Path) -> None:
    row = '{{"id": "c{0}", "text": "t", "document": "d", "position": {0}}}\n'
    chunks = write(tmp_path, "c.jsonl", "".join(row.format(i) for i in range(3)))
    bad = write(tmp_path, "kb.txt", "a\tR\tb\nx\n")
    with pytest.raises(LoadError):
        load_files(migrated, [chunks, bad], tenant="t")
    report = load_files(migrated, [chunks], tenant="t")
    assert (report.resumed, report.chunks) == (3, 0)
    chain = statement("MATCH (a)-[:NEXT_CHUNK]->(b) RETURN a.id + b.id AS x ORDER BY x", "read")
    assert [r["x"] for r in migrated.run(chain)] == ["c0c1", "c1c2"]
    moved = write(tmp_path, "m.jsonl", '{"id": "c1", "text": "t", "document": "e"}\n')
    load_files(migrated, [moved], tenant="t")
    owners = statement("MATCH (:Chunk {id: 'c1'})-[:FROM_DOCUMENT]->(d) RETURN d.id AS x", "read")
    assert [r["x"] for r in migrated.run(owners)] == ["e"]


def test_a_reject_file_outlives_an_interruption(migrated: Database, tmp_path: Path) -> None:
    rows = ['{"id": "a"}', '{"name": "no id"}', '{"id": "b"}']
    rows.append('{"source": "a", "type": "R", "target": "ghost"}')
    path = write(tmp_path, "g.jsonl", "".join(row + "\n" for row in rows))

    def stop(progress: LoadProgress) -> None:
        if progress.stage == "nodes":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_files(
            migrated,
            [path],
            tenant="t",
            on_error="skip",
            reject_folder=tmp_path,
            progress=stop,
        )
    report = load_files(migrated, [path], tenant="t", on_error="skip", reject_folder=tmp_path)
    assert (report.resumed, report.rejected) == (4, 1)
    kept = [json.loads(line) for line in report.reject_files[0].read_text().splitlines()]
    assert [row["rejected"] for row in kept] == [
        "id: the row has no id",
        "target: no node has the id 'ghost'",
    ]


def test_a_row_is_rejected_once_though_its_batch_is_repeated(
    migrated: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = write(tmp_path, "n.csv", "id:ID\na\nb\n")
    good = "a,R,b\na,R,a\nb,R,b\n"
    text = f":START_ID,:TYPE,:END_ID\n{good}a,,b\na,R,ghost\nb,R,a\n"
    knows = write(tmp_path, "r.csv", text)
    commit = BatchWriter._commit

    def fail(self: BatchWriter, batch: Sequence[Numbered], done: int, finished: bool) -> None:
        if done == 6 and len(batch) == 1:
            raise ServerUnavailable("gone")
        commit(self, batch, done, finished)

    def run() -> LoadReport:
        return load_files(
            migrated,
            [people, knows],
            tenant="t",
            batch_size=3,
            on_error="skip",
            reject_folder=tmp_path,
        )

    with monkeypatch.context() as patched:
        patched.setattr(BatchWriter, "_commit", fail)
        with pytest.raises(ServerUnavailable):
            run()
    assert triples(migrated) == [("a", "R", "a"), ("a", "R", "b"), ("b", "R", "b")]
    rejected = (
        ":START_ID,:TYPE,:END_ID,reason:IGNORE\n"
        'a,,b,":TYPE: the type is empty"\n'
        "a,R,ghost,\":END_ID: no node has the id 'ghost'\"\n"
    )
    assert (tmp_path / "r.rejected.csv").read_text() == rejected
    report = run()
    assert (report.resumed, report.relationships, report.rejected) == (5, 1, 2)
    assert (tmp_path / "r.rejected.csv").read_text() == rejected
    assert ("b", "R", "a") in triples(migrated)


@pytest.mark.parametrize("kind", ["nodes", "relationships", "chunks"])
def test_a_note_is_not_believed_when_what_it_tells_of_is_gone(
    migrated: Database, tmp_path: Path, kind: str
) -> None:
    text = {
        "nodes": "id:ID\na\nb\nc\n",
        "relationships": "a\tR\tb\nc\tR\td\n",
        "chunks": '{"id": "c1", "text": "One."}\n{"id": "c2", "text": "Two."}\n',
    }[kind]
    path = write(tmp_path, "data", text)

    def stop(progress: LoadProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_files(migrated, [path], tenant="t", batch_size=2, progress=stop)
    migrated.run(statement("MATCH (n) WHERE n:__Entity__ OR n:Chunk DETACH DELETE n"))
    report = load_files(migrated, [path], tenant="t", batch_size=2)
    assert report.resumed == 0
    assert getattr(report, kind) == len(text.splitlines()) - (kind == "nodes")
    assert report.warnings == (
        f"data: the {kind} of an interrupted load are gone; they were loaded from the beginning",
    )


def test_a_changed_file_is_loaded_from_its_beginning(migrated: Database, tmp_path: Path) -> None:
    path = write(tmp_path, "kb.txt", "a\tR\tb\nc\tR\td\nx\ty\n")
    with pytest.raises(LoadError):
        load_files(migrated, [path], tenant="t", batch_size=1)
    write(tmp_path, "kb.txt", "a2\tR\tb\nc\tR\td\nx\ty\tz\n")
    report = load_files(migrated, [path], tenant="t", batch_size=1)
    assert (report.resumed, report.relationships) == (0, 3)
    again = load_files(migrated, [path], tenant="t", resume=False)
    assert again.relationships == 3


KILLED = """
import sys
from pathlib import Path
from pathrag_gds.config import Connection
from pathrag_gds.graph.database import Database
from pathrag_gds.ingest import load_files

uri, user, password, path = sys.argv[1:]
with Database(Connection(uri, user, password)) as db:
    load_files(db, [Path(path)], tenant="t", batch_size=50,
               progress=lambda p: print(p.rows, flush=True))
"""


def test_a_killed_load_goes_on_and_ends_with_the_same_graph(
    migrated: Database, server: Connection, tmp_path: Path
) -> None:
    count = 3000
    path = write(tmp_path, "kb.txt", "".join(f"a{i}\tR{i % 7}\tb{i % 50}\n" for i in range(count)))
    command = [sys.executable, "-c", KILLED]
    arguments = [server.uri, server.username, server.password, str(path)]
    process = subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if int(line) >= 300:
                os.kill(process.pid, signal.SIGKILL)
                break
    process.wait()
    settled = _wait_until_still(migrated)
    assert 300 <= settled < count
    assert settled == len(triples(migrated))
    report = load_files(migrated, [path], tenant="t")
    assert (report.resumed, report.relationships) == (settled, count - settled)
    assert len(triples(migrated)) == count
    assert len(nodes(migrated)) == count + 50


def _wait_until_still(db: Database) -> int:
    """Wait for the server to roll back what the killed client left open."""
    before = -1
    for _ in range(50):
        (note,) = db.run(NOTES)
        if note["records"] == before:
            break
        before = int(note["records"])
        time.sleep(0.2)
    return before


def test_an_input_given_as_text_and_one_with_options(migrated: Database, tmp_path: Path) -> None:
    people = write(tmp_path, "n.csv", "id:ID,label_en\na,Ann\nb,Bob\n")
    pairs = write(tmp_path, "r.csv", ":START_ID,:END_ID\na,b\n")
    load_files(
        migrated,
        [
            Input(people, labels=("Person",), name_properties=("label_en",)),
            Input(pairs, rel_type="RELATED_TO"),
        ],
        tenant="t",
    )
    load_files(migrated, [str(write(tmp_path, "kb.txt", "a\tKNOWS\tb\n"))], tenant="t")
    assert nodes(migrated)["a"]["labels"] == ["Person"]
    assert nodes(migrated)["a"]["properties"]["name"] == "Ann"
    assert triples(migrated) == [("a", "KNOWS", "b"), ("a", "RELATED_TO", "b")]
