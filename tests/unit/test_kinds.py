"""Nouns of questions and words of graphs that mean one kind of thing."""

from __future__ import annotations

import pytest

from pathrag_gds.retrieve.kinds import does_it, fits, kind_words, root


@pytest.mark.parametrize(
    ("noun", "kind"),
    [
        ("films", "movie"),
        ("movies", "film"),
        ("species", "species"),
        ("motion pictures", "film"),
        ("people", "person"),
        ("people living", "person baker"),
        ("people", "employee"),
        ("branches", "branch"),
        ("boxes", "box"),
        ("mice", "mouse"),
        ("harbors", "harbour"),
    ],
)
def test_a_noun_names_a_kind(noun: str, kind: str) -> None:
    assert fits(noun, kind)


@pytest.mark.parametrize(
    ("noun", "kind"), [("films", "book"), ("employees", "person"), ("", "film"), ("films", "")]
)
def test_a_noun_names_another_kind(noun: str, kind: str) -> None:
    assert not fits(noun, kind)


def test_who_does_it() -> None:
    assert does_it("reviewers", "reviewed")
    assert does_it("the writers", "wrote")
    assert does_it("actor", "acted")
    assert not does_it("reviewers", "directed")
    assert not does_it("people", "peopled")
    # Too short to be made of a verb.
    assert not does_it("beer", "be")


def test_forms_of_a_verb_are_one() -> None:
    assert len({root(word) for word in ("direct", "directs", "directed", "directing")}) == 1
    assert len({root(word) for word in ("sell", "sells", "sold", "selling")}) == 1
    assert root("directs") != root("directors")


def test_words_of_a_kind() -> None:
    assert kind_words("motion pictures") == {"motion", "film"}
    assert kind_words("") == frozenset()
