"""A user's own questions: how they are read, and which paths they are taken to mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.adapt.pairs import Names, Pair, Unused, gold_of, read_pairs, weak_gold
from pathrag_gds.errors import LoadError
from pathrag_gds.models.training.candidates import Asked
from pathrag_gds.models.training.graph import TrainingGraph
from pathrag_gds.types import Edge, Entity

TRIPLES = [
    ("heat", "directed_by", "mann"),
    ("ali", "directed_by", "mann"),
    ("ali", "written_by", "mann"),
    ("heat", "starred", "pacino"),
    ("heat", "starred", "de_niro"),
    ("serpico", "starred", "pacino"),
    ("serpico", "directed_by", "lumet"),
    ("mann", "born_in", "chicago"),
    ("lumet", "born_in", "philadelphia"),
]


def films() -> TrainingGraph:
    ids = sorted({end for head, _, tail in TRIPLES for end in (head, tail)})
    extra: dict[str, dict[str, Any]] = {
        "pacino": {"aliases": ["Alfredo James Pacino"]},
        "heat": {"year": 1995},
    }
    return TrainingGraph.of(
        "films",
        [Entity(i, i.replace("_", " ").title(), properties=extra.get(i, {})) for i in ids],
        [Edge(f"{h} {r} {t}", h, t, r) for h, r, t in TRIPLES],
    )


def gold(question: str, *answers: str, topics: tuple[str, ...] = ()) -> tuple[Asked | None, Unused]:
    graph = films()
    unused = Unused()
    found = list(weak_gold([Pair(question, answers, topics)], graph, Names.of(graph), unused))
    return (found[0] if found else None), unused


def chains(asked: Asked | None) -> set[tuple[tuple[str, bool], ...]]:
    assert asked is not None
    return {tuple((h.edge.type, h.forward) for h in p.hops) for p in asked.gold}


def test_the_chain_that_leads_to_the_answers_is_gold() -> None:
    asked, _ = gold("who played in heat?", "Pacino", "De Niro")
    assert asked is not None
    assert asked.starts == ("heat",)
    assert chains(asked) == {(("starred", True),)}
    assert {path.tail for path in asked.gold} == {"pacino", "de_niro"}

    asked, _ = gold("where was the maker of Serpico born", "philadelphia")
    assert chains(asked) == {(("directed_by", True), ("born_in", True))}

    asked, _ = gold("which other film has an actor of serpico", "Heat")
    assert chains(asked) == {(("starred", True), ("starred", False))}


def test_aliases_ids_and_given_topics() -> None:
    asked, _ = gold("what did alfredo james pacino play in", "heat", "serpico")
    assert asked is not None
    assert asked.starts == ("pacino",)
    # The question names nothing; the file says what it is about.
    asked, _ = gold("who made it?", "lumet", topics=("serpico",))
    assert chains(asked) == {(("directed_by", True),)}


def test_one_answer_of_several_is_enough_where_they_are_alike() -> None:
    asked, _ = gold("who played in heat?", "Pacino")
    # The chain leads to De Niro, too, who is not among the answers and so is no gold.
    assert asked is not None
    assert {path.tail for path in asked.gold} == {"pacino"}


def test_a_property_is_the_answer() -> None:
    asked, unused = gold("when did heat come out", "1995")
    assert asked is not None
    assert [path.nodes for path in asked.gold] == [("heat",)]
    assert unused.total == 0


@pytest.mark.parametrize(
    ("question", "answers", "reason"),
    [
        ("who played in casablanca?", ("Pacino",), "no_topic"),
        ("who played in heat?", ("Humphrey Bogart",), "no_answer"),
        ("where is de niro from?", ("philadelphia",), "no_chain"),
    ],
)
def test_what_gives_nothing_is_counted(
    question: str, answers: tuple[str, ...], reason: str
) -> None:
    asked, unused = gold(question, *answers)
    assert asked is None
    assert getattr(unused, reason) == 1
    assert unused.total == 1


def test_two_chains_that_fit_are_both_gold_and_three_are_unclear() -> None:
    asked, _ = gold("who is behind ali?", "mann")
    assert chains(asked) == {(("directed_by", True),), (("written_by", True),)}
    triples = [("a", r, "b") for r in ("r", "s", "t")]
    graph = TrainingGraph.of(
        "g", [Entity("a", "A1"), Entity("b", "B1")], [Edge(r, h, t, r) for h, r, t in triples]
    )
    unused = Unused()
    assert list(weak_gold([Pair("a1?", ("b",))], graph, Names.of(graph), unused)) == []
    assert unused.unclear == 1
    assert len(gold_of(graph, ["a"], {"b"})) == 3
    assert gold_of(graph, ["a"], {"nobody"}) == []


def test_reading(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(
        '\ufeff{"question": "Who?", "answers": ["Ann"]}\n\n'
        '{"question": "Née où ?", "answers": ["a", "b"], "topics": ["x"]}\n',
        encoding="utf-8",
    )
    assert read_pairs(path) == [
        Pair("Who?", ("Ann",), (), 1),
        Pair("Née où ?", ("a", "b"), ("x",), 3),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "no question with answers"),
        (b"\xff", "no question with answers"),
        (b"[]", "it is no object"),
        (b'{"question": "", "answers": ["a"]}', "'question' is no text"),
        (b'{"question": "q", "answers": []}', "'answers' is empty"),
        (b'{"question": "q", "answers": "a"}', "'answers' is no list of texts"),
        (b'{"question": "q", "answers": [3]}', "'answers' is no list of texts"),
        (b'{"question": "q", "answers": ["a"], "topic": "t"}', "unknown key 'topic'"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(b'{"question": "q", "answers": ["a"]}\n' + line + b"\n")
    with pytest.raises(LoadError, match=message) as caught:
        read_pairs(path)
    assert (caught.value.path, caught.value.line) == (path, 2)


def test_no_question_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_bytes(b"\n")
    with pytest.raises(LoadError, match="There is no question"):
        read_pairs(tmp_path / "q.jsonl")
    with pytest.raises(LoadError, match="cannot be read"):
        read_pairs(tmp_path / "absent.jsonl")
