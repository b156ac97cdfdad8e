"""Hierarchies of communities: nested, measured, numbered; all values are worked by hand."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pathrag_gds.communities.partition import (
    Cell,
    Links,
    communities_of,
    components,
    level_figures,
    link_up,
    members_hash,
    modularity,
    nested_cells,
    partition_at,
)


def linked(*pairs: str, also: Iterable[str] = ()) -> Links:
    """Link entities of one letter: ``ab`` links a and b with weight 1."""
    ids = sorted({letter for pair in pairs for letter in pair} | set(also))
    return link_up((i, [(pair[1], 1.0) for pair in pairs if pair[0] == i]) for i in ids)


# Two triangles and the edge between them.
TRIANGLES = linked("ab", "bc", "ca", "de", "ef", "fd", "cd")


def test_links_go_both_ways_and_parallel_ones_add_up() -> None:
    links = link_up([("a", [("b", 1.0), ("a", 5.0)]), ("b", [("a", 2.5), ("z", 1.0)]), ("c", [])])
    assert links == {"a": {"b": 3.5}, "b": {"a": 3.5}, "c": {}}


def test_modularity_of_two_triangles() -> None:
    # Each has 3 of 7 links within and 7 of 14 ends: 2 · (3/7 − 1/4).
    labels = dict.fromkeys("abc", 0) | dict.fromkeys("def", 1)
    assert modularity(labels, TRIANGLES) == pytest.approx(5 / 14)
    assert modularity(dict.fromkeys("abcdef", 0), TRIANGLES) == 0
    assert modularity({"a": 0}, linked(also="a")) == 0


def test_modularity_counts_weights() -> None:
    # Within 3 of 4; the ends are 7 and 1 of 8: 3/4 − 49/64 + 0 − 1/64.
    links = link_up([("a", [("b", 3.0)]), ("b", [("c", 1.0)]), ("c", [])])
    assert modularity({"a": 0, "b": 0, "c": 1}, links) == pytest.approx(3 / 4 - 50 / 64)


def test_components_within_a_group_only() -> None:
    # c is what links b and d, and is not in the group.
    links = linked("ab", "bc", "cd")
    assert components("dba", links) == (("a", "b"), ("d",))
    assert components("dcba", links) == (("a", "b", "c", "d"),)
    assert components("", links) == ()


def test_levels_become_a_tree_the_coarsest_first() -> None:
    memberships = {
        "a": (1, 10, 0), "b": (1, 10, 0), "c": (2, 10, 0), "d": (3, 11, 0), "e": (4, 12, 5),
        "f": (4, 12, 5),
    }  # fmt: skip
    cells = nested_cells(memberships, linked(also="abcdef"), connected=False)
    assert cells == (
        Cell(("a", "b", "c", "d"), 0, None),
        Cell(("e", "f"), 0, None),
        Cell(("a", "b", "c"), 1, 0),
        Cell(("d",), 1, 0),
        Cell(("a", "b"), 2, 2),
        Cell(("c",), 2, 2),
    )
    assert partition_at(cells, 0) == dict.fromkeys("abcd", 0) | dict.fromkeys("ef", 1)
    assert partition_at(cells, 9) == {"a": 4, "b": 4, "c": 5, "d": 3, "e": 1, "f": 1}


def test_a_level_that_cuts_nothing_is_passed_over() -> None:
    memberships = {"a": (0, 7, 7), "b": (0, 7, 7), "c": (1, 7, 7)}
    cells = nested_cells(memberships, linked(also="abc"), connected=False)
    assert [(c.level, c.ids) for c in cells] == [(0, ("a", "b", "c")), (1, ("a", "b")), (1, ("c",))]


def test_levels_that_are_not_nested_are_cut_along_the_coarser_ones() -> None:
    # As Leiden gives them: b was with a, and went over to c's community on the way up.
    memberships = {"a": (0, 0), "b": (0, 1), "c": (1, 1)}
    cells = nested_cells(memberships, linked(also="abc"), connected=False)
    assert [(c.level, c.ids, c.parent) for c in cells] == [
        (0, ("b", "c"), None),
        (0, ("a",), None),
        (1, ("b",), 0),
        (1, ("c",), 0),
    ]


def test_connected_cells_are_cut_where_they_do_not_hang_together() -> None:
    memberships = {i: (0,) for i in "abcd"}
    links = linked("ab", "cd")
    assert [c.ids for c in nested_cells(memberships, links, connected=False)] == [tuple("abcd")]
    assert [c.ids for c in nested_cells(memberships, links, connected=True)] == [
        ("a", "b"),
        ("c", "d"),
    ]


def test_nothing_gives_nothing() -> None:
    assert nested_cells({}, {}, connected=True) == ()
    assert level_figures((), {}, min_size=1) == ()
    assert communities_of((), tenant="t", run="1", min_size=1) == ()


def test_figures_of_a_level_leave_out_small_cells_but_in_modularity() -> None:
    cells = (Cell(tuple("abc")), Cell(tuple("def")), Cell(("d",), 1, 1), Cell(("e", "f"), 1, 1))
    (coarse,) = level_figures(cells, TRIANGLES, min_size=3)
    assert (coarse.level, coarse.communities, coarse.entities) == (0, 2, 6)
    assert (coarse.smallest, coarse.median, coarse.largest) == (3, 3.0, 3)
    assert (coarse.modularity, coarse.disconnected) == (0.357143, 0)
    fine = level_figures(cells, TRIANGLES, min_size=2)[1]
    assert (fine.communities, fine.entities, fine.median) == (1, 2, 2.0)
    # abc: 3/7 − 1/4; d: −(3/14)²; ef: 1/7 − (4/14)².
    assert fine.modularity == round(3 / 7 - 1 / 4 - 9 / 196 + 1 / 7 - 16 / 196, 6)


def test_a_community_in_two_parts_is_counted() -> None:
    (level,) = level_figures((Cell(tuple("abcd")),), linked("ab", "cd"), min_size=1)
    assert level.disconnected == 1


def test_communities_are_numbered_by_level_without_the_small_ones() -> None:
    cells = (Cell(tuple("abc")), Cell(tuple("de")), Cell(("f",)), Cell(("a", "b"), 1, 0))
    found = communities_of(cells, tenant="t", run="7", min_size=2)
    assert [(c.id, c.level, c.parent_id, c.node_ids) for c in found] == [
        ("7.0.0", 0, None, ("a", "b", "c")),
        ("7.0.1", 0, None, ("d", "e")),
        ("7.1.0", 1, "7.0.0", ("a", "b")),
    ]
    assert {c.tenant_id for c in found} == {"t"}


def test_hash_of_members_does_not_depend_on_their_order() -> None:
    assert members_hash(["a", "b"]) == members_hash(["b", "a"]) != members_hash(["ab"])
    assert len(members_hash([])) == 32
