"""Questions for any graph: walk it, and ask for what the walk's chain of relations leads to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from pathrag_gds.models.training.candidates import Asked
from pathrag_gds.models.training.fragments import fragment, is_clause, pointing
from pathrag_gds.models.training.graph import Chain, TrainingGraph
from pathrag_gds.models.training.lexicon import Attribute, Thing, stems
from pathrag_gds.models.training.questions import Asker, noise, plural, wrap
from pathrag_gds.retrieve.serialize import relation_phrase
from pathrag_gds.types import Entity, Hop, Path

__all__ = ["ask_about", "ask_both", "ask_property", "ask_told", "ask_walk", "walk_questions"]

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
_ITSELF_FORMS = (
    "which {label}{named} is it where {told}",
    "in which {label}{named} is it that {told}",
    "what is the {label}{named} in which {told}",
)
_WHEN_OF_KIND = {
    "person": ("who was it", "who was there"),
    "place": ("where was it", "where was that"),
    "date": ("when was it",),
    "year": ("when was it", "which year was it"),
}
_WHEN = ("what {noun} was it", "which {noun} was it")
_BOTH_FORMS = (
    "{a} that are also {b}",
    "{a} and at the same time {b}",
    "{a} and {b}",
    "{a} and also {b}",
)
_BOTH_QUESTIONS = (
    "which {nouns} are both {a} and {b}",
    "what {nouns} are {a} and also {b}",
    "which {noun} is both {a} and {b}",
)
_MOST_DECOYS = 8
_DECOY_DRAWS = 24
# Of a decoy's ends one is drawn, so a hub's need not be listed.
_FEW = 20


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


def ask_told(
    graph: TrainingGraph, asker: Asker, random: Random, *, tries: int = 20
) -> Asked | None:
    """Ask with a part of a node's description in place of its name.

    The question asks for the node, or for what a chain of one or two steps leads to from it; half
    of them name a neighbour, where a search then starts. Decoys take the same way over nodes with
    other descriptions.

    None where the graph has no descriptions that are of one node each and long enough, or nothing
    with few enough answers is found in so many tries.
    """
    for _ in range(tries if graph.described else 0):
        node = graph.described[random.randrange(len(graph.described))]
        entity = graph.entities[node]
        near = [hop for hop in graph.hops(node) if hop.tail != node]
        names = [entity.name, *(graph.entities[hop.tail].name for hop in near)]
        told = fragment(entity.description, entity.name, names)
        if not told:
            continue
        back = near[random.randrange(len(near))] if near and random.random() < 0.5 else None
        way = Path((back.tail,)).extend(_reversed(back)) if back else Path((node,))
        walk = graph.random_walk(node, (0, 1, 1, 2)[random.randrange(4)], random)
        if walk is None or way.start in walk.nodes[1:]:
            continue
        chain = _chain(walk)
        gold = [p for tail in graph.follow(node, chain) if (p := _joined(way, tail)) is not None]
        ends = {path.tail for path in gold}
        if not gold or len(ends) > MOST_ANSWERS:
            continue
        named = graph.entities[way.start].name if back else ""
        question = _told_question(graph, asker, random, walk, told, named)
        decoys = [
            path
            for other in _ways_elsewhere(graph, way, told, random)
            if (path := _drawn_end(graph, other, chain, random)) is not None
            and path.tail not in ends
        ]
        return Asked(noise(question, random), tuple(gold), tuple(decoys), (way.start,), kind="told")
    return None


def _told_question(
    graph: TrainingGraph, asker: Asker, random: Random, walk: Path, told: str, named: str
) -> str:
    label = _label(graph.entities[walk.start])
    if not walk.depth:
        if not is_clause(told):
            phrase = pointing(told, label, named, random)
            return wrap(phrase, Thing(label, ((label, plural(label)),)), random)
        if not named and random.random() < 0.25:
            return f"what happened when {told}"
        form = _ITSELF_FORMS[random.randrange(len(_ITSELF_FORMS))]
        return form.format(label=label, named=f" with {named}" if named else "", told=told)
    chain = _chain(walk)
    when = walk.depth == 1 and not named and is_clause(told) and random.random() < 0.4
    if when and _is_only_step_to_its_kind(graph, walk):
        thing = asker.words(chain[-1], random).target
        openings = _WHEN_OF_KIND.get(thing.kind, _WHEN)
        opening = openings[random.randrange(len(openings))].format(noun=thing.nouns[0][0])
        return f"{opening} when {told}"
    return asker.question(pointing(told, label, named, random), chain, random)


def _is_only_step_to_its_kind(graph: TrainingGraph, walk: Path) -> bool:
    """Say whether the label of the end alone tells which relation of the start is meant."""
    labels = set(graph.entities[walk.tail].labels)
    (step,) = _chain(walk)
    others = (hops for other, hops in graph.steps[walk.start].items() if other != step)
    return bool(labels) and all(
        labels.isdisjoint(graph.entities[hop.tail].labels) for hops in others for hop in hops
    )


def _ways_elsewhere(graph: TrainingGraph, way: Path, told: str, random: Random) -> Iterator[Path]:
    """Go the way of a question to other described nodes: of the same label where it has no step."""
    if way.hops:
        (step,) = _chain(way)
        hops = graph.steps[way.start][step]
        others = random.sample(hops, min(_DECOY_DRAWS, len(hops)))
        ways = [Path((way.start,)).extend(hop) for hop in others]
    else:
        drawn = (
            graph.described[random.randrange(len(graph.described))] for _ in range(_DECOY_DRAWS)
        )
        labels = graph.entities[way.tail].labels
        same = [id_ for id_ in dict.fromkeys(drawn) if graph.entities[id_].labels == labels]
        ways = [Path((id_,)) for id_ in same]
    for other in ways[:_MOST_DECOYS]:
        entity = graph.entities[other.tail]
        # What begins alike is pointed at by the question, too.
        alike = fragment(entity.description, entity.name).lower() == told.lower()
        if other.tail != way.tail and entity.description and not alike:
            yield other


def _drawn_end(graph: TrainingGraph, way: Path, chain: Chain, random: Random) -> Path | None:
    found = graph.follow(way.tail, chain, limit=_FEW)
    return _joined(way, found[random.randrange(len(found))]) if found else None


def _joined(way: Path, tail: Path) -> Path | None:
    """Put two paths together; None where the second comes back to the first's start."""
    if way.depth and way.start in tail.nodes:
        return None
    return Path((*way.nodes, *tail.nodes[1:]), (*way.hops, *tail.hops))


def _reversed(hop: Hop) -> Hop:
    return Hop(hop.edge, not hop.forward)


def _chain(path: Path) -> Chain:
    return tuple((hop.edge.type, hop.forward) for hop in path.hops)


def _label(entity: Entity) -> str:
    return relation_phrase(entity.labels[0]) if entity.labels else "one"


def ask_both(
    graph: TrainingGraph, asker: Asker, random: Random, *, tries: int = 20
) -> Asked | None:
    """Ask for what two chains of one or two steps, from two named nodes, both lead to.

    At least one of the chains has other ends, too, so both conditions are needed. Whether a path
    of one chain ends where the other leads, its text does not say: the question is told as chains
    only. None where no such pair is found in so many tries.
    """
    steps = list(graph.starts)
    for _ in range(tries if steps else 0):
        starts = graph.starts[steps[random.randrange(len(steps))]]
        first = graph.random_walk(
            starts[random.randrange(len(starts))], 1 + random.randrange(2), random
        )
        if first is None:
            continue
        back = graph.random_walk(first.tail, 1 + random.randrange(2), random)
        if back is None or not set(first.nodes).isdisjoint(back.nodes[1:]):
            continue
        a, b = graph.entities[first.start].name, graph.entities[back.tail].name
        if a.lower() == b.lower():
            continue
        chain = _chain(first)
        other = tuple((hop.edge.type, not hop.forward) for hop in reversed(back.hops))
        found = [graph.follow(first.start, chain), graph.follow(back.tail, other)]
        ends = [{path.tail for path in paths} for paths in found]
        common = ends[0] & ends[1]
        if not 0 < len(common) <= MOST_ANSWERS or ends[0] == ends[1]:
            continue
        phrases = asker.phrase(a, chain, random), asker.phrase(b, other, random)
        question = _both_question(phrases, graph.entities[first.tail], random)
        gold = tuple(path for paths in found for path in paths if path.tail in common)
        return Asked(
            noise(question, random),
            gold,
            starts=(first.start, back.tail),
            kind="both",
            chains_only=True,
        )
    return None


def _both_question(phrases: tuple[str, str], end: Entity, random: Random) -> str:
    a, b = phrases
    noun = _label(end)
    if random.random() < 0.5:
        form = _BOTH_QUESTIONS[random.randrange(len(_BOTH_QUESTIONS))]
        return form.format(a=a, b=b, noun=noun, nouns=plural(noun))
    form = _BOTH_FORMS[random.randrange(len(_BOTH_FORMS))]
    return wrap(form.format(a=a, b=b), Thing(noun, ((noun, plural(noun)),)), random)


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
        elif draw < 0.26:
            asked = ask_told(graph, asker, random)
        elif draw < 0.34:
            asked = ask_both(graph, asker, random)
        asked = asked or ask_walk(graph, asker, random)
        if asked is not None:
            yield asked
