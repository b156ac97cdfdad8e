"""Rows are put together and written as neo4j-admin import reads them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from pathrag_gds.errors import ConfigError, LoadError
from pathrag_gds.ingest.import_csv import to_import_csv


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_rows_for_one_node_or_relationship_become_one(tmp_path: Path) -> None:
    people = write(tmp_path, "n.csv", "id:ID,name,x:int,:LABEL\nb,Bé_B,1,P\na,Ann,,P\nb,,2,Q\n")
    knows = write(tmp_path, "r.csv", ":START_ID,:TYPE,:END_ID,w:float\na,R,b,1\na,R,b,2\n")
    files = to_import_csv([knows, people], tmp_path / "out", tenant="t")
    assert [path.name for path in files.node_files] == ["entities.csv"]
    assert (files.nodes, files.relationships) == (2, 1)
    assert table(files.node_files[0]) == [
        {
            "id:ID(entity)": "a",
            "tenant:string": "t",
            ":LABEL": "__Entity__\x1fP",
            "name:string": "Ann",
            "name_key:string": "ann",
            "x:long": "",
        },
        {
            "id:ID(entity)": "b",
            "tenant:string": "t",
            ":LABEL": "__Entity__\x1fP\x1fQ",
            "name:string": "Bé_B",
            "name_key:string": "be b",
            "x:long": "2",
        },
    ]
    assert table(files.relationship_files[0]) == [
        {
            ":START_ID(entity)": "a",
            ":END_ID(entity)": "b",
            ":TYPE": "R",
            "key:string": '["a","R","b"]',
            "w:double": "2.0",
        }
    ]
    assert files.arguments[-3:] == (
        "--array-delimiter=U+001F",
        "--multiline-fields=true",
        "--id-type=string",
    )


def test_triples_make_their_ends(tmp_path: Path) -> None:
    files = to_import_csv([write(tmp_path, "kb.txt", "a\tR\tb \n")], tmp_path / "out")
    assert [row["name:string"] for row in table(files.node_files[0])] == ["a", "b "]


def test_an_empty_text_is_not_a_missing_one(tmp_path: Path) -> None:
    rows = [{"id": "a", "x": ""}, {"id": "b"}]
    path = write(tmp_path, "g.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    files = to_import_csv([path], tmp_path / "out")
    lines = files.node_files[0].read_text().splitlines()
    assert lines[1].endswith(',""')
    assert lines[2].endswith('"b",')


def test_a_property_of_several_types_keeps_them(tmp_path: Path) -> None:
    rows = [{"id": "a", "x": 1}, {"id": "b", "x": "1"}, {"id": "c", "x": 2}]
    path = write(tmp_path, "g.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    files = to_import_csv([path], tmp_path / "out")
    heads = {p.name: p.read_text().splitlines()[0].split(",")[-1] for p in files.node_files}
    assert heads == {"entities.csv": '"x:long"', "entities-2.csv": '"x:string"'}
    assert len(table(files.node_files[0])) == 2


def test_a_fault_leaves_nothing_behind(tmp_path: Path) -> None:
    people = write(tmp_path, "n.csv", "id:ID,x:int\na,1\nb,y\n")
    with pytest.raises(LoadError) as caught:
        to_import_csv([people], tmp_path / "out")
    assert (caught.value.line, caught.value.column) == (3, "x:int")
    assert list((tmp_path / "out").iterdir()) == []


def test_an_end_that_nothing_defines_is_named(tmp_path: Path) -> None:
    people = write(tmp_path, "n.csv", "id:ID\na\n")
    knows = write(tmp_path, "r.csv", ":START_ID,:TYPE,:END_ID\na,R,a\na,R,ghost\n")
    with pytest.raises(LoadError, match="'ghost'") as caught:
        to_import_csv([people, knows], tmp_path / "out")
    assert (caught.value.path, caught.value.line) == (knows, 3)
    files = to_import_csv([people, knows], tmp_path / "out", create_missing=True)
    assert files.nodes == 2


def test_a_value_that_the_files_cannot_hold_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "g.jsonl", '{"id": "a", "x": ["\\u001f"]}\n')
    with pytest.raises(LoadError, match="unit separator") as caught:
        to_import_csv([path], tmp_path / "out")
    assert (caught.value.line, caught.value.column) == (1, "x")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "kb.txt", "a\tR\tb\n")
    with pytest.raises(ConfigError, match="cannot be written"):
        to_import_csv([path], path / "out")
