"""Conjunctions on a real server: what chains of two and three names lead to, samples and hubs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pathrag_gds.config import SearchConfig
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.schema import refresh_ontology
from pathrag_gds.models.reranker import PathScore
from pathrag_gds.retrieve.pattern import pattern_query
from pathrag_gds.retrieve.saved import run_pattern, save_pattern
from pathrag_gds.retrieve.search import run, search
from pathrag_gds.retrieve.session import SearchContext
from pathrag_gds.types import SearchResult
from tests.statements import statement

pytestmark = pytest.mark.integration

TENANT = "t"
# 40 films in the order of their ids. Eva wrote the last two and stars in the last; every second
# one is a drama; Kim is a friend of Lee, who stars in the last four.
FILMS = [f"f{number:02}" for number in range(40)]
FACTS = [
    *(("Film", film, "HAS_GENRE", "drama") for film in FILMS[1::2]),
    *(("Film", film, "MADE_IN", "peru") for film in FILMS),
    *(("Film", film, "WRITTEN_BY", "eva") for film in FILMS[-2:]),
    *(("Film", film, "STARS", "lee") for film in FILMS[-4:]),
    ("Film", FILMS[-1], "STARS", "eva"),
    ("Person", "lee", "FRIEND_OF", "kim"),
]


class Words:
    """Finds likely what says much that is wanted, and the likelier the shorter it says that."""

    name = "words"
    fingerprint = "1"

    def __init__(self, *wanted: str) -> None:
        self.wanted = wanted

    def score(self, question: str, texts: Sequence[str]) -> list[PathScore]:
        shares = [sum(word in text for word in self.wanted) / len(self.wanted) for text in texts]
        return [
            PathScore(round(0.9 * share - len(text) / 2000, 6), 0.9)
            for share, text in zip(shares, texts, strict=True)
        ]


@pytest.fixture
def graph(migrated: Database) -> Database:
    """Load the facts; names are ids."""
    for label, source, type_, target in FACTS:
        migrated.run(
            statement(
                "MERGE (s:__Entity__ {tenant: $tenant, id: $source}) "
                f"SET s:{label}, s.name = $source, s.name_key = $source "
                "MERGE (t:__Entity__ {tenant: $tenant, id: $target}) "
                "SET t.name = $target, t.name_key = $target "
                f"MERGE (s)-[:{type_} {{key: 'k'}}]->(t)"
            ),
            tenant=TENANT,
            source=source,
            target=target,
        )
    return migrated


def ask(graph: Database, question: str, *wanted: str, **options: Any) -> SearchResult:
    context = SearchContext(
        tenant=TENANT, ontology=refresh_ontology(graph, TENANT), reranker=Words(*wanted)
    )
    config = SearchConfig(strategy="chains", max_depth=2, top_k=4).with_(**options)
    return run(graph, search(question, config, context))


def of_first(result: SearchResult) -> list[str]:
    return [answer.id for answer in result.answers if answer.pattern == 0]


def test_two_names(graph: Database) -> None:
    result = ask(graph, "Which drama was written by eva?", "genre", "written by", "drama", "eva")
    assert of_first(result) == ["f39"]
    (first, *_) = result.patterns
    assert (first.total, first.complete) == (1, True)
    assert first.text == ("film A has genre drama. film A is written by eva. The answer is film A.")
    # Both sides are shown, read whole.
    assert [path.path.nodes for path in result.paths][:2] == [("drama", "f39"), ("eva", "f39")]
    assert [path.hops[0].hop.edge.key for path in result.paths][:2] == ["k", "k"]
    assert result.answers[0].paths[:2] == (1, 2)
    assert result.stats.round_trips == result.stats.depth + 4


def test_hubs_of_which_only_a_sample_was_read(graph: Database) -> None:
    # 20 dramas and 40 films of peru: two of each are read, none of them in common with eva's.
    question, words = "Which drama made in peru stars lee?", ("genre", "made in", "stars", "lee.")
    options: dict[str, Any] = {"cap_per_relation": 2, "frontier_width": 2}
    result = ask(graph, question, *words, **options)
    assert of_first(result) == ["f37", "f39"]
    assert (result.patterns[0].total, result.patterns[0].complete) == (2, True)
    assert [chain.start for chain in result.patterns[0].chains] == ["drama", "peru", "lee"]
    assert result.stats.round_trips == result.stats.depth + 4
    assert ask(graph, question, *words).patterns[0] == result.patterns[0]


def test_both_sides_hubs(graph: Database) -> None:
    result = ask(
        graph,
        "Which drama was made in peru?",
        *("genre", "made in"),
        cap_per_relation=2,
        frontier_width=2,
        max_answers=3,
    )
    assert (result.patterns[0].total, result.patterns[0].complete) == (20, False)
    assert of_first(result) == ["f01", "f03", "f05"]


def test_sides_of_one_and_two_hops(graph: Database) -> None:
    result = ask(
        graph,
        "Which film of eva stars a friend of kim?",
        *("written by eva", "stars B", "B friend of kim"),
    )
    assert of_first(result) == ["f38", "f39"]
    assert [len(chain.steps) for chain in result.patterns[0].chains] == [1, 2]


def test_what_meets_nowhere_is_no_answer(graph: Database) -> None:
    # Neither of the films that are read of each tells that eva wrote no film of ida's.
    graph.run(
        statement(
            "MATCH (f:__Entity__ {tenant: $tenant, id: 'f00'}) "
            "CREATE (f)-[:STARS {key: 'k'}]->"
            "(:__Entity__ {tenant: $tenant, id: 'ida', name: 'ida', name_key: 'ida'})"
        ),
        tenant=TENANT,
    )
    options: dict[str, Any] = {"cap_per_relation": 1, "frontier_width": 1, "max_depth": 1}
    result = ask(graph, "Which film with ida has eva written?", "stars", "written by", **options)
    assert not any(len(pattern.chains) > 1 for pattern in result.patterns)
    assert "no_meeting" in {cut.reason for cut in result.cut}


def test_the_pattern_is_run_saved_and_repeated_with_other_names(graph: Database) -> None:
    result = ask(graph, "Which drama was written by eva?", "genre", "written by", "drama", "eva")
    pattern = result.patterns[0]
    rows = graph.run(pattern_query(pattern), **pattern.parameters)
    assert [row["id"] for row in rows] == ["f39"]
    save_pattern(graph, "both", pattern)
    assert run_pattern(graph, TENANT, "both").answers == (("f39", "f39"),)
    assert run_pattern(graph, TENANT, "both", ["drama", "lee"]).answers == ()
