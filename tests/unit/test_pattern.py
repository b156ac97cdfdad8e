"""Chains written as Cypher, and what comes back for several of them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.queries import escape_identifier
from pathrag_gds.graph.schema import STRUCTURAL_TYPES
from pathrag_gds.retrieve.filters import Predicate, compile_filter
from pathrag_gds.retrieve.pattern import (
    MAX_READ,
    PatternAnswers,
    answers_request,
    pattern_of,
    pattern_query,
    read_answers,
)
from pathrag_gds.retrieve.statements import Request
from pathrag_gds.types import Chain, Edge, Hop, Path, Pattern, Step

POLICIES = ("node", "edge", "topic", "none")
CAST = Chain("wayne", (Step("stars", False), Step("stars", True)))
TAGGED = Chain("noir", (Step("tagged", False, "film"),))
HERE = Chain("rio", ())


def pattern(*chains: Chain, revisit: str = "node", **more: Any) -> Pattern:
    return pattern_of(chains, "the text", tenant="t", revisit=revisit, **more)


def year(node: str, relationship: str) -> Predicate:
    parts = [
        compile_filter({"year": {"$gt": 1950}}, variable=node, parameter="$filters"),
        compile_filter({"paid": True}, variable=relationship, parameter="$filters"),
    ]
    return Predicate(
        " AND ".join(part.text for part in parts),
        {key: value for part in parts for key, value in part.values.items()},
    )


def test_a_chain_reads_well() -> None:
    made = pattern(CAST)
    assert made.cypher == (
        "MATCH (start:__Entity__ {tenant: $tenant, id: $start})\n"
        "      <-[:`stars`]-(n1:__Entity__ WHERE $tenant IN [n1.tenant])\n"
        "      -[:`stars`]->(answer:__Entity__ WHERE $tenant IN [answer.tenant])\n"
        "WHERE n1 <> start\n"
        "  AND NOT answer IN [start, n1]\n"
        "RETURN DISTINCT answer.id AS id, answer.name AS name\n"
        "ORDER BY id"
    )
    assert made.parameters == {"tenant": "t", "start": "wayne"}
    assert (made.chains, made.text) == ((CAST,), "the text")
    assert (made.total, made.complete) == (None, False)


def test_edge_lets_a_clause_keep_relationships_apart() -> None:
    assert "WHERE n1" not in pattern(CAST, revisit="edge").cypher
    assert pattern(CAST, revisit="edge").cypher.count("MATCH") == 1


def test_topic_never_goes_back_to_the_start() -> None:
    text = pattern(CAST, revisit="topic").cypher
    assert "WHERE n1 <> start\n  AND answer <> start\n" in text
    assert text.count("MATCH") == 1


def test_none_forbids_only_the_relationship_just_walked() -> None:
    chain = Chain("a", (Step("R", True), Step("R", False), Step("S", True)))
    assert pattern(chain, revisit="none").cypher == (
        "MATCH (start:__Entity__ {tenant: $tenant, id: $start})\n"
        "      -[r1:`R`]->(n1:__Entity__ WHERE $tenant IN [n1.tenant])\n"
        "MATCH (n1)<-[r2:`R`]-(n2:__Entity__ WHERE $tenant IN [n2.tenant])\n"
        "WHERE r2 <> r1\n"
        "MATCH (n2)-[:`S`]->(answer:__Entity__ WHERE $tenant IN [answer.tenant])\n"
        "RETURN DISTINCT answer.id AS id, answer.name AS name\n"
        "ORDER BY id"
    )


def test_chains_meet_in_the_answer() -> None:
    made = pattern(CAST, TAGGED, HERE, revisit="edge")
    assert made.cypher == (
        "MATCH (start:__Entity__ {tenant: $tenant, id: $start})\n"
        "      <-[:`stars`]-(n1:__Entity__ WHERE $tenant IN [n1.tenant])\n"
        "      -[:`stars`]->(answer:__Entity__ WHERE $tenant IN [answer.tenant])\n"
        "WITH collect(DISTINCT answer) AS answers\n"
        "MATCH (start2:__Entity__ {tenant: $tenant, id: $start2})\n"
        "      <-[:`tagged`]-(answer:__Entity__:`film` WHERE $tenant IN [answer.tenant])\n"
        "WHERE answer IN answers\n"
        "WITH collect(DISTINCT answer) AS answers\n"
        "MATCH (answer:__Entity__ {tenant: $tenant, id: $start3})\n"
        "WHERE answer IN answers\n"
        "RETURN DISTINCT answer.id AS id, answer.name AS name\n"
        "ORDER BY id"
    )
    assert made.parameters == {"tenant": "t", "start": "wayne", "start2": "noir", "start3": "rio"}


def test_a_pinned_node_is_a_parameter() -> None:
    made = pattern(Chain("a", (Step("R", True, id="x'y"), Step("S", True, id="z"))))
    assert "(n1:__Entity__ WHERE $tenant IN [n1.tenant] AND n1.id = $n1)" in made.cypher
    assert "[answer.tenant] AND answer.id = $answer)" in made.cypher
    assert made.parameters == {"tenant": "t", "start": "a", "n1": "x'y", "answer": "z"}


def test_a_filter_holds_on_every_hop() -> None:
    made = pattern(CAST, revisit="edge", predicate=year)
    assert (
        "WHERE n1.`year` > $filters.n1_0 AND r1.`paid` = $filters.r1_0\n"
        "  AND answer.`year` > $filters.answer0 AND r2.`paid` = $filters.r2_0\n"
    ) in made.cypher
    assert "<-[r1:`stars`]-(n1" in made.cypher
    assert made.parameters["filters"] == {
        "n1_0": 1950, "r1_0": True, "answer0": 1950, "r2_0": True,
    }  # fmt: skip


def test_what_the_question_names_is_no_answer() -> None:
    made = pattern(CAST, TAGGED, revisit="edge", named=["wayne", "noir"])
    assert made.cypher.count("NOT answer.id IN $named") == 1
    assert made.parameters["named"] == ["wayne", "noir"]
    # A walk that never comes back to its start needs no such condition.
    assert "named" not in pattern(CAST, TAGGED, named=["wayne", "noir"]).parameters
    assert pattern(CAST, named=["wayne", "noir"]).parameters["named"] == ["noir"]
    assert pattern(HERE, named=["rio"]).parameters["named"] == ["rio"]


HOSTILE = (
    "A`]-() DETACH DELETE n //",
    "\\u0060]->() //",
    "two\nlines",
    "${type}",
    "$named",
    "// end each hop",
    "naïve 'quote\"",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_only_a_name(name: str) -> None:
    made = pattern(Chain(name, (Step(name, True, name, name),)), named=[])
    quoted = escape_identifier(name)
    assert f"-[:{quoted}]->(answer:__Entity__:{quoted} WHERE" in made.cypher
    assert made.parameters == {"tenant": "t", "start": name, "answer": name}
    request = answers_request([made], tenant="t", revisit="node", limit=1, examples=1)
    assert request.query.text.count(f":{quoted}]->(answer:__Entity__:{quoted} WHERE") == 2


@pytest.mark.parametrize("revisit", POLICIES)
def test_every_node_keeps_to_the_tenant(revisit: str) -> None:
    made = pattern(CAST, TAGGED, HERE, revisit=revisit)
    texts = [
        made.cypher,
        answers_request([made], tenant="t", revisit=revisit, limit=1, examples=1).query.text,
    ]
    for text in texts:
        nodes = re.findall(r"\((\w+):__Entity__([^()]*)\)", text)
        assert len(nodes) == text.count(":__Entity__") > 0
        for name, rest in nodes:
            assert (
                rest.startswith(" {tenant: $tenant, id: ") or f"$tenant IN [{name}.tenant]" in rest
            )


@pytest.mark.parametrize("type_", STRUCTURAL_TYPES)
def test_bookkeeping_makes_no_pattern(type_: str) -> None:
    with pytest.raises(ConfigError, match="bookkeeping"):
        pattern(Chain("a", (Step(type_, True),)))


def test_impossible_patterns_are_refused() -> None:
    with pytest.raises(ConfigError, match="needs a chain"):
        pattern()
    with pytest.raises(ConfigError, match="never meet"):
        pattern(Chain("a", (Step("R", True, id="x"),)), Chain("b", (Step("R", True, id="y"),)))
    with pytest.raises(ConfigError, match="not a name"):
        pattern(Chain("a", (Step("", True),)))


def test_the_query_takes_exactly_the_parameters() -> None:
    made = pattern(CAST, TAGGED, revisit="edge", named=["x"])
    query = pattern_query(made)
    query.check(made.parameters)
    assert (query.mode, query.text) == ("read", made.cypher)
    assert [column.name for column in query.returns] == ["id", "name"]


# Several patterns in one statement


def request_of(*patterns: Pattern, **more: Any) -> Request:
    options: dict[str, Any] = {"tenant": "t", "revisit": "node", "limit": 2, "examples": 1}
    return answers_request(patterns, **(options | more))


def test_one_statement_asks_for_all_patterns() -> None:
    first, second = pattern(CAST, TAGGED), pattern(Chain("b", (Step("S", True, id="p"),)))
    made = request_of(first, second, vector=(0.5, 0.5))
    made.query.check(made.parameters)
    text = made.query.text
    assert text.count("UNION ALL") == 1
    assert "id: $patterns[0].start2}" in text
    assert "answer.id = $patterns[1].answer" in text
    assert "RETURN [r1, r2] AS hops1 LIMIT 1" in text
    assert "chains: [hops1, hops2]" in text
    assert made.parameters["patterns"] == [
        {"start": "wayne", "start2": "noir"},
        {"start": "b", "answer": "p"},
    ]
    assert (made.parameters["most"], made.parameters["limit"]) == (MAX_READ + 1, 2)
    assert made.parameters["vector"] == [0.5, 0.5]


def test_without_examples_none_is_planned() -> None:
    text = request_of(pattern(CAST), examples=0).query.text
    assert "CALL (answer)" not in text
    assert text.count("MATCH") == 1


def test_more_may_be_shown_than_are_read_by_default() -> None:
    assert request_of(pattern(CAST), limit=MAX_READ + 5).parameters["most"] == MAX_READ + 6


def row(index: int, total: int, *answers: str, examples: Any = ()) -> dict[str, Any]:
    return {
        "index": index,
        "total": total,
        "answers": [
            {
                "id": id_,
                "name": id_.upper(),
                "labels": ["__Entity__", "film"],
                "properties": {"year": 1959, "embedding": None},
                "similarity": 0.25,
            }
            for id_ in answers
        ],
        "examples": list(examples),
    }


def relationship(source: str, type_: str, target: str) -> dict[str, Any]:
    return {
        "source": source,
        "target": target,
        "type": type_,
        "key": f"{source} {type_} {target}",
        "relationship": {"as": "Chance", "chunk_ids": ["c1"], "key": "k"},
    }


def test_answers_are_read_with_their_paths() -> None:
    patterns = [pattern(CAST), pattern(TAGGED)]
    made = request_of(*patterns)
    walked = [relationship("rio", "stars", "wayne"), relationship("rio", "stars", "dean")]
    rows = [
        row(1, 5, "a", "b"),
        row(0, 1, "dean", examples=[{"id": "dean", "chains": [walked]}]),
    ]
    first, second = read_answers(patterns, made, rows)
    assert (first.total, first.complete) == (1, True)
    assert (second.total, second.complete) == (5, False)
    answer = first.answers[0]
    assert (answer.entity.id, answer.entity.name, answer.similarity) == ("dean", "DEAN", 0.25)
    assert (answer.entity.labels, answer.entity.properties) == (("film",), {"year": 1959})
    edges = [Edge(f"rio stars {name}", "rio", name, "stars") for name in ("wayne", "dean")]
    assert answer.paths == (
        Path(("wayne", "rio", "dean"), (Hop(edges[0], False), Hop(edges[1], True))),
    )
    assert answer.paths[0].hops[0].edge.properties == {"as": "Chance"}
    assert answer.paths[0].hops[0].edge.chunk_ids == ("c1",)
    assert [a.entity.id for a in second.answers] == ["a", "b"]
    assert second.answers[0].paths == ()


def test_more_answers_than_are_read_have_no_total() -> None:
    (found,) = read_answers([pattern(CAST)], request_of(pattern(CAST)), [row(0, MAX_READ + 1, "a")])
    assert (found.total, found.complete) == (None, False)


def test_no_answer_is_known_and_no_row_is_not() -> None:
    patterns = [pattern(CAST), pattern(TAGGED)]
    found = read_answers(patterns, request_of(*patterns), [row(0, 0)])
    assert found == (PatternAnswers((), 0), PatternAnswers((), None))
    assert (found[0].complete, found[1].complete) == (True, False)
