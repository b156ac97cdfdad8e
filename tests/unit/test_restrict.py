"""Which relationship types a question's words allow: by hand, on a small ontology."""

from __future__ import annotations

from pathrag_gds.graph.schema import EntityType, Ontology, RelationType
from pathrag_gds.retrieve.restrict import allowed_types, restriction_warnings
from pathrag_gds.retrieve.terms import WordTerms
from tests.fakes import MemoryGraph
from tests.searching import ask

#  Person -OWNS-> Cat -SEEN_AT-> Event -TAKES_PLACE-> Room -PART_OF_A-> House <-LIVES_IN- Person
STORY = Ontology(
    "t",
    (
        RelationType("LIVES_IN", 1, ("Person",), ("House",)),
        RelationType("OWNS", 1, ("Person",), ("Cat",)),
        RelationType("PART_OF_A", 1, ("Room",), ("House",)),
        RelationType("SEEN_AT", 1, ("Cat",), ("Event",)),
        RelationType("TAKES_PLACE", 1, ("Event",), ("Room",)),
    ),
    tuple(EntityType(name, 1) for name in ("", "Cat", "Event", "House", "Person", "Room")),
)
SAYS_NOTHING = WordTerms()


def test_types_on_the_shortest_ways_to_the_asked_type_are_allowed() -> None:
    assert allowed_types(SAYS_NOTHING, "rooms", {"Cat"}, STORY) == ("SEEN_AT", "TAKES_PLACE")
    # Two steps by the owner; three by the event and its room.
    assert allowed_types(SAYS_NOTHING, "house", {"Cat"}, STORY) == ("LIVES_IN", "OWNS")
    assert allowed_types(SAYS_NOTHING, "house", {"Cat", "Room"}, STORY) == ("PART_OF_A",)
    # From a house to a house: by whoever lives in both, or by a room.
    assert allowed_types(SAYS_NOTHING, "house", {"House"}, STORY) == ("LIVES_IN", "PART_OF_A")


def test_types_that_the_words_name_are_allowed_too() -> None:
    words = WordTerms(prior={"OWNS": 0.5})
    assert allowed_types(words, "", {"Cat"}, STORY) == ("OWNS",)
    assert allowed_types(words, "rooms", {"Cat"}, STORY) == ("OWNS", "SEEN_AT", "TAKES_PLACE")


def test_what_names_no_type_allows_all() -> None:
    assert allowed_types(SAYS_NOTHING, "", {"Cat"}, STORY) == ()
    assert allowed_types(SAYS_NOTHING, "train", {"Cat"}, STORY) == ()
    assert allowed_types(SAYS_NOTHING, "house", set(), STORY) == ()
    assert allowed_types(SAYS_NOTHING, "house", {"Cat"}, Ontology("t")) == ()


def test_warnings_say_what_was_restricted() -> None:
    assert restriction_warnings((), 5, empty=True) == (
        "The question names no type of the graph, so its intent restricts nothing.",
    )
    told = "Its intent restricts the search to 2 of 5 relationship types: A, B."
    assert restriction_warnings(("A", "B"), 5, empty=False) == (told,)
    assert restriction_warnings(("A", "B"), 5, empty=True) == (
        told,
        "Nothing was found within them. Ask without: --intent weight",
    )
    many = restriction_warnings([f"T{n:02}" for n in range(13)], 20, empty=False)
    assert many[0].endswith("T10, T11, ….")


def test_a_restricted_search_that_finds_nothing_is_partial() -> None:
    graph = MemoryGraph([("s", "OWNS", "b"), ("s", "SINGS", "c")], seeds=["s"])
    question = "what was it singing"
    result = ask(graph, {}, question=question, intent="restrict", min_score=1.0)
    assert result.outcome == "partial"
    assert result.warnings[-2:] == (
        "Its intent restricts the search to 1 of 2 relationship types: SINGS.",
        "Nothing was found within them. Ask without: --intent weight",
    )
    weighted = ask(graph, {}, question=question, min_score=1.0)
    assert weighted.outcome == "not_in_graph"
    assert weighted.warnings == ()
