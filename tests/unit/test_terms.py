"""Terms of a score that come from the question's words: hand-made values."""

from __future__ import annotations

import pytest

from pathrag_gds.graph.schema import Ontology, RelationType
from pathrag_gds.retrieve.terms import WordTerms, roots, word_terms

FILMS = Ontology(
    "t",
    (
        RelationType("directed_by", 3),
        RelationType("release_year", 3),
        RelationType("STARS", 3, phrase="stars", inverse="acted in"),
        RelationType("by", 1),
    ),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the director directed", {"direct"}),
        ("Actors acting in movies, a movie", {"act", "movi"}),
        ("written by a writer", {"writ"}),
        ("starring stars", {"star"}),
        # Three letters at least are left of a word.
        ("the bed", {"bed"}),
        ("who is it", set()),
        ("", set()),
    ],
)
def test_roots_are_words_without_their_endings(text: str, expected: set[str]) -> None:
    assert roots(text) == expected


def test_a_linked_name_is_not_asked_for_and_an_unknown_one_is() -> None:
    question = "Which films did Ann Director make with Martha?"

    terms = word_terms(question, ["ann director"], FILMS)

    assert terms.asked == {"film", "mak", "martha"}
    assert terms.prior == {}


def test_coverage_is_the_share_of_what_is_asked() -> None:
    terms = WordTerms(frozenset({"film", "direct", "releas", "mak"}))

    assert terms.coverage("Heat is directed by person A. The director is A.") == 0.25
    assert terms.coverage("film A directed by B was released, made or remade: makes") == 1.0
    assert terms.coverage("") == 0.0
    assert WordTerms().coverage("film") == 0.0


def test_the_prior_of_a_type_is_that_of_its_best_wording() -> None:
    terms = word_terms("When were the films directed by Heat's actor released?", ["heat"], FILMS)

    # Of "directed by" and of "acted in" all, of "release year" a half, of "by" there is no word.
    assert terms.prior == {"directed_by": 1.0, "release_year": 0.5, "STARS": 1.0}


def test_the_prior_of_a_path_is_the_mean_of_its_hops() -> None:
    terms = WordTerms(prior={"directed_by": 1.0, "release_year": 0.5})

    assert terms.relation_prior(["directed_by"]) == 1.0
    assert terms.relation_prior(["directed_by", "directed_by", "release_year"]) == 0.833333
    assert terms.relation_prior(["STARS", "release_year"]) == 0.25
    assert terms.relation_prior([]) == 0.0
