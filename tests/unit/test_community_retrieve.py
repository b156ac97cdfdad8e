"""Communities for a question: scores worked by hand, the choice, and where seeds come from."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pathrag_gds.communities.retrieve import (
    CommunityScore,
    CommunitySeed,
    CommunityTerms,
    SeedOrigin,
    choose_communities,
    collect_seeds,
    question_terms,
    score_by_cosine,
    score_by_overlap,
    terms_of,
)
from pathrag_gds.communities.search import choose_reports
from pathrag_gds.communities.types import CommunityReport
from pathrag_gds.errors import TenantError
from tests.fakes import RecordingDatabase
from tests.unit.test_context import RECORD, Encoder

NAMES = {"e1": "Ebenezer Scrooge", "e2": "Jacob Marley", "e3": "Zoë_Kazan", "e4": ""}


def report(
    community: str, summary: str, *key_entities: str, tenant: str = "acme"
) -> CommunityReport:
    return CommunityReport(
        community_id=community,
        tenant_id=tenant,
        title="Ghosts of the title count for nothing",
        summary=summary,
        key_entities=key_entities,
        origin="llm",
        form="strict",
        key_entities_from="answer",
        content_hash="0" * 64,
    )


REPORTS = (
    report("c1", "Scrooge is a miser. Marley was his partner, and Marley is dead.", "e1", "e2"),
    report("c2", "The partner of a miser and his ghost.", "e3"),
    report("c3", "Dancing at Fezziwig's ball.", "e1"),
    report("c4", "London in winter.", "e4"),
)
TERMS = tuple(terms_of(one, NAMES) for one in REPORTS)


def overlap(*ids_and_scores: tuple[str, float]) -> list[CommunityScore]:
    return [CommunityScore(id_, score, "overlap") for id_, score in ids_and_scores]


def test_terms_are_the_distinct_words_of_summary_and_names() -> None:
    assert TERMS[1] == CommunityTerms(
        "c2",
        "acme",
        frozenset({"the", "partner", "of", "a", "miser", "and", "his", "ghost"}),
        frozenset({"zoe", "kazan"}),
    )


def test_an_entity_without_a_name_counts_by_its_id() -> None:
    assert TERMS[3].key_entities == {"e4"}
    assert terms_of(report("c", "x", "TINY_TIM"), {}).key_entities == {"tiny", "tim"}


def test_a_key_entity_counts_twice_what_the_summary_counts() -> None:
    # scrooge: in the summary of c1 and in its key entities, 1 + 2; in those of c3, 2.
    # partner: in the summaries of c1 and c2, 1 each. marley: twice in c1's summary, but a set, so
    # 1 + 2. c4 shares no word.
    found = score_by_overlap("Who was the partner of Scrooge, Marley or Marley?", TERMS)
    assert found == (
        CommunityScore("c1", 7, "overlap", ("scrooge", "marley"), ("partner", "scrooge", "marley")),
        CommunityScore("c3", 2, "overlap", ("scrooge",), ()),
        CommunityScore("c2", 1, "overlap", (), ("partner",)),
    )


def test_one_key_entity_ties_with_two_words_of_the_summary_and_ids_decide() -> None:
    # c2: miser, ghost; c3: ebenezer; c1: miser and ebenezer.
    found = score_by_overlap("Ebenezer the miser, a ghost?", reversed(TERMS))
    assert [(score.community_id, score.score) for score in found] == [
        ("c1", 3),
        ("c2", 2),
        ("c3", 2),
    ]


def test_words_are_folded_on_both_sides() -> None:
    (found,) = score_by_overlap("ZOE kazan?", TERMS)
    assert (found.community_id, found.score, found.key_terms) == ("c2", 4, ("zoe", "kazan"))


def test_stop_words_match_nothing() -> None:
    # "the", "of", "a", "and", "in" are in the summaries.
    assert score_by_overlap("What of the tea and a scone in it?", TERMS) == ()


def test_a_question_of_stop_words_alone_still_is_asked() -> None:
    assert question_terms("What is in it?") == ("what", "is", "in", "it")
    found = score_by_overlap("What is in it?", TERMS)
    assert [(score.community_id, score.score) for score in found] == [("c1", 1), ("c4", 1)]


def test_a_possessive_matches_no_other_possessive() -> None:
    # c3 has "Fezziwig's".
    assert [score.community_id for score in score_by_overlap("Marley's ghost", TERMS)] == [
        "c1",
        "c2",
    ]
    (found,) = score_by_overlap("Fezziwig’s wife", TERMS)
    assert (found.community_id, found.summary_terms) == ("c3", ("fezziwig",))


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("Isn't Bob's cat Zoë's?", ("bob", "cat", "zoe")),
        ("They've met O'Brien; she'd left", ("met", "o", "brien", "left")),
        ("L'été dans la ville", ("l", "ete", "dans", "la", "ville")),
        ("cat Cat CAT", ("cat",)),
        ("", ()),
        ("?!", ()),
    ],
)
def test_terms_of_a_question(question: str, terms: tuple[str, ...]) -> None:
    assert question_terms(question) == terms


@pytest.mark.parametrize("question", ["", "?!", "xylophone"])
def test_a_question_that_shares_nothing_finds_nothing(question: str) -> None:
    assert score_by_overlap(question, TERMS) == ()


def test_no_communities_no_scores() -> None:
    assert score_by_overlap("Scrooge", ()) == ()
    assert score_by_cosine({}) == ()
    assert choose_communities((), 3) == ()
    assert collect_seeds((), REPORTS) == ()


def test_communities_of_two_tenants_are_refused() -> None:
    other = terms_of(report("c1", "Scrooge", "e1", tenant="globex"), NAMES)
    with pytest.raises(TenantError, match="2 tenants are asked at once: 'acme', 'globex'"):
        score_by_overlap("Scrooge", (*TERMS, other))


def test_cosines_are_cut_at_zero_and_ordered() -> None:
    found = score_by_cosine({"c3": 0.5, "c1": 0.5, "c2": 0.8, "c4": -0.3, "c5": 0.0})
    assert found == (
        CommunityScore("c2", 0.8, "cosine"),
        CommunityScore("c1", 0.5, "cosine"),
        CommunityScore("c3", 0.5, "cosine"),
    )


def test_cosines_that_differ_by_arithmetic_alone_tie() -> None:
    found = score_by_cosine({"b": 0.1 + 0.2, "a": 0.3, "c": 1.0000001, "d": 1e-9})
    assert [(score.community_id, score.score) for score in found] == [
        ("c", 1.0),
        ("a", 0.3),
        ("b", 0.3),
    ]


@pytest.mark.parametrize("value", [1.01, -1.01, math.nan, math.inf])
def test_what_is_no_cosine_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="the cosine of community 'c1' is"):
        score_by_cosine({"c1": value})


def test_the_largest_scores_are_chosen_and_ties_go_to_the_smaller_id() -> None:
    scores = overlap(("d", 2), ("b", 5), ("c", 2), ("a", 1), ("e", 0))
    assert [s.community_id for s in choose_communities(scores, 3)] == ["b", "c", "d"]
    assert [s.community_id for s in choose_communities(scores, 9)] == ["b", "c", "d", "a"]


def test_choices_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="count is 0"):
        choose_communities(overlap(("a", 1)), 0)
    with pytest.raises(ValueError, match="scored twice"):
        choose_communities(overlap(("a", 1), ("a", 2)), 1)
    with pytest.raises(ValueError, match="no common scale"):
        choose_communities([*overlap(("a", 1)), *score_by_cosine({"b": 0.5})], 1)


def test_shared_key_entities_come_once_and_say_where_from() -> None:
    reports = (
        report("child", "x", "e2", "e3"),
        report("other", "x", "e9"),
        report("parent", "x", "e1", "e2"),
    )
    # The parent is the better one: its entities lead, and e2 stays where it brought it.
    chosen = choose_communities(overlap(("child", 2), ("parent", 4), ("other", 1)), 2)
    assert collect_seeds(chosen, reports) == (
        CommunitySeed("e1", (SeedOrigin("parent", 1, 1),)),
        CommunitySeed("e2", (SeedOrigin("parent", 1, 2), SeedOrigin("child", 2, 1))),
        CommunitySeed("e3", (SeedOrigin("child", 2, 2),)),
    )


def test_seeds_do_not_depend_on_the_order_of_the_reports() -> None:
    chosen = choose_communities(score_by_overlap("Scrooge the miser", TERMS), 3)
    assert collect_seeds(chosen, REPORTS) == collect_seeds(chosen, reversed(REPORTS))


@pytest.mark.parametrize(("given", "count"), [(REPORTS[1:], 0), ((*REPORTS, REPORTS[0]), 2)])
def test_a_chosen_community_has_one_report(given: tuple[CommunityReport, ...], count: int) -> None:
    with pytest.raises(ValueError, match=f"community 'c1' has {count} reports"):
        collect_seeds(overlap(("c1", 1)), given)


def test_reports_of_two_tenants_are_refused() -> None:
    mixed = (REPORTS[0], report("c2", "x", "e1", tenant="globex"), report("c", "", tenant="a"))
    with pytest.raises(TenantError, match="3 tenants are asked at once: 'a', 'acme', …"):
        collect_seeds(overlap(("c1", 1)), mixed)


def stored(id_: str, **report: Any) -> dict[str, Any]:
    told = {
        "title": id_,
        "summary": "x",
        "findings": None,
        "explanations": None,
        "key_entities": ["e1"],
        "key_entities_from": "answer",
        "rating": None,
        "rating_explanation": None,
        "origin": "llm",
        "form": "strict",
        "repairs": None,
        "content_hash": "h",
    }
    return {"id": id_, "level": 1, "parent_id": "c0", "size": 3, "report": told | report}


def test_by_vector_only_the_chosen_reports_are_read() -> None:
    db = RecordingDatabase(
        {
            "communities/live_run": [{"run": {"id": "r1"}}],
            "schema/vector_record": [{"record": {**RECORD, "role": "community"}}],
            "communities/cosines": [
                {"id": "c1", "cosine": 0.25},
                {"id": "c2", "cosine": 1.0000001},
                {"id": "c3", "cosine": None},
                {"id": "c4", "cosine": -0.5},
            ],
            "communities/read_chosen": lambda p: [stored(id_) for id_ in p["ids"]],
        }
    )
    found = choose_reports(db, Encoder(), "Who?", tenant="acme", count=5)
    assert [(c.rank, c.report.community_id, c.score.score) for c in found.communities] == [
        (1, "c2", 1.0),
        (2, "c1", 0.25),
    ]
    assert (found.scorer, found.most) == ("cosine", 4)
    assert found.warnings == ("1 reports have no vector yet. Run: pathrag embed",)
    assert db.calls[-1] == (
        "communities/read_chosen",
        {"tenant": "acme", "run": "r1", "ids": ["c2", "c1"]},
    )


def test_a_community_that_was_deleted_meanwhile_is_left_out() -> None:
    db = RecordingDatabase(
        {
            "communities/live_run": [{"run": {"id": "r1"}}],
            "schema/vector_record": [{"record": {**RECORD, "role": "community"}}],
            "communities/cosines": [{"id": "c1", "cosine": 0.5}, {"id": "c2", "cosine": 0.25}],
            "communities/read_chosen": [stored("c2")],
        }
    )
    found = choose_reports(db, Encoder(), "Who?", tenant="acme")
    assert [(c.rank, c.report.community_id) for c in found.communities] == [(1, "c2")]
