"""Make small worlds and questions about them: people, places, things, and what happened.

A world is a graph such as a person would build by hand: its relationship types, labels and names
are written in one of many styles, its events share chains of relations, and only the text of an
event tells it from the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeVar

from pathrag_gds.models.training.candidates import Asked
from pathrag_gds.models.training.graph import TrainingGraph
from pathrag_gds.models.training.lexicon import Frame, Lexicon, PlaceWords, RelationWords
from pathrag_gds.models.training.questions import Asker, noise
from pathrag_gds.types import Edge, Entity, Hop, Path

__all__ = ["World", "ask_event", "draw_one", "fill", "make_event_world", "make_relation_world"]

T = TypeVar("T")

_NAMED = frozenset({"person", "animal", "organisation"})
_PLACES = frozenset({"region", "country", "village", "town", "house", "room", "outdoor"})
_SYLLABLES = "ba ke lo mi nu ra so ti ve zo dar fen gol hin jor kas lum mer nol pas rin sul tor vel"


@dataclass(slots=True)
class World:
    """A graph with what its questions are made from.

    Attributes:
        asker: Knows the words of its relations.
        events: What happened.
        lies_in: Relationship types from a place to what contains it.
        lives_in: Relationship type from a person to the home, empty if there is none.
    """

    graph: TrainingGraph
    asker: Asker
    events: tuple[Event, ...] = ()
    lies_in: tuple[str, ...] = ()
    lives_in: str = ""
    place_kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a world.

    Attributes:
        roles: Entity id by role.
        articles: What each role is called within a sentence, by role and ``role.bare``.
        where: Id of the place.
        takes_place: The relationship to the place.
        parts: The relationship to each participant, by id.
    """

    id: str
    frame: Frame
    roles: Mapping[str, str]
    articles: Mapping[str, str]
    where: str
    takes_place: Edge
    parts: Mapping[str, Edge]
    hiding: Edge | None = None


# Styles


def _snake(words: str) -> str:
    return re.sub(r"[^\w]+", "_", words.strip()).strip("_")


def _camel(words: str) -> str:
    first, *rest = _snake(words).lower().split("_")
    return first + "".join(word.capitalize() for word in rest)


_TYPE_STYLES: tuple[Callable[[str], str], ...] = (
    lambda words: _snake(words).upper(),
    lambda words: _snake(words).upper(),
    lambda words: _snake(words).lower(),
    lambda words: _snake(words).lower(),
    _camel,
    str,
)
_NAME_STYLES: tuple[Callable[[str], str], ...] = (
    str,
    str,
    str,
    str,
    lambda name: _snake(name).lower(),
    str.lower,
    _snake,
)
_LABEL_STYLES: tuple[Callable[[str], str], ...] = (
    lambda kind: _snake(kind).lower(),
    lambda kind: "".join(word.capitalize() for word in kind.split()),
    lambda kind: kind.capitalize(),
)


@dataclass(slots=True)
class _Builder:
    lexicon: Lexicon
    random: Random
    entities: dict[str, Entity] = field(default_factory=dict)
    edges: dict[tuple[str, ...], Edge] = field(default_factory=dict)
    kinds: dict[str, list[str]] = field(default_factory=dict)
    kind_of: dict[str, str] = field(default_factory=dict)
    words: dict[str, RelationWords] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    # What stands in a sentence without an article of ours.
    proper: set[str] = field(default_factory=set)
    type_style: Callable[[str], str] = field(init=False)
    name_style: Callable[[str], str] = field(init=False)
    label_style: Callable[[str], str] = field(init=False)
    labelled: bool = field(init=False)
    described: float = field(init=False)
    attributed: float = field(init=False)

    def __post_init__(self) -> None:
        self.type_style = self.pick(_TYPE_STYLES)
        self.name_style = self.pick(_NAME_STYLES)
        self.label_style = self.pick(_LABEL_STYLES)
        self.labelled = self.random.random() < 0.85
        self.described = self.pick((0.2, 0.6, 0.9))
        self.attributed = self.pick((0.0, 0.25, 0.6))

    def pick(self, items: Sequence[Any]) -> Any:
        return items[self.random.randrange(len(items))]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    # Entities

    def entity(self, kind: str, name: str = "", **attributes: Any) -> str:
        """Add an entity; give its id. An unused name of its kind is drawn where none is given."""
        name = name or self.new_name(kind)
        styled = self.name_style(name)
        id_ = _snake(name).lower() or "x"
        while id_ in self.entities:
            id_ += "_2"
        description = attributes.pop("description", "")
        if not description and self.chance(self.described):
            descriptions = self.lexicon.names["short_descriptions"].get(_pool(kind), ())
            description = self.pick(descriptions) if descriptions else ""
        if self.chance(self.attributed):
            attributes |= self.attributes(kind)
        self.entities[id_] = Entity(
            id=id_,
            name=styled,
            labels=(self.label_style(kind),) if self.labelled else (),
            description=description,
            properties=attributes,
        )
        self.kinds.setdefault(kind, []).append(id_)
        self.kind_of[id_] = kind
        if _is_proper(kind, name):
            self.proper.add(id_)
        return id_

    def attributes(self, kind: str) -> dict[str, Any]:
        fitting = [a for a in self.lexicon.attributes if kind in a.kinds]
        chosen = self.random.sample(fitting, min(len(fitting), self.random.randint(1, 3)))
        style = self.pick((_camel, lambda w: _snake(w).lower(), lambda w: _snake(w).lower()))
        return {style(self.pick(a.keys)): self.pick(a.values) for a in chosen}

    def new_name(self, kind: str) -> str:
        for _ in range(50):
            name = self.draw_name(kind)
            if name.lower() not in self.used:
                break
        else:
            name = f"{name} {len(self.used)}"
        self.used.add(name.lower())
        return str(name)

    def draw_name(self, kind: str) -> str:
        names = self.lexicon.names
        pool = _pool(kind)
        if pool == "person":
            first, last = self.pick(names["person"]["first"]), self.pick(names["person"]["last"])
            return str(first if self.chance(0.35) else f"{first} {last}")
        if pool == "organisation":
            head, tail = names["organisation"]["head"], names["organisation"]["tail"]
            return f"{self.pick(head)} {self.pick(tail)}"
        if kind in names["place"]:
            return str(self.pick(names["place"][kind]))
        if pool == "place":
            return str(self.pick(names["place"][self.pick(("village", "town", "region"))]))
        if pool in names and isinstance(names[pool], list):
            return str(self.pick(names[pool]))
        if kind in ("year", "date"):
            return (
                str(self.random.randint(1850, 2025))
                if kind == "year"
                else self.pick(names["dates"])
            )
        if kind in ("number", "price", "rating", "amount", "count"):
            return str(round(self.random.uniform(1, 5000), self.random.choice((0, 1))))
        return self.invented()

    def invented(self) -> str:
        syllables = _SYLLABLES.split()
        word = "".join(self.pick(syllables) for _ in range(self.random.randint(2, 3)))
        return word.capitalize() if self.chance(0.7) else word

    def some(self, kind: str) -> str:
        """Give an entity of a kind, a new one where there is none."""
        known = self.kinds.get(kind)
        return self.pick(known) if known else self.entity(kind)

    # Relationships

    def edge(self, source: str, type_: str, target: str, /, **properties: Any) -> Edge:
        edge = Edge(f"{source} {type_} {target}", source, target, type_, properties)
        self.edges.setdefault(edge.identity, edge)
        return edge

    def type_of(self, words: RelationWords) -> tuple[str, bool]:
        """Name a relation in the world's style; say whether it is stored from its source."""
        forwards = not words.inverse_types or self.chance(0.5)
        names = words.types if forwards else words.inverse_types
        for name in self.random.sample(names, len(names)):
            type_ = self.type_style(name)
            if type_ and type_ not in self.words:
                self.words[type_] = words if forwards else words.inverted()
                return type_, forwards
        return "", True

    def relate(self, words: RelationWords, count: int) -> None:
        """Add relationships of one relation between random entities of its kinds."""
        type_, forwards = self.type_of(words)
        if not type_:
            return
        for _ in range(count):
            source = self.some(words.source.kind)
            target = self.some(words.target.kind)
            if source == target:
                continue
            if not words.many_targets and self.linked(source, type_, forwards):
                continue
            ends = (source, target) if forwards else (target, source)
            self.edge(ends[0], type_, ends[1], **self.properties())

    def linked(self, source: str, type_: str, forwards: bool) -> bool:
        return any(
            edge.type == type_ and (edge.source if forwards else edge.target) == source
            for edge in self.edges.values()
        )

    def properties(self) -> dict[str, Any]:
        if not self.chance(0.12):
            return {}
        key = self.pick(("since", "year", "rank", "role", "note", "until"))
        value = {
            "since": self.random.randint(1900, 2025),
            "year": self.random.randint(1900, 2025),
            "until": self.random.randint(1900, 2025),
        }.get(key) or self.pick(self.lexicon.names["professions"])
        return {key: value}

    def finish(self, name: str) -> tuple[TrainingGraph, Asker]:
        graph = TrainingGraph.of(name, self.entities.values(), self.edges.values())
        domains: dict[str, tuple[str, ...]] = {}
        ranges: dict[str, tuple[str, ...]] = {}
        for edge in self.edges.values():
            domains.setdefault(edge.type, self.entities[edge.source].labels)
            ranges.setdefault(edge.type, self.entities[edge.target].labels)
        asker = Asker(self.lexicon, domains, ranges, generic_share=0.15, given=dict(self.words))
        return graph, asker


_POOLS = {
    "company": "organisation",
    "school": "organisation",
    "team": "organisation",
    "band": "organisation",
    "university": "organisation",
    "series": "film",
    "show": "film",
    "album": "song",
    "game": "book",
    "paper": "book",
    "document": "book",
    "software": "product",
    "vehicle": "object",
    "device": "object",
    "instrument": "object",
    "tool": "object",
    "city": "place",
    "profession": "professions",
    "author": "person",
    "character": "person",
    "species": "animal_species",
}


def _pool(kind: str) -> str:
    return _POOLS.get(kind, kind)


def _is_proper(kind: str, name: str) -> bool:
    """Say whether a name needs no article: "Bob", "Rose Cottage", "The Gables".

    A kitchen and a Sunday roast need one: only of places do capitals tell, for a house may be
    "Larkrise" or "lighthouse".

    Args:
        name: As in the lexicon, before the world's style took its capitals.
    """
    if kind in _NAMED or name.lower().startswith(("the ", "a ", "an ")):
        return True
    return kind in _PLACES and not any(word[:1].islower() for word in name.split())


def make_relation_world(lexicon: Lexicon, random: Random) -> World:
    """Make a world of 8 to 16 relations over kinds that hang together, and 30 to 90 entities."""
    build = _Builder(lexicon, random)
    relations = list(lexicon.relations)
    random.shuffle(relations)
    first = relations[0]
    chosen, kinds = [first], {first.source.kind, first.target.kind}
    wanted = random.randint(7, 15)
    for words in relations[1:]:
        if len(chosen) >= wanted:
            break
        if kinds & {words.source.kind, words.target.kind}:
            chosen.append(words)
            kinds |= {words.source.kind, words.target.kind}
    crowd = random.randint(4, 12)
    for words in chosen:
        for kind in (words.source.kind, words.target.kind):
            while len(build.kinds.get(kind, ())) < random.randint(2, crowd):
                build.entity(kind)
    for words in chosen:
        build.relate(words, random.randint(4, 2 * crowd + 4))
    graph, asker = build.finish("relations")
    return World(graph, asker)


# Events


_INVOLVE = (
    "involve",
    "involves",
    "involved",
    "has participant",
    "participant",
    "features",
    "concerns",
    "with",
    "includes person",
)
_TAKES_PLACE = (
    "takes place",
    "takes place in",
    "location",
    "happened at",
    "occurred in",
    "place",
    "at",
    "has location",
    "set in",
)
_LIVES = ("lives in", "resides in", "home", "inhabits", "dwells in", "stays at", "has home")
_HIDES = ("hides in", "waits in", "sits in", "seen in", "stayed in", "was in")


def make_event_world(lexicon: Lexicon, random: Random, *, size: int = 1) -> World:
    """Make a world of people, places within places, things, and events.

    Args:
        size: How often 9 to 24 events, and people and places for them.
    """
    build = _Builder(lexicon, random)
    lies_in = _places(build, size)
    for _ in range(size * random.randint(5, 12)):
        build.entity("person")
    for _ in range(size * random.randint(1, 5)):
        build.entity("animal")
    if random.random() < 0.3:
        for _ in range(random.randint(1, 3)):
            build.entity("organisation")
    lives_in = build.type_style(build.pick(_LIVES))
    homes = build.kinds["house"]
    for who in build.kinds["person"] + build.kinds.get("animal", []):
        if random.random() < 0.8:
            build.edge(who, lives_in, build.pick(homes), **build.properties())
    small = [
        words
        for words in lexicon.relations
        if {words.source.kind, words.target.kind} <= {"person", "animal", "object", "house"}
    ]
    for words in random.sample(small, min(len(small), random.randint(1, 5))):
        build.relate(words, random.randint(3, 9))
    hides_in = build.type_style(build.pick(_HIDES))
    events = tuple(_events(build, hides_in, size))
    graph, asker = build.finish("events")
    return World(
        graph,
        asker,
        events,
        lies_in,
        lives_in,
        {id_: build.kind_of[id_] for id_ in graph.nodes},
    )


def _places(build: _Builder, size: int) -> tuple[str, ...]:
    words = {place.kind: place for place in build.lexicon.places}
    large = build.pick(("region", "country", "region"))
    middle = build.pick(("village", "village", "town"))
    regions = [build.entity(large) for _ in range(build.random.randint(1, 2))]
    villages = [build.entity(middle) for _ in range(size * build.random.randint(2, 4))]
    houses = [build.entity("house") for _ in range(size * build.random.randint(3, 6))]
    rooms = [build.entity("room") for _ in range(size * build.random.randint(4, 8))]
    outside = [build.entity("outdoor") for _ in range(size * build.random.randint(2, 5))]
    types = [
        build.type_style(build.pick(_relation_types(words.get(kind))))
        for kind in (middle, "house", "room", "outdoor")
    ]
    if build.chance(0.6):
        types = [types[0]] * 4
    for village in villages:
        build.edge(village, types[0], build.pick(regions))
    for house in houses:
        build.edge(house, types[1], build.pick(villages))
    # Without this link only those who live somewhere tell in which house something happened.
    linked = build.pick((0.0, 1.0, 1.0, 0.6))
    for room in rooms:
        if build.chance(linked):
            build.edge(room, types[2], build.pick(houses))
    for spot in outside:
        if build.chance(linked):
            build.edge(spot, types[3], build.pick(villages))
    return tuple(dict.fromkeys(types))


def _relation_types(words: PlaceWords | None) -> Sequence[str]:
    return words.relation_types if words else ("located in", "part of", "in")


def _events(build: _Builder, hides_in: str, size: int) -> Iterator[Event]:
    random = build.random
    involve = build.type_style(build.pick(_INVOLVE))
    place_type = build.type_style(build.pick(_TAKES_PLACE))
    # In some graphs each role has a relationship of its own, in some people point to events.
    by_role = build.chance(0.2)
    reversed_ = build.chance(0.2)
    if reversed_:
        involve = build.type_style(
            build.pick(("participated in", "took part in", "involved in", "attended"))
        )
    told_roles = build.chance(0.3)
    timed = build.pick((0.0, 0.3, 0.9))
    frames = list(build.lexicon.frames)
    kinds = size * random.randint(4, 10)
    chosen = random.sample(frames, min(kinds, len(frames)))
    if build.chance(0.25):
        # Few kinds imply a relation; left to chance they would hardly be met.
        implying = {kind for one in build.lexicon.implied for kind in one.kinds}
        chosen += random.sample([f for f in frames if f.kind in implying] or frames[:1], 1)
    # Frames beside each other in the files are alike: neighbours make the hard cases.
    for frame in list(chosen):
        if random.random() < 0.5:
            chosen.append(frames[(frames.index(frame) + 1) % len(frames)])
    wanted = size * random.randint(9, 24)
    for _ in range(wanted):
        frame = build.pick(chosen)
        roles = {role: _player(build, frame, role) for role in frame.roles}
        if len(set(roles.values())) < len(roles):
            continue
        where = build.pick(build.kinds["room"] + build.kinds["outdoor"] + build.kinds["house"])
        articles = _articles(build, roles, where)
        description = fill(build.pick(frame.descriptions), articles)
        description = description[:1].upper() + description[1:]
        title = fill(build.pick(frame.titles), articles)
        attributes = (
            {
                build.pick(("time of day", "date", "time", "happened on")): build.pick(
                    build.lexicon.names["dates"]
                )
            }
            if random.random() < timed
            else {}
        )
        title = title[:1].upper() + title[1:] if random.random() < 0.5 else title
        attributes = {_snake(key): value for key, value in attributes.items()}
        if random.random() < 0.5 and title.lower() in build.used:
            title = f"{title} of {build.pick(build.lexicon.names['dates'])}"
        build.used.add(title.lower())
        id_ = build.entity("event", title, description=description, **attributes)
        parts = {}
        witnesses = random.sample(build.kinds["person"], random.choice((0, 0, 1, 2)))
        for role, who in [*roles.items(), *(("witness", w) for w in witnesses)]:
            if who in parts:
                continue
            type_ = build.type_style(role) if by_role and not reversed_ else involve
            ends = (who, id_) if reversed_ else (id_, who)
            told = {"role": role} if told_roles else {}
            parts[who] = build.edge(ends[0], type_, ends[1], **told)
        at = build.edge(id_, place_type, where)
        hiding = None
        others = [p for p in build.kinds["person"] + build.kinds["animal"] if p not in parts]
        if others and random.random() < 0.15:
            who = build.pick(others)
            ends = (who, id_) if reversed_ else (id_, who)
            parts[who] = build.edge(ends[0], involve, ends[1])
            hiding = build.edge(who, hides_in, build.pick(build.kinds["room"]), during=title)
        yield Event(id_, frame, roles, articles, where, at, parts, hiding)


def _player(build: _Builder, frame: Frame, role: str) -> str:
    kinds = [kind for kind in frame.roles[role] if kind in _NAMED]
    if kinds and (role not in frame.fillers or build.chance(0.6)):
        return build.some(build.pick(kinds))
    fillers = frame.fillers.get(role)
    if not fillers:
        return build.some(build.pick(kinds or ["person"]))
    name = build.pick(fillers)
    id_ = _snake(name).lower()
    if id_ in build.entities:
        return id_
    common = [kind for kind in frame.roles[role] if kind not in _NAMED]
    return build.entity(build.pick(common or ["object"]), name)


def _articles(build: _Builder, roles: Mapping[str, str], where: str) -> dict[str, str]:
    said = {}
    for role, id_ in [*roles.items(), ("place", where)]:
        bare = build.entities[id_].name.replace("_", " ")
        said[role] = bare if id_ in build.proper else f"the {bare}"
        said[f"{role}.bare"] = bare
    return said


def fill(template: str, said: Mapping[str, str]) -> str:
    """Put words into the places of a frame's template; what nobody said is ``someone``."""
    return re.sub(r"\{(\w+(?:\.bare)?)\}", lambda m: said.get(m[1], "someone"), template)


# Questions about events

_WHERE_NOMINAL = (
    "where did {} take place",
    "where did {} happen",
    "where was {}",
    "what was the scene of {}",
    "{} happened where",
    "at what place did {} occur",
    "in what place did {} take place",
    "what is the location of {}",
)
_WHO_CLAUSE = (
    "who was involved when {}",
    "who was there when {}",
    "who was present when {}",
    "who else was there when {}",
    "who took part when {}",
    "who was around when {}",
    "who saw it when {}",
    "which people were there when {}",
)
_WHO_NOMINAL = (
    "who was involved in {}",
    "who took part in {}",
    "who was present at {}",
    "who was part of {}",
    "who had to do with {}",
    "who witnessed {}",
    "which ones were there for {}",
)
_WHAT_HAPPENED = (
    "what happened to {}",
    "what happened with {}",
    "what has {} been through",
    "which event involved {}",
    "in what incident did {} play a part",
)
_WHEN = (
    "when did {}",
    "on what day did {}",
    "at what time did {}",
    "what was the date when did {}",
)


def ask_event(world: World, random: Random) -> Asked | None:
    """Ask about one of the events of a world; None where the drawn question cannot be asked."""
    if not world.events:
        return None
    event = world.events[random.randrange(len(world.events))]
    asks = (
        _ask_place,
        _ask_place,
        _ask_container,
        _ask_container,
        _ask_container,
        _ask_participants,
        _ask_participants,
        _ask_subject,
        _ask_happened,
        _ask_time,
        _ask_hiding,
        _ask_object,
        _ask_implied,
    )
    asked = asks[random.randrange(len(asks))](world, event, random)
    if asked is None:
        return None
    return replace(asked, question=noise(asked.question, random))


def draw_one(items: Sequence[T], random: Random) -> T:
    """Draw one of some items."""
    return items[random.randrange(len(items))]


def _clause(event: Event, random: Random) -> str:
    return fill(draw_one(event.frame.clauses, random), event.articles)


def _nominal(event: Event, random: Random) -> str:
    return fill(draw_one(event.frame.nominals, random), event.articles)


def _did(event: Event, random: Random) -> str:
    return fill(draw_one(event.frame.did, random), event.articles)


def _to_event(event: Event, start: str) -> Path:
    """Walk from a participant, or the event itself, to the event."""
    path = Path((start,))
    if start == event.id:
        return path
    edge = event.parts[start]
    return path.extend(Hop(edge, edge.source == start))


def _starts(world: World, event: Event, question: str, random: Random) -> tuple[str, ...]:
    """List the participants that the question names; the event where it names none."""
    folded = question.lower()
    named = [
        id_
        for id_ in event.parts
        if world.graph.entities[id_].name.replace("_", " ").lower() in folded
    ]
    if not named or random.random() < 0.15:
        named.append(event.id)
    return tuple(named)


def _asked(
    world: World,
    event: Event,
    question: str,
    random: Random,
    ways: Callable[[Event, Path], Sequence[Path]],
    kind: str,
) -> Asked | None:
    """Make gold of the ways from every start over this event, and decoys of those over others."""
    starts = _starts(world, event, question, random)
    gold = [way for start in starts for way in ways(event, _to_event(event, start))]
    if not gold:
        return None
    ends = {path.tail for path in gold}
    decoys = [
        way
        for other in world.events
        if other.id != event.id
        for start in starts
        if start in other.parts
        for way in ways(other, _to_event(other, start))
        if way.tail not in ends
    ]
    if random.random() < 0.4:
        other = world.events[random.randrange(len(world.events))]
        if other.id != event.id:
            decoys += [w for w in ways(other, Path((other.id,))) if w.tail not in ends]
    return Asked(question, tuple(gold), tuple(decoys), starts, kind=f"event-{kind}")


def _place_ways(event: Event, path: Path) -> Sequence[Path]:
    edge = event.takes_place
    hop = Hop(edge, edge.source == event.id)
    return [path.extend(hop)] if hop.tail not in path.nodes else []


def _ask_place(world: World, event: Event, random: Random) -> Asked | None:
    draw = random.random()
    if draw < 0.4:
        question = draw_one(_WHERE_NOMINAL, random).format(_nominal(event, random))
    elif draw < 0.7:
        question = f"where did {_did(event, random)}"
    else:
        who = _participant(world, event, random)
        form = draw_one(
            (
                "where was {} when {}",
                "where did {} stay while {}",
                "in what place was {} when {}",
                "what place was {} at when {}",
                "tell me where {} was when {}",
            ),
            random,
        )
        question = form.format(who, _clause(event, random))
    if event.hiding is not None:
        return None  # where one hides is another question's answer
    return _asked(world, event, question, random, _place_ways, "place")


def _participant(world: World, event: Event, random: Random) -> str:
    people = [
        id_
        for id_ in event.parts
        if world.place_kinds[id_] in ("person", "animal")
        and (event.hiding is None or event.hiding.source != id_)
    ]
    if not people or random.random() < 0.1:
        return "everyone"
    return world.graph.entities[draw_one(people, random)].name.replace("_", " ")


def _ask_container(world: World, event: Event, random: Random) -> Asked | None:
    """Ask in which house, village or region it was: over the place, or over who lives there."""
    if event.hiding is not None:
        return None
    kinds = sorted(
        {
            world.place_kinds[path.tail]
            for path in _containers(world, _place_ways(event, Path((event.id,))))
        }
    )
    over_people = not kinds and bool(world.lives_in)
    if over_people:
        kinds = ["house", *sorted({k for k in world.place_kinds.values() if k in _SETTLED})]
    if not kinds:
        return None
    kind = draw_one(kinds, random)
    places = [p for p in world.asker.lexicon.places if p.kind == kind]
    which = draw_one(places[0].which if places else (f"in which {kind}",), random)
    draw = random.random()
    if draw < 0.35:
        question = f"{which} did {_nominal(event, random)} take place"
    elif draw < 0.6:
        question = f"{which} did {_did(event, random)}"
    else:
        question = f"{which} was {_participant(world, event, random)} when {_clause(event, random)}"

    def ways(of: Event, path: Path) -> Sequence[Path]:
        found = list(_place_ways(of, path)) if not over_people else []
        if over_people:
            for who, edge in of.parts.items():
                if who not in path.nodes:
                    home = path.extend(Hop(edge, edge.source == of.id))
                    found += _step(world, home, world.lives_in)
        return [
            way
            for way in [*found, *_containers(world, found)]
            if world.place_kinds[way.tail] == kind
        ]

    return _asked(world, event, question, random, ways, "container")


_SETTLED = ("village", "town", "region", "country")


def _step(world: World, path: Path, type_: str) -> list[Path]:
    hops = world.graph.steps[path.tail].get((type_, True), ())
    return [path.extend(hop) for hop in hops if hop.tail not in path.nodes]


def _containers(world: World, paths: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    level = list(paths)
    while level:
        level = [
            longer
            for path in level
            for type_ in world.lies_in
            for longer in _step(world, path, type_)
        ]
        found += level
    return found


def _ask_participants(world: World, event: Event, random: Random) -> Asked | None:
    if random.random() < 0.6:
        question = draw_one(_WHO_CLAUSE, random).format(_clause(event, random))
    else:
        question = draw_one(_WHO_NOMINAL, random).format(_nominal(event, random))
    folded = question.lower()

    def ways(of: Event, path: Path) -> Sequence[Path]:
        return [
            path.extend(Hop(edge, edge.source == of.id))
            for who, edge in of.parts.items()
            if who not in path.nodes
            and world.place_kinds[who] in ("person", "animal", "organisation")
            and world.graph.entities[who].name.replace("_", " ").lower() not in folded
        ]

    return _asked(world, event, question, random, ways, "participants")


def _ask_subject(world: World, event: Event, random: Random) -> Asked | None:
    """Turn the one who did it into the question: "who knocked over the milk"."""
    clauses = [c for c in event.frame.clauses if re.match(r"\{agent\} (?!and )", c)]
    if not clauses:
        return None
    rest = fill(draw_one(clauses, random).removeprefix("{agent} "), event.articles)
    agent = event.roles["agent"]
    opening = draw_one(
        ("who", "who was it that", "which one", "what is the name of the one who"), random
    )
    question = f"{opening} {rest}"
    if random.random() < 0.3:
        entity = world.graph.entities[agent]
        attributes = [
            a
            for a in world.asker.lexicon.attributes
            if any(_snake(k).lower() in map(str.lower, entity.properties) for k in a.keys)
        ]
        if attributes:
            forms = attributes[random.randrange(len(attributes))].questions
            question = draw_one(forms, random).replace("{x}", f"the one who {rest}")

    asked = _asked(world, event, question, random, _to_role("agent"), "subject")
    if asked is None:
        return None
    wrong = [
        _to_event(event, start).extend(Hop(edge, edge.source == event.id))
        for start in asked.starts
        for who, edge in event.parts.items()
        if who not in (agent, start)
    ]
    return replace(asked, decoys=(*asked.decoys, *wrong))


def _ask_object(world: World, event: Event, random: Random) -> Asked | None:
    """Leave out whom or what it was done to: "who did Anna make friends with"."""
    role = draw_one([r for r in ("partner", "patient") if r in event.roles] or ["agent"], random)
    forms = [d for d in event.frame.did if role != "agent" and d.endswith(f" {{{role}}}")]
    if not forms:
        return None
    rest = fill(draw_one(forms, random).removesuffix(f" {{{role}}}"), event.articles)
    named = world.place_kinds[event.roles[role]] in _NAMED
    question = f"{'who' if named else 'what'} did {rest}"
    return _asked(world, event, question, random, _to_role(role), "object")


def _ask_implied(world: World, event: Event, random: Random) -> Asked | None:
    """Ask for a relation that an event implies: "who are Anna's friends" after they became so.

    All events of the kinds that imply it count, so none of theirs is a decoy.
    """
    found = [one for one in world.asker.lexicon.implied if event.frame.kind in one.kinds]
    found = [one for one in found if {one.known, one.asked} <= set(event.roles)]
    if not found:
        return None
    implied = draw_one(found, random)
    ways = [(implied.known, implied.asked)]
    if implied.symmetric:
        ways.append((implied.asked, implied.known))
    known, asked = draw_one(ways, random)
    who = event.roles[known]
    question = draw_one(implied.questions, random).replace("{x}", event.articles[known])

    def to_asked(of: Event, path: Path) -> Sequence[Path]:
        if of.frame.kind not in implied.kinds or path.start != who:
            return []
        pairs = ways if implied.symmetric else [(known, asked)]
        return [
            way
            for one, other in pairs
            if of.roles.get(one) == who and other in of.roles
            for way in _to_role(other)(of, path)
        ]

    gold = [
        way for of in world.events if who in of.parts for way in to_asked(of, _to_event(of, who))
    ]
    ends = {path.tail for path in gold}
    same = {
        kind
        for one in world.asker.lexicon.implied
        if one.questions == implied.questions
        for kind in one.kinds
    }
    decoys = [
        way
        for of in world.events
        if who in of.parts and of.frame.kind not in same
        for role in of.roles
        for way in _to_role(role)(of, _to_event(of, who))
        if way.tail not in ends
    ]
    if not gold:
        return None
    return Asked(question, tuple(gold), tuple(decoys), (who,), kind="event-implied")


def _to_role(role: str) -> Callable[[Event, Path], Sequence[Path]]:
    def ways(of: Event, path: Path) -> Sequence[Path]:
        who = of.roles.get(role)
        if who is None or who in path.nodes:
            return []
        edge = of.parts[who]
        return [path.extend(Hop(edge, edge.source == of.id))]

    return ways


def _ask_happened(world: World, event: Event, random: Random) -> Asked | None:
    if random.random() < 0.5:
        question = "what happened when " + _clause(event, random)
    else:
        role = draw_one(sorted(event.roles), random)
        question = draw_one(_WHAT_HAPPENED, random).format(event.articles[role])
        if sum(event.roles[role] in other.parts for other in world.events) > 1:
            return None
    return _asked(world, event, question, random, lambda of, path: [path], "happened")


def _ask_time(world: World, event: Event, random: Random) -> Asked | None:
    if not world.graph.entities[event.id].properties:
        return None
    if random.random() < 0.7:
        question = draw_one(_WHEN[:3], random).format(_did(event, random))
    else:
        question = f"when was {_nominal(event, random)}"
    return _asked(world, event, question, random, lambda of, path: [path], "time")


def _ask_hiding(world: World, event: Event, random: Random) -> Asked | None:
    """Ask where somebody was who was not at the place of the event."""
    if event.hiding is None:
        return None
    hiding = event.hiding
    who = world.graph.entities[hiding.source].name.replace("_", " ")
    form = draw_one(
        ("where was {} when {}", "where did {} hide while {}", "where was {} while {}"), random
    )
    question = form.format(who, _clause(event, random))

    def ways(of: Event, path: Path) -> Sequence[Path]:
        if of.hiding is None:
            return []
        hop = Hop(of.hiding, True)
        if path.tail == of.hiding.source:
            return [path.extend(hop)]
        if of.hiding.source in path.nodes:
            return [Path((of.hiding.source,)).extend(hop)] if path.depth == 1 else []
        edge = of.parts[of.hiding.source]
        return [path.extend(Hop(edge, edge.source == of.id)).extend(hop)]

    return _asked(world, event, question, random, ways, "hiding")
