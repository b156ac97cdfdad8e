"""The property rules of nodes, relationships and chunks."""

from __future__ import annotations

from typing import Any

import pytest

from pathrag_gds.ingest.rows import (
    RowFault,
    chunk_row,
    name_key,
    node_row,
    relationship_key,
    relationship_row,
)


def test_a_name_is_folded_and_aliases_are_lists() -> None:
    row = node_row(
        "a", ["Person", "Legal Person", "__Entity__"], {"name": "Zoë_X", "aliases": "Zo"}
    )
    assert row.labels == ("Legal Person", "Person")
    assert row.properties == {
        "name": "Zoë_X",
        "name_key": "zoe x",
        "aliases": ["Zo"],
        "alias_keys": ["zo"],
    }


def test_a_title_serves_as_the_name_and_is_kept() -> None:
    row = node_row("m", ["Movie"], {"title": "It"})
    assert row.properties == {"title": "It", "name": "It", "name_key": "it"}


def test_the_name_property_can_be_chosen() -> None:
    row = node_row("m", [], {"name": "x", "label_en": "Mercury"}, name_properties=("label_en",))
    assert row.properties["name"] == "Mercury"


def test_a_row_without_a_name_leaves_the_name_alone() -> None:
    assert node_row("a", [], {"age": 3, "name": None}).properties == {"age": 3}


def test_a_number_is_a_name_and_an_id() -> None:
    row = node_row(1984, [], {"name": 1984})
    assert (row.id, row.properties["name"]) == ("1984", "1984")


@pytest.mark.parametrize("value", ["", None, 1.5, True, ["a"], "a\0b", "x" * 5000])
def test_an_impossible_id_is_refused(value: Any) -> None:
    with pytest.raises(RowFault) as caught:
        node_row(value, [], {})
    assert caught.value.column == "id"


def test_properties_called_as_ours_are_renamed_or_left_out() -> None:
    row = node_row("a", [], {"id": 7, "tenant": "Flat 3", "embedding": [1.0], "name_key": "x"})
    assert row.properties == {"id_": 7, "tenant_": "Flat 3"}
    assert row.warnings == (
        "property 'id' is stored as 'id_'",
        "property 'tenant' is stored as 'tenant_'",
        "property 'embedding' is computed here and was left out",
        "property 'name_key' is computed here and was left out",
    )


def test_a_renamed_property_never_hides_another() -> None:
    with pytest.raises(RowFault, match="'id_' too"):
        node_row("a", [], {"id": 7, "id_": 8})


@pytest.mark.parametrize(
    ("label", "advice"),
    [
        ("Chunk", "--chunks"),
        ("Document", "--chunks"),
        ("__Community__", "another label"),
        ("__EntityType__", "another label"),
        ("__Load__", "another label"),
        ("__Neo4jMigration", "another label"),
        ("__Neo4jMigrationsLock", "another label"),
        ("__RelationType__", "another label"),
        ("__VectorIndex__", "another label"),
    ],
)
def test_labels_of_ours_are_refused(label: str, advice: str) -> None:
    with pytest.raises(RowFault) as caught:
        node_row("a", ["Person", label], {})
    assert caught.value.message == f"an entity cannot have the label {label!r}, it is ours"
    assert caught.value.column == "labels"
    assert advice in caught.value.hint


def test_labels_like_ours_are_no_fault() -> None:
    assert node_row("a", ["chunk", "Documents", "__KGBuilder__"], {}).labels == (
        "Documents",
        "__KGBuilder__",
        "chunk",
    )


def test_a_bad_value_names_its_column() -> None:
    with pytest.raises(RowFault, match="NaN") as caught:
        node_row("a", [], {"score": float("nan")})
    assert caught.value.column == "score"


def test_the_key_is_the_given_one_or_start_type_and_end() -> None:
    assert relationship_row("a", "R", "b", {}, key="k1").key == "k1"
    assert relationship_row("a", "R", "b", {}, key="").key == '["a","R","b"]'
    assert relationship_key("a", "R,b", "c") != relationship_key("a", "R", "b,c")


@pytest.mark.parametrize(
    "name",
    [
        "WORKS FOR",
        "由...组成",
        "definiert_ICP-Kriterien_für",
        "`RelType`",
        "a\\u0060b",
        "2_year",
        "A,B",
    ],
)
def test_types_and_labels_are_kept_exactly(name: str) -> None:
    assert relationship_row("a", name, "b", {}).type == name
    assert node_row("a", [name], {}).labels == (name,)


def test_a_missing_end_names_its_column() -> None:
    with pytest.raises(RowFault, match="end is empty") as caught:
        relationship_row("a", "R", "", {}, columns=(":START_ID", ":TYPE", ":END_ID"))
    assert caught.value.column == ":END_ID"


def test_names_in_other_scripts_have_different_keys() -> None:
    names = ["김철수", "이영희", "Москва", "東京", "..data", "ExampleDB..data"]
    assert len({name_key(name) for name in names}) == len(names)
    assert all(name_key(name) for name in names)


def test_a_very_long_name_has_a_key_that_an_index_can_hold() -> None:
    row = node_row("a", [], {"name": "ä" * 20_000})
    assert len(row.properties["name"]) == 20_000
    assert len(row.properties["name_key"].encode()) <= 4000


@pytest.mark.parametrize(
    ("fields", "column"),
    [
        ({"text": 5}, "text"),
        ({"text": "t", "position": "1"}, "position"),
        ({"text": "t", "document": ""}, "document"),
        ({"text": "t", "title": 3}, "title"),
    ],
)
def test_a_bad_chunk_names_its_column(fields: dict[str, Any], column: str) -> None:
    with pytest.raises(RowFault) as caught:
        chunk_row("c", fields.pop("text"), **fields)
    assert caught.value.column == column
