"""Training groups made from graphs: what is gold, what leads there, what is wrong."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import islice
from random import Random

import pytest

from pathrag_gds.models.training.candidates import Asked, Telling, make_group
from pathrag_gds.models.training.fragments import fragment, pointing
from pathrag_gds.models.training.generate import (
    asker_of,
    event_groups,
    groups_of,
    relation_groups,
)
from pathrag_gds.models.training.graph import TrainingGraph
from pathrag_gds.models.training.lexicon import Lexicon, load_lexicon, stems
from pathrag_gds.models.training.questions import generic_words, noise, plural
from pathrag_gds.models.training.recipe import graph_of_triples, held_out_lexicon
from pathrag_gds.models.training.walks import ask_both, ask_told, ask_walk, walk_questions
from pathrag_gds.models.training.worlds import ask_event, make_event_world
from pathrag_gds.types import Edge, Entity, Path

EMPTY = Lexicon((), (), (), (), (), {})
FAMILY = [
    ("ann", "mother", "bea"),
    ("bea", "mother", "cleo"),
    ("dan", "mother", "bea"),
    ("cleo", "born_in", "rome"),
    ("eve", "born_in", "rome"),
    ("eve", "mother", "fay"),
]
WHOLE = Telling(chains=False)
CHAINS = Telling(chains=True)


def family() -> TrainingGraph:
    return graph_of_triples("family", FAMILY)


def gold(graph: TrainingGraph, start: str, *chain: tuple[str, bool]) -> tuple[Path, ...]:
    return tuple(graph.follow(start, chain))


def test_following_a_chain_never_returns_to_its_start() -> None:
    graph = family()
    siblings = gold(graph, "ann", ("mother", True), ("mother", False))
    assert [path.nodes for path in siblings] == [("ann", "bea", "dan")]
    grandmother = gold(graph, "dan", ("mother", True), ("mother", True))
    assert [path.nodes for path in grandmother] == [("dan", "bea", "cleo")]


def test_labels_of_a_group() -> None:
    graph = family()
    asked = Asked(
        "where was ann's grandmother born",
        gold(graph, "ann", ("mother", True), ("mother", True), ("born_in", True)),
        starts=("ann",),
    )
    labels: dict[str, tuple[float, float]] = {}
    for seed in range(30):
        group = make_group(asked, graph, WHOLE, Random(seed))
        assert group is not None
        assert 3 <= len(group.texts) <= 8
        labels |= dict(zip(group.texts, zip(group.answer, group.prefix, strict=True), strict=True))
    right = "ann mother bea. bea mother cleo. cleo born in rome. ||| rome. cleo. bea. ann."
    assert {text for text, label in labels.items() if label == (1.0, 1.0)} == {right}
    assert {text for text, label in labels.items() if label == (0.0, 1.0)} == {
        "ann.",
        "ann mother bea. ||| bea. ann.",
        "ann mother bea. bea mother cleo. ||| cleo. bea. ann.",
    }
    wrong = {text for text, label in labels.items() if label == (0.0, 0.0)}
    # A sibling, an overshoot and the right relations from the wrong node are among them.
    assert "ann mother bea. dan mother bea. ||| dan. bea. ann." in wrong
    assert (
        right.removesuffix(" ||| rome. cleo. bea. ann.")
        + (" eve born in rome. ||| eve. rome. cleo. bea. ann.")
        in wrong
    )
    assert (
        "dan mother bea. bea mother cleo. cleo born in rome. ||| rome. cleo. bea. dan." not in wrong
    )


def test_one_text_for_the_paths_of_a_chain() -> None:
    graph = family()
    asked = Asked(
        "who was born where cleo was",
        gold(graph, "cleo", ("born_in", True), ("born_in", False)),
        starts=("cleo",),
    )
    group = make_group(asked, graph, CHAINS, Random(1))
    assert group is not None
    best = group.texts[group.answer.index(1.0)]
    assert best == "cleo born in A. B born in A. The answer is B."


def test_without_gold_nothing_is_positive() -> None:
    graph = family()
    asked = Asked("q", gold(graph, "ann", ("mother", True), ("mother", True)), starts=("ann",))
    for seed in range(20):
        group = make_group(asked, graph, WHOLE, Random(seed), keep_gold=False)
        if group is not None:
            assert set(group.answer) == set(group.prefix) == {0.0}


def test_a_path_to_an_answer_by_another_way_is_left_out() -> None:
    graph = graph_of_triples("g", [("a", "r", "b"), ("a", "s", "b"), ("a", "t", "c")])
    asked = Asked("q", gold(graph, "a", ("r", True)), starts=("a",))
    for seed in range(20):
        group = make_group(asked, graph, WHOLE, Random(seed))
        if group is not None:
            assert not any("a s b" in text for text in group.texts)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("isDirectedBy", ("direct", "by")),
        ("DIRECTED_BY", ("direct", "by")),
        ("has director", ("direct",)),
        ("is", ("is",)),
        ("", ()),
    ],
)
def test_stems(name: str, expected: tuple[str, ...]) -> None:
    assert stems(name) == expected


@pytest.mark.parametrize(
    ("noun", "expected"),
    [("city", "cities"), ("day", "days"), ("church", "churches"), ("cat", "cats")],
)
def test_plural(noun: str, expected: str) -> None:
    assert plural(noun) == expected


@pytest.mark.parametrize(
    ("type_", "to_target", "to_source"),
    [
        ("has_director", "the director of {x}", "the films with director {x}"),
        ("DIRECTOR_OF", "the persons with director {x}", "the director of {x}"),
        ("livesIn", "what {x} lives in", "the films lives in {x}"),
        ("directed_by", "what {x} is directed by", "the films directed by {x}"),
        ("in_language", "the language of {x}", "the films with language {x}"),
    ],
)
def test_forms_from_the_words_of_a_type(type_: str, to_target: str, to_source: str) -> None:
    words = generic_words(type_, ["Film"], ["Person"])
    assert words.to_target[0] == to_target
    assert words.to_source[0] == to_source
    for forms in (words.to_target, words.to_source, words.ask_target, words.ask_source):
        assert all(form.count("{x}") == 1 for form in forms)


def test_a_relation_is_found_by_its_words_in_either_direction() -> None:
    lexicon = load_lexicon()
    (spouse,) = lexicon.find("SPOUSE")
    assert spouse.symmetric
    parents = lexicon.find("parents")
    assert parents
    assert all("the parents of {x}" in entry.to_target for entry in parents)
    born = lexicon.find("birthplace_of")
    assert all(entry.source.kind != "person" for entry in born)
    assert lexicon.find("qwertz_uiop") == ()
    assert lexicon.find("") == ()


def test_every_form_has_a_place_for_what_is_asked_about() -> None:
    for entry in load_lexicon().relations:
        for forms in (
            entry.to_target,
            entry.to_source,
            entry.ask_target,
            entry.ask_source,
            entry.share_source,
            entry.share_target,
        ):
            assert [form for form in forms if form.count("{x}") != 1] == []


def test_walks_ask_for_all_ends_of_a_chain() -> None:
    graph = family()
    asker = asker_of(graph, EMPTY)
    for seed in range(40):
        asked = ask_walk(graph, asker, Random(seed))
        assert asked is not None
        chains = {tuple((h.edge.type, h.forward) for h in path.hops) for path in asked.gold}
        (chain,) = chains
        assert {p.nodes for p in asked.gold} == {
            p.nodes for p in graph.follow(asked.gold[0].start, chain)
        }
        assert asked.gold[0].start in asked.question.lower()


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("The cat knocked a vase, and fled.", "the cat knocked a vase"),
        ("At dawn, the cat knocked a vase off; nobody saw.", "at dawn, the cat knocked a vase off"),
        ("Mr. Low lost all his money. He left.", "mr. Low lost all his money"),
        ("Tom chased the brown mouse.", "Tom chased the brown mouse"),
        ("I saw it all myself!", "I saw it all myself"),
        ("NASA sent two men there", "NASA sent two men there"),
        ("The Crash is a film about cars.", "is a film about cars"),
        (
            "One two three four five six seven eight nine ten eleven twelve in the end of it all",
            "one two three four five six seven eight nine ten eleven twelve",
        ),
        ("A cat fell off.", ""),
        ("", ""),
    ],
)
def test_fragments_of_descriptions(description: str, expected: str) -> None:
    assert fragment(description, "The Crash", ["The Crash", "Tom Cat"]) == expected


@pytest.mark.parametrize(
    ("told", "named", "expected"),
    [
        (
            "the cat knocked a vase",
            "Tom",
            {
                "the incident with Tom where the cat knocked a vase",
                "the incident with Tom in which the cat knocked a vase",
                "the incident with Tom described as the cat knocked a vase",
            },
        ),
        (
            "is a film about cars",
            "",
            {"the incident that is a film about cars", "the incident which is a film about cars"},
        ),
        (
            "a dog that sleeps",
            "",
            {
                "the incident described as a dog that sleeps",
                "the incident that is a dog that sleeps",
                "the dog that sleeps",
            },
        ),
        (
            "a bridge of grey steel",
            "",
            {
                "the incident described as a bridge of grey steel",
                "the incident where a bridge of grey steel",
            },
        ),
    ],
)
def test_phrases_that_point_by_a_description(told: str, named: str, expected: set[str]) -> None:
    assert {pointing(told, "incident", named, Random(seed)) for seed in range(60)} == expected


def incidents() -> TrainingGraph:
    """Tom was in three incidents; a lamp and a vase broke; one incident has no description."""
    told = {
        "i1": "The cat knocked a vase off the shelf, and fled.",
        "i2": "Two dogs fought about an old bone.",
        "i3": "",
    }
    entities = [
        *(Entity(id_, f"case {id_}", ("Incident",), text) for id_, text in told.items()),
        Entity("tom", "Tom", ("Person",)),
        Entity("vase", "vase", ("Object",), "Of no kind"),
        Entity("lamp", "lamp", ("Object",)),
        Entity("bowl", "bowl", ("Object",)),
    ]
    triples = [
        *((id_, "INVOLVES", "tom") for id_ in told),
        ("i1", "BROKE", "vase"),
        ("i2", "BROKE", "lamp"),
        ("i3", "BROKE", "bowl"),
    ]
    return TrainingGraph.of("t", entities, [Edge(f"{h}{t}", h, t, r) for h, r, t in triples])


def test_asking_by_what_a_description_tells() -> None:
    graph = incidents()
    asker = asker_of(graph, EMPTY)
    found: dict[tuple[tuple[str, ...], ...], set[tuple[str, ...]]] = {}
    questions: set[str] = set()
    for seed in range(400):
        asked = ask_told(graph, asker, Random(seed))
        assert asked is not None
        assert asked == ask_told(graph, asker, Random(seed))
        assert (asked.kind, asked.chains_only) == ("told", False)
        (gold,) = {path.start for path in asked.gold}
        assert asked.starts == (gold,)
        cat, dogs = (word in asked.question.lower() for word in ("cat knocked", "dogs fought"))
        assert cat != dogs
        middle = "i1" if cat else "i2"
        at = 0 if gold == middle else 1
        assert all(path.nodes[at] == middle for path in asked.gold)
        assert all(path.nodes[at] != middle for path in asked.decoys)
        if gold in ("tom", "vase", "lamp"):
            assert f"with {graph.entities[gold].name}".lower() in asked.question.lower()
        key = tuple(sorted(path.nodes for path in asked.gold))
        found.setdefault(key, set()).update(path.nodes for path in asked.decoys)
        if cat and key == (("i1", "vase"),):
            questions.add(asked.question.lower().rstrip(" ?"))
    # By way of Tom, the other incident with a description misleads; the one without never does.
    assert found[("tom", "i1"),] == {("tom", "i2")}
    assert found[("tom", "i1", "vase"),] == {("tom", "i2", "lamp")}
    assert found[("i1",),] == {("i2",)}
    assert found[("i1", "vase"),] == {("i2", "lamp")}
    assert found[("i2", "lamp"),] == {("i1", "vase")}
    # No decoy ends at an answer, and no path comes back to its start.
    assert found[("i1", "tom"),] == set()
    assert found[("vase", "i1", "tom"),] == set()
    assert ("tom", "i1", "tom") not in {nodes for key in found for nodes in key}
    assert found[("i1", "tom", "i2"), ("i1", "tom", "i3")] == {("i2", "tom", "i1")}
    assert "what object was it when the cat knocked a vase off the shelf" in questions


def test_only_descriptions_of_one_node_point_at_it() -> None:
    entities = [Entity(id_, id_, (), "The cat knocked it all over.") for id_ in ("a", "b")]
    edges = [Edge("e", "a", "b", "NEAR")]
    graph = TrainingGraph.of("t", entities, edges)
    assert graph.described == ()
    assert ask_told(graph, asker_of(graph, EMPTY), Random(0)) is None
    assert ask_told(family(), asker_of(family(), EMPTY), Random(0)) is None
    short = TrainingGraph.of("t", [Entity("a", "a", (), "Of no kind")], [])
    assert short.described == ("a",)
    assert ask_told(short, asker_of(short, EMPTY), Random(0)) is None


FILMS = [
    ("heat", "star", "al"),
    ("heat", "director", "mann"),
    ("ali", "star", "will"),
    ("ali", "director", "mann"),
    ("scarface", "star", "al"),
]


def test_asking_for_what_two_chains_both_lead_to() -> None:
    graph = graph_of_triples("films", FILMS)
    asker = asker_of(graph, EMPTY)
    found: dict[tuple[str, ...], set[str]] = {}
    for seed in range(300):
        asked = ask_both(graph, asker, Random(seed), tries=200)
        assert asked is not None
        assert asked == ask_both(graph, asker, Random(seed), tries=200)
        assert (asked.kind, asked.chains_only, asked.decoys) == ("both", True, ())
        first, second = asked.starts
        assert first != second
        assert first in asked.question.lower()
        assert second in asked.question.lower()
        halves = [{path for path in asked.gold if path.start == start} for start in asked.starts]
        ends = [{path.tail for path in half} for half in halves]
        assert ends[0] == ends[1] != set()
        chains = [
            {tuple((h.edge.type, h.forward) for h in p.hops) for p in half} for half in halves
        ]
        everything = [
            {path.tail for path in graph.follow(start, chain)}
            for start, (chain,) in zip(asked.starts, chains, strict=True)
        ]
        assert everything[0] & everything[1] == ends[0]
        assert everything[0] != everything[1]
        found.setdefault((*sorted(asked.starts), *sorted(ends[0])), set()).add(
            asked.question.lower().rstrip(" ?")
        )
    assert any("that are also" in question for question in found["al", "mann", "heat"])
    assert any(" are both " in question for question in found["al", "mann", "heat"])
    # Each of the two leads to one film alone: one condition is enough.
    assert ("al", "will", "heat") not in found


def test_nothing_meets_both_conditions_in_a_line() -> None:
    graph = graph_of_triples("line", [("a", "r", "b"), ("b", "s", "c")])
    assert ask_both(graph, asker_of(graph, EMPTY), Random(0)) is None
    bare = TrainingGraph.of("bare", [], [])
    assert ask_both(bare, asker_of(bare, EMPTY), Random(0)) is None


def test_two_conditions_are_told_as_chains_and_both_are_right() -> None:
    graph = graph_of_triples("films", FILMS)
    gold = (
        *graph.follow("al", (("star", False),))[:1],
        *graph.follow("mann", (("director", False),))[1:],
    )
    assert {path.tail for path in gold} == {"heat"}
    asked = Asked("q", gold, starts=("al", "mann"), kind="both", chains_only=True)
    labels: dict[str, float] = {}
    for seed in range(40):
        for group in groups_of([asked], graph, Random(seed), len, chains=0.0):
            assert group.source == "films/both/chain"
            if any(group.answer):
                labels |= dict(zip(group.texts, group.answer, strict=True))
    # The chains lead to other films, too, so those cannot be wrong.
    assert {text for text, answer in labels.items() if answer == 1} == {
        "A star al. The answer is A.",
        "A director mann. The answer is A.",
    }


def test_kinds_of_questions_about_a_graph() -> None:
    graph = incidents()
    asked = list(walk_questions(graph, asker_of(graph, EMPTY), Random(0), 1000))
    kinds = Counter(question.kind[:4] for question in asked)
    assert set(kinds) == {"abou", "told", "both", "walk"}
    assert 70 <= kinds["told"] <= 130
    assert 50 <= kinds["both"] <= 110
    # Without descriptions there is something to ask, too.
    plain = Counter(
        question.kind[:4]
        for question in walk_questions(family(), asker_of(family(), EMPTY), Random(0), 1000)
    )
    assert set(plain) == {"both", "walk"}
    assert plain.total() == 1000


def test_a_graph_without_relationships_asks_nothing() -> None:
    graph = TrainingGraph.of("bare", [], [])
    assert graph.starts == {}
    assert graph.types == ()


def test_events_have_gold_from_what_the_question_names() -> None:
    lexicon = load_lexicon()
    random = Random(3)
    kinds = set()
    for _ in range(120):
        world = make_event_world(lexicon, random)
        for _ in range(10):
            asked = ask_event(world, random)
            if asked is None:
                continue
            kinds.add(asked.kind)
            ends = {path.tail for path in asked.gold}
            for path in asked.gold:
                assert path.start in asked.starts or path.depth <= 1
                assert all(hop.edge.type in world.graph.types for hop in path.hops)
            assert ends.isdisjoint(path.tail for path in asked.decoys)
    assert kinds == {
        "event-place",
        "event-container",
        "event-participants",
        "event-subject",
        "event-happened",
        "event-time",
        "event-hiding",
        "event-object",
        "event-implied",
    }


def test_same_groups_in_every_process() -> None:
    code = (
        "from itertools import islice\n"
        "from hashlib import sha256\n"
        "from pathrag_gds.models.training.generate import event_groups, relation_groups\n"
        "from pathrag_gds.models.training.lexicon import load_lexicon\n"
        "make = lambda f: list(islice(f(load_lexicon(), 7, len), 40))\n"
        "print(sha256(repr((make(event_groups), make(relation_groups))).encode()).hexdigest())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1


def test_groups_differ_from_seed_to_seed() -> None:
    lexicon = load_lexicon()
    for make in (event_groups, relation_groups):
        first = [g.question for g in islice(make(lexicon, 1, len), 10)]
        assert first != [g.question for g in islice(make(lexicon, 2, len), 10)]


def test_held_out_words_are_not_trained_on() -> None:
    lexicon = load_lexicon()
    trained, held_out = held_out_lexicon(lexicon, False), held_out_lexicon(lexicon, True)
    assert held_out.frames
    assert not any(frame in held_out.frames for frame in trained.frames)
    assert len(trained.relations) + len(held_out.relations) == len(lexicon.relations)
    assert 14 * (len(held_out.relations) - 1) <= len(lexicon.relations)


def test_noise_keeps_the_words() -> None:
    said = {noise("Who owns the red hat", Random(seed)) for seed in range(60)}
    words = {tuple(text.lower().rstrip("? ").split()) for text in said}
    assert words == {("who", "owns", "the", "red", "hat"), ("who", "owns", "red", "hat")}
