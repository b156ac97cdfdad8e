"""Chains as data: what may be walked, where they lead, how they read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pathrag_gds.config import RevisitPolicy
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import EntityType, Ontology, RelationType
from pathrag_gds.retrieve.chain_hops import Links, chains_request, read_reach, read_shown, walk
from pathrag_gds.retrieve.chains import Growth, extend, narrow
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.serialize import chain_text, steps_text
from pathrag_gds.retrieve.statements import Request
from pathrag_gds.retrieve.steps import chain_of, label_of, labels_by_count, may_step
from pathrag_gds.types import Chain, Edge, Entity, Hop, Path, Step

R, S = Step("R", True), Step("S", False)


def hop(source: str, type_: str, target: str, forward: bool = True) -> Hop:
    return Hop(Edge("k", source, target, type_), forward)


# Labels


def test_labels_are_ordered_by_count_then_name() -> None:
    types = tuple(EntityType(n, c) for n, c in (("", 9), ("b", 2), ("a", 2), ("c", 5)))
    assert labels_by_count(Ontology("t", entity_types=types)) == ("c", "a", "b")


@pytest.mark.parametrize(
    ("labels", "label"), [(("a", "b"), "b"), (("a",), "a"), (("z",), ""), ((), "")]
)
def test_a_node_counts_under_its_first_label(labels: tuple[str, ...], label: str) -> None:
    assert label_of(labels, ("b", "a")) == label


# What may be walked


@pytest.mark.parametrize(
    ("policy", "end", "may"),
    [
        ("node", "a", False),
        ("node", "b", False),
        ("node", "d", True),
        ("topic", "a", False),
        ("topic", "b", True),
        ("edge", "a", True),
        ("edge", "b", True),
        ("none", "a", True),
    ],
)
def test_what_may_follow_two_steps(policy: RevisitPolicy, end: str, may: bool) -> None:
    # a -R-> b <-S- c, then another type.
    assert may_step(policy, (R, S), ("a", "b", "c"), Step("T", True), end, 1) is may


@pytest.mark.parametrize("policy", ["edge", "topic", "none"])
def test_a_relationship_is_not_walked_back_but_one_beside_it_is(policy: RevisitPolicy) -> None:
    back = Step("S", True)
    assert not may_step(policy, (R, S), ("a", "b", "c"), back, "b", 1)
    assert may_step(policy, (R, S), ("a", "b", "c"), back, "b", 2)


def test_edge_remembers_every_relationship_and_none_only_the_last() -> None:
    # a -R-> b -R-> a by two relationships, and a -R-> b again.
    steps, way = (R, R), ("a", "b", "a")
    assert not may_step("edge", steps, way, R, "b", 1)
    assert may_step("edge", steps, way, R, "b", 2)
    assert may_step("none", steps, way, R, "b", 1)


# Where chains lead


def test_a_chain_leads_on_where_one_of_its_ways_may() -> None:
    # x is on the only way to b, but not on all ways to c.
    growth = Growth(
        Chain("s", (R, R)),
        {"b": (("s", "x", "b"),), "c": (("s", "x", "c"), ("s", "y", "c"))},
    )
    links = [Links(S, {"b": (("x", 1), ("z", 1)), "c": (("x", 1),)})]
    (grown,), forbidden = extend(growth, links, policy="node", parent=4)
    assert grown.chain == Chain("s", (R, R, S))
    assert grown.ends == {"z": (("s", "x", "b", "z"),), "x": (("s", "y", "c", "x"),)}
    assert (grown.parent, grown.sampled, forbidden) == (4, False, 1)


def test_a_return_to_the_start_is_a_chain_of_its_own() -> None:
    growth = Growth(Chain("s", (R,)), {"a": (("s", "a"),)})
    links = [Links(S, {"a": (("s", 1), ("t", 1))})]
    grown, _ = extend(growth, links, policy="edge")
    assert [g.chain.steps[-1] for g in grown] == [S, Step("S", False, "", "s")]
    assert [list(g.ends) for g in grown] == [["t"], ["s"]]
    assert [list(g.ends) for g in extend(growth, links, policy="topic")[0]] == [["t"]]


def test_a_node_keeps_four_ways_through_different_nodes() -> None:
    ends = {f"n{i}": (("s", f"m{i}", f"n{i}"), ("s", f"o{i}", f"n{i}")) for i in range(5)}
    links = [Links(R, {node: (("z", 1),) for node in ends})]
    (grown,), _ = extend(Growth(Chain("s", (R, R)), ends), links, policy="node")
    assert [way[2] for way in grown.ends["z"]] == ["n0", "n1", "n2", "n3"]


def test_chains_of_nodes_that_were_not_read_whole_are_sampled() -> None:
    growth = Growth(Chain("s", (R,)), {"a": (("s", "a"),)})
    links = [Links(S, {"a": (("b", 1),)})]
    (grown,), _ = extend(growth, links, policy="node", truncated=frozenset({"a"}))
    assert grown.sampled
    (further,), _ = extend(grown, [Links(R, {"b": (("c", 1),)})], policy="node")
    assert further.sampled


def test_a_frontier_is_narrowed_by_nearness_then_id() -> None:
    growth = Growth(Chain("s", (R,)), {id_: (("s", id_),) for id_ in "dcba"})
    narrowed = narrow(growth, {"c": 0.4, "d": -0.1}, 3)
    assert (list(narrowed.ends), narrowed.sampled) == (["c", "a", "b"], True)
    assert not narrow(growth, {}, 4).sampled


# Rows


def test_rows_of_an_expansion() -> None:
    request = expansion(cap=3, rest_cap=5, row_cap=8)
    rows = [
        reached("T", True, [["a", ["b"]], ["d", ["d"]]], near=[["b", 0.25]]),
        reached("R", False, [["d", ["e"]]], label="x"),
        reached("T", True, [["a", ["c", "b"]], ["d", ["d"]]], near=[["b", 0.25], ["c", None]]),
        reached("R", False, [["d", ["e", "e"]]], label="x", total=8),
    ]
    reach = read_reach(request, rows)
    assert reach.links == (
        Links(Step("R", False, "x"), {"d": (("e", 3),)}),
        # Two relationships lead from a to b; a loop counts once.
        Links(Step("T", True), {"a": (("b", 2), ("c", 1)), "d": (("d", 1),)}),
    )
    assert reach.nearness == {"b": 0.25, "c": 0.0}
    # a has as many of one type as were asked for, d as many of all.
    assert reach.truncated == ("a", "d")
    assert reach.lost == {}
    nothing = read_reach(request, [])
    assert (nothing.links, nothing.truncated, nothing.lost) == ((), (), {})


def test_where_types_are_many_the_database_tells_what_it_did_not_read() -> None:
    request = expansion(cap=3, rest_cap=5, dense=6)
    rows = [reached(type_, True, [["a", ["b", "c"]]]) for type_ in ("R", "S", "T")]
    # As many of all types as are read of a node of few types are not too many here.
    assert read_reach(request, rows).truncated == ()
    cut = {**rows[0], "cut": ["z", "a"]}
    assert read_reach(request, [cut, *rows[1:]]).truncated == ("a", "z")


def test_what_caps_on_all_of_an_expansion_left_out_is_counted() -> None:
    rows = [reached("R", True, [["a", ["b"]], ["d", ["e"]]], total=12)]
    assert read_reach(expansion(row_cap=12), rows).lost == {"byte_cap": 10}
    assert read_reach(expansion(row_cap=5), rows).lost == {"row_cap": 7, "byte_cap": 3}
    assert read_reach(expansion(row_cap=2), rows).lost == {"row_cap": 10}


@pytest.mark.parametrize(
    ("types", "dense", "branches"),
    [(2, 0, 3 + 1), (25, 16, 2 + 3 + 2)],
    ids=["few types", "many types"],
)
def test_types_take_turns_and_caps_go_with_the_statement(
    types: int, dense: int, branches: int
) -> None:
    # Three pairs of type and direction are hubs where the cap is 3.
    degrees = [(9, 9), (9, 1), *[(1, 1)] * (types - 2)]
    relations = tuple(
        RelationType(f"T{i:02}", 9, max_out=out, max_in=into)
        for i, (out, into) in enumerate(degrees)
    )
    request = chains_request(
        ["a", "b"],
        tenant="t",
        ontology=Ontology("t", relations),
        restriction=(),
        labels=(),
        cap=3,
        width=100,
        predicate=Predicate("", {}),
        vector=None,
        vector_property="embedding",
        max_rows=70,
        max_bytes=8,
    )
    assert request is not None
    limits = {name: request.parameters[name] for name in ("cap", "dense", "row_cap")}
    assert limits == {"cap": 4, "dense": dense, "row_cap": 70}
    assert request.query.max_bytes == 8
    text = request.query.text
    assert text.count("MATCH (n)") == branches
    # Chains have no targets, so no branch into them.
    assert "targets" not in text


def expansion(**limits: int) -> Request:
    defaults = {"cap": 20, "rest_cap": 500, "dense": 0, "row_cap": 7}
    return Request(load("retrieve/expand_chains"), defaults | limits)


def reached(
    type_: str,
    forward: bool,
    links: list[list[Any]],
    *,
    label: str = "",
    near: Sequence[list[Any]] = (),
    total: int = 7,
) -> dict[str, Any]:
    return {
        "type": type_,
        "forward": forward,
        "label": label,
        "links": links,
        "near": near,
        "cut": [],
        "total": total,
    }


def test_relationships_side_by_side_are_each_walked_once() -> None:
    def row(key: str, tail: str, end: str, forward: bool) -> dict[str, object]:
        node = {"id": end, "name": end, "labels": [], "properties": {}}
        return {
            **node,
            "tail": tail,
            "forward": forward,
            "key": key,
            "type": "R",
            "relationship": {},
        }

    rows = [row(key, *ends) for key in ("2", "1") for ends in (("a", "b", True), ("b", "a", False))]
    _, hops = read_shown(rows)
    path = walk(("a", "b", "a"), (R, Step("R", False)), hops)
    assert path is not None
    assert [h.edge.key for h in path.hops] == ["1", "2"]
    assert walk(("a", "b", "c"), (R, R), hops) is None


# Words


@pytest.mark.parametrize("phrasing", [{}, {"S": ("saw", "was seen by")}])
def test_a_chain_reads_as_one_of_its_paths(phrasing: dict[str, tuple[str, str]]) -> None:
    path = Path(
        ("a", "b", "c", "a"), (hop("a", "R", "b"), hop("c", "S", "b", False), hop("c", "R", "a"))
    )
    entities = {"a": Entity("a", "Ann"), "b": Entity("b", "b", ("cat",)), "c": Entity("c", "c")}
    chain = chain_of(path, entities, ("cat",))
    assert chain == Chain("a", (Step("R", True, "cat"), Step("S", False), Step("R", True, "", "a")))
    told = chain_text(path, entities, phrasing=phrasing)
    assert steps_text(chain, entities["a"], phrasing=phrasing) == told
    assert told.startswith("Ann r cat A. ")
    assert told.endswith(" B r Ann. The answer is Ann.")


def test_a_chain_without_steps_reads_as_its_start() -> None:
    assert steps_text(Chain("a", ()), Entity("a", "Ann", ("cat",))) == "Ann is a cat."


def test_nodes_that_tell_something_stay_in_the_chain_but_not_the_end() -> None:
    path = Path(("a", "b", "c"), (hop("a", "R", "b"), hop("b", "R", "c")))
    entities = {id_: Entity(id_, id_, description="Told.") for id_ in "abc"}
    assert chain_of(path, entities, ()).steps == (Step("R", True, "", "b"), Step("R", True))
