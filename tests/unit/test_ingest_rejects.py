"""A reject file has the format of its input, and loads once its rows are mended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pathrag_gds.errors import LoadError
from pathrag_gds.ingest.formats import detect, read
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.lines import Lines
from pathrag_gds.ingest.rejects import RejectFile, reject_path
from pathrag_gds.ingest.rows import NodeRow, Record


def faulty(path: Path) -> tuple[Input, list[Record]]:
    source = detect(Input(path))
    with Lines(path) as lines:
        return source, [record for record in read(source, lines) if record.fault]


@pytest.mark.parametrize(
    ("name", "rejected"),
    [
        ("people.csv.gz", "people.rejected.csv"),
        ("kb.txt", "kb.rejected.txt"),
        ("kb", "kb.rejected"),
        (".hidden", ".hidden.rejected"),
    ],
)
def test_the_name_says_what_it_is(name: str, rejected: str) -> None:
    assert reject_path(Path("/in") / name, Path("/out")) == Path("/out") / rejected


def test_csv_rows_are_kept_as_they_were_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_bytes(b'id:ID,age:int\r\na,1\r\n"b, ""B""\nx","y"\r\nc,Caf\xe9\r\n')
    source, bad = faulty(path)
    rejects = RejectFile(source, tmp_path / "out.csv", fresh=True)
    rejects.add(bad)
    assert rejects.count == 2
    assert rejects.path.read_bytes() == (
        b"id:ID,age:int,reason:IGNORE\n"
        b'"b, ""B""\nx","y","age:int: \'y\' is not a whole number"\n'
        b'c,Caf\xe9,"age:int: byte 0xE9 is not UTF-8"\n'
    )


def test_a_mended_csv_reject_file_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text("id:ID,age:int\na,x\n")
    source, bad = faulty(path)
    rejects = RejectFile(source, tmp_path / "out.csv", fresh=True)
    rejects.add(bad)
    mended = rejects.path.read_text().replace("a,x", "a,7")
    rejects.path.write_text(mended)
    source = detect(Input(rejects.path))
    with Lines(rejects.path) as lines:
        (record,) = read(source, lines)
    assert record.row == NodeRow("a", (), {"age": 7})


def test_json_rows_get_a_field_and_other_lines_are_quoted(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_text('{"id": "ok"}\n{"name": "東京"}\n{"id": "a", "x": "\\ud800"}\n{broken\n')
    source, bad = faulty(path)
    rejects = RejectFile(source, tmp_path / "out.jsonl", fresh=True)
    rejects.add(bad)
    first, second, third = (json.loads(x) for x in rejects.path.read_text().splitlines())
    assert first == {"name": "東京", "rejected": "id: the row has no id"}
    assert second["x"] == "\ud800"
    assert third["text"] == "{broken"


def test_triples_get_a_fourth_cell(tmp_path: Path) -> None:
    path = tmp_path / "kb.txt"
    path.write_text("a\tb\tc\nx\t\tz\n")
    source, bad = faulty(path)
    rejects = RejectFile(source, tmp_path / "out.txt", fresh=True)
    rejects.add(bad)
    assert rejects.path.read_text() == "x\t\tz\trelation: the type is empty\n"


def test_nothing_is_made_for_nothing_and_an_old_file_is_replaced_once(tmp_path: Path) -> None:
    path = tmp_path / "kb.txt"
    path.write_text("a\tb\tc\nx\t\tz\n")
    source, bad = faulty(path)
    out = tmp_path / "out.txt"
    RejectFile(source, out, fresh=True).add([])
    assert not out.exists()
    out.write_text("old\n")
    rejects = RejectFile(source, out, fresh=True)
    rejects.add(bad)
    rejects.add(bad)
    assert out.read_text().count("the type is empty") == 2
    assert "old" not in out.read_text()
    RejectFile(source, out, fresh=False).add(bad)
    assert out.read_text().count("the type is empty") == 2


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kb.txt"
    path.write_text("a\tb\tc\nx\t\tz\n")
    source, bad = faulty(path)
    with pytest.raises(LoadError, match="reject file cannot be written"):
        RejectFile(source, tmp_path / "no" / "out.txt", fresh=True).add(bad)


def test_what_an_interrupted_run_wrote_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text('id:ID,age:int\na,x\n"b\nb",y\na,x\nc,z\n')
    source, bad = faulty(path)
    out = tmp_path / "out.csv"
    first = RejectFile(source, out, fresh=True)
    first.add(bad[:3])
    assert out.read_text().count("a,x") == 2
    before = out.read_text()
    with out.open("a") as file:
        file.write("c,")  # killed while it wrote

    second = RejectFile(source, out, fresh=False)
    second.add(bad[1:])
    assert second.count == 3
    assert out.read_text() == before + "c,z,\"age:int: 'z' is not a whole number\"\n"
