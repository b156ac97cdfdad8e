"""Every format is read exactly, its kind is told from the first line, and faults are named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pathrag_gds.errors import ConfigError, LoadError
from pathrag_gds.ingest.formats import detect, read
from pathrag_gds.ingest.headers import parse_header
from pathrag_gds.ingest.inputs import Input, Kind
from pathrag_gds.ingest.lines import Lines, content_hash
from pathrag_gds.ingest.rows import ChunkRow, NodeRow, Record, RelationshipRow, RowFault


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def records(source: Input) -> list[Record]:
    source = detect(source)
    with Lines(source.path) as lines:
        return list(read(source, lines))


def faults(source: Input) -> list[tuple[int, str, str]]:
    return [(r.line, r.fault.column, r.reason) for r in records(source) if r.fault]


def node(record: Record) -> NodeRow:
    assert isinstance(record.row, NodeRow), record.fault
    return record.row


def relationship(record: Record) -> RelationshipRow:
    assert isinstance(record.row, RelationshipRow), record.fault
    return record.row


def test_import_headers_are_read() -> None:
    header = parse_header(
        [
            "personId:ID(Person)",
            "name",
            "age:int",
            "roles:string[]",
            ":LABEL",
            "x:IGNORE",
            "a:b:float",
        ]
    )
    assert header.kind == "nodes"
    assert [(c.role, c.name, c.space, c.cell_type, c.array) for c in header.columns] == [
        ("id", "personId", "Person", "string", False),
        ("property", "name", "", "string", False),
        ("property", "age", "", "int", False),
        ("property", "roles", "", "string", True),
        ("label", "", "", "string", False),
        ("ignore", "x", "", "string", False),
        ("property", "a:b", "", "float", False),
    ]


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        (["id:ID", "age:integer"], "age:integer"),
        (["id:ID", "name", "name"], "name"),
        (["id:ID", ""], ""),
        (["id:ID", "x:ID"], ":ID"),
        ([":START_ID", ":START_ID", ":END_ID"], ":START_ID"),
        (["id:ID", "id:int"], "id:int"),
    ],
)
def test_a_bad_header_names_the_column(cells: list[str], column: str) -> None:
    with pytest.raises(RowFault) as caught:
        parse_header(cells)
    assert caught.value.column == column


def test_csv_nodes_are_typed_quoted_and_labelled(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "people.csv",
        "id:ID,name,age:int,roles:string[],:LABEL,note:IGNORE\r\n"
        'a,"O\'Brien ""Bob"", Jr.",42,x;y,Person;Legal Person,n\r\n'
        "\r\n"
        'b,"line 1\nline 2",,,,\r\n',
    )
    first, second = records(Input(path))
    assert node(first).labels == ("Legal Person", "Person")
    assert node(first).properties["name"] == 'O\'Brien "Bob", Jr.'
    assert node(first).properties["age"] == 42
    assert node(first).properties["roles"] == ["x", "y"]
    assert node(second).properties["name"] == "line 1\nline 2"
    assert set(node(second).properties) == {"name", "name_key"}
    assert [first.line, second.line] == [2, 4]


def test_id_spaces_keep_equal_ids_apart(tmp_path: Path) -> None:
    people = write(tmp_path, "p.csv", "personId:ID(Person),name\n1,Ann\n")
    acted = write(tmp_path, "r.csv", ":START_ID(Person),:END_ID(Movie),:TYPE\n1,1,ACTED_IN\n")
    (person,) = records(Input(people))
    assert node(person).id == "Person:1"
    assert node(person).properties["personId"] == "1"
    (edge,) = records(Input(acted))
    assert (relationship(edge).source, relationship(edge).target) == ("Person:1", "Movie:1")


def test_an_entity_may_have_a_property_called_id(tmp_path: Path) -> None:
    path = write(tmp_path, "n.csv", ":ID,id:int\nx,7\n")
    (row,) = records(Input(path))
    assert node(row).id == "x"
    assert node(row).properties == {"id_": 7}


def test_tsv_relationships_carry_key_chunks_and_properties(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "r.tsv.gz",
        ":START_ID\t:TYPE\t:END_ID\tkey\tchunk_ids\tweight:float\na\tR\tb\tk1\tc1;c2\t0.5\na\tR\tb\t\t\t\n",
    )
    first, second = (relationship(r) for r in records(Input(path)))
    assert (first.key, first.properties) == ("k1", {"chunk_ids": ["c1", "c2"], "weight": 0.5})
    assert (second.key, second.properties) == ('["a","R","b"]', {})


def test_a_type_for_the_whole_file_and_another_delimiter(tmp_path: Path) -> None:
    path = write(tmp_path, "r.csv", ":START_ID|:END_ID\na|b\n")
    (row,) = records(Input(path, delimiter="|", rel_type="KNOWS"))
    assert relationship(row).type == "KNOWS"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id:ID,age:int\na,1\nb,x\n", [(3, "age:int", "age:int: 'x' is not a whole number")]),
        ("id:ID,age:int\n,1\n", [(2, "id:ID", "id:ID: the id is empty")]),
        ("id:ID,age:int\na\n", [(2, "", "the row has 1 cells, the header 2")]),
        ('id:ID\n"a\nb\n', [(2, "", "a quoted cell that begins here is never closed")]),
        (b"id:ID,name\na,Caf\xe9\n", [(2, "name", "name: byte 0xE9 is not UTF-8")]),
        (
            "id:ID,:LABEL\na,__RelationType__\n",
            [
                (
                    2,
                    ":LABEL",
                    ":LABEL: an entity cannot have the label '__RelationType__', it is ours",
                )
            ],
        ),
    ],
)
def test_a_bad_csv_row_is_named(
    tmp_path: Path, text: str | bytes, expected: list[tuple[int, str, str]]
) -> None:
    assert faults(Input(write(tmp_path, "n.csv", text))) == expected


def test_rows_after_a_bad_one_are_still_read(tmp_path: Path) -> None:
    path = write(tmp_path, "n.csv", 'id:ID\n"a"b\nc\n')
    bad, good = records(Input(path))
    assert bad.fault is not None
    assert "quoting is broken" in bad.fault.message
    assert node(good).id == "c"


def test_triples_are_exact(tmp_path: Path) -> None:
    text = 'a "b"\tr, s\t c\x85d \n\nx\ty\tz\r\n'
    first, second = (relationship(r) for r in records(Input(write(tmp_path, "kb.txt", text))))
    assert (first.source, first.type, first.target) == ('a "b"', "r, s", " c\x85d ")
    assert (second.source, second.type, second.target) == ("x", "y", "z")
    assert first.creates_ends


def test_triples_of_codes_are_spelled_out(tmp_path: Path) -> None:
    entities = write(tmp_path, "e.dict.gz", "0\t\n1\tIt\n2\t'Neath\u2028the Skies\n")
    relations = write(tmp_path, "r.dict", "7\tdirected_by\n")
    path = write(tmp_path, "kb.txt", "1\t7\t2\n0\t7\t1\n1\t7\t9\n")
    rows = records(Input(path, entities=entities, relations=relations))
    assert relationship(rows[0]).target == "'Neath\u2028the Skies"
    assert relationship(rows[0]).type == "directed_by"
    assert relationship(rows[1]).source == "0"
    assert faults(Input(path, entities=entities, relations=relations)) == [
        (3, "tail", "tail: the code '9' is not in the dictionary")
    ]


@pytest.mark.parametrize(
    ("text", "message"), [("a b\n", "no tab"), ("1\ta\n1\tb\n", "stands twice")]
)
def test_a_bad_dictionary_is_named(tmp_path: Path, text: str, message: str) -> None:
    entities = write(tmp_path, "e.dict", text)
    path = write(tmp_path, "kb.txt", "1\t7\t2\n")
    with pytest.raises(LoadError, match=message) as caught:
        records(Input(path, entities=entities))
    assert caught.value.path == entities


def test_a_triple_of_four_cells_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "kb.txt", "a\tb\tc\na\tb\tc\td\n")
    assert faults(Input(path)) == [(2, "", "a triple has 3 cells between tabs, this line 4")]


def test_what_apoc_exports_is_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "all.json",
        '{"type":"node","id":"0","labels":["Person"],"properties":{"name":"Ann","id":5}}\n'
        '{"id":"9","type":"relationship","label":"KNOWS","properties":{"since":1993,"key":"k"},'
        '"start":{"id":"0","labels":["Person"]},"end":{"id":"1","labels":["Person"]}}\n',
    )
    first, second = records(Input(path))
    assert (node(first).id, node(first).labels) == ("0", ("Person",))
    assert node(first).properties == {"name": "Ann", "name_key": "ann", "id_": 5}
    edge = relationship(second)
    assert (edge.source, edge.type, edge.target, edge.key) == ("0", "KNOWS", "1", "9")
    assert edge.properties == {"since": 1993, "key_": "k"}


def test_plain_json_rows_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "g.jsonl",
        '{"id": "a", "name": "Ann", "labels": "Person", "address": {"city": "Oslo"}}\n'
        '{"id": "b", "properties": {"roles": [{"t": 1}]}}\n'
        '{"source": "a", "type": "KNOWS", "target": "b", "since": 1993, "chunk_ids": ["c1"]}\n'
        '{"source": "a", "rel_type": "KNOWS", "target": "b", "id": 12}\n',
    )
    a, b, first, second = records(Input(path))
    assert node(a).properties["address"] == '{"city":"Oslo"}'
    assert node(b).properties == {"roles": '[{"t":1}]'}
    assert relationship(first).properties == {"since": 1993, "chunk_ids": ["c1"]}
    assert relationship(second).key == "12"


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("{", "", "not JSON"),
        ("[1]", "", "not a JSON object"),
        ('{"id": "a", "x": NaN}', "", "NaN cannot be stored"),
        ('{"id": "a", "x": 1e999}', "x", "infinity"),
        ('{"id": "a", "x": "\\ud800"}', "x", "surrogate"),
        ('{"name": "a"}', "id", "no id"),
        ('{"id": "a", "labels": [1.5]}', "labels", "a label must be text"),
        ('{"source": "a", "target": "b"}', "type", "the type must be text"),
        ('{"source": "a", "type": "R"}', "target", "no target"),
        ('{"id": "a", "x": 1, "properties": {"x": 2}}', "x", "beside and inside"),
        ('{"type": "relationship", "label": "R", "start": {}, "end": {}}', "start", "an id"),
        ('{"id": "a", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "", "nested too deeply"),
    ],
)
def test_a_bad_json_row_is_named(tmp_path: Path, line: str, column: str, message: str) -> None:
    path = write(tmp_path, "g.jsonl", '{"id": "ok"}\n' + line + "\n")
    ((number, found, text),) = faults(Input(path))
    assert (number, found) == (2, column)
    assert message in text


def test_chunks_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "chunks.jsonl",
        '{"id": "c1", "text": "One.", "document": "d", "position": 3, "title": "D"}\n',
    )
    (row,) = records(Input(path))
    assert row.row == ChunkRow("c1", "One.", "d", 3, "D")


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.csv", "id:ID,name\n", "nodes"),
        ("a.csv", "\ufeffid:ID,name\n", "nodes"),
        ("a.tsv", ":START_ID\t:END_ID\t:TYPE\n", "relationships"),
        ("a.txt", ":START_ID\t:END_ID\t:TYPE\n", "relationships"),
        ("a.txt", "a\tb\tc\n", "triples"),
        ("a.tsv.gz", "a\tb\tc\n", "triples"),
        ("a.txt", "http://x/a\thttp://x/r\thttp://x/b\n", "triples"),
        ("a.json", '{"id": "a", "text": "t", "labels": []}\n', "json"),
        ("a.json", '{"id": "a", "text": "t"}\n', "chunks"),
        ("a.jsonl", "\n\n{broken\n", "json"),
    ],
)
def test_the_kind_is_told_from_the_first_line(
    tmp_path: Path, name: str, text: str, kind: Kind
) -> None:
    assert detect(Input(write(tmp_path, name, text))).kind == kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("name,age\n", "cannot tell"),
        ('[{"id": 1}]\n', "JSON array"),
        ("id:ID,age:integer\n", "no column type"),
    ],
)
def test_a_file_of_no_known_kind_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        detect(Input(write(tmp_path, "a.csv", text)))


def test_a_kind_that_the_header_denies_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "id:ID,name\n")
    with pytest.raises(LoadError, match=":START_ID and :END_ID"):
        records(Input(path, kind="relationships"))


def test_relationships_without_a_type_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", ":START_ID,:END_ID\na,b\n")
    with pytest.raises(LoadError, match="no :TYPE column"):
        records(Input(path))


def test_damaged_files_are_named(tmp_path: Path) -> None:
    whole = write(tmp_path, "a.csv.gz", "id:ID\n" + "x\n" * 50_000).read_bytes()
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LoadError, match="damaged or cut off"):
        records(Input(cut))
    with pytest.raises(LoadError, match="UTF-16"):
        records(Input(write(tmp_path, "u.csv", "id:ID\na\n".encode("utf-16"))))
    with pytest.raises(LoadError, match="No such file"):
        records(Input(tmp_path / "none.csv"))
    with pytest.raises(LoadError, match="Is a directory"):
        records(Input(tmp_path))


def test_impossible_options_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for delimiter, array_delimiter in ((";;", ";"), (",", ""), (";", ";"), ('"', ";")):
        with pytest.raises(ConfigError, match="delimiter"):
            Input(path, delimiter=delimiter, array_delimiter=array_delimiter)
    with pytest.raises(ConfigError, match="no kind"):
        Input(path, kind="xml")  # type: ignore[arg-type]


def test_equal_content_has_an_equal_hash(tmp_path: Path) -> None:
    a, b, c = (write(tmp_path, n, t) for n, t in (("a", "1"), ("b", "1"), ("c", "2")))
    assert content_hash(a) == content_hash(b) != content_hash(c)
