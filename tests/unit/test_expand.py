"""One hop: the branches that are asked for, what is made of the rows, which hops are considered."""

from __future__ import annotations

from typing import Any

import pytest

from pathrag_gds.graph.schema import STRUCTURAL_TYPES, EntityType, Ontology, RelationType
from pathrag_gds.retrieve.expand import (
    MAX_ROWS,
    MAX_TARGETS,
    Neighbour,
    Plan,
    allowed,
    branches_of,
    expand_request,
    extensions,
    plan_of,
    read_neighbours,
)
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.statements import Request
from pathrag_gds.types import Edge, Entity, Hop, Path

CAP = 3


def relation(name: str, *, out: int = 1, into: int = 1) -> RelationType:
    return RelationType(name, 10, ("A",), ("B",), max_out=out, max_in=into)


def shape(types: list[RelationType], *restriction: str) -> tuple[list[Any], list[Any]]:
    neighbours, found = branches_of(tuple(types), restriction, CAP)
    return tuple(  # type: ignore[return-value]
        [(b.types, b.direction, b.slots["limit"]) for b in group] for group in (neighbours, found)
    )


def request(
    *types: RelationType,
    restriction: tuple[str, ...] = (),
    targets: list[str] | None = None,
    predicate: Predicate | None = None,
    entity_types: tuple[EntityType, ...] = (),
    max_rows: int = MAX_ROWS,
    max_bytes: int = 0,
) -> Request:
    made = expand_request(
        ["n"],
        tenant="t",
        ontology=Ontology("t", types, entity_types),
        restriction=restriction,
        targets=targets or [],
        cap=CAP,
        predicate=predicate or Predicate("", {}),
        vector=(1.0, 0.0),
        vector_property="embedding",
        max_rows=max_rows,
        max_bytes=max_bytes,
    )
    assert made is not None
    return made


def row(
    tail: str, type_: str, id_: str, similarity: float | None = 0.0, **other: Any
) -> dict[str, Any]:
    return {
        "tail": tail,
        "forward": True,
        "key": f"{tail}{type_}{id_}",
        "type": type_,
        "relationship": {},
        "id": id_,
        "name": id_,
        "labels": ["__Entity__"],
        "properties": {},
        "similarity": similarity,
        "cut": False,
        "total": 0,
        **other,
    }


# Branches


def test_types_without_hubs_share_one_undirected_branch() -> None:
    assert shape([relation("A"), relation("B", out=3, into=3)]) == (
        [(("A", "B"), "both", "$rest_cap")],
        [],
    )


def test_hub_direction_gets_a_branch_of_its_own_and_a_search_for_targets() -> None:
    types = [relation("A"), relation("B", into=4), relation("C", out=9)]
    assert shape(types) == (
        [
            (("A",), "both", "$rest_cap"),
            (("B",), "out", "$rest_cap"),
            (("C",), "in", "$rest_cap"),
            (("B",), "in", "$cap"),
            (("C",), "out", "$cap"),
        ],
        [(("B", "C"), "both", "$rest_cap")],
    )


def test_type_that_is_a_hub_both_ways() -> None:
    neighbours, found = shape([relation("A", out=9, into=9)])
    assert neighbours == [(("A",), "in", "$cap"), (("A",), "out", "$cap")]
    assert found == [(("A",), "both", "$rest_cap")]


def test_restriction_leaves_other_types_out() -> None:
    types = [relation("A"), relation("B", into=4)]
    assert shape(types, "A", "unknown") == ([(("A",), "both", "$rest_cap")], [])
    assert shape(types, "unknown") == ([], [])


def test_many_types_give_an_untyped_pair_that_leaves_bookkeeping_out() -> None:
    types = [relation(f"T{i}") for i in range(25)]
    assert shape(types) == (
        [((), "out", "$rest_cap"), ((), "in", "$rest_cap")],
        [((), "both", "$rest_cap")],
    )
    made = request(*types)
    # Read whole, and into nodes already found; the rarer types of a hub are named.
    assert made.query.text.count("NOT type(r) IN $structural") == 3
    assert made.parameters["structural"] == list(STRUCTURAL_TYPES)
    assert (made.parameters["cap"], made.parameters["dense"]) == (CAP + 1, 5 * CAP + 1)


def test_many_wanted_types_are_named_but_structural_ones_never() -> None:
    types = [relation(f"T{i:02}") for i in range(25)]
    names = tuple(t.name for t in types)
    neighbours, found = shape(types, *names, "FROM_CHUNK")
    assert neighbours == [(names, "out", "$rest_cap"), (names, "in", "$rest_cap")]
    assert found == [(names, "both", "$rest_cap")]


def test_graph_of_unknown_types_is_followed_untyped() -> None:
    assert shape([])[0] == [((), "out", "$rest_cap"), ((), "in", "$rest_cap")]


# The request


def test_nothing_to_follow_is_no_request() -> None:
    ontology = Ontology("t", (relation("A"),))
    assert (
        expand_request(
            ["n"],
            tenant="t",
            ontology=ontology,
            restriction=("B",),
            targets=[],
            cap=CAP,
            predicate=Predicate("", {}),
            vector=None,
            vector_property="embedding",
        )
        is None
    )


def test_statement_of_a_typed_graph() -> None:
    made = request(
        relation("A"),
        relation("odd `name", into=4),
        targets=["x"],
        predicate=Predicate("m.`a` = $filters.m0", {"m0": 1}),
    )
    text = made.query.text
    assert "MATCH (n)-[r:`A`]-(m:__Entity__)" in text
    assert "MATCH (n)-[r:`odd ``name`]->(m:__Entity__)" in text
    assert "MATCH (n)<-[r:`odd ``name`]-(m:__Entity__)" in text
    assert "WHERE COUNT { (n)-[:`odd ``name`]-() } >= $cap" in text
    assert text.count("AND m.`a` = $filters.m0") == 4
    assert "$structural" not in text
    assert made.parameters["filters"] == {"m0": 1}
    assert made.parameters["targets"] == ["x"]
    assert (made.parameters["cap"], made.parameters["rest_cap"]) == (CAP + 1, 501)


def test_targets_are_bounded_and_only_sent_where_there_are_hubs() -> None:
    many = [f"t{i}" for i in range(80)]
    hub = request(relation("A", out=4), targets=many)
    assert hub.parameters["targets"] == many[:MAX_TARGETS]
    assert request(relation("A"), targets=many).parameters["targets"] == []


def test_few_keys_are_named_and_many_are_not() -> None:
    few = request(relation("A"), entity_types=(EntityType("X", 1, ("born", "name", "a`b")),))
    assert (
        "m {.`id`, .`name`, .`description`, .`aliases`, .`chunk_ids`, .`a``b`, .`born`}"
        in few.query.text
    )
    many = (EntityType("X", 1, tuple(f"k{i}" for i in range(13))),)
    for made in (request(relation("A"), entity_types=many), request(relation("A"))):
        assert "m {.*, embedding: null, embedding_alt: null," in made.query.text


def test_keys_of_nodes_without_labels_are_named_too() -> None:
    types = (EntityType("", 1, ("age",)), EntityType("X", 1, ("born",)))
    made = request(relation("R"), entity_types=types)
    assert ".`aliases`, .`chunk_ids`, .`age`, .`born`" in made.query.text


# Rows


def test_neighbours_are_most_similar_first_then_by_relationship() -> None:
    rows = [row("n", "A", "z", 0.5), row("n", "A", "y", 0.5), row("n", "B", "x", 0.9)]
    read = read_neighbours(request(relation("A")), rows)
    assert [n.entity.id for n in read.neighbours["n"]] == ["x", "y", "z"]
    assert read.truncated == ()


def test_relationship_that_two_branches_returned_counts_once() -> None:
    rows = [row("n", "A", "x", 0.5), row("n", "A", "x", 0.5)]
    read = read_neighbours(request(relation("A", out=9)), rows)
    assert len(read.neighbours["n"]) == 1


def test_parallel_relationships_are_kept() -> None:
    rows = [row("n", "A", "x", key="1"), row("n", "A", "x", key="2")]
    read = read_neighbours(request(relation("A")), rows)
    assert [n.hop.edge.key for n in read.neighbours["n"]] == ["1", "2"]


def test_missing_similarity_is_zero() -> None:
    read = read_neighbours(request(relation("A")), [row("n", "A", "x", similarity=None)])
    assert read.neighbours["n"][0].similarity == 0.0


def test_excess_over_the_cap_is_dropped_but_never_a_target() -> None:
    made = request(relation("A", out=9), targets=["far"])
    rows = [row("n", "A", f"x{i}", 0.9 - i / 10) for i in range(CAP + 1)]
    read = read_neighbours(made, [*rows, row("n", "A", "far", -0.5)])
    assert [n.entity.id for n in read.neighbours["n"]] == ["x0", "x1", "x2", "far"]
    assert read.truncated == ("n",)


def test_types_and_directions_are_capped_apart() -> None:
    rows = [row("n", type_, f"{type_}{i}") for type_ in "AB" for i in range(CAP)]
    rows += [row("n", "A", f"in{i}", forward=False) for i in range(CAP)]
    read = read_neighbours(request(relation("A", out=9)), rows)
    assert len(read.neighbours["n"]) == 3 * CAP
    assert read.truncated == ()


def test_full_branch_marks_its_node() -> None:
    made = request(relation("A"))
    rows = [row("n", f"T{i}", f"x{i}") for i in range(501)]
    assert read_neighbours(made, rows).truncated == ("n",)
    assert read_neighbours(made, rows[:-1]).truncated == ()


def test_with_many_types_a_node_is_truncated_where_the_database_or_a_type_says_so() -> None:
    made = request(*(relation(f"T{i}") for i in range(25)))
    rows = [row("n", f"T{i}", f"x{i}") for i in range(501)]
    assert read_neighbours(made, rows).truncated == ()
    rows[7]["cut"] = True
    assert read_neighbours(made, rows).truncated == ("n",)
    one_type = [row("n", "A", f"x{i}") for i in range(CAP + 1)]
    assert read_neighbours(made, one_type).truncated == ("n",)


def test_what_a_cap_on_the_whole_expansion_left_out_is_counted() -> None:
    made = request(relation("A"), max_rows=5)
    assert made.parameters["row_cap"] == 5
    rows = [row("n", "A", f"x{i}", total=9) for i in range(3)]
    read = read_neighbours(made, rows)
    assert read.lost == {"row_cap": 4, "byte_cap": 2}
    assert read.truncated == ()
    assert read_neighbours(made, [*rows, *rows][:5]).lost == {"row_cap": 4}
    assert read_neighbours(request(relation("A")), rows).lost == {"byte_cap": 6}
    assert read_neighbours(made, []).lost == {}


def test_the_cap_on_bytes_goes_with_the_statement() -> None:
    assert request(relation("A"), max_bytes=7).query.max_bytes == 7
    assert request(relation("A")).query.max_bytes is None


def test_of_many_types_the_most_frequent_have_branches_of_their_own_at_hubs() -> None:
    types = [relation(f"T{i:02}", out=50 - i, into=1) for i in range(25)]
    plan = plan_of(tuple(types), (), CAP)
    assert plan.neighbours == plan.found == ()
    assert [(b.types, b.direction) for b in plan.sparse] == [((), "out"), ((), "in")]
    assert [b.types for b in plan.frequent] == [(f"T{i:02}",) for i in range(16)]
    assert {(b.direction, b.slots["limit"]) for b in plan.frequent} == {("out", "$cap")}
    assert [(b.types, b.direction) for b in plan.rare] == [
        (tuple(f"T{i:02}" for i in range(16, 25)), "out"),
        (tuple(f"T{i:02}" for i in range(25)), "in"),
    ]
    assert [(b.types, b.direction) for b in plan.found_dense] == [((), "both")]


def test_too_many_types_to_name_are_all_but_the_most_frequent() -> None:
    types = [relation(f"T{i:03}", out=9 if i < 2 else 1) for i in range(500)]
    out, into = plan_of(tuple(types), (), CAP).rare
    assert out.types == into.types == ()
    assert out.slots["facts"] == "AND NOT type(r) IN $structural AND NOT r:`T000`|`T001`"
    assert into.slots["facts"] == "AND NOT type(r) IN $structural"
    # What the user restricts to is named, however much it is.
    named = plan_of(tuple(types), tuple(t.name for t in types), CAP).rare
    assert [len(branch.types) for branch in named] == [498, 500]


def test_few_types_need_no_second_plan() -> None:
    types = (relation("A"), relation("B", into=4))
    plan = plan_of(types, (), CAP)
    assert (plan.neighbours, plan.found) == branches_of(types, (), CAP)
    assert (plan.sparse, plan.frequent, plan.rare, plan.found_dense) == ((), (), (), ())
    assert plan_of(types, ("unknown",), CAP) == Plan()


def test_frontier_node_without_neighbours_is_absent() -> None:
    assert read_neighbours(request(relation("A")), []).neighbours == {}


# Which hops may be walked


def hop(source: str, target: str, key: str = "", *, forward: bool = True) -> Hop:
    return Hop(Edge(key or f"{source}{target}", source, target, "R"), forward)


@pytest.mark.parametrize(
    ("policy", "new_node", "loop_to_middle", "back_to_start", "same_edge_back"),
    [
        ("node", True, False, False, False),
        ("edge", True, True, True, False),
        ("topic", True, True, False, False),
        ("none", True, True, True, False),
    ],
)
def test_revisit_policy(
    policy: str, new_node: bool, loop_to_middle: bool, back_to_start: bool, same_edge_back: bool
) -> None:
    path = Path(("a",)).extend(hop("a", "b")).extend(hop("b", "c"))
    may = allowed(policy)
    assert may(path, hop("c", "d")) is new_node
    assert may(path, hop("c", "b", "other")) is loop_to_middle
    assert may(path, hop("c", "a")) is back_to_start
    assert may(path, hop("b", "c", forward=False)) is same_edge_back


def test_policy_none_forbids_only_the_last_relationship() -> None:
    path = Path(("a",)).extend(hop("a", "b")).extend(hop("b", "a", "two"))
    assert allowed("none")(path, hop("a", "b"))
    assert not allowed("edge")(path, hop("a", "b"))


def neighbour(type_: str, id_: str, similarity: float) -> Neighbour:
    return Neighbour(Hop(Edge(id_, "n", id_, type_), True), Entity(id_, id_), similarity)


def test_types_take_turns() -> None:
    around = [neighbour("A", f"a{i}", 0.9 - i / 100) for i in range(5)]
    around += [neighbour("B", "b0", 0.1), neighbour("C", "c0", 0.2), neighbour("C", "c1", 0.15)]
    chosen, forbidden, excess = extensions(
        Path(("n",)), around, may=allowed("node"), expand_per_path=5
    )
    assert [n.entity.id for n in chosen] == ["a0", "c0", "b0", "a1", "c1"]
    assert (forbidden, excess) == (0, 3)


def test_forbidden_hops_are_counted_apart() -> None:
    path = Path(("a", "n"), (hop("a", "n"),))
    around = [neighbour("A", "a", 0.9), neighbour("A", "x", 0.1)]
    chosen, forbidden, excess = extensions(path, around, may=allowed("node"), expand_per_path=9)
    assert [n.entity.id for n in chosen] == ["x"]
    assert (forbidden, excess) == (1, 0)
