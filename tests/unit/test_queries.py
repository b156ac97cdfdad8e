"""The reader of the files under cypher/: the rules of a header, branches, names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pathrag_gds.errors import ConfigError, QueryFileError
from pathrag_gds.graph.queries import (
    Branch,
    Part,
    Query,
    all_queries,
    cypher_folder,
    escape_identifier,
    load,
    parameters_in,
    parse,
)

GOOD = """\
// find: entities by name
// mode: read
// param names: LIST<STRING> folded
//   and never empty
// param tenant: STRING
// returns id, name: STRING
// returns score: FLOAT in [0, 1]
// order: id
// cost: one seek per name
// needs: Neo4j 5.26
// note: one
// note: two
MATCH (n:A {tenant: $tenant}) WHERE n.name IN $names
RETURN n.id AS id, n.name AS name, 1.0 AS score
"""


def read(source: str, name: str = "retrieve/find") -> Query:
    return parse(source, name=name, path="cypher/retrieve/find.cypher")


def refusal(source: str) -> tuple[str, int]:
    with pytest.raises(QueryFileError) as caught:
        read(source)
    error = caught.value
    assert str(error).startswith(f"cypher/retrieve/find.cypher:{error.line}: ")
    return str(error).split(": ", 1)[1], error.line


def test_header_becomes_the_contract() -> None:
    query = read(GOOD)
    assert query.name == "retrieve/find"
    assert query.mode == "read"
    assert query.summary == "entities by name"
    assert [p.name for p in query.params] == ["names", "tenant"]
    assert query.params[1].type == "STRING"
    assert [(p.name, p.type) for p in query.returns] == [
        ("id", "STRING"),
        ("name", "STRING"),
        ("score", "FLOAT in [0, 1]"),
    ]
    assert query.slots == ()
    assert query.text.startswith("MATCH (n:A")
    assert query.text.endswith("AS score")
    assert not query.has_branches


def test_windows_line_ends_make_no_difference() -> None:
    assert read(GOOD.replace("\n", "\r\n")) == read(GOOD)


@pytest.mark.parametrize("mode", ["read", "write", "schema", "auto"])
def test_modes(mode: str) -> None:
    assert read(f"// find: x\n// mode: {mode}\nRETURN 1 AS one\n").mode == mode


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        ("RETURN 1", "no header", 1),
        ("", "no header", 1),
        ("// find: x\nRETURN 1", "no mode", 1),
        ("// found: x\n// mode: read\nRETURN 1", "file's name", 1),
        ("// param find: x\n// mode: read\nRETURN 1", "file's name", 1),
        ("// find: x\n// mode: fast\nRETURN 1", "'fast'", 2),
        ("// find: x\n// mode: read\n// mode: read\nRETURN 1", "'mode' stands twice", 3),
        ("// find: x\n// mode: read\n// order: a\n// order: b\nRETURN 1", "stands twice", 4),
        ("// find: x\n// mode: read\n// colour: red\nRETURN 1", "unknown header key 'colour'", 3),
        ("// find: x\n// mode: read\n// just words\nRETURN 1", "not a header line", 3),
        ("// find: x\n// mode: read\n// param a: X\n// param a: X\nRETURN $a", "declared twice", 4),
        ("// find: x\n// mode: read\n// param a: X\n// slot a: x\nRETURN $a", "declared twice", 4),
        ("// find: x\n// mode: read\n// param a: X\nRETURN 1", "'a' is declared but not used", 3),
        ("// find: x\n// mode: read\n// slot a: X\nRETURN 1", "'a' is declared but not used", 3),
        ("// find: x\n// mode: read\nRETURN 1,\n  $b", "$b is used but not declared", 4),
        ("// find: x\n// mode: read\nRETURN ${b}", "${b} is used but not declared", 3),
        ("// find: x\n// mode: read\nRETURN ${type}", "${type} is used but not declared", 3),
        ("// find: x\n// mode: read\nRETURN 1;\nRETURN 2", "one statement only", 3),
        ("// find: x\n// mode: read\n// param a: X\nRETURN '$a'", "declared but not used", 3),
    ],
)
def test_a_broken_rule_is_named_with_its_line(source: str, message: str, line: int) -> None:
    text, number = refusal(source)
    assert message in text
    assert number == line


def test_what_stands_in_strings_names_and_comments_is_no_parameter() -> None:
    query = read(
        "// find: x\n// mode: read\n// param a: X\n"
        "RETURN 'it\\'s $b; ' + \"$c\" AS `$d;```, $a AS a // $e;\n/* $f;\n */"
    )
    assert [p.name for p in query.params] == ["a"]


def test_one_final_semicolon_is_taken_off() -> None:
    assert read("// find: x\n// mode: read\nRETURN 1 AS one;\n").text == "RETURN 1 AS one"
    assert read("// find: x\n// mode: read\nRETURN ';' AS one\n").text == "RETURN ';' AS one"


BRANCHED = """\
// find: x
// mode: read
// param cap: INTEGER
// slot where: predicate on m
UNWIND [1] AS row
CALL (row) {
    // branch step
    MATCH (n)${left}[r${type}]${right}(m) WHERE ${where}
    RETURN m LIMIT $cap
    // end branch
}
RETURN m
"""


def test_branches_are_repeated_and_joined() -> None:
    query = read(BRANCHED)
    assert query.has_branches
    assert query.slots == ("where",)
    rendered = query.render(
        {"where": "true"},
        {
            "step": [
                Branch(("A", "B`C"), "out"),
                Branch((), "in"),
                Branch(("D",), "both"),
            ]
        },
    )
    assert not rendered.has_branches
    assert rendered.slots == ()
    assert rendered.params == query.params
    assert re.findall(r"MATCH .*", rendered.text) == [
        "MATCH (n)-[r:`A`|`B``C`]->(m) WHERE true",
        "MATCH (n)<-[r]-(m) WHERE true",
        "MATCH (n)-[r:`D`]-(m) WHERE true",
    ]
    assert rendered.text.count("UNION ALL") == 2
    assert "// branch" not in rendered.text
    assert rendered.text.startswith("UNWIND [1] AS row\nCALL (row) {\n")
    assert rendered.text.endswith("}\nRETURN m")


def test_branches_may_differ_in_a_slot() -> None:
    query = read(BRANCHED).render(
        {}, {"step": [Branch(slots={"where": "m.x"}), Branch(slots={"where": "m.y"})]}
    )
    assert re.findall(r"WHERE (\S+)", query.text) == ["m.x", "m.y"]
    with pytest.raises(ConfigError, match="slot 'where' is not given"):
        read(BRANCHED).render({}, {"step": [Branch(slots={"where": "m.x"}), Branch()]})


def test_slots_are_filled_everywhere() -> None:
    query = read("// find: x\n// mode: read\n// slot p: key\nRETURN {a: 1}.${p} AS x, '${p}' AS y")
    assert query.render({"p": "`a`"}).text == "RETURN {a: 1}.`a` AS x, '`a`' AS y"


@pytest.mark.parametrize(
    ("slots", "branches", "message"),
    [
        ({}, {"step": [Branch()]}, "slot 'where' is not given"),
        ({"where": "true"}, {}, "branch 'step' is not given"),
        ({"where": "true", "b": ""}, {"step": [Branch()]}, "there is no slot 'b'"),
        ({"where": "true"}, {"step": [Branch()], "z": [Branch()]}, "there is no branch 'z'"),
        ({"where": "true"}, {"step": []}, "no branch is left"),
    ],
)
def test_rendering_wants_all_and_no_more(
    slots: dict[str, str], branches: dict[str, list[Branch]], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read(BRANCHED).render(slots, branches)
    assert "retrieve/find" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("KNOWS", "`KNOWS`"),
        ("knows", "`knows`"),
        ("a b", "`a b`"),
        ("`", "````"),
        ("a`b", "`a``b`"),
        ("``", "``````"),
        ("\\", "`\\u005C`"),
        ("\\u0060", "`\\u005Cu0060`"),
        ("x\\u0060]->() RETURN 1 //", "`x\\u005Cu0060]->() RETURN 1 //`"),
        ("/film/film/directed_by", "`/film/film/directed_by`"),
        ("été", "`été`"),
        ("類型", "`類型`"),
        ("a\nb\t", "`a\nb\t`"),
        ("$x", "`$x`"),
        ("${type}", "`${type}`"),
        (" ", "` `"),
        ("0", "`0`"),
    ],
)
def test_any_legal_name_is_quoted_whole(name: str, escaped: str) -> None:
    assert escape_identifier(name) == escaped


@pytest.mark.parametrize("name", ["", "\0", "a\0b"])
def test_what_neo4j_refuses_is_no_name(name: str) -> None:
    with pytest.raises(ConfigError, match="not a name"):
        escape_identifier(name)


def test_a_name_that_looks_like_a_slot_is_left_alone() -> None:
    rendered = read(BRANCHED).render({"where": "true"}, {"step": [Branch(("${where}",), "out")]})
    assert "-[r:`${where}`]->" in rendered.text


def test_files_are_read_once() -> None:
    assert load("server/components") is load("server/components")


@pytest.mark.parametrize("name", ["server/nothing", "nothing"])
def test_an_unknown_statement_is_named(name: str) -> None:
    with pytest.raises(QueryFileError, match="no such statement") as caught:
        load(name)
    assert caught.value.path == cypher_folder() / f"{name}.cypher"


def test_every_file_obeys_and_is_listed() -> None:
    names = [query.name for query in all_queries()]
    assert names == sorted(names)
    assert {"server/components", "server/gds_version"} <= set(names)
    for query in all_queries():
        assert query.summary, query.name
        assert re.fullmatch(r"[a-z][a-z_]*/[a-z][a-z0-9_]*", query.name)


def test_statements_lie_beside_or_inside_the_package() -> None:
    folder = cypher_folder()
    assert folder.name == "cypher"
    assert (folder / "server" / "components.cypher").is_file()
    assert isinstance(folder, Path)


# Parts

REPEATED = """\
// find: chains
// mode: read
// param a: STRING
// slot name: of the chain
// slot hop: of the chain
// slot more: nothing or something
// slot end: after it
// each chain
MATCH (${name})
// each hop
  -[${hop}]-()
  ${more}
// end each hop
${more}
// end each chain
RETURN $a AS a
${end}
"""


def test_parts_are_repeated_inside_each_other() -> None:
    hops = [Part({"hop": ":A"}), Part({"hop": ":B", "more": "-"})]
    rendered = read(REPEATED).render(
        {"end": "LIMIT 1", "more": ""},
        parts={
            "chain": [
                Part({"name": "x", "more": "WHERE x"}, {"hop": []}),
                Part({"name": "y"}, {"hop": hops}),
            ]
        },
    )
    assert rendered.text == (
        "MATCH (x)\nWHERE x\nMATCH (y)\n  -[:A]-()\n  -[:B]-()\n  -\nRETURN $a AS a\nLIMIT 1"
    )
    rendered.check({"a": "x"})


def test_text_of_a_slot_is_not_filled_again() -> None:
    part = Part({"name": "${end}", "more": "// each hop"}, {"hop": []})
    rendered = read(REPEATED).render({"end": "x"}, parts={"chain": [part]})
    assert rendered.text == "MATCH (${end})\n// each hop\nRETURN $a AS a\nx"


def test_a_branch_holds_parts() -> None:
    source = (
        "// find: x\n// mode: read\n// slot n: name\nCALL () {\n    // branch b\n"
        "    // each hop\n    MATCH (${n})\n    // end each hop\n    RETURN 1 AS one\n"
        "    // end branch\n}\nRETURN one\n"
    )
    branches = [
        Branch(parts={"hop": [Part({"n": "x"}), Part({"n": "y"})]}),
        Branch(parts={"hop": []}),
    ]
    assert read(source).render(branches={"b": branches}).text == (
        "CALL () {\n    MATCH (x)\n    MATCH (y)\n    RETURN 1 AS one\n    UNION ALL\n"
        "    RETURN 1 AS one\n}\nRETURN one"
    )


@pytest.mark.parametrize(
    ("slots", "parts", "message"),
    [
        ({"end": ""}, {}, "part 'chain' is not given"),
        ({"end": ""}, {"chain": [], "x": []}, "no part 'x'"),
        ({"end": ""}, {"chain": [Part({"name": "x", "more": ""})]}, "part 'hop' is not given"),
        ({"end": ""}, {"chain": [Part({}, {"hop": []})]}, "slot 'name' is not given"),
        ({}, {"chain": []}, "slot 'end' is not given"),
    ],
)
def test_a_part_that_does_not_fit_is_refused(
    slots: dict[str, str], parts: dict[str, list[Part]], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        read(REPEATED).render(slots, parts=parts)


def test_a_statement_with_parts_must_be_rendered() -> None:
    with pytest.raises(ConfigError, match="rendered"):
        read(REPEATED).check({"a": "x"})


def test_parameters_are_found_where_they_are_used() -> None:
    text = "MATCH (n:`$no` {a: $a, b: '$no'}) // $no\nWHERE n.x > $b.c AND $a IN n.y /* $no */"
    assert parameters_in(text) == ("a", "b")
    assert parameters_in("RETURN 1") == ()
