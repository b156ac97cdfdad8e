"""The text that encoders and rerankers read."""

from __future__ import annotations

import pytest

from pathrag_gds.retrieve.serialize import chain_text, entity_text, path_text, relation_phrase
from pathrag_gds.types import Edge, Entity, Hop, Path

BOB = Entity(
    "bob",
    "Bob",
    ("Cat",),
    "A grey tabby",
    {"fur_color": "silver grey", "aliases": ["Bobby", "B"], "age": 7, "asleep": True},
)
KITCHEN = Entity("kitchen", "kitchen", ("Room",))
SPILL = Entity("spill", "milk spill")
ENTITIES = {e.id: e for e in (BOB, KITCHEN, SPILL)}
IN_KITCHEN = Hop(Edge("1", "spill", "kitchen", "TAKES_PLACE_IN", {"time_of_day": "morning"}), True)
BY_BOB = Hop(Edge("2", "spill", "bob", "CAUSED_BY"), True)
BACK_TO_SPILL = Hop(Edge("2", "spill", "bob", "CAUSED_BY"), False)


def count_words(text: str) -> int:
    return len(text.split())


def test_entity_with_everything() -> None:
    assert entity_text(BOB) == (
        "Bob is a cat. A grey tabby. Bob is also called Bobby, B. "
        "Bob's age is 7. Bob's asleep is yes. Bob's fur color is silver grey."
    )


def test_labels_read_as_words() -> None:
    assert entity_text(Entity("x", "X", ("FilmStar", "Person"))) == "X is a film star and person."


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (False, "X's k is no."),
        (0, "X's k is 0."),
        (["a", 2], "X's k is a, 2."),
        ({"b": 1, "a": 2}, 'X\'s k is {"a": 2, "b": 1}.'),
        ("line\n  break", "X's k is line break."),
        ("done!", "X's k is done!"),
        ("", ""),
        (None, ""),
        ([], ""),
    ],
)
def test_value(value: object, told: str) -> None:
    assert entity_text(Entity("x", "X", properties={"k": value})) == f"X. {told}".strip()


def test_long_value_is_cut() -> None:
    text = entity_text(Entity("x", "X", properties={"k": "y" * 400}))
    assert text == "X. X's k is " + "y" * 299 + "…"


def test_name_on_several_lines_is_one_line() -> None:
    assert entity_text(Entity("x", "two\nlines")) == "two lines."


@pytest.mark.parametrize(
    ("type_", "phrase"),
    [
        ("LOCATED_IN", "is located in"),
        ("DIRECTED_BY", "is directed by"),
        ("isFriendOf", "is friend of"),
        ("/film/directed.by", "film directed by"),
        ("LIVES_IN", "lives in"),
        ("starred_actors", "starred actors"),
        ("###", "###"),
    ],
)
def test_relation_phrase(type_: str, phrase: str) -> None:
    assert relation_phrase(type_) == phrase


def test_path_of_no_hop_is_its_entity() -> None:
    assert path_text(Path(("kitchen",)), ENTITIES) == "kitchen is a room."


def test_path_tells_hops_in_order_and_nodes_from_the_newest() -> None:
    path = Path(("bob",)).extend(BACK_TO_SPILL).extend(IN_KITCHEN)
    assert path_text(path, ENTITIES) == (
        "milk spill is caused by Bob. "
        "milk spill takes place in kitchen (time of day is morning). ||| "
        "kitchen is a room. milk spill. " + entity_text(BOB)
    )


def test_way_back_reads_differently() -> None:
    forth = path_text(Path(("spill", "bob"), (BY_BOB,)), ENTITIES)
    back = path_text(Path(("bob", "spill"), (BACK_TO_SPILL,)), ENTITIES)
    assert forth == "milk spill is caused by Bob. ||| " + entity_text(BOB) + " milk spill."
    assert back == "milk spill is caused by Bob. ||| milk spill. " + entity_text(BOB)


def test_phrasing_has_words_for_both_ways() -> None:
    phrasing = {"CAUSED_BY": ("happened through", "brought about")}
    forth = path_text(Path(("spill", "bob"), (BY_BOB,)), ENTITIES, phrasing=phrasing)
    back = path_text(Path(("bob", "spill"), (BACK_TO_SPILL,)), ENTITIES, phrasing=phrasing)
    assert forth.startswith("milk spill happened through Bob. |||")
    assert back.startswith("Bob brought about milk spill. |||")


def test_phrasing_without_a_way_back_states_the_fact_as_stored() -> None:
    path = Path(("bob", "spill"), (BACK_TO_SPILL,))
    text = path_text(path, ENTITIES, phrasing={"CAUSED_BY": ("happened through", "")})
    assert text.startswith("milk spill happened through Bob. |||")


def test_loop_describes_a_node_once() -> None:
    path = Path(("spill",)).extend(BY_BOB).extend(BACK_TO_SPILL)
    assert path_text(path, ENTITIES).count("milk spill. ") == 1


# The hops are 6 and 11 words long; the texts of kitchen, spill and Bob 4, 2 and 27.
@pytest.mark.parametrize(
    ("budget", "sentences", "texts"),
    [
        (50, 2, "kitchen is a room. milk spill. " + entity_text(BOB)),
        (49, 2, "kitchen is a room. milk spill."),
        (22, 2, "kitchen is a room."),
        (19, 2, "kitchen is"),
        (17, 2, ""),
        (16, 1, "kitchen is a room."),
        (11, 1, ""),
        (1, 1, ""),
    ],
)
def test_budget_drops_the_oldest_and_keeps_the_newest_hop(
    budget: int, sentences: int, texts: str
) -> None:
    path = Path(("bob",)).extend(BACK_TO_SPILL).extend(IN_KITCHEN)
    assert count_words(entity_text(BOB)) == 27
    told = [
        "milk spill is caused by Bob.",
        "milk spill takes place in kitchen (time of day is morning).",
    ]
    assert [count_words(s) for s in told] == [6, 11]
    text = path_text(path, ENTITIES, budget=budget, count_tokens=count_words)
    summary = " ".join(told[-sentences:])
    assert text == (f"{summary} ||| {texts}" if texts else summary)


def test_no_budget_without_a_way_to_count() -> None:
    path = Path(("bob",)).extend(BACK_TO_SPILL)
    assert path_text(path, ENTITIES, budget=1) == path_text(path, ENTITIES)


def test_chain_names_its_start_alone() -> None:
    people = {
        "h": Entity("h", "Heat", ("Film",)),
        "a": Entity("a", "Al", ("Person",)),
        "b": Entity("b", "Bo Ba", ("Person", "Star")),
        "n": Entity("n", "1995"),
    }
    path = (
        Path(("h",))
        .extend(Hop(Edge("1", "a", "h", "ACTED_IN", {"role": "cop"}), False))
        .extend(Hop(Edge("2", "a", "b", "KNOWS"), True))
        .extend(Hop(Edge("3", "b", "n", "BORN_IN"), True))
    )
    assert chain_text(path, people) == (
        "person A acted in Heat. person A knows person and star B. "
        "person and star B born in C. The answer is C."
    )


def test_chain_keeps_the_letter_of_a_node_met_twice() -> None:
    names = {"a": Entity("a", "Al"), "b": Entity("b", "Bo"), "c": Entity("c", "Cy")}
    path = (
        Path(("a",))
        .extend(Hop(Edge("1", "a", "b", "R"), True))
        .extend(Hop(Edge("2", "b", "c", "S"), True))
        .extend(Hop(Edge("3", "c", "b", "T"), True))
    )
    assert chain_text(path, names) == "Al r A. A s B. B t A. The answer is A."


def test_chain_of_no_hop_is_its_entity() -> None:
    assert chain_text(Path(("a",)), {"a": Entity("a", "Al", ("Cat",))}) == "Al is a cat."
