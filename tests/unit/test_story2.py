"""The second story keeps the shape that makes it a fair and hard test set."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds import demo

STORY = Path(__file__).parents[1] / "data" / "story2"
KINDS = ("persons", "animals", "places", "vehicles", "objects", "organisations", "events")
QUESTION_KEYS = {"question", "phrasings", "kind", "id", "groups"}
OPTIONAL_KEYS = {"property", "value", "also", "gold_path"}

# Words that tell no event from another.
STOP_WORDS_TEXT = """
a about above across after again against all although an and any are as at back be because been
before below beside between both but by came can come comes could did do does down each else
end every everybody first for from get gets go goes got had has have he her hers him his how if
in into is it its just last like little lot made make makes many more most much my never no
nobody not nothing of off on once one other others our out over own put right same see she so
some somebody someone something still such than that the their them then there these they thing
things this those three through till time to too took two under until up upon very was way went
were what when where which while who whom whose why will with without would you
"""
STOP_WORDS = frozenset(STOP_WORDS_TEXT.split())


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


ROWS = [row for kind in KINDS for row in rows(STORY / f"{kind}.csv")]
NODES: Mapping[str, dict[str, str]] = {row["id:ID"]: row for row in ROWS}
EDGES = rows(STORY / "relationships.csv")
BY_KEY = {edge["key"]: edge for edge in EDGES}
CHUNKS: list[dict[str, Any]] = [
    json.loads(line) for line in (STORY / "chunks.jsonl").read_text(encoding="utf-8").splitlines()
]
QUESTIONS: list[dict[str, Any]] = json.loads((STORY / "questions.json").read_text(encoding="utf-8"))
EVENTS = {id_ for id_, row in NODES.items() if row[":LABEL"] == "event"}
WITH_PATH = [item for item in QUESTIONS if item.get("gold_path")]
asked = pytest.mark.parametrize("item", QUESTIONS, ids=lambda item: item["question"])
travelled = pytest.mark.parametrize("item", WITH_PATH, ids=lambda item: item["question"])


def names(row: Mapping[str, str]) -> list[str]:
    return [row["name"], *filter(None, row["aliases:string[]"].split(";"))]


def mentions(text: str, name: str) -> bool:
    folded = name.casefold().replace("_", " ")
    return re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", text.casefold()) is not None


def texts(item: Mapping[str, Any]) -> list[str]:
    return [item["question"], *item["phrasings"]]


def visited(item: Mapping[str, Any]) -> list[str]:
    """List the nodes of the gold path, the start first; the answer is the last of them."""
    nodes = [item["id"]]
    for key in reversed(item["gold_path"]):
        ends = [BY_KEY[key][":START_ID"], BY_KEY[key][":END_ID"]]
        assert nodes[0] in ends, key
        ends.remove(nodes[0])
        nodes.insert(0, ends[0])
    return nodes


def chain_ends(item: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Walk the chain of the gold path from its start, or from all events where it starts at one.

    Returns:
        An event on the walk and where the walk ends, of each walk.
    """
    nodes = visited(item)
    starts = sorted(EVENTS) if nodes[0] in EVENTS else [nodes[0]]
    walks = [[start] for start in starts]
    for here, key in zip(nodes, item["gold_path"], strict=False):
        forward = BY_KEY[key][":START_ID"] == here
        near, far = (":START_ID", ":END_ID") if forward else (":END_ID", ":START_ID")
        walks = [
            [*walk, edge[far]]
            for walk in walks
            for edge in EDGES
            if edge[near] == walk[-1]
            and edge[":TYPE"] == BY_KEY[key][":TYPE"]
            and edge[far] not in walk
        ]
    return {(next((n for n in walk if n in EVENTS), ""), walk[-1]) for walk in walks}


def chosen_by_text(item: Mapping[str, Any]) -> bool:
    """Tell whether walks over several events, with other ends, follow the gold path's chain."""
    if not item.get("gold_path") or not EVENTS.intersection(visited(item)):
        return False
    ends = chain_ends(item)
    right = {item["id"], *item.get("also", ())}
    others = {event for event, end in ends if end not in right}
    return len({event for event, _ in ends}) > 1 and bool(
        others - EVENTS.intersection(visited(item))
    )


def stem(word: str) -> str:
    """Cut the commonest endings, so that "leaks" meets "leak"."""
    for ending in ("ing", "ied", "ies", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


NAME_WORDS = frozenset(
    word
    for row in ROWS
    if row[":LABEL"] != "event"
    for name in names(row)
    for word in re.findall(r"[A-Z][a-z]+", name)
)


def content_words(text: str) -> set[str]:
    """Take the words that tell: no stop word, no proper name."""
    words = (w for w in re.findall(r"[A-Za-z]+", text) if w not in NAME_WORDS)
    return {stem(w.casefold()) for w in words if len(w) > 1 and w.casefold() not in STOP_WORDS}


def sentences(text: str) -> Iterator[str]:
    yield from filter(None, re.split(r"(?<=[.!?;])\s+", text))


def test_ids_and_keys_are_unique_and_relationships_know_both_ends() -> None:
    assert len(NODES) == len(ROWS)
    assert len(BY_KEY) == len(EDGES)
    assert {e[":START_ID"] for e in EDGES} | {e[":END_ID"] for e in EDGES} == set(NODES)
    assert all(e["key"] == f"{e[':START_ID']} {e[':TYPE']} {e[':END_ID']}" for e in EDGES)


def test_it_is_large_enough() -> None:
    assert (len(NODES), len(EVENTS), len(EDGES), len(CHUNKS)) == (239, 69, 472, 93)
    types = {edge[":TYPE"] for edge in EDGES}
    assert len(types) == 25
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", type_) for type_ in types)
    assert len(QUESTIONS) == 40
    assert all(len(set(texts(item))) == 3 for item in QUESTIONS)
    assert len({text for item in QUESTIONS for text in texts(item)}) == 120


def test_names_are_unique() -> None:
    found = [name.casefold() for row in ROWS for name in names(row)]
    assert len(found) == len(set(found))


def test_every_event_has_one_place_a_time_and_somebody() -> None:
    for event in EVENTS:
        assert NODES[event]["name"] == event
        places = [e for e in EDGES if e[":START_ID"] == event and e[":TYPE"] == "takes_place"]
        involved = [e for e in EDGES if e[":START_ID"] == event and e[":TYPE"] == "involve"]
        assert len(places) == 1
        assert NODES[places[0][":END_ID"]][":LABEL"] in ("place", "vehicle")
        assert places[0]["time_of_day"]
        assert len(involved) >= 2
        assert all(e["role"] for e in involved)


def test_places_lie_in_places_on_three_levels() -> None:
    above = {
        e[":START_ID"]: e[":END_ID"]
        for e in EDGES
        if e[":TYPE"] in ("room_of", "located_in", "lies_in")
    }
    rooms = [i for i, row in NODES.items() if row.get("location_type") == "room"]
    regions = {i for i, row in NODES.items() if row.get("location_type") == "region"}
    assert len(rooms) >= 20
    for room in rooms:
        assert above[above[above[room]]] in regions


def test_every_fact_names_a_passage_that_tells_it() -> None:
    told = {chunk["id"]: chunk["text"] for chunk in CHUNKS}
    assert [chunk["position"] for chunk in CHUNKS] == list(range(len(CHUNKS)))
    assert len({chunk["document"] for chunk in CHUNKS}) == 1
    for node, row in NODES.items():
        sources = row["chunk_ids:string[]"].split(";")
        assert set(sources) <= set(told), node
        if node not in EVENTS:
            assert all(any(mentions(told[c], n) for n in names(row)) for c in sources), node
    for edge in EDGES:
        text = told[edge["chunk_ids:string[]"]]
        ends = [edge[":START_ID"], edge[":END_ID"]]
        for end in [NODES[e] for e in ends if e not in EVENTS]:
            assert any(mentions(text, name) for name in names(end)), edge["key"]
    used = {c for row in ROWS for c in row["chunk_ids:string[]"].split(";")}
    assert used == set(told)


def test_nothing_is_named_as_in_the_demo() -> None:
    theirs = [row for path in demo.NODE_FILES for row in rows(path)]
    assert not {row["id:ID"] for row in theirs} & set(NODES)
    their_names = {name.casefold() for row in theirs for name in names(row)}
    assert not their_names & {name.casefold() for row in ROWS for name in names(row)}
    # Titles before a name are everybody's; the name itself is in no text.
    titles = {"Captain", "Mr", "Mrs", "Old"}
    proper = {
        word
        for row in theirs
        if row[":LABEL"] in ("person", "animal")
        for word in row["name"].split()
    } - titles
    ours = " ".join(
        [chunk["text"] for chunk in CHUNKS]
        + [value for row in ROWS for value in row.values()]
        + [text for item in QUESTIONS for text in texts(item)]
    )
    assert not proper & set(re.findall(r"\w+", ours))


@asked
def test_a_question_has_the_format_and_its_answer_is_in_the_graph(item: dict[str, Any]) -> None:
    assert set(item) >= QUESTION_KEYS
    assert set(item) <= QUESTION_KEYS | OPTIONAL_KEYS
    assert {item["id"], *item.get("also", ())} <= set(NODES)
    if item["kind"] == "value":
        assert NODES[item["id"]][item["property"]] == item["value"]
    else:
        assert item["kind"] == "entity"
        assert item["gold_path"]
        for text in texts(item):
            assert not any(mentions(text, name) for name in names(NODES[item["id"]]))


@travelled
def test_a_gold_path_leads_from_what_is_named_or_an_event_to_the_answer(
    item: dict[str, Any],
) -> None:
    nodes = visited(item)
    assert len(set(nodes)) == len(nodes) <= 5
    assert nodes[0] in EVENTS or any(mentions(item["question"], n) for n in names(NODES[nodes[0]]))


@travelled
def test_an_answer_is_named_by_no_other_node_of_its_path(item: dict[str, Any]) -> None:
    for node in visited(item)[:-1]:
        text = " ".join([*names(NODES[node]), NODES[node]["description"]])
        assert not any(mentions(text, name) for name in names(NODES[item["id"]])), node


@asked
def test_no_phrasing_names_the_title_of_an_event(item: dict[str, Any]) -> None:
    for text in texts(item):
        assert not any(mentions(text, event) for event in EVENTS)


def test_the_text_alone_chooses_the_event_of_most_questions() -> None:
    assert len([item for item in QUESTIONS if chosen_by_text(item)]) >= 26


@travelled
def test_a_description_and_its_question_use_other_words(item: dict[str, Any]) -> None:
    for event in EVENTS.intersection(visited(item)):
        title = content_words(event.replace("_", " "))
        for text in texts(item):
            words = content_words(text)
            assert not title & words
            for sentence in sentences(NODES[event]["description"]):
                assert len(content_words(sentence) & words) <= 1, (sentence, text)


def test_the_words_that_tell_are_counted_without_endings_and_names() -> None:
    assert content_words("Where were the leaks that Fanny mended?") == {"leak", "mend"}


def test_there_are_many_kinds_of_question() -> None:
    groups = Counter(group for item in QUESTIONS for group in item["groups"])
    assert groups.total() == len(QUESTIONS)
    assert len(groups) >= 12
