"""What is answered to questions of a shape, from entities, paths and sets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from itertools import pairwise
from typing import Any

import pytest

from pathrag_gds.retrieve.shape import Shape
from pathrag_gds.retrieve.shaped import (
    TimePlace,
    chain_to,
    compared,
    end_values,
    extreme,
    hop_key,
    hop_values,
    is_true,
    named_values,
    path_to_count,
    relation_answers,
    time_place,
    unaccounted,
    untrue_of,
    within,
)
from pathrag_gds.retrieve.when import Span
from pathrag_gds.types import Edge, Entity, Hop, Path, RankedPath, ResultHop, Step

ADA = Entity("ada", "Ada", ("Person",), properties={"born": 1950})
OTTO = Entity("otto", "Otto", ("Person",), properties={"born": 1948})
SALT = Entity("salt", "Salt Road", ("Film",), properties={"year": 1984, "price": "8.50"})
NETS = Entity("nets", "Torn Nets", ("Film",), "A film of the sea.", {"year": 1995, "price": 7})
SHOP = Entity("shop", "Shop", ("Shop",))
ALL = {entity.id: entity for entity in (ADA, OTTO, SALT, NETS, SHOP)}


def ranked(rank: int, *told: Any, **properties: Any) -> RankedPath:
    """Make a path of nodes and, between them, types; "<" before a type walks against it."""
    nodes = told[::2]
    hops = []
    for type_, (a, b) in zip(told[1::2], pairwise(nodes), strict=True):
        forward = not type_.startswith("<")
        source, target = (a, b) if forward else (b, a)
        name = type_.removeprefix("<")
        key = f"{source.id}-{name}-{target.id}"
        hops.append(Hop(Edge(key, source.id, target.id, name, properties), forward))
    path = Path(tuple(node.id for node in nodes), tuple(hops))
    return RankedPath(rank, 0.5, 0.5, {}, "", path, nodes, tuple(ResultHop(hop) for hop in hops))


def shape(kind: Any, **found: Any) -> Shape:
    return Shape(kind, "", **found)


def test_values_of_what_is_named() -> None:
    asked = shape("property", keys=("age", "born"), mentions=(("ada", "salt"),))
    assert [(a.id, a.property, a.value) for a in named_values(asked, ALL)] == [
        ("ada", "born", 1950)
    ]
    two = shape("property", keys=("born",), mentions=(("ada",), ("otto",)))
    assert named_values(two, ALL) == ()
    of_end = shape("property", keys=("born",), mentions=(("ada",),), of_end=True)
    assert named_values(of_end, ALL) == ()


def test_values_of_a_relationship() -> None:
    acted = ranked(1, OTTO, "ACTED_IN", SALT, roles=["Skipper"], since=1983)
    asked = shape("property", mentions=(("otto",), ("salt",)), of_hop="part")
    assert hop_key(asked, acted.path) == "roles"
    assert [(a.kind, a.property, a.value, a.paths) for a in hop_values(asked, [acted])] == [
        ("value", "roles", ["Skipper"], (1,))
    ]
    start = shape("property", mentions=asked.mentions, of_hop="start")
    assert hop_key(start, acted.path) == "since"
    assert hop_key(start, ranked(1, OTTO, "MET", ADA, year=1980).path) == "year"
    rating = shape("property", mentions=asked.mentions, of_hop="rating")
    assert hop_key(rating, acted.path) == ""
    assert hop_values(rating, [acted]) == ()
    # One that two paths tell is told once.
    twice = [acted, ranked(2, OTTO, "SANG_IN", SALT, role=["Skipper"])]
    assert [a.paths for a in hop_values(asked, twice)] == [(1, 2)]
    far = ranked(1, OTTO, "ACTED_IN", SALT, "<DIRECTED", ADA, roles=["Skipper"])
    assert hop_key(asked, far.path) == ""


def test_values_of_what_paths_lead_to() -> None:
    asked = shape("property", keys=("born",), of_end=True)
    paths = [
        ranked(1, SALT, "<ACTED_IN", OTTO),
        ranked(2, SALT, "IN", SHOP),
        ranked(3, SALT, "<DIRECTED", ADA),
        ranked(4, NETS, "<ACTED_IN", OTTO),
    ]
    found = end_values(asked, paths, ["ada"])
    assert [(a.id, a.value, a.paths) for a in found] == [("otto", 1948, (1, 4))]


@pytest.mark.parametrize(
    ("keys", "larger", "yes_no", "answers"),
    [
        (("born",), (False,), True, [("boolean", "ada", False)]),
        (("born",), (True,), True, [("boolean", "ada", True)]),
        (("born",), (False,), False, [("entity", "otto", None)]),
        (("age", "born"), (True, True), False, [("entity", "ada", None)]),
    ],
)
def test_two_are_compared(
    keys: tuple[str, ...], larger: tuple[bool, ...], yes_no: bool, answers: list[Any]
) -> None:
    asked = shape(
        "comparison", keys=keys, larger=larger, yes_no=yes_no, mentions=(("ada",), ("otto",))
    )
    reply = compared(asked, ALL)
    assert reply is not None
    assert [(a.kind, a.id, a.value) for a in reply.answers] == answers


def test_what_cannot_be_compared() -> None:
    def reply(mentions: Any, keys: tuple[str, ...] = ("born",)) -> Any:
        return compared(shape("comparison", keys=keys, larger=(True,), mentions=mentions), ALL)

    assert reply((("ada",), ("shop",))) is None
    assert reply((("ada",),)) is None
    assert reply((("ada", "otto"), ("salt",))) is None
    assert reply((("ada",), ("otto",)), ("age",)) is None
    # The same year may be another day.
    same = reply((("ada",), ("ada",)))
    assert (same.answers, same.outcome) == ((), "partial")


@pytest.mark.parametrize(
    ("question", "path", "mentions", "true"),
    [
        ("Did Ada direct Salt Road?", (ADA, "DIRECTED", SALT), ("ada", "salt"), True),
        ("Was Salt Road directed by Ada?", (SALT, "<DIRECTED", ADA), ("salt", "ada"), True),
        ("Was Salt Road directed by Ada?", (SALT, "directed_by", ADA), ("salt", "ada"), True),
        ("Did Ada write Salt Road?", (ADA, "DIRECTED", SALT), ("ada", "salt"), False),
        ("Did Ada direct Salt Road badly?", (ADA, "DIRECTED", SALT), ("ada", "salt"), False),
        ("Did Ada help Otto?", (ADA, "HELPED", OTTO), ("ada", "otto"), True),
        ("Did Otto help Ada?", (OTTO, "<HELPED", ADA), ("otto", "ada"), False),
        ("Was Otto helped by Ada?", (OTTO, "<HELPED", ADA), ("otto", "ada"), True),
        ("Was Ada helped by Otto?", (ADA, "HELPED", OTTO), ("ada", "otto"), False),
        # Who is whose mother is not told by a noun.
        ("Is Ada the mother of Otto?", (ADA, "MOTHER", OTTO), ("ada", "otto"), False),
    ],
)
def test_a_yes_needs_a_relationship_that_plainly_says_so(
    question: str, path: tuple[Any, ...], mentions: tuple[str, ...], true: bool
) -> None:
    asked = shape("boolean", mentions=tuple((id_,) for id_ in mentions))
    assert (is_true(asked, question, [ranked(1, *path)]) is not None) == true


def test_two_hops_prove_nothing() -> None:
    asked = shape("boolean", mentions=(("ada",), ("otto",)))
    path = ranked(1, ADA, "KNOWS", SHOP, "KNOWS", OTTO)
    assert is_true(asked, "Does Ada know Otto?", [path]) is None


def test_words_that_nothing_accounts_for() -> None:
    path = ranked(1, ADA, "DIRECTED", SALT)
    assert unaccounted("Which films did Ada direct?", [path]) == ()
    assert unaccounted("Which funny films did Ada make?", [path]) == ("funny", "make")


def test_what_is_not_true_must_be_known_of_all() -> None:
    goods = {
        name: Entity(name, name, properties={"sold_out": value, "kept": kept})
        for name, value, kept in (("bun", True, "no"), ("tart", False, True), ("pie", False, True))
    }
    assert untrue_of(["kept", "sold_out"], goods) == ("tart", "pie")
    assert untrue_of(["kept"], goods) is None
    assert untrue_of(["fresh"], goods) is None
    assert untrue_of(["sold_out"], {}) == ()


def test_relations_are_told_once() -> None:
    paths = [
        ranked(1, ADA, "DIRECTED", SALT, "<ACTED_IN", OTTO),
        ranked(2, ADA, "DIRECTED", NETS, "<ACTED_IN", OTTO),
        ranked(3, ADA, "MARRIED", OTTO),
    ]
    assert [(a.kind, a.id, a.value, a.paths) for a in relation_answers(paths, ALL)] == [
        ("relation", "otto", "Ada directed Salt Road. Otto acted in Salt Road.", (1, 2)),
        ("relation", "otto", "Ada married Otto.", (3,)),
    ]


def test_the_path_to_what_is_counted() -> None:
    paths = [ranked(1, ADA), ranked(2, ADA, "MARRIED", OTTO), ranked(3, ADA, "DIRECTED", SALT)]
    best = path_to_count(shape("count", noun="films"), paths, ["ada"])
    assert best is not None
    assert best.rank == 3
    assert path_to_count(shape("count", noun="ships"), paths, ["ada"]) is None
    assert path_to_count(shape("count", noun="films"), paths, ["ada", "salt"]) is None
    assert chain_to(best, "films").steps == (Step("DIRECTED", True, "Film"),)
    longer = ranked(1, OTTO, "ACTED_IN", NETS, "<DIRECTED", ADA)
    assert chain_to(longer, "directors").steps == (
        Step("ACTED_IN", True, "", "nets"),
        Step("DIRECTED", False),
    )


def test_where_the_time_stands() -> None:
    films = ranked(1, ADA, "DIRECTED", SALT)
    assert time_place("films", films) == TimePlace("year", 1, of_relationship=False)
    homes = ranked(1, ADA, "LIVES_IN", SHOP, since=1999)
    assert time_place("homes", homes) == TimePlace("since", 1, of_relationship=True)
    people = ranked(1, ADA, "DIRECTED", SALT, "<ACTED_IN", OTTO)
    assert time_place("people", people) == TimePlace("year", 1, of_relationship=False)
    assert time_place("people born", people) == TimePlace("born", 2, of_relationship=False)
    assert time_place("shops", ranked(1, ADA, "OWNS", SHOP)) is None


def test_a_time_becomes_a_predicate_where_it_stands() -> None:
    span = Span(date(1991, 1, 1), date(1999, 4, 1))
    predicate = within(span, TimePlace("year", 1, of_relationship=False), 1)
    found = predicate("answer", "r1")
    assert found.text == (
        "toStringOrNull(answer.`year`) >= $filters.time_from"
        " AND toStringOrNull(answer.`year`) < $filters.time_before"
        " AND size(toStringOrNull(answer.`year`)) > 4"
    )
    assert found.values == {"time_from": "1991", "time_before": "1999-04"}
    inner = within(Span(date(1991, 1, 1)), TimePlace("a`b", 1, of_relationship=False), 2)
    assert inner("answer", "r2").text == ""
    assert inner("n1", "r1").text == "toStringOrNull(n1.`a``b`) >= $filters.time_from"
    hop = within(Span(None, date(1991, 2, 3)), TimePlace("since", 2, of_relationship=True), 2)
    assert hop("n1", "r1").text == ""
    assert hop("answer", "r2").values == {"time_before": "1991-02-03"}


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        ({"a": {"price": 8}, "b": {"price": "7.5"}}, ("b",)),
        ({"a": {"price": 7.5}, "b": {"price": "7.5"}}, ("a", "b")),
        ({"a": {"price": 8}, "b": {}}, None),
        ({}, None),
    ],
)
def test_the_least_of_a_set(values: Mapping[str, Any], ids: Any) -> None:
    found = extreme(shape("superlative", keys=("price",), larger=(False,)), values)
    assert (found.ids if found else None) == ids
