"""Mentions in a question, and which of them count."""

from __future__ import annotations

import pytest

from pathrag_gds.retrieve.link import (
    Mention,
    choose_anchors,
    content_terms,
    mentions,
    phrase_query,
)
from pathrag_gds.types import Anchor


def keys(question: str) -> list[str]:
    return [key for mention in mentions(question) for key in mention.keys]


def anchors(question: str, **names: str) -> list[tuple[str, str]]:
    """Link a question to entities given as id=name."""
    from pathrag_gds.text import fold

    by_key: dict[str, list[tuple[str, str]]] = {}
    for id_, name in names.items():
        by_key.setdefault(fold(name), []).append((id_, name))
    return [(a.id, a.mention) for a in choose_anchors(mentions(question), by_key)]


def test_longest_runs_come_first_then_leftmost() -> None:
    assert [(m.start, m.end, m.keys[0]) for m in mentions("red cat sat")] == [
        (0, 3, "red cat sat"),
        (0, 2, "red cat"),
        (1, 3, "cat sat"),
        (0, 1, "red"),
        (1, 2, "cat"),
        (2, 3, "sat"),
    ]


def test_keys_are_folded_and_bare_of_punctuation_and_possessive() -> None:
    assert mentions("Bob's")[0].keys == ("bob's", "bob")
    assert mentions("(Zoë_Kazan)?")[0].keys == ("(zoe kazan)?", "zoe kazan")
    assert mentions("James'")[0].keys == ("james'", "james")
    assert mentions("?! …") == ()
    # Marks that stand alone leave no space at the ends of a key.
    assert mentions(", Bob ,")[0].keys == (", bob ,", "bob")


def test_no_question_no_mention() -> None:
    assert mentions("") == ()
    assert mentions("   ") == ()


def test_runs_are_bounded() -> None:
    long = " ".join(f"w{i}" for i in range(300))
    found = mentions(long)
    assert max(m.end - m.start for m in found) == 12
    assert max(m.end for m in found) == 256


def test_longest_name_wins_and_none_lies_inside_it() -> None:
    names = {"york": "York", "ny": "New York", "times": "New York Times"}
    assert anchors("Who owns the New York Times?", **names) == [("times", "new york times")]
    assert anchors("New York or York?", **names) == [("ny", "new york"), ("york", "york")]


def test_all_entities_of_an_ambiguous_name_in_order() -> None:
    assert anchors("Where is Bob?", b2="Bob", b1="Bob") == [("b1", "bob"), ("b2", "bob")]


def test_an_entity_is_an_anchor_once() -> None:
    assert anchors("Bob met Bob", b="Bob") == [("b", "bob")]


def test_anchors_stand_in_the_order_of_the_question() -> None:
    assert [a for a, _ in anchors("Did Zed meet Al?", al="Al", zed="Zed")] == ["zed", "al"]


def test_name_of_stop_words_counts_where_the_question_marks_it() -> None:
    assert anchors("who directed it?", it="It") == []
    assert anchors("who directed It?", it="It") == [("it", "it")]
    assert anchors('who directed "it"?', it="It") == [("it", "it")]
    # A capital at the beginning of the sentence marks nothing.
    assert anchors("It is what?", it="It") == []


def test_possessive_links() -> None:
    assert anchors("What colour is Bob’s fur?", bob="Bob") == [("bob", "bob")]


@pytest.mark.parametrize("name", ["[Bob]'s", "[Bob]’s", '"Bob"\'s', "“Bob”'s"])
def test_the_possessive_of_a_marked_name_links(name: str) -> None:
    assert anchors(f"who are {name} friends?", bob="Bob") == [("bob", "bob")]


def test_a_possessive_leaves_a_name_of_stop_words_marked() -> None:
    assert anchors("who directed [it]'s sequel?", it="It") == [("it", "it")]
    assert anchors("who directed [all of us]'s sequel?", all="All of Us") == [("all", "all of us")]
    assert anchors("who directed it's sequel?", it="It") == []


def test_exact_mention_scores_one() -> None:
    found = (Mention(0, 1, ("bob",), False),)
    assert choose_anchors(found, {"bob": [("b", "Bob")]}) == (Anchor("b", "Bob", "bob", 1.0),)


def test_terms_leave_stop_words_out_unless_there_is_nothing_else() -> None:
    assert content_terms("In which village was Bob, in the VILLAGE?") == ("village", "bob")
    assert content_terms("Who is it?") == ("who", "is", "it")
    assert content_terms("?!") == ()


def test_phrases_are_escaped_and_empty_keys_left_out() -> None:
    assert phrase_query("alias_keys", ["new york", "?", 'a "b" \\c']) == (
        'alias_keys:"new york" OR alias_keys:"a \\"b\\" \\\\c"'
    )
    assert phrase_query("alias_keys", []) == ""
