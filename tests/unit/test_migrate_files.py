"""Names, statements, checksums and rules of migration files, without a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from pathrag_gds.errors import InvalidMigration
from pathrag_gds.graph.schema import STRUCTURAL_TYPES
from pathrag_gds.migrate.files import (
    Callback,
    Migration,
    checksum,
    parse,
    split_statements,
    version_key,
)
from pathrag_gds.migrate.folder import migrations_folder, read_folders
from pathrag_gds.migrate.placeholders import check_placeholder, fill
from pathrag_gds.migrate.schema import enterprise_feature


def migration(name: str, text: str) -> Migration:
    file = parse(Path(name), text.encode())
    assert isinstance(file, Migration)
    return file


# Vectors of neo4j-migrations' rule; the last two show why line breaks are normalised on reading.
@pytest.mark.parametrize(
    ("text", "count", "expected"),
    [
        ("RETURN 1;\n", 1, "3701749805"),
        ("RETURN 1;\nRETURN 2;\n", 2, "1926902917"),
        ("RETURN 1;\r\nRETURN 2", 2, "1926902917"),
        ("RETURN 1;\rRETURN 2;", 2, "1926902917"),
        ("// header\nRETURN 1;\n", 1, "2975045582"),
        ("RETURN 'a;b' AS s;\n", 1, "2048120075"),
        ("RETURN 'é' AS s;\n", 1, "1630002934"),
        ("RETURN 1\nAS x;\r\n", 1, "4121483765"),
        ("RETURN 1\r\nAS x;\r\n", 1, "2904391528"),
    ],
)
def test_statements_and_checksum_are_those_of_neo4j_migrations(
    text: str, count: int, expected: str
) -> None:
    statements = split_statements(text)
    assert len(statements) == count
    assert checksum(statements) == expected


def test_line_breaks_are_normalised_before_the_checksum() -> None:
    unix = migration("V1__a.cypher", "RETURN 1\nAS x;\n")
    dos = migration("V1__a.cypher", "RETURN 1\r\nAS x;\r\n")
    mac = migration("V1__a.cypher", "RETURN 1\rAS x;\r")
    assert unix.checksum == dos.checksum == mac.checksum == "4121483765"


def test_checksum_is_taken_before_placeholders_are_filled() -> None:
    text = "CREATE (:A {b: ${nm:b}});\n"
    file = migration("V1__a.cypher", text)
    assert file.placeholders == ("b",)
    assert file.checksum == checksum(["CREATE (:A {b: ${nm:b}})"])
    assert fill(file.statements[0], {"b": "7"}) == "CREATE (:A {b: 7})"


def test_chunks_of_comments_count_for_the_checksum_but_are_not_run() -> None:
    assert split_statements("// a\n// b\n;\nRETURN 1;\n") == ("// a\n// b", "RETURN 1")
    # The first chunk stands alone only because its ';' has a line of its own.
    file = migration("V1__a.cypher", "// a\n// b\n;\nRETURN 1;\n")
    assert file.statements == ("RETURN 1",)
    assert file.checksum == checksum(["// a\n// b", "RETURN 1"])


@pytest.mark.parametrize(
    ("name", "version", "description", "repeatable"),
    [
        ("V001__create_index.cypher", "001", "create index", False),
        ("V1_2__x.cypher", "1.2", "x", False),
        ("V1.2.3__x y.cypher", "1.2.3", "x y", False),
        ("R002__refresh_names.cypher", "002", "refresh names", True),
    ],
)
def test_names_of_migrations(name: str, version: str, description: str, repeatable: bool) -> None:
    file = migration(name, "CREATE (:A);\n")
    assert (file.version, file.description, file.repeatable) == (version, description, repeatable)
    assert file.name == name


@pytest.mark.parametrize(
    "name",
    [
        "V001_create_index.cypher",
        "V001__create-index.cypher",
        "v001__create_index.cypher",
        "V__create.cypher",
        "V1_2.3__x.cypher",
        "V001__.cypher",
        "V001__x.CYPHER",
        "create_index.cypher",
        "aftermigrate__x.cypher",
        "afterMigrate__a-b.cypher",
        "V001__größe.cypher",
    ],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidMigration, match="neither that of a migration") as caught:
        parse(Path(name), b"RETURN 1;\n")
    assert name in caught.value.message
    assert "V001__create_index.cypher" in caught.value.hint


def test_versions_are_ordered_by_their_numbers() -> None:
    versions = ["10", "2", "1.10", "1.9", "001", "0"]
    assert sorted(versions, key=version_key) == ["0", "001", "1.9", "1.10", "2", "10"]
    assert version_key("1.0") == version_key("001") == (1,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("// done;\nRETURN 1;\n", r":1: a ';' at the end of a line inside a string or a comment"),
        ("RETURN 1\n/* a;\n b */ AS x;\n", r":2: a ';' at the end of a line inside"),
        ("CREATE (:A {t: 'a;\nb'});\n", r":1: a ';' at the end of a line inside"),
        ("RETURN 1; RETURN 2;\n", r":1: a ';' ends a statement only as the last character"),
        ("RETURN 1; // done\n", r":1: a ';' ends a statement only"),
        ("RETURN 1; \n", r":1: a ';' ends a statement only"),
        ("", "there is no statement"),
        ("// nothing\n", "there is no statement"),
        ("/* RETURN 1 */\n", "there is no statement"),
        ("// assert that edition is enterprise\nRETURN 1;\n", ":1: preconditions are not"),
        ("// assume q' RETURN true\nRETURN 1;\n", ":1: preconditions are not"),
        (":use other;\nRETURN 1;\n", "':use' and other shell commands"),
        (
            "CREATE INDEX a FOR (n:A) ON (n.a);\n",
            "statement 1 must say IF NOT EXISTS",
        ),
        ("DROP INDEX a;\n", "statement 1 must say IF EXISTS"),
        (
            "CREATE INDEX a IF NOT EXISTS FOR (n:A) ON (n.a);\nCREATE (:A);\nCREATE (:B);\n",
            "mixes changes of the schema .* statement 1 belongs",
        ),
        (
            "CREATE INDEX a IF NOT EXISTS FOR (n:A) ON (n.a);\nDROP INDEX b IF EXISTS;\n"
            "CREATE (:A);\n",
            "statement 3 belongs in a file of its own",
        ),
        (
            "MATCH (n:A) CALL (n) { SET n.b = 1 } IN TRANSACTIONS OF 10 ROWS;\n",
            "statement 1 commits in batches",
        ),
    ],
)
def test_rules_of_texts(text: str, message: str) -> None:
    with pytest.raises(InvalidMigration, match=message):
        parse(Path("V1__a.cypher"), text.encode())


def test_text_must_be_utf8_without_byte_order_mark() -> None:
    with pytest.raises(InvalidMigration, match=r"is not UTF-8 \(byte 8\)"):
        parse(Path("V1__a.cypher"), b"RETURN '\xff';\n")
    with pytest.raises(InvalidMigration, match="byte order mark"):
        parse(Path("V1__a.cypher"), "\ufeffRETURN 1;\n".encode())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CREATE VECTOR INDEX a IF NOT EXISTS FOR (n:A) ON (n.a);\n", "schema"),
        (
            "// words\ncreate constraint a if not exists FOR (n:A) REQUIRE n.a IS UNIQUE;\n",
            "schema",
        ),
        (
            "CREATE RANGE INDEX IF NOT EXISTS FOR (n:A) ON (n.a);\nDROP INDEX b IF EXISTS;\n",
            "schema",
        ),
        ("DROP CONSTRAINT a IF EXISTS;\n", "schema"),
        ("CREATE (:A);\nMATCH (n:A) SET n.text = 'CREATE INDEX';\n", "data"),
        ("CREATE (:`INDEX`);\n", "data"),
        ("CREATE (:A {url: 'http://a'});\n", "data"),
        ("MATCH (n) WHERE n.a = 'IN TRANSACTIONS' RETURN n;\n", "data"),
        (
            "// transactional: no\n"
            "MATCH (n) CALL (n) { SET n.b = 1 } IN 2 CONCURRENT TRANSACTIONS;\n",
            "batches",
        ),
        ("// transactional: no\nCREATE (:A);\n", "batches"),
    ],
)
def test_kind_of_a_file(text: str, kind: str) -> None:
    assert migration("V1__a.cypher", text).kind == kind


@pytest.mark.parametrize(
    ("name", "phase", "description"),
    [
        ("afterMigrate.cypher", "afterMigrate", ""),
        ("beforeClean__tell_them.cypher", "beforeClean", "tell them"),
    ],
)
def test_callbacks(name: str, phase: str, description: str) -> None:
    file = parse(Path(name), b"RETURN 'gds.version()';\n")
    assert isinstance(file, Callback)
    assert (file.phase, file.description, file.needs_gds) == (phase, description, False)


def test_callback_that_calls_gds_says_so() -> None:
    file = parse(Path("afterMigrate__x.cypher"), b"// gds\nCALL gds.graph.list();\n")
    assert isinstance(file, Callback)
    assert file.needs_gds


@pytest.mark.parametrize(
    ("statement", "feature"),
    [
        ("CREATE CONSTRAINT a IF NOT EXISTS FOR (n:A) REQUIRE n.a IS UNIQUE", ""),
        ("CREATE CONSTRAINT a IF NOT EXISTS FOR ()-[r:A]-() REQUIRE r.a IS UNIQUE", ""),
        (
            "// why\nCREATE CONSTRAINT a IF NOT EXISTS FOR (n:A) REQUIRE n.a IS NOT NULL",
            "a property existence constraint",
        ),
        (
            "CREATE CONSTRAINT IF NOT EXISTS FOR (n:A) REQUIRE (n.a, n.b) IS NODE KEY",
            "a key constraint",
        ),
        ("CREATE CONSTRAINT a IF NOT EXISTS FOR (n:A) REQUIRE n.a IS KEY", "a key constraint"),
        (
            "CREATE CONSTRAINT a IF NOT EXISTS FOR (n:A) REQUIRE n.a IS :: STRING",
            "a property type constraint",
        ),
        (
            "CREATE CONSTRAINT a IF NOT EXISTS FOR (n:A) REQUIRE n.a IS TYPED STRING",
            "a property type constraint",
        ),
        ("MATCH (n) WHERE n.a IS NOT NULL RETURN n", ""),
    ],
)
def test_what_needs_enterprise(statement: str, feature: str) -> None:
    found = enterprise_feature(statement)
    assert found == feature or (feature and found.startswith(feature))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vector_dimensions", "1"),
        ("vector_dimensions", "4096"),
        ("vector_similarity", "euclidean"),
        ("fulltext_analyzer", "standard-no-stop-words"),
        ("label", "Film"),
        ("count", "10"),
    ],
)
def test_allowed_placeholders(name: str, value: str) -> None:
    assert check_placeholder(name, value) == value


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("vector_dimensions", "0", "a whole number from 1 to 4096"),
        ("vector_dimensions", "4097", "a whole number from 1 to 4096"),
        ("vector_dimensions", "٣", "a whole number from 1 to 4096"),
        ("vector_dimensions", "384}", "a whole number"),
        ("vector_similarity", "dot", "cosine or euclidean"),
        ("fulltext_analyzer", "a' }", "the name of an analyzer"),
        ("label", "A) DETACH DELETE n //", "an identifier or a whole number"),
        ("label", "A\n", "an identifier"),
        ("label", "", "an identifier"),
    ],
)
def test_refused_placeholders(name: str, value: str, rule: str) -> None:
    with pytest.raises(InvalidMigration, match=rule) as caught:
        check_placeholder(name, value)
    assert name in caught.value.hint


def test_folder_is_read_whole_and_in_order(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "V10__b.cypher").write_text("RETURN 1;\n")
    (tmp_path / "sub" / "V2__a.cypher").write_text("RETURN 1;\n")
    (tmp_path / "afterMigrate__z.cypher").write_text("RETURN 1;\n")
    (tmp_path / "afterMigrate__a.cypher").write_text("RETURN ${nm:k};\n")
    (tmp_path / "beforeMigrate.cypher").write_text("RETURN 1;\n")
    (tmp_path / ".V3__swap.cypher").write_text("")
    (tmp_path / "README.md").write_text("no migration")
    folder = read_folders([tmp_path])
    assert [m.version for m in folder.migrations] == ["2", "10"]
    assert [c.name for c in folder.of_phase("afterMigrate")] == [
        "afterMigrate__a.cypher",
        "afterMigrate__z.cypher",
    ]
    assert folder.callbacks[0].phase == "beforeMigrate"
    assert folder.placeholders == {"k"}


def test_one_version_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "V1__a.cypher").write_text("RETURN 1;\n")
    (tmp_path / "R001__b.cypher").write_text("RETURN 1;\n")
    with pytest.raises(InvalidMigration, match="have the same version") as caught:
        read_folders([tmp_path])
    assert "V1__a.cypher" in caught.value.message
    assert "R001__b.cypher" in caught.value.message


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidMigration, match="is not a folder"):
        read_folders([tmp_path / "none"])


def test_packaged_migrations_keep_the_rules() -> None:
    folder = read_folders([migrations_folder()])
    assert [(m.version, m.kind) for m in folder.migrations] == [
        ("001", "schema"),
        ("002", "schema"),
        ("003", "schema"),
        ("004", "schema"),
        ("005", "schema"),
        ("006", "schema"),
        ("007", "schema"),
        ("008", "schema"),
        ("009", "schema"),
    ]
    assert folder.placeholders == {"vector_dimensions", "vector_similarity", "fulltext_analyzer"}
    (callback,) = folder.of_phase("afterMigrate")
    assert callback.needs_gds
    assert all(enterprise_feature(s) == "" for m in folder.migrations for s in m.statements)


def test_packaged_migrations_are_never_edited() -> None:
    # A released file is recorded on users' databases by this number: write a new file instead.
    folder = read_folders([migrations_folder()])
    assert {m.name: m.checksum for m in folder.migrations} == {
        "V001__create_constraints.cypher": "3406464649",
        "V002__create_entity_vector_index.cypher": "985362520",
        "V003__create_chunk_vector_index.cypher": "2213750073",
        "V004__create_entity_text_index.cypher": "3622651878",
        "V005__create_chunk_text_index.cypher": "3817074752",
        "V006__create_name_key_index.cypher": "1250712728",
        "V007__create_pattern_constraint.cypher": "3182354796",
        "V008__create_communities.cypher": "3432648797",
        "V009__create_entity_names_index.cypher": "989157944",
    }


def test_projection_leaves_out_every_structural_type() -> None:
    (callback,) = read_folders([migrations_folder()]).of_phase("afterMigrate")
    text = callback.statements[-1]
    # Once where relationships are counted, once where they are projected.
    assert all(text.count(f"'{name}'") == 2 for name in STRUCTURAL_TYPES)
