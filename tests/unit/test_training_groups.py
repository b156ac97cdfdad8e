"""Files of training groups."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.errors import LoadError
from pathrag_gds.models.training import Group, read_groups, write_groups

GROUPS = [
    Group("Who directed Héat?", ("A. B.", "C. D."), (1.0, 0.0), (1.0, 1.0), "films"),
    Group("Is it blue?", ("x", "y", "z"), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
]
RIGHT: dict[str, Any] = {"question": "q", "texts": ["a", "b"], "answer": [1, 0], "prefix": [1, 1]}


@pytest.mark.parametrize("name", ["groups.jsonl", "groups.jsonl.gz"])
def test_written_groups_are_read_again(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert write_groups(path, iter(GROUPS)) == 2
    assert list(read_groups(path)) == GROUPS
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_groups_give_the_same_bytes_and_gz_is_compressed(tmp_path: Path) -> None:
    first, second, plain = (tmp_path / name for name in ("a.gz", "b.gz", "c.jsonl"))
    for path in (first, second, plain):
        write_groups(path, GROUPS)
    assert first.read_bytes() == second.read_bytes()
    assert gzip.decompress(first.read_bytes()) == plain.read_bytes()
    assert "Héat".encode() in plain.read_bytes()


def test_reading_streams(tmp_path: Path) -> None:
    path = tmp_path / "groups.jsonl"
    path.write_text(json.dumps(RIGHT) + "\nno group\n", encoding="utf-8")
    groups = read_groups(path)
    assert next(groups).answer == (1.0, 0.0)
    with pytest.raises(LoadError, match=re.escape(f"{path}:2: This is no training group")):
        next(groups)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"texts": ["a"], "answer": [1], "prefix": [1]}, "2 to 32 texts, not 1"),
        ({"texts": ["a"] * 33, "answer": [0] * 33, "prefix": [0] * 33}, "2 to 32 texts, not 33"),
        ({"answer": [1]}, "2 texts, but 1 values of 'answer'"),
        ({"prefix": [1, 2]}, "'prefix' holds 2.0"),
        ({"answer": [1, 0], "prefix": [0, 0]}, "'answer' is above 'prefix'"),
        ({"question": 3}, "'question' is no text"),
        ({"texts": "ab"}, "'texts' is no list of texts"),
        ({"answer": [float("nan"), 0]}, "'answer' is no list of numbers"),
        ({"label": 1}, "unknown key 'label'"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    path = tmp_path / "groups.jsonl"
    lines = [json.dumps(RIGHT), "", json.dumps({**RIGHT, **change})]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(LoadError, match=re.escape(told)) as caught:
        list(read_groups(path))
    assert (caught.value.path, caught.value.line) == (path, 3)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot be read"):
        list(read_groups(tmp_path / "absent.jsonl"))
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes(json.dumps(RIGHT).encode() + b"\n\xe9\n")
    with pytest.raises(LoadError, match="not UTF-8"):
        list(read_groups(latin))
    plain = tmp_path / "plain.gz"
    plain.write_bytes(b"{}\n")
    with pytest.raises(LoadError, match="cannot be read"):
        list(read_groups(plain))
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    assert list(read_groups(empty)) == []


def test_what_utf8_cannot_hold_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "groups.jsonl"
    write_groups(path, [Group("a\ud800", ("x", "y"), (0.0, 0.0), (0.0, 0.0))])
    assert next(read_groups(path)).question == "a\ufffd"


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def groups() -> Any:
        yield GROUPS[0]
        raise RuntimeError("the generator broke")

    with pytest.raises(RuntimeError):
        write_groups(tmp_path / "groups.jsonl", groups())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LoadError, match="cannot be written"):
        write_groups(tmp_path / "absent" / "groups.jsonl", GROUPS)
