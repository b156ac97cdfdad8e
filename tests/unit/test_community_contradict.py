"""Reports that contradict each other on a property, found without a language model."""

from __future__ import annotations

from typing import Any

import pytest

from pathrag_gds.communities import CommunityReport, Finding, claims_of, find_contradictions
from pathrag_gds.communities.contradict import Vocabulary
from pathrag_gds.errors import TenantError
from pathrag_gds.types import Entity

OSLO = Entity(
    "oslo",
    "Oslo",
    ("City",),
    properties={"population": 709000, "mayor": "Anne Lindboe", "aliases": ["Christiania"]},
)
SCROOGE = Entity(
    "scrooge",
    "Ebenezer Scrooge",
    ("Person",),
    properties={"birthYear": 1785, "occupation": "money lender", "friends": ["Fezziwig"]},
)
NORWAY = Entity("norway", "Norway", ("Country",), properties={"capital": "Oslo"})
ENTITIES = (OSLO, SCROOGE, NORWAY)


def report(id_: str, summary: str, *findings: Finding, tenant: str = "t") -> CommunityReport:
    return CommunityReport(
        community_id=id_,
        tenant_id=tenant,
        title="Title",
        summary=summary,
        key_entities=("oslo",),
        origin="llm",
        form="strict",
        key_entities_from="answer",
        content_hash="0",
        findings=findings,
    )


def claimed(text: str) -> list[tuple[str, str, str]]:
    claims = claims_of(report("c", text), Vocabulary(ENTITIES))
    return [(claim.entity, claim.property, claim.value) for claim in claims]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Oslo's population is 709,000.", "709,000"),
        ("oslo’s Population was 709,000, and it grows.", "709,000"),
        ("The population of Oslo is 709,000.", "709,000"),
        ("In 2023 the population of the Oslo was 709,000 people.", "709,000 people"),
        ("Oslo has a population of 0.7 million.", "0.7 million"),
        ("Oslo, with a population of 709,000, is a city.", "709,000"),
        ("The city of Christiania had a population of 709 000.", "709 000"),
        ("Oslo population: 709000", "709000"),
        ("Many live in Oslo (population: 709,000; a port).", "709,000"),
        ("Many live in Oslo (population 709,000).", "709,000"),
        ("It has hills. Oslo's population is 709,000! It grows.", "709,000"),
    ],
)
def test_forms_in_which_a_value_is_stated(text: str, value: str) -> None:
    assert claimed(text) == [("oslo", "population", value)]


@pytest.mark.parametrize(
    "text",
    [
        "Oslo is a city of 709,000.",
        "Oslo's population is about 709,000.",
        "Oslo's population is at least 709,000.",
        "Oslo's population was not 709,000.",
        "Oslo's population in 1990 was 459,000.",
        "Its population is 709,000.",
        "Oslo is large. Its mayor is Anne.",
        "Bergen's population is 289,000.",
        "Oslo's population is one that has grown for a very long time indeed and grows.",
        "Oslo's repopulation is 3.",
        # Lists may hold many values.
        "Ebenezer Scrooge's friends are nobody.",
        "",
    ],
)
def test_what_states_no_value(text: str) -> None:
    assert claimed(text) == []


def test_keys_are_read_however_they_are_joined() -> None:
    for said in ("birth year", "birth_year", "birthYear", "Birth-Year", "birthyear"):
        assert claimed(f"Ebenezer Scrooge's {said} is 1785.") == [("scrooge", "birthYear", "1785")]


def test_several_claims_of_one_sentence_and_of_findings() -> None:
    found = claims_of(
        report(
            "c",
            "Oslo (population: 709,000; mayor: Anne Lindboe) is near.",
            Finding("The capital of Norway is Oslo.", "Ebenezer Scrooge's occupation is a banker."),
            Finding("Oslo's population is 709,000."),
        ),
        Vocabulary(ENTITIES),
    )
    assert [(c.entity, c.property, c.value) for c in found] == [
        ("oslo", "population", "709,000"),
        ("oslo", "mayor", "Anne Lindboe"),
        ("norway", "capital", "Oslo"),
        ("scrooge", "occupation", "banker"),
    ]
    assert found[2].sentence == "The capital of Norway is Oslo"
    assert {c.community_id for c in found} == {"c"}


def test_a_name_of_two_names_none_and_the_longest_name_counts() -> None:
    twice = Vocabulary([OSLO, Entity("other", "OSLO")])
    assert claims_of(report("c", "Oslo's population is 1."), twice) == ()
    longer = Vocabulary([OSLO, Entity("port", "Oslo Port")])
    (claim,) = claims_of(report("c", "Oslo Port's population is 1."), longer)
    assert claim.entity == "port"


def test_a_short_name_is_written_as_it_is() -> None:
    film = Vocabulary([Entity("it", "It", properties={"year": 2017})])
    assert claims_of(report("c", "We saw it: year is 1990."), film) == ()
    assert len(claims_of(report("c", "We saw It: year is 1990."), film)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("709,000", "709000"),
        ("709,000", "0.709 million"),
        ("709,000", "709,000 people"),
        ("5 km", "5 miles"),
        ("1785", "1785-02-07"),
        ("1785-02", "1785-02-07"),
        ("money lender", "a lender"),
        ("Money-Lender", "money lender"),
        ("money lender", "1785"),
    ],
)
def test_values_that_agree_or_cannot_be_compared(one: str, other: str) -> None:
    assert not pairs(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("709,000", "710,000"),
        ("709,000", "0.7 million"),
        ("-3 degrees", "3 degrees"),
        ("5 km", "6 km"),
        ("1785", "1786-02-07"),
        ("1785-02-07", "1785-03-07"),
        ("money lender", "banker"),
        ("“Anne, the mayor”", '"Bob, the mayor"'),
        ("$5", "$6"),
    ],
)
def test_values_that_contradict_each_other(one: str, other: str) -> None:
    assert pairs(one, other)
    assert pairs(other, one)


def pairs(one: str, other: str) -> tuple[Any, ...]:
    said = "Oslo's population is {}."
    return find_contradictions(
        [report("1", said.format(one)), report("2", said.format(other))], ENTITIES
    )


def test_both_reports_and_both_values_are_told() -> None:
    found = find_contradictions(
        [
            report("2", "Oslo's population is 650,000. Oslo's mayor is Anne Lindboe."),
            report("1", "The population of Oslo is 709,000.", Finding("Oslo's mayor is Lindboe.")),
            report("3", "Christiania has a population of 709000. Oslo's mayor is Bob."),
        ],
        reversed(ENTITIES),
    )
    assert [
        (
            *(f.entity, f.property, f.first.community_id, f.first.value),
            *(f.second.community_id, f.second.value, f.graph),
        )
        for f in found
    ] == [
        ("oslo", "mayor", "1", "Lindboe", "3", "Bob", "Anne Lindboe"),
        ("oslo", "mayor", "2", "Anne Lindboe", "3", "Bob", "Anne Lindboe"),
        ("oslo", "population", "1", "709,000", "2", "650,000", "709000"),
        ("oslo", "population", "2", "650,000", "3", "709000", "709000"),
    ]
    assert {f.name for f in found} == {"Oslo"}


def test_a_report_with_two_values_agrees_with_either() -> None:
    both = report("1", "Oslo's population is 709,000. Oslo's population is 650,000.")
    assert not find_contradictions([both, report("2", "Oslo's population is 650,000.")], ENTITIES)
    (found,) = find_contradictions([both, report("2", "Oslo's population is 1.")], ENTITIES)
    assert (found.first.value, found.second.value) == ("709,000", "1")


def test_an_entity_may_lack_the_property_in_the_graph() -> None:
    said = "Norway's population is {}."
    reports = [report("1", said.format("5 million")), report("2", said.format("6 million"))]
    (found,) = find_contradictions(reports, ENTITIES)
    assert (found.entity, found.graph) == ("norway", None)


def test_nothing_to_compare() -> None:
    assert find_contradictions([], ENTITIES) == ()
    assert find_contradictions([report("1", "Oslo's population is 1.")], []) == ()
    assert find_contradictions([report("1", "Oslo's population is 1.")], ENTITIES) == ()


def test_reports_of_two_tenants_are_refused() -> None:
    with pytest.raises(TenantError, match="2 tenants are asked at once: 't', 'u'"):
        find_contradictions([report("1", "x"), report("2", "y", tenant="u")], ENTITIES)
