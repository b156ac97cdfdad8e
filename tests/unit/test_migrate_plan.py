"""What is compared, refused and chosen, for each meeting of files and records; without a server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.errors import (
    ChecksumDrift,
    InvalidMigration,
    MigrationError,
    MigrationMissing,
    OutOfOrder,
)
from pathrag_gds.migrate.chain import Chain, Record, build_chain
from pathrag_gds.migrate.definitions import (
    Definition,
    dropped_name,
    existing,
    read_definition,
)
from pathrag_gds.migrate.definitions import (
    compare as compare_definitions,
)
from pathrag_gds.migrate.files import Migration, parse
from pathrag_gds.migrate.folder import MigrationFolder
from pathrag_gds.migrate.lock import Lock, lock_name
from pathrag_gds.migrate.placeholders import resolve_placeholders
from pathrag_gds.migrate.plan import (
    check,
    compare,
    outcome,
    place,
    select,
)
from pathrag_gds.migrate.schema import wanted_definitions


def files(*specs: str) -> list[Migration]:
    """Make files from ``V2:text``; the text decides the checksum."""
    made = []
    for spec in specs:
        name, _, text = spec.partition(":")
        file = parse(Path(f"{name}__x.cypher"), f"CREATE (:{text or 'A'});\n".encode())
        assert isinstance(file, Migration)
        made.append(file)
    return made


def chain(*specs: str) -> Chain:
    """Make records of the same files."""
    return Chain(
        tuple(
            Record(
                node=f.version,
                version=f.version,
                source=f.name,
                checksum=f.checksum,
                repeatable=f.repeatable,
                at="2026-11-30T12:00:00.000000000+00:00",
                by="ada",
            )
            for f in files(*specs)
        )
    )


@pytest.mark.parametrize(
    ("local", "recorded", "states", "word", "error"),
    [
        ("", "", "", "VALID", None),
        ("V1 V2", "", "1 pending, 2 pending", "INCOMPLETE_DATABASE", None),
        ("V1 V2", "V1", "1 applied, 2 pending", "INCOMPLETE_DATABASE", None),
        ("V1 V2", "V1 V2", "1 applied, 2 applied", "VALID", None),
        ("V1:B V2", "V1 V2", "1 changed, 2 applied", "DIFFERENT_CONTENT", ChecksumDrift),
        ("V1", "V1 V2", "1 applied, 2 missing", "INCOMPLETE_MIGRATIONS", MigrationMissing),
        ("V2", "V1 V2", "1 missing, 2 applied", "INCOMPLETE_MIGRATIONS", MigrationMissing),
        ("V1:B", "V1 V2", "1 changed, 2 missing", "DIFFERENT_CONTENT", ChecksumDrift),
        (
            "V1 V2 V3",
            "V1 V3",
            "1 applied, 2 out_of_order, 3 applied",
            "DIFFERENT_CONTENT",
            OutOfOrder,
        ),
        ("V2 V10", "V2", "2 applied, 10 pending", "INCOMPLETE_DATABASE", None),
        ("V001", "V1", "1 applied", "VALID", None),
        ("R1:B V2", "R1 V2", "1 outdated, 2 applied", "INCOMPLETE_DATABASE", None),
        ("R1", "V1", "1 retyped", "DIFFERENT_CONTENT", ChecksumDrift),
        ("V1", "R1", "1 retyped", "DIFFERENT_CONTENT", ChecksumDrift),
    ],
)
def test_files_against_records(
    local: str, recorded: str, states: str, word: str, error: type[MigrationError] | None
) -> None:
    applied = chain(*recorded.split())
    entries = compare(files(*local.split()), applied)
    assert ", ".join(f"{e.version} {e.state}" for e in entries) == states
    assert outcome(entries, applied) == word
    if error is None:
        check(entries, applied)
    else:
        with pytest.raises(error):
            check(entries, applied)


def test_out_of_order_is_allowed_on_demand() -> None:
    applied = chain("V1", "V3")
    entries = compare(files("V1", "V2", "V3"), applied)
    check(entries, applied, out_of_order=True)
    assert [e.version for e in select(entries, None)] == ["2"]


def test_drift_names_both_checksums_when_and_who_and_the_ways_out() -> None:
    applied = chain("V1")
    with pytest.raises(ChecksumDrift) as caught:
        check(compare(files("V1:B"), applied), applied)
    error = caught.value
    assert (error.version, error.recorded, error.local) == ("1", "1184523404", "1840723791")
    assert str(error) == (
        "V1__x.cypher was edited since it was applied on 2026-11-30 at 12:00:00 UTC by ada: "
        "recorded checksum 1184523404, now 1840723791.\n"
        "Restore the file; if the database is as the file says: pathrag migrate repair"
    )


@pytest.mark.parametrize(
    ("target", "chosen"),
    [
        (None, ["1", "3", "4", "10"]),
        ("latest", ["1", "3", "4", "10"]),
        ("next", ["1", "3"]),
        ("current", ["1"]),
        ("V3", ["1", "3"]),
        ("004", ["1", "3", "4"]),
        ("V2", ["1"]),
        ("V7?", ["1", "3", "4"]),
    ],
)
def test_targets(target: str | None, chosen: list[str]) -> None:
    applied = chain("R1", "V2")
    entries = compare(files("R1:B", "V2", "V3", "V4", "V10"), applied)
    assert [e.version for e in select(entries, target)] == chosen


@pytest.mark.parametrize(
    ("target", "message"),
    [("V7", "no migration of version V7"), ("newest", "'newest' is not a version")],
)
def test_unknown_targets(target: str, message: str) -> None:
    with pytest.raises(InvalidMigration, match=message) as caught:
        select(compare(files("V1", "V2"), Chain()), target)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("recorded", "version", "between"),
    [
        ([], "1", ("BASELINE", None)),
        (["1", "2"], "3", ("2", None)),
        (["1", "3", "10"], "2", ("1", "3")),
        (["2"], "001", ("BASELINE", "2")),
    ],
)
def test_place_in_the_chain(
    recorded: list[str], version: str, between: tuple[str, str | None]
) -> None:
    assert place(recorded, version) == between


def row(node: str, version: str, previous: str | None) -> dict[str, Any]:
    return {
        "node": node, "previous": previous, "version": version, "description": None,
        "type": "CYPHER", "source": None, "checksum": "1", "repeatable": False,
        "placeholders": None, "at": None, "duration": None, "by": None, "connected_as": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "versions", "duplicates", "broken"),
    [
        ([], [], (), ""),
        ([row("b", "BASELINE", None)], [], (), ""),
        (
            [row("y", "10", "x"), row("x", "2", "b"), row("b", "BASELINE", None)],
            ["2", "10"],
            (),
            "",
        ),
        (
            [row("b", "BASELINE", None), row("x", "1", "b"), row("y", "2", "b")],
            ["1", "2"],
            (),
            "the chain branches after BASELINE: 1, 2 both follow",
        ),
        (
            [row("b", "BASELINE", None), row("x", "1", "b"), row("y", "1", "x")],
            ["1", "1"],
            ("1",),
            "",
        ),
        (
            [row("b", "BASELINE", None), row("x", "001", "b"), row("y", "1", "x")],
            ["001", "1"],
            ("001", "1"),
            "",
        ),
        (
            [row("b", "BASELINE", None), row("x", "1", None)],
            ["1"],
            (),
            "version 1 is recorded outside the chain",
        ),
        (
            [row("b", "BASELINE", None), row("x", "one", "b")],
            ["one"],
            (),
            "'one' is recorded as a version",
        ),
        ([row("x", "1", None)], ["1"], (), "the chain has 0 nodes BASELINE instead of one"),
        (
            [row("b", "BASELINE", None), row("c", "BASELINE", None)],
            [],
            (),
            "the chain has 2 nodes BASELINE instead of one",
        ),
        (
            [row("b", "BASELINE", "x"), row("x", "1", "b")],
            ["1"],
            (),
            "the chain runs in a circle",
        ),
    ],
)
def test_rows_become_a_chain(
    rows: list[dict[str, Any]], versions: list[str], duplicates: tuple[str, ...], broken: str
) -> None:
    built = build_chain(rows)
    assert [r.version for r in built.records] == versions
    assert built.duplicates == duplicates
    assert built.broken == broken
    if duplicates:
        assert outcome((), built) == "DUPLICATE_VERSION"
    elif broken:
        assert outcome((), built) == "UNDEFINED"
    if duplicates or broken:
        with pytest.raises(MigrationError):
            check((), built)


def test_name_of_the_lock_is_that_of_neo4j_migrations() -> None:
    assert [lock_name(n) for n in ("", "neo4j", "Neo4j", "Films")] == [
        "John Doe",
        "John Doe",
        "John Doe",
        "films",
    ]


def test_holder_of_the_lock_in_words() -> None:
    assert str(Lock("1")) == "by another runner"
    held = Lock("1", "ada", "web1", 7, "2026-11-30T12:00:00Z")
    assert str(held) == "by ada on web1, process 7, since 2026-11-30T12:00:00Z"


def folder(text: str) -> MigrationFolder:
    file = parse(Path("V1__a.cypher"), text.encode())
    assert isinstance(file, Migration)
    return MigrationFolder((file,), ())


def recorded_with(values: Mapping[str, str]) -> Chain:
    return Chain((Record(node="1", version="1", placeholders=values),))


def test_value_of_a_placeholder_is_given_or_recorded_or_default() -> None:
    asking = folder("RETURN ${nm:vector_dimensions};\n")
    before = recorded_with({"vector_dimensions": "768"})
    assert resolve_placeholders(asking, Chain(), None)[0]["vector_dimensions"] == "384"
    assert resolve_placeholders(asking, before, None)[0]["vector_dimensions"] == "768"
    values, differences = resolve_placeholders(asking, before, {"vector_dimensions": 512})
    assert values["vector_dimensions"] == "512"
    assert differences == ("Version 1 was applied with vector_dimensions 768, not 512.",)
    assert resolve_placeholders(asking, before, {"vector_dimensions": 768})[1] == ()


def test_recorded_value_is_checked_before_it_goes_into_a_text() -> None:
    with pytest.raises(InvalidMigration, match="vector_dimensions must be"):
        resolve_placeholders(
            folder("RETURN ${nm:vector_dimensions};\n"),
            recorded_with({"vector_dimensions": "1}} MATCH (n) DETACH DELETE n"}),
            None,
        )


def test_placeholder_without_value_and_value_without_placeholder() -> None:
    with pytest.raises(InvalidMigration, match=r"V1__a.cypher asks for placeholder 'label'"):
        resolve_placeholders(folder("MATCH (n:${nm:label}) RETURN n;\n"), Chain(), None)
    with pytest.raises(InvalidMigration, match="No migration has a placeholder 'dimension'"):
        resolve_placeholders(folder("RETURN 1;\n"), Chain(), {"dimension": 3})


VECTOR = (
    "// why\nCREATE VECTOR INDEX a IF NOT EXISTS FOR (n:`My Film`) ON (n.v)\n"
    "OPTIONS {indexConfig: {`vector.dimensions`: 384, `vector.similarity_function`: 'cosine',\n"
    "  `vector.quantization.enabled`: false}}"
)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            VECTOR,
            (
                "a", "VECTOR", False, ("My Film",), ("v",),
                {
                    "vector.dimensions": "384",
                    "vector.similarity_function": "cosine",
                    "vector.quantization.enabled": "false",
                },
            ),
        ),
        (
            "CREATE FULLTEXT INDEX `t x` IF NOT EXISTS FOR (n:B|A) ON EACH [n.x, n.`y z`]",
            ("t x", "FULLTEXT", False, ("A", "B"), ("x", "y z"), {}),
        ),
        (
            "create index if not exists for ()-[r:KNOWS]-() on (r.since, r.at)",
            ("", "RANGE", False, ("KNOWS",), ("since", "at"), {}),
        ),
        (
            "CREATE CONSTRAINT c IF NOT EXISTS FOR (n:A) REQUIRE (n.tenant, n.id) IS UNIQUE",
            ("c", "UNIQUE", True, ("A",), ("tenant", "id"), {}),
        ),
        (
            "CREATE CONSTRAINT c IF NOT EXISTS FOR (n:A) REQUIRE n.id IS NOT NULL",
            ("c", "EXISTENCE", True, ("A",), ("id",), {}),
        ),
        (
            "CREATE CONSTRAINT c IF NOT EXISTS FOR (n:A) REQUIRE n.id IS NODE KEY",
            ("c", "KEY", True, ("A",), ("id",), {}),
        ),
        (
            "CREATE CONSTRAINT c IF NOT EXISTS FOR (n:A) REQUIRE n.id IS :: STRING",
            ("c", "TYPE", True, ("A",), ("id",), {}),
        ),
    ],
)  # fmt: skip
def test_definition_is_read_from_its_statement(statement: str, expected: tuple[Any, ...]) -> None:
    found = read_definition(statement)
    assert found is not None
    assert (
        found.name, found.type, found.constraint, found.labels, found.properties, found.settings
    ) == expected  # fmt: skip


@pytest.mark.parametrize(
    "statement",
    ["DROP INDEX a IF EXISTS", "CREATE LOOKUP INDEX l IF NOT EXISTS FOR (n) ON EACH labels(n)"],
)
def test_statements_that_define_nothing_to_compare(statement: str) -> None:
    assert read_definition(statement) is None


def test_dropped_name() -> None:
    assert dropped_name("// why\nDROP INDEX `a b` IF EXISTS") == "a b"
    assert dropped_name("DROP CONSTRAINT c IF EXISTS") == "c"
    assert dropped_name(VECTOR) == ""


def test_later_files_replace_and_remove_what_earlier_ones_made() -> None:
    made = [
        parse(Path(f"V{n}__x.cypher"), text.encode())
        for n, text in enumerate(
            (
                "CREATE INDEX a IF NOT EXISTS FOR (n:A) ON (n.x);\n"
                "CREATE INDEX b IF NOT EXISTS FOR (n:A) ON (n.y);\n",
                "DROP INDEX a IF EXISTS;\nDROP INDEX b IF EXISTS;\n"
                "CREATE INDEX b IF NOT EXISTS FOR (n:A) ON (n.z);\n",
            )
        )
    ]
    wanted = wanted_definitions((m, {}) for m in made if isinstance(m, Migration))
    assert [(d.name, d.properties) for d in wanted] == [("b", ("z",))]


def there(**changes: Any) -> tuple[Definition, ...]:
    shown = {
        "name": "a", "type": "VECTOR", "labels": ["My Film"], "properties": ["v"],
        "settings": {
            "vector.dimensions": 384, "vector.similarity_function": "COSINE",
            "vector.quantization.enabled": False, "vector.hnsw.m": 16,
        },
        "state": "ONLINE", "percent": 100.0, "failure": "", "statement": "",
    }  # fmt: skip
    return existing([shown | changes], [])


@pytest.mark.parametrize(
    ("found", "problem", "message", "hint"),
    [
        ((), "missing", "There is no vector index a on My Film(v).", "pathrag migrate up"),
        (
            there(settings={"vector.dimensions": 256}),
            "different",
            "Index a has vector.dimensions 256, the migration asks for 384.",
            "--placeholder vector_dimensions=256",
        ),
        (
            there(name="b"),
            "other_name",
            "vector index a on My Film(v) exists under another name, b.",
            "DROP INDEX b",
        ),
        (
            there(name="b", settings={"vector.dimensions": 256}),
            "different",
            "Index b has vector.dimensions 256, the migration asks for 384.",
            "DROP INDEX b",
        ),
        (
            there(type="RANGE", settings={}),
            "different",
            "The name a is taken: there is a range index a on My Film(v), wanted is a vector index "
            "a on My Film(v).",
            "DROP INDEX a",
        ),
        (there(state="FAILED", failure="disk full\n"), "failed", "disk full", "DROP INDEX a"),
        (there(state="POPULATING", percent=41.6), "populating", "42 % done", "migrate status"),
    ],
)
def test_differences_of_the_schema(
    found: tuple[Definition, ...], problem: str, message: str, hint: str
) -> None:
    wanted = read_definition(VECTOR)
    assert wanted is not None
    (finding,) = compare_definitions([wanted], found)
    assert finding.problem == problem
    assert message in finding.message
    assert hint in finding.hint


def test_no_difference_when_the_server_adds_settings_of_its_own() -> None:
    wanted = read_definition(VECTOR)
    assert wanted is not None
    assert compare_definitions([wanted], there()) == ()


def test_names_of_constraint_types_of_both_lines_of_servers() -> None:
    for word in ("UNIQUENESS", "NODE_PROPERTY_UNIQUENESS"):
        (found,) = existing(
            [], [{"name": "c", "type": word, "labels": ["A"], "properties": ["id"]}]
        )
        assert (found.type, found.constraint) == ("UNIQUE", True)
