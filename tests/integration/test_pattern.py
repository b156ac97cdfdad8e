"""Patterns on a real server: the same set as walking by hand, safe names, saved and run again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

import pytest

from pathrag_gds import PathRAG
from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import Database, operators
from pathrag_gds.graph.queries import Param, Query, escape_identifier
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.models.reranker import load_reranker
from pathrag_gds.retrieve.expand import allowed
from pathrag_gds.retrieve.filters import Predicate, compile_filter
from pathrag_gds.retrieve.pattern import answers_request, pattern_of, pattern_query, read_answers
from pathrag_gds.retrieve.saved import (
    check_reads_only,
    delete_pattern,
    find_anchors,
    read_pattern,
    read_patterns,
    run_pattern,
    save_pattern,
)
from pathrag_gds.serve.pattern_commands import paste_text
from pathrag_gds.types import Chain, Edge, Hop, Path, Pattern, Step
from tests.pasting import pasted
from tests.statements import statement

pytestmark = pytest.mark.integration

POLICIES = ("node", "edge", "topic", "none")
TYPES = ("A", "B")
VECTOR = [1.0] + [0.0] * 383


def make_edges() -> tuple[Edge, ...]:
    """Draw a small graph: parallel relationships, loops, and ways there and back."""
    rng = random.Random(5)
    drawn = [(rng.choice("abcdef"), rng.choice("abcdef"), rng.choice(TYPES)) for _ in range(22)]
    drawn += [("a", "a", "A"), ("b", "b", "B"), ("a", "b", "A"), ("a", "b", "A"), ("b", "a", "A")]
    return tuple(Edge(str(i), s, t, type_) for i, (s, t, type_) in enumerate(drawn))


EDGES = make_edges()


def make_chains() -> tuple[Chain, ...]:
    rng = random.Random(7)
    steps = [Step(t, f) for t in TYPES for f in (True, False)]
    drawn = [Chain("a", tuple(rng.choices(steps, k=k))) for k in (1, 2, 2, 3, 3, 3)]
    there_and_back = Chain("a", (Step("A", True), Step("A", False), Step("A", True)))
    return (*drawn, there_and_back, Chain("b", ()))


CHAINS = make_chains()


def load_graph(db: Database) -> None:
    """Write the graph, and the same ids once more in another tenant with links across."""
    rows = [{"key": e.key, "s": e.source, "t": e.target, "type": e.type} for e in EDGES]
    db.run(
        statement(
            "UNWIND ['t', 'other'] AS tenant UNWIND split('abcdef', '') AS id "
            "CREATE (e:__Entity__ {tenant: tenant, id: id, name: toUpper(id), name_key: id}) "
            "SET e.embedding = CASE WHEN id = 'c' THEN $vector END"
        ),
        vector=VECTOR,
    )
    for type_ in TYPES:
        db.run(
            statement(
                "UNWIND $rows AS row WITH row WHERE row.type = $type "
                "MATCH (s:__Entity__ {tenant: 't', id: row.s}) "
                "MATCH (t:__Entity__ {tenant: 't', id: row.t}) "
                f"CREATE (s)-[:{type_} {{key: row.key}}]->(t)"
            ),
            rows=rows,
            type=type_,
        )
        db.run(
            statement(
                "MATCH (s:__Entity__ {tenant: 't'}), (t:__Entity__ {tenant: 'other'}) "
                f"CREATE (s)-[:{type_} {{key: 'x'}}]->(t), (t)-[:{type_} {{key: 'y'}}]->(s)"
            )
        )


def walk(chain: Chain, policy: str) -> set[Path]:
    """Walk a chain by the rule that the search itself goes by."""
    may = allowed(policy)
    paths = {Path((chain.start,))}
    for step in chain.steps:
        hops = [Hop(edge, step.forward) for edge in EDGES if edge.type == step.type]
        paths = {p.extend(h) for p in paths for h in hops if h.head == p.tail and may(p, h)}
    return paths


def answers(db: Database, pattern: Pattern) -> list[str]:
    return [row["id"] for row in db.run(pattern_query(pattern), **pattern.parameters)]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_pattern_gives_what_walking_gives(migrated: Database, policy: str) -> None:
    load_graph(migrated)
    patterns = [pattern_of([c], "", tenant="t", revisit=policy) for c in CHAINS]
    request = answers_request(
        patterns, tenant="t", revisit=policy, limit=10, examples=10, vector=VECTOR
    )
    found = read_answers(patterns, request, migrated.run(request.query, **request.parameters))
    for chain, pattern, told in zip(CHAINS, patterns, found, strict=True):
        paths = walk(chain, policy)
        expected = sorted({path.tail for path in paths})
        assert answers(migrated, pattern) == expected
        assert (told.total, told.complete) == (len(expected), True)
        ids = [answer.entity.id for answer in told.answers]
        # The one with a vector like the question's goes first, the others by id.
        assert ids == sorted(expected, key=lambda id_: (id_ != "c", id_))
        assert all(a.paths[0] in paths and a.paths[0].tail == a.entity.id for a in told.answers)
        assert [a.similarity for a in told.answers] == [float(id_ == "c") for id_ in ids]
        assert all("embedding" not in a.entity.properties for a in told.answers)


@pytest.mark.parametrize("policy", POLICIES)
def test_chains_meet(migrated: Database, policy: str) -> None:
    load_graph(migrated)
    chains = (
        Chain("a", (Step("A", True), Step("B", False))),
        Chain("d", (Step("A", True),)),
        Chain("f", (Step("B", True), Step("A", False))),
    )
    sets = [{path.tail for path in walk(chain, policy)} for chain in chains]
    both = pattern_of(chains[:2], "", tenant="t", revisit=policy, named=["a", "d"])
    all_three = pattern_of(chains, "", tenant="t", revisit=policy)
    assert answers(migrated, both) == sorted((sets[0] & sets[1]) - {"a", "d"})
    assert answers(migrated, all_three) == sorted(sets[0] & sets[1] & sets[2])
    request = answers_request([all_three], tenant="t", revisit=policy, limit=9, examples=9)
    (told,) = read_answers([all_three], request, migrated.run(request.query, **request.parameters))
    assert told.complete
    for answer in told.answers:
        assert len(answer.paths) == 3
        for chain, path in zip(chains, answer.paths, strict=True):
            assert path in walk(chain, policy)
            assert path.tail == answer.entity.id


def by_key(node: str, relationship: str) -> Predicate:
    parts = [
        compile_filter({"id": {"$ne": "b"}}, variable=node, parameter="$filters"),
        compile_filter({"key": {"$nin": ["1", "2"]}}, variable=relationship, parameter="$filters"),
    ]
    return Predicate(
        " AND ".join(part.text for part in parts),
        {key: value for part in parts for key, value in part.values.items()},
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_filters_and_pins_hold_on_every_hop(migrated: Database, policy: str) -> None:
    load_graph(migrated)
    for chain in CHAINS[:6]:
        made = pattern_of([chain], "", tenant="t", revisit=policy, predicate=by_key)
        expected = {
            path.tail
            for path in walk(chain, policy)
            if "b" not in path.nodes[1:] and not {"1", "2"} & {h.edge.key for h in path.hops}
        }
        assert answers(migrated, made) == sorted(expected)
    pinned = Chain("a", (Step("A", True, id="b"), Step("A", False)))
    expected = {path.tail for path in walk(pinned, policy) if path.nodes[1] == "b"}
    made = pattern_of([pinned], "", tenant="t", revisit=policy)
    assert answers(migrated, made) == sorted(expected)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_pattern_only_reads_and_seeks_only_its_start(demo: Database, policy: str) -> None:
    chains = (
        Chain("bob", (Step("involve", False, "event"), Step("takes_place", True))),
        Chain("martha", (Step("involve", False), Step("takes_place", True))),
    )
    made = pattern_of(chains, "", tenant="default", revisit=policy, named=["bob"])
    query = pattern_query(made)
    check_reads_only(demo, query, made.parameters)
    for found in operators(demo.explain(query, **made.parameters)["plan"]):
        kind = found["operatorType"].split("@")[0]
        assert "Scan" not in kind
        if "Seek" in kind:
            assert "id = $start" in found["args"]["Details"]


def test_what_writes_is_told(migrated: Database) -> None:
    writes = statement("CREATE (n:__Entity__ {tenant: 't', id: 'x'}) RETURN n.id AS id", "read")
    with pytest.raises(ConfigError, match="does not only read"):
        check_reads_only(migrated, writes, {})
    assert migrated.run(statement("MATCH (n:__Entity__) RETURN count(n) AS n", "read"))[0]["n"] == 0


# Names that try to be more than names

HOSTILE = (
    "A`]-() DETACH DELETE n //",
    "\\u0060]->() DETACH DELETE n //",
    "two\nlines; and a semicolon",
    "'single' \"double\" $start ${type} \\",
    "naïve \u2028 \x1b[31m ⟶ 日本",
)


def hostile_pattern(db: Database, name: str) -> Pattern:
    quoted = escape_identifier(name)
    text = (
        f"CREATE (:__Entity__ {{tenant: 't', id: $name, name: $name}})-[:{quoted}]->"
        f"(:__Entity__:{quoted} {{tenant: 't', id: $name + '!', name: 'end'}})"
    )
    db.run(Query("test", text, "write", (Param("name", "STRING"),)), name=name)
    chain = Chain(name, (Step(name, True, name, name + "!"),))
    return pattern_of([chain], f"from {name}", tenant="t", revisit="node", named=[name, "other"])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_pasted_query_survives_any_name(migrated: Database, name: str) -> None:
    made = hostile_pattern(migrated, name)
    assert pasted(migrated, paste_text(made)) == [{"id": name + "!", "name": "end"}]
    save_pattern(migrated, "hostile", made)
    assert read_pattern(migrated, "t", "hostile").pattern == made
    assert run_pattern(migrated, "t", "hostile", [name]).answers == ((name + "!", "end"),)
    count = statement("MATCH (n:__Entity__) RETURN count(n) AS n", "read")
    assert migrated.run(count)[0]["n"] == 2


# Saved patterns

STEPS = (Step("A", True), Step("B", False))
made_of = partial(pattern_of, tenant="t", revisit="node")


def test_a_saved_pattern_is_there_again(migrated: Database) -> None:
    made = made_of([Chain("a", STEPS)], "the text", predicate=by_key, named=["f"])
    saved = save_pattern(migrated, "two steps", made)
    assert read_pattern(migrated, "t", "two steps") == saved
    assert read_pattern(migrated, "t", "two steps").pattern.parameters == made.parameters
    assert read_patterns(migrated, "t") == (saved,)
    assert read_patterns(migrated, "other") == ()


def test_a_name_is_taken_once(migrated: Database) -> None:
    first, second = made_of([Chain("a", STEPS)], "1"), made_of([Chain("b", STEPS)], "2")
    save_pattern(migrated, "x", first)
    with pytest.raises(ConfigError, match="already") as refused:
        save_pattern(migrated, "x", second)
    assert "--replace" in refused.value.hint
    assert read_pattern(migrated, "t", "x").pattern == first
    save_pattern(migrated, "x", second, replace=True)
    assert read_pattern(migrated, "t", "x").pattern == second
    other = pattern_of([Chain("a", STEPS)], "3", tenant="other", revisit="node")
    save_pattern(migrated, "x", other)
    assert [saved.pattern.text for saved in read_patterns(migrated, "t")] == ["2"]


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201])
def test_what_is_no_name_is_refused(migrated: Database, name: str) -> None:
    with pytest.raises(ConfigError, match="no name for a pattern"):
        save_pattern(migrated, name, made_of([Chain("a", STEPS)], ""))


def test_a_pattern_of_another_tenant_is_unknown(migrated: Database) -> None:
    save_pattern(migrated, "x", made_of([Chain("a", STEPS)], ""))
    for ask in (read_pattern, run_pattern, delete_pattern):
        with pytest.raises(ConfigError, match="Tenant other has no pattern 'x'") as refused:
            ask(migrated, "other", "x")
        assert "pathrag patterns" in refused.value.hint
    delete_pattern(migrated, "t", "x")
    assert read_patterns(migrated, "t") == ()


def test_a_pattern_runs_with_other_anchors(migrated: Database) -> None:
    load_graph(migrated)
    save_pattern(migrated, "x", made_of([Chain("a", STEPS)], ""))
    for anchor in ("a", "b", "e"):
        expected = sorted({path.tail for path in walk(Chain(anchor, STEPS), "node")})
        # By id and by name: upper case is the name, which is folded.
        for called in (anchor, anchor.upper()):
            found = run_pattern(migrated, "t", "x", [called])
            assert [id_ for id_, _ in found.answers] == expected
            assert [a.id for a in found.anchors[0]] == [anchor]
            assert found.to_dict()["total"] == len(expected)
    assert run_pattern(migrated, "t", "x").answers == run_pattern(migrated, "t", "x", ["a"]).answers


def test_an_ambiguous_name_stands_for_all(migrated: Database) -> None:
    load_graph(migrated)
    rename(migrated, {"a": "Twin", "e": "twin", "b": "Alone"})
    save_pattern(migrated, "x", made_of([Chain("c", STEPS)], ""))
    found = run_pattern(migrated, "t", "x", ["TWIN"])
    assert [a.id for a in found.anchors[0]] == ["a", "e"]
    expected = {path.tail for s in "ae" for path in walk(Chain(s, STEPS), "node")}
    assert {id_ for id_, _ in found.answers} == expected


def rename(db: Database, names: dict[str, str]) -> None:
    db.run(
        statement(
            "UNWIND $rows AS row MATCH (e:__Entity__ {tenant: 't', id: row[0]}) "
            "SET e.name = row[1], e.name_key = toLower(row[1])"
        ),
        rows=[list(pair) for pair in names.items()],
    )


def test_anchors_are_ids_before_names_before_nothing(migrated: Database) -> None:
    load_graph(migrated)
    rename(migrated, {"b": "a"})
    migrated.run(
        statement(
            "MATCH (e:__Entity__ {tenant: 't', id: 'f'}) "
            "SET e.aliases = ['Fee Fi'], e.alias_keys = ['fee fi']"
        )
    )
    migrated.run(statement("CALL db.awaitIndexes(60)", "read"))
    by_id, by_alias = find_anchors(migrated, "t", ["a", "FEE fi"])
    assert [anchor.id for anchor in by_id] == ["a"]
    assert [(anchor.id, anchor.mention) for anchor in by_alias] == [("f", "FEE fi")]
    for nothing in ("Zzz", "", '"', "+ - && ("):
        with pytest.raises(ConfigError, match="has no entity called"):
            find_anchors(migrated, "t", [nothing])


def test_wrong_numbers_of_anchors_are_refused(migrated: Database) -> None:
    load_graph(migrated)
    chains = (Chain("a", (Step("A", True),)), Chain("d", (Step("A", True),)))
    save_pattern(migrated, "x", made_of(chains, ""))
    with pytest.raises(ConfigError, match="starts from 2 anchors, not from 1") as refused:
        run_pattern(migrated, "t", "x", ["a"])
    assert refused.value.hint == "It was saved with: a, d"
    found = run_pattern(migrated, "t", "x", ["d", "a"])
    assert found.answers == run_pattern(migrated, "t", "x").answers


def test_a_saved_text_that_writes_is_not_run(migrated: Database) -> None:
    load_graph(migrated)
    save_pattern(migrated, "x", made_of([Chain("a", STEPS)], ""))
    migrated.run(
        statement("MATCH (p:__Pattern__) SET p.cypher = $text"),
        text="MATCH (n {id: $start, tenant: $tenant}) DETACH DELETE n RETURN 1 AS id, 1 AS name",
    )
    with pytest.raises(ConfigError, match="does not only read"):
        run_pattern(migrated, "t", "x")


def test_the_library_saves_and_runs(migrated: Database) -> None:
    load_graph(migrated)
    encoder = load_encoder(None)
    rag = PathRAG(migrated, tenant="t", encoder=encoder, reranker=load_reranker("cosine", encoder))
    saved = rag.save_pattern(made_of([Chain("a", STEPS)], "t"), "x")
    assert rag.patterns() == (saved,)
    assert rag.patterns(tenant="other") == ()
    ids: Sequence[str] = [id_ for id_, _ in rag.run_pattern("x", ["b"]).answers]
    assert ids == sorted({path.tail for path in walk(Chain("b", STEPS), "node")})
    rag.delete_pattern("x")
    assert rag.patterns() == ()
