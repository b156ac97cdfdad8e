"""The query behind an answer on the command line: what is printed, saved and refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

import pathrag_gds.pathrag
from cli import cli
from pathrag_gds.config import Settings
from pathrag_gds.errors import ConfigError, PathRAGError
from pathrag_gds.graph.database import Row
from pathrag_gds.graph.queries import Query
from pathrag_gds.pathrag import PathRAG
from pathrag_gds.retrieve.pattern import answering, pattern_of, started_from
from pathrag_gds.retrieve.saved import MAX_RUNS, run_pattern, save_pattern
from pathrag_gds.serve.pattern_commands import cypher_of, paste_text
from pathrag_gds.types import Answer, Chain, Pattern, SearchResult, SearchStats, Step

CHAIN = Chain("bob", (Step("friend_of", True),))


def pattern(*chains: Chain, text: str = "Bob friend of …", **more: Any) -> Pattern:
    return pattern_of(chains or (CHAIN,), text, tenant="default", revisit="edge", **more)


def result(*patterns: Pattern, of: Sequence[int | None] = ()) -> SearchResult:
    return SearchResult(
        question="?",
        tenant="default",
        method="path",
        outcome="answered",
        anchors=(),
        answers=tuple(Answer("entity", f"e{i}", f"E{i}", pattern=p) for i, p in enumerate(of)),
        paths=(),
        cut=(),
        stats=SearchStats(),
        config={},
        patterns=patterns,
    )


def test_what_is_printed_can_be_pasted() -> None:
    assert paste_text(pattern()) == (
        "// Bob friend of …\n"
        ':param tenant => "default"\n'
        ':param start => "bob"\n'
        "MATCH (start:__Entity__ {tenant: $tenant, id: $start})\n"
        "      -[:`friend_of`]->(answer:__Entity__ WHERE $tenant IN [answer.tenant])\n"
        "RETURN DISTINCT answer.id AS id, answer.name AS name\n"
        "ORDER BY id;"
    )


def test_values_are_cypher_on_one_line() -> None:
    made = replace(
        pattern(Chain('a"\\u0060\n\x1b\u2028', CHAIN.steps), named=["x'y", "ä"]),
        text="two\nlines",
    )
    made = replace(
        made, parameters=dict(made.parameters) | {"filters": {"m0": [1, 2.5, True, None]}}
    )
    head = paste_text(made).split("MATCH")[0].splitlines()
    assert head == [
        r"// two\nlines",
        ':param tenant => "default"',
        r':param start => "a\"\\u0060\n\u001b\u2028"',
        """:param named => ["x'y", "ä"]""",
        ":param filters => {m0: [1, 2.5, true, null]}",
    ]


def test_a_name_cannot_move_the_cursor() -> None:
    made = pattern(Chain("bob", (Step("a\x1b[2Jb\nc", True),)))
    assert "-[:`a\\u001B[2Jb\nc`]->" in paste_text(made)


def test_the_patterns_of_the_answers_are_printed_in_their_order() -> None:
    one, two, three = (pattern(text=text) for text in ("one", "two", "three"))
    assert answering(result(one, two, three, of=[2, None, 0, 2])) == (three, one)
    assert answering(result(one, two, of=[None])) == (one,)
    assert answering(result(of=[None])) == ()
    assert cypher_of(result(one, two, of=[1, 0])) == f"{paste_text(two)}\n\n{paste_text(one)}"


def test_without_a_pattern_there_is_nothing_to_print() -> None:
    with pytest.raises(PathRAGError, match="no query to print"):
        cypher_of(result(of=[None]))


# Other anchors


def test_a_pattern_starts_from_others() -> None:
    other = Chain("jane", (Step("owns", False),))
    made = replace(pattern(CHAIN, other, named=["bob", "jane", "x"]), total=3, complete=True)
    moved = started_from(made, ["milk", "cat"])
    assert [chain.start for chain in moved.chains] == ["milk", "cat"]
    assert moved.parameters == {
        "tenant": "default",
        "start": "milk",
        "start2": "cat",
        "named": ["milk", "cat"],
    }
    assert (moved.cypher, moved.total, moved.complete) == (made.cypher, None, False)
    assert "named" not in started_from(pattern(), ["milk"]).parameters
    with pytest.raises(ConfigError, match="starts from 2 anchors, not from 1"):
        started_from(made, ["milk"])


class Keeper:
    """Stands where the database stands: holds one pattern, and many entities of one name."""

    def __init__(self, same: int = 1) -> None:
        self.record: Mapping[str, Any] = {}
        self.same = same

    def run(self, query: Query, /, **parameters: Any) -> list[Row]:
        query.check(parameters)
        if query.name == "patterns/save":
            self.record = {"name": parameters["name"], **parameters["record"]}
            return [{"replaced": False}]
        if query.name == "patterns/read":
            return [dict(self.record)]
        assert query.name == "patterns/anchors"
        return [
            {"mention": i, "id": f"{mention['id']}{n}", "name": ""}
            for i, mention in enumerate(parameters["mentions"])
            for n in range(self.same)
        ]


def test_too_many_combinations_are_refused() -> None:
    db: Any = Keeper(same=MAX_RUNS // 10 + 1)
    save_pattern(db, "x", pattern(CHAIN, Chain("jane", CHAIN.steps)))
    with pytest.raises(ConfigError, match="121 combinations") as refused:
        run_pattern(db, "default", "x", ["a", "b"])
    assert refused.value.hint == "Give ids instead of names."


def test_a_value_that_is_no_json_is_not_saved() -> None:
    made = pattern()
    for value in (object(), float("nan")):
        with pytest.raises(ConfigError, match="no JSON value"):
            save_pattern(
                Keeper(), "x", replace(made, parameters=dict(made.parameters) | {"a": value})
            )


# Commands


class Found:
    """Stands where the facade stands."""

    def __init__(self, found: SearchResult) -> None:
        self.found = found
        self.database = Keeper()

    def __enter__(self) -> Found:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def search(self, question: str, *, config: object) -> SearchResult:
        return self.found

    save_pattern = PathRAG.save_pattern


def query(monkeypatch: pytest.MonkeyPatch, found: SearchResult, *words: str) -> Any:
    def from_settings(settings: Settings) -> Found:
        return Found(found)

    monkeypatch.setattr(pathrag_gds.pathrag.PathRAG, "from_settings", from_settings)
    return CliRunner().invoke(cli, ["query", "Who?", "--uri", "bolt://x:1", *words])


def test_query_prints_the_cypher_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made = pattern()
    outcome = query(monkeypatch, result(made, of=[0]), "--cypher")
    assert (outcome.exit_code, outcome.stdout) == (0, paste_text(made) + "\n")
    outcome = query(monkeypatch, result(of=[None]), "--cypher")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "no query to print" in outcome.stderr


def test_query_saves_and_says_how_to_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = result(pattern(), of=[0])
    outcome = query(monkeypatch, found, "--save", "my friends", "--json")
    assert outcome.exit_code == 0
    assert json.loads(outcome.stdout) == found.to_dict()
    assert outcome.stderr.rstrip().endswith(
        "pathrag run 'my friends' --anchor bob --uri bolt://x:1"
    )


def test_without_a_pattern_there_is_nothing_to_save(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = query(monkeypatch, result(of=[None]), "--save", "x")
    assert outcome.exit_code == 1
    assert "none to save" in outcome.stderr
    assert "pathrag explain" in outcome.stderr


def test_replace_needs_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = query(monkeypatch, result(pattern(), of=[0]), "--replace")
    assert outcome.exit_code == 2
    assert "--replace needs --save NAME." in outcome.stderr
