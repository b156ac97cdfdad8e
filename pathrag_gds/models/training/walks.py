"""Questions for any graph: walk it, and ask for what the walk's chain of relations leads to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from pathrag_gds.models.training.candidates import Asked
from pathrag_gds.models.training.graph import TrainingGraph
from pathrag_gds.models.training.lexicon import Attribute, stems
from pathrag_gds.models.training.questions import Asker, noise
from pathrag_gds.retrieve.serialize import relation_phrase
from pathrag_gds.types import Entity, Path

__all__ = ["ask_about", "ask_property", "ask_walk"]

# Questions with more answers than this are rarely asked, and their gold is noisy.
MOST_ANSWERS = 60
_DEFINING = (
    "who is {}",
    "what is {}",
    "tell me about {}",
    "describe {}",
    "who or what is {}",
    "what do you know about {}",
    "give me a description of {}",
    "what kind of thing is {}",
    "say something about {}",
)
_VALUE_FORMS = (
    "what is the {key} of {x}",
    "what is {x}'s {key}",
    "what {key} does {x} have",
    "tell me the {key} of {x}",
    "{x} has which {key}",
    "{key} of {x}",
    "which {key} is {x}",
    "do you know {x}'s {key}",
)


def ask_walk(
    graph: TrainingGraph,
    asker: Asker,
    random: Random,
    *,
    lengths: Sequence[int] = (1, 1, 2, 2, 2, 3, 3, 3),
    tries: int = 20,
) -> Asked | None:
    """Ask for the ends of a random chain from a random named node.

    The first step is drawn before the start, so that rare relations are asked for as often as
    usual ones. None where no chain with few enough answers is found in so many tries.
    """
    steps = list(graph.starts)
    for _ in range(tries):
        length = lengths[random.randrange(len(lengths))]
        starts = graph.starts[steps[random.randrange(len(steps))]]
        start = starts[random.randrange(len(starts))]
        walk = graph.random_walk(start, length, random)
        if walk is None:
            continue
        chain = tuple((hop.edge.type, hop.forward) for hop in walk.hops)
        gold = graph.follow(start, chain)
        if not gold or len({path.tail for path in gold}) > MOST_ANSWERS:
            continue
        name = graph.entities[start].name
        question = noise(asker.question(name, chain, random), random)
        return Asked(question, tuple(gold), starts=(start,), kind=f"walk{length}")
    return None


def ask_property(
    graph: TrainingGraph, asker: Asker, random: Random, *, tries: int = 20
) -> Asked | None:
    """Ask for a property of a named node, or of what a chain of one or two steps leads to."""
    for _ in range(tries):
        node = graph.nodes[random.randrange(len(graph.nodes))]
        entity = graph.entities[node]
        keys = sorted(
            key
            for key, value in entity.properties.items()
            if key != "aliases" and isinstance(value, (str, int, float, bool)) and value != ""
        )
        if not keys:
            continue
        key = keys[random.randrange(len(keys))]
        length = (0, 0, 0, 1, 2)[random.randrange(5)]
        back = graph.random_walk(node, length, random)
        if back is None:
            continue
        chain = tuple((hop.edge.type, not hop.forward) for hop in reversed(back.hops))
        gold = [p for p in graph.follow(back.tail, chain) if p.tail == node]
        others = {p.tail for p in graph.follow(back.tail, chain)} - {node}
        if length and (others or not gold):
            continue  # the property of which of them?
        phrase = asker.phrase(graph.entities[back.tail].name, chain, random)
        question = noise(_property_question(entity, key, phrase, asker, random), random)
        paths = tuple(gold) if length else (Path((node,)),)
        return Asked(question, paths, starts=(back.tail,), kind="property")
    return None


def _property_question(entity: Entity, key: str, phrase: str, asker: Asker, random: Random) -> str:
    attributes = _attributes(entity, key, asker.lexicon.attributes)
    if attributes and random.random() < 0.7:
        forms = attributes[random.randrange(len(attributes))].questions
        return forms[random.randrange(len(forms))].replace("{x}", phrase)
    form = _VALUE_FORMS[random.randrange(len(_VALUE_FORMS))]
    return form.format(key=relation_phrase(key), x=phrase)


def _attributes(entity: Entity, key: str, attributes: Sequence[Attribute]) -> Sequence[Attribute]:
    wanted = stems(key)
    found = [a for a in attributes if any(stems(name) == wanted for name in a.keys)]
    labels = {stem for label in entity.labels for stem in stems(label)}
    fitting = [a for a in found if labels & {s for kind in a.kinds for s in stems(kind)}]
    return fitting or found


def ask_about(graph: TrainingGraph, random: Random, *, tries: int = 20) -> Asked | None:
    """Ask who or what a node with a description is."""
    for _ in range(tries):
        node = graph.nodes[random.randrange(len(graph.nodes))]
        entity = graph.entities[node]
        if entity.description:
            form = _DEFINING[random.randrange(len(_DEFINING))]
            question = noise(form.format(entity.name), random)
            return Asked(question, (Path((node,)),), starts=(node,), kind="about")
    return None


def walk_questions(
    graph: TrainingGraph, asker: Asker, random: Random, count: int
) -> Iterator[Asked]:
    """Give so many questions of the kinds that any graph allows, fewer where it is too bare."""
    for _ in range(count):
        draw = random.random()
        asked = None
        if draw < 0.12:
            asked = ask_property(graph, asker, random)
        elif draw < 0.16:
            asked = ask_about(graph, random)
        asked = asked or ask_walk(graph, asker, random)
        if asked is not None:
            yield asked
