"""The demo graph keeps the shape that makes its questions worth asking."""

from __future__ import annotations

import csv
import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest

from pathrag_gds.config import SearchConfig
from pathrag_gds.demo import keys
from pathrag_gds.serve.demo import SIZE

DEMO = files("pathrag_gds.demo")
NODE_FILES = ("animals.csv", "events.csv", "objects.csv", "persons.csv", "places.csv")
MILK_EVENT = "spilled_milk_incident"


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(DEMO.joinpath(name).read_text(encoding="utf-8").splitlines()))


NODES: Mapping[str, dict[str, str]] = {
    row["id:ID"]: row for name in NODE_FILES for row in rows(name)
}
EDGES = rows("relationships.csv")
CHUNKS: Mapping[str, dict[str, Any]] = {
    chunk["id"]: chunk
    for chunk in map(
        json.loads, DEMO.joinpath("chunks.jsonl").read_text(encoding="utf-8").splitlines()
    )
}
QUESTIONS: list[dict[str, Any]] = json.loads(
    DEMO.joinpath("questions.json").read_text(encoding="utf-8")
)
BY_KEY = {edge["key"]: edge for edge in EDGES}


def neighbours(without: Iterable[str] = ()) -> dict[str, set[str]]:
    gone = set(without)
    graph: dict[str, set[str]] = defaultdict(set)
    for edge in EDGES:
        source, target = edge[":START_ID"], edge[":END_ID"]
        if not {source, target} & gone:
            graph[source].add(target)
            graph[target].add(source)
    return graph


def distance(source: str, target: str, without: Iterable[str] = ()) -> int | None:
    """Count the hops of a shortest path, whichever way its relationships point."""
    graph = neighbours(without)
    seen = {source: 0}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        for other in sorted(graph[node] - seen.keys()):
            seen[other] = seen[node] + 1
            queue.append(other)
    return seen.get(target)


def entity_text(node: str) -> str:
    """Join what the search may read of a node: everything but its ids and sources."""
    skipped = ("id:ID", ":LABEL", "chunk_ids:string[]")
    return " ".join(v for k, v in NODES[node].items() if k not in skipped).casefold()


def of_type(location_type: str) -> list[str]:
    return [i for i, row in NODES.items() if row.get("location_type") == location_type]


def question(number: int) -> dict[str, Any]:
    return QUESTIONS[number - 1]


def test_ids_are_unique_and_relationships_know_both_ends() -> None:
    ids = [row["id:ID"] for name in NODE_FILES for row in rows(name)]
    assert len(BY_KEY) == len(EDGES)
    assert (len(ids), len(EDGES), len(CHUNKS)) == (len(set(ids)), *SIZE[1:]) == SIZE
    assert {e[":START_ID"] for e in EDGES} | {e[":END_ID"] for e in EDGES} == set(ids)


def test_thirty_seeds_do_not_cover_the_graph() -> None:
    assert len(NODES) >= 2 * SearchConfig().seed_k >= 60


def test_labels_and_relation_types_are_those_of_the_story() -> None:
    assert {row[":LABEL"] for row in NODES.values()} == {
        "animal",
        "event",
        "object",
        "person",
        "place",
    }
    assert {edge[":TYPE"] for edge in EDGES} == {
        "contains",
        "follows",
        "hides_in",
        "involve",
        "is_child_of",
        "is_friend_of",
        "lives_in",
        "located_in",
        "owns",
        "takes_place",
        "works_in",
    }


def test_every_event_has_a_place_a_time_and_somebody() -> None:
    events = [i for i, row in NODES.items() if row[":LABEL"] == "event"]
    assert len(events) >= 15
    for event in events:
        assert NODES[event]["name"] == event
        places = [e for e in EDGES if e[":START_ID"] == event and e[":TYPE"] == "takes_place"]
        involved = [e for e in EDGES if e[":START_ID"] == event and e[":TYPE"] == "involve"]
        assert [NODES[e[":END_ID"]][":LABEL"] for e in places] == ["place"]
        assert places[0]["time_of_day"]
        assert len(involved) >= 2
        assert all(e["role"] for e in involved)


def test_every_fact_names_a_fragment_of_the_story_that_tells_it() -> None:
    assert [chunk["position"] for chunk in CHUNKS.values()] == list(range(len(CHUNKS)))
    assert {chunk["document"] for chunk in CHUNKS.values()} == {"The Adventures of Bob the Cat"}
    for node, row in NODES.items():
        texts = [CHUNKS[c]["text"].casefold() for c in row["chunk_ids:string[]"].split(";")]
        names = [row["name"], *filter(None, row["aliases:string[]"].split(";"))]
        told = [any(name.casefold() in text for name in names) for text in texts]
        assert any(told) or row[":LABEL"] == "event", node
    used = {c for row in NODES.values() for c in row["chunk_ids:string[]"].split(";")}
    for edge in EDGES:
        assert edge["chunk_ids:string[]"] in CHUNKS, edge["key"]
    assert used == set(CHUNKS)


def test_there_are_ten_questions_with_gold_in_the_graph() -> None:
    assert len(QUESTIONS) == 10
    for item in QUESTIONS:
        assert item["kind"] in ("entity", "value")
        assert item["id"] in NODES
        if item["kind"] == "value":
            assert NODES[item["id"]][item["property"]] == item["value"]


@pytest.mark.parametrize("item", [q for q in QUESTIONS if q["kind"] == "entity"])
def test_gold_path_is_a_walk_that_ends_at_the_gold(item: dict[str, Any]) -> None:
    ends = [{BY_KEY[k][":START_ID"], BY_KEY[k][":END_ID"]} for k in item["gold_path"]]
    for one, next_ in pairwise(ends):
        assert one & next_
    assert item["id"] in ends[-1]
    assert all(item["id"] not in end for end in ends[:-1])


@pytest.mark.parametrize("item", [q for q in QUESTIONS if q["kind"] == "entity"])
def test_answer_is_named_by_no_other_node_of_its_path(item: dict[str, Any]) -> None:
    name = NODES[item["id"]]["name"].casefold()
    ends = [(BY_KEY[k][":START_ID"], BY_KEY[k][":END_ID"]) for k in item["gold_path"]]
    others = {node for pair in ends for node in pair} - {item["id"]}
    for node in others:
        assert name not in entity_text(node), node


def test_village_is_three_hops_from_the_milk_event() -> None:
    village = question(10)["id"]
    assert village == "whiskerville"
    assert distance(MILK_EVENT, village) == 3
    assert distance("milk", village) == 4
    assert distance("kitchen", village) == 4


def test_village_is_named_in_no_text_on_the_way_to_it() -> None:
    for node, row in NODES.items():
        if node != "whiskerville":
            assert "whiskerville" not in entity_text(node), row["name"]
    assert "whiskerville" not in CHUNKS["bob_03"]["text"].casefold()


def test_house_is_reached_through_martha() -> None:
    house = question(9)["id"]
    direct = distance(MILK_EVENT, house)
    detour = distance(MILK_EVENT, house, without=["martha"])
    assert direct == 2
    assert detour is None or detour > direct
    assert house not in neighbours()["kitchen"]


def test_attic_is_reached_through_bob_alone() -> None:
    attic = question(7)["id"]
    assert distance("clean_up", attic) == 2
    assert distance("clean_up", attic, without=["bob"]) is None


def test_joy_is_reached_through_an_event_that_bob_shares() -> None:
    joy = question(4)["id"]
    graph = neighbours()
    assert joy not in graph["bob"]
    assert graph["bob"] & graph[joy] == {"bonding_moment", "unexpected_encounter"}
    assert not [e for e in EDGES if e[":TYPE"] == "is_friend_of" and "bob" in e["key"].split()]


def test_one_person_alone_was_there_when_the_milk_fell() -> None:
    involved = [e[":END_ID"] for e in EDGES if e["key"].startswith(f"{MILK_EVENT} involve ")]
    assert [i for i in involved if NODES[i][":LABEL"] == "person"] == [question(6)["id"]]


def test_there_is_something_to_be_misled_by() -> None:
    assert len(of_type("village")) == 3
    assert len(of_type("house")) == 4
    assert len([i for i in NODES if "kitchen" in i and NODES[i][":LABEL"] == "place"]) == 3
    spilled = {e[":START_ID"]: e[":END_ID"] for e in EDGES if e["role"] == "spilled"}
    assert spilled == {
        MILK_EVENT: "milk",
        "paint_spill": "paint_pot",
        "soup_disaster": "soup_kettle",
        "tea_mishap": "blue_teapot",
    }
    assert distance("milk", "pawfield") == 3
    cats = [i for i, row in NODES.items() if row.get("species") == "cat"]
    assert len({NODES[cat]["fur_color"] for cat in cats}) == len(cats) == 3


def test_its_keys_are_those_of_its_files() -> None:
    own = keys()
    assert own.entities == tuple(sorted(NODES))
    assert own.relationships == tuple(sorted(BY_KEY))
    assert own.chunks == tuple(sorted(CHUNKS))
    assert (len(own.entities), len(own.relationships), len(own.chunks)) == SIZE
