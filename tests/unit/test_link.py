"""Mentions in a question, and which of them count."""

from __future__ import annotations

import pytest

from pathrag_gds.retrieve.link import (
    Mention,
    choose_anchors,
    content_terms,
    link,
    mentions,
    near_mentions,
    near_query,
    one_edit,
    phrase_query,
)
from pathrag_gds.text import name_forms
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


PEOPLE = ("Zoë Kazan", "Christopher Nolan", "Mary-Kate Olsen", "J. R. R. Tolkien", "James", "Bob")
FILMS = (
    "Spider-Man",
    "Spider-Man 2",
    "Mr. & Mrs. Smith",
    "Heat (1995)",
    "Matrix, The (1999)",
    "The Dark Knight",
    "The Apartment",
    "Who?",
    "Jeopardy!",
    "U.S.",
    "8½",
    "2001: A Space Odyssey",
    "Schindler's List",
    "snake_case_name",
    "WonderWoman",
    "Persona",
    "東京物語",
    "ボブ",
    "Матрица",
)
# What a tokenizer of English holds whole.
KNOWN_WORDS = """
    who what which film films movie movies directed person wrote acted starring dark knight
    apartment matrix heat list space man spider woman wonder
"""
KNOWN = frozenset(KNOWN_WORDS.split())


def known(word: str) -> bool:
    return word in KNOWN


def linked(question: str, *names: str) -> dict[str, float]:
    """Link to entities of these names, as an index of all their forms would; give their scores."""
    forms: dict[str, dict[str, tuple[str, float]]] = {}
    for name in names or (*PEOPLE, *FILMS):
        for form, score in name_forms(name).items():
            forms.setdefault(form, {})[name] = (name, score)
    links = link(mentions(question), forms, forms, known)
    return {anchor.name: anchor.score for anchor in links.anchors}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who directed spider man", {"Spider-Man": 0.95}),
        ("who directed spiderman", {"Spider-Man": 0.95}),
        ("who directed SpiderMan 2?", {"Spider-Man 2": 0.95}),
        ("who directed Spider-Man 2?", {"Spider-Man 2": 1.0}),
        ("who acted in mr and mrs smith", {"Mr. & Mrs. Smith": 0.95}),
        ("who acted in Mr. & Mrs. Smith?", {"Mr. & Mrs. Smith": 1.0}),
        ("who directed Heat?", {"Heat (1995)": 0.9}),
        ("who directed heat", {"Heat (1995)": 0.9}),
        ("who directed Heat (1995)?", {"Heat (1995)": 1.0}),
        ("who directed The Matrix?", {"Matrix, The (1999)": 0.9}),
        ("who directed Matrix?", {"Matrix, The (1999)": 0.85}),
        ("who directed matrix", {}),  # one plain word is no name that lost its article
        ("which apartment is it", {}),
        ("who directed dark knight", {"The Dark Knight": 0.85}),
        ("who directed the dark knight", {"The Dark Knight": 1.0}),
        ("who directed Who?", {"Who?": 1.0}),
        ("which film is it", {}),
        ("who won jeopardy?", {"Jeopardy!": 0.95}),
        ("who lives in the U.S.?", {"U.S.": 1.0}),
        ("who lives in the US?", {"U.S.": 0.95}),
        ("who told us", {}),
        ("who directed 8½?", {"8½": 1.0}),
        ("who directed 8 1/2?", {"8½": 0.95}),
        ("who directed 2001 a space odyssey", {"2001: A Space Odyssey": 0.95}),
        ("what is schindlers list", {"Schindler's List": 0.95}),
        ("who wrote snake case name", {"snake_case_name": 1.0}),
        ("who directed wonder woman", {"WonderWoman": 0.95}),
        ("what did zoe kazan write", {"Zoë Kazan": 1.0}),
        ("what did mary kate olsen do", {"Mary-Kate Olsen": 0.95}),
        ("what did J.R.R. Tolkien write", {"J. R. R. Tolkien": 0.95}),
        ("who are James' friends?", {"James": 1.0}),
        ("who are James’s friends?", {"James": 1.0}),
        ("who are [Bob]’s friends?", {"Bob": 1.0}),
        # One edit, in words of six letters or more that no one writes so.
        ("what did cristopher nolan direct", {"Christopher Nolan": 0.8}),
        ("what did christophre nolan's brother direct", {"Christopher Nolan": 0.8}),
        ("what did chrisstopher nolan direct", {"Christopher Nolan": 0.8}),
        ("who acted in schindler's list", {"Schindler's List": 1.0}),
        ("who acted in shindlers list", {"Schindler's List": 0.76}),
        ("what did christopher nolam direct", {}),  # a short word
        ("what did cristofer nolan direct", {}),  # two edits
        ("which person wrote it", {}),  # a known word is no slip ("Persona")
        ("what did jamess do", {}),
        # Running text without spaces.
        ("東京物語の監督は誰ですか？", {"東京物語": 1.0}),
        ("Heat (1995)の監督は誰ですか？", {"Heat (1995)": 1.0}),
        ("ボブの友達は誰ですか", {"ボブ": 1.0}),
        ("ボブスレーとは何ですか", {}),  # inside another word
        ("「ボブ」は誰？", {"ボブ": 1.0}),
        ("Кто снял «Матрицу»?", {"Матрица": 0.8}),
    ],
)
def test_names_however_they_are_written(question: str, expected: dict[str, float]) -> None:
    assert linked(question) == expected


def test_an_exact_name_wins_over_forms_of_others() -> None:
    assert linked("who directed Heat?", "Heat", "Heat (1995)", "Heat!") == {"Heat": 1.0}
    assert linked("spider man?", "Spider Man", "Spider-Man") == {"Spider Man": 1.0}


def test_the_longer_form_wins_over_the_shorter_name() -> None:
    assert linked("who directed dark knight", "The Dark Knight", "Knight") == {
        "The Dark Knight": 0.85
    }


def test_a_slip_never_takes_the_words_of_a_name() -> None:
    names = ("Cristopher", "Christopher", "Christopher Nolan", "Nolan")
    assert linked("where is cristopher?", *names) == {"Cristopher": 1.0}
    assert linked("where is cristopher nolan?", *names) == {"Cristopher": 1.0, "Nolan": 1.0}
    # A name inside the one with the slip stays beside it.
    assert linked("where is cristopher nolan?", *names[1:]) == {
        "Christopher Nolan": 0.8,
        "Nolan": 1.0,
    }


def test_without_knowing_words_no_slip_is_forgiven() -> None:
    forms = {"christopher": {"c": ("Christopher", 1.0)}}
    assert link(mentions("where is cristopher?"), {}, forms).anchors == ()
    assert near_mentions(mentions("where is cristopher?"), None) == ()


def test_a_slip_is_told_and_so_are_names_that_too_many_share() -> None:
    forms = {"christopher": {"c": ("Christopher", 1.0)}}
    links = link(mentions("where is cristopher?"), {}, forms, known)
    assert links.anchors == (Anchor("c", "Christopher", "cristopher", 0.8),)
    (warning,) = links.warnings
    assert warning.startswith("'cristopher' is read as 'Christopher', one letter apart. ")
    many = {"bob": {f"b{n:02}": ("Bob", 1.0) for n in range(60)}}
    links = link(mentions("where is bob?"), many)
    assert [anchor.id for anchor in links.anchors] == [f"b{n:02}" for n in range(50)]
    assert links.warnings[0].startswith("60 entities are called 'bob'; paths start at the first 50")


def test_near_mentions_are_few_and_short() -> None:
    found = near_mentions(mentions("which films did cristopher nolan, the man of 2001, do"), known)
    assert [m.loose[0] for m in found][:3] == ["cristopher", "nolan", "cristopher nolan"]
    assert len(near_mentions(mentions(" ".join(f"qwert{c}" for c in "abcdefghij")), known)) == 20


@pytest.mark.parametrize(
    ("asked", "form", "where"),
    [
        ("matrix", "matrix", None),
        ("matrx", "matrix", (0, 1)),
        ("matirx", "matrix", (0, 1)),
        ("matrixx", "matrix", (0, 1)),
        ("metrix", "matrix", (0, 1)),
        ("metrxi", "matrix", None),
        ("the matrx reloaded", "the matrix reloaded", (1, 2)),
        ("movis", "movie", None),
        ("apollo 12", "apollo 13", None),
        ("spiderman", "spider man", (0, 1)),
        ("spider man", "spiderman", (0, 2)),
        ("in side", "inside", None),
        ("aband onment", "abandonment", (0, 2)),
    ],
)
def test_one_edit(asked: str, form: str, where: tuple[int, int] | None) -> None:
    assert one_edit(asked, form) == where


def test_a_plural_is_an_edit_only_of_a_marked_name() -> None:
    assert one_edit("thrillers", "thriller", plural=False) is None
    assert one_edit("thriller", "thrillers", plural=False) is None
    assert one_edit("thrillers", "thriller") == (0, 1)


def test_the_query_for_a_near_name_is_one_term_of_each_field() -> None:
    mention = Mention(0, 2, ("cristopher nolan",), False, ("cristopher nolan",))
    assert near_query(mention, ["a", "b"]) == "a:cristopher\\ nolan~1 OR b:cristopher\\ nolan~1"
