"""Ask for what a chain of relations leads to, in many wordings. Pure but for the random source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from pathrag_gds.models.training.graph import Chain, Step
from pathrag_gds.models.training.lexicon import Lexicon, RelationWords, Thing, stems
from pathrag_gds.retrieve.serialize import relation_phrase

__all__ = ["Asker", "generic_words", "noise", "plural"]

_WH_OF_KIND = {
    "person": ("who is", "who are", "what is the name of"),
    "date": ("when is", "what is", "when was"),
    "year": ("what is", "which year is", "when was"),
    "place": ("what is", "which place is", "where is"),
}
_WH = ("what is", "what are", "which are", "what")
_COMMANDS = (
    "name {}",
    "list {}",
    "tell me {}",
    "find {}",
    "show {}",
    "give me {}",
    "i want to know {}",
    "can you name {}",
    "do you know {}",
    "{}",
    "{} - what is that",
    "looking for {}",
)
_PREPOSITIONS = frozenset(
    {"of", "in", "at", "on", "by", "for", "with", "to", "from", "into", "about", "as", "over"}
)
_WORD_END = re.compile(r"(?:ss|sh|ch|x|z)$")


def plural(noun: str) -> str:
    """Give the regular plural of a noun: ``city`` → ``cities``."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if _WORD_END.search(noun) else "s")


def generic_words(
    relation_type: str, domains: Sequence[str] = (), ranges: Sequence[str] = ()
) -> RelationWords:
    """Make forms from the words of a relationship type alone.

    A type is read as a noun for its end (``director``, ``has director``, ``in language``), a noun
    for its start (``director of``), or a verb (``directed by``, ``lives in``).

    Args:
        domains: Labels of its start nodes, if they have any.
        ranges: Labels of its end nodes, if they have any.
    """
    phrase = relation_phrase(relation_type)
    words = phrase.split()
    if words[0] in ("is", "was", "are", "has", "have") and len(words) > 1:
        head, words = words[0], words[1:]
    else:
        head = ""
    bare = " ".join(words)
    source, target = _thing(domains), _thing(ranges)
    lists: Mapping[str, tuple[str, ...]]
    if head in ("has", "have"):
        lists = _noun_of_target(bare, source)
    elif words[-1] == "of" and len(words) > 1:
        noun = " ".join(words[:-1])
        lists = _swapped(_noun_of_target(noun, target))
    elif len(words) > 1 and words[-1] in _PREPOSITIONS:
        lists = _verb(bare, words, source)
    elif len(words) > 1 and words[0] in _PREPOSITIONS:
        lists = _noun_of_target(" ".join(words[1:]), source)
    elif words[-1].endswith("s") and not words[-1].endswith("ss") and len(words) == 1:
        # "borders", "children": a verb or a plural noun; both ways of asking are tried.
        as_noun, as_verb = _noun_of_target(bare, source), _verb(bare, words, source)
        lists = {forms: (*as_noun[forms], *as_verb[forms]) for forms in as_noun}
    else:
        lists = _noun_of_target(bare, source)
    return RelationWords(
        types=(bare,),
        inverse_types=(),
        source=source,
        target=target,
        share_source=(
            f"{target.nouns[0][1]} that share a {bare} with {{x}}",
            f"others with the same {bare} as {{x}}",
        )
        if head in ("has", "have") or words[-1] not in _PREPOSITIONS
        else (),
        share_target=(
            f"{source.nouns[0][1]} that have the same {bare} as {{x}}",
            f"{source.nouns[0][1]} sharing their {bare} with {{x}}",
        )
        if words[-1] not in _PREPOSITIONS
        else (f"{source.nouns[0][1]} {bare} the same {target.nouns[0][0]} as {{x}}",),
        many_targets=True,
        many_sources=True,
        symmetric=False,
        **lists,
    )


def _thing(labels: Sequence[str]) -> Thing:
    words = [" ".join(relation_phrase(label).split()) for label in labels]
    nouns = tuple((word, plural(word)) for word in words if word)
    return Thing(words[0] if words else "", nouns or (("thing", "things"),))


def _noun_of_target(noun: str, source: Thing) -> dict[str, tuple[str, ...]]:
    sources = source.nouns[0][1]
    return {
        "to_target": (f"the {noun} of {{x}}", f"{{x}}'s {noun}", f"{noun} of {{x}}"),
        "to_source": (
            f"the {sources} with {noun} {{x}}",
            f"the {sources} whose {noun} is {{x}}",
            f"{sources} that have {{x}} as {noun}",
        ),
        "ask_target": (
            f"what is the {noun} of {{x}}",
            f"which {noun} does {{x}} have",
            f"what {noun} does {{x}} have",
            f"{{x}} has what {noun}",
            f"who or what is {{x}}'s {noun}",
        ),
        "ask_source": (
            f"which {sources} have the {noun} {{x}}",
            f"what has {{x}} as its {noun}",
            f"whose {noun} is {{x}}",
            f"of which {sources} is {{x}} the {noun}",
        ),
    }


def _swapped(lists: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {
        "to_target": lists["to_source"],
        "to_source": lists["to_target"],
        "ask_target": lists["ask_source"],
        "ask_source": lists["ask_target"],
    }


def _verb(bare: str, words: Sequence[str], source: Thing) -> dict[str, tuple[str, ...]]:
    sources = source.nouns[0][1]
    passive = words[0].endswith(("ed", "en"))
    is_, are = ("is ", "are ") if passive else ("", "")
    asked = f"what {is_}{{x}} {bare}" if passive else f"what is it that {{x}} {bare}"
    return {
        "to_target": (f"what {{x}} {is_}{bare}", f"the one {{x}} {is_}{bare}"),
        "to_source": (f"the {sources} {bare} {{x}}", f"{sources} that {are}{bare} {{x}}"),
        "ask_target": (asked, f"{{x}} {is_}{bare} what", f"who or what {is_}{{x}} {bare}"),
        "ask_source": (
            f"which {sources} {are}{bare} {{x}}",
            f"who or what {is_}{bare} {{x}}",
            f"what {is_}{bare} {{x}}",
        ),
    }


@dataclass(slots=True)
class Asker:
    """Makes questions for chains of one graph.

    Args:
        lexicon: Words to draw from where a relation is in it.
        domains: Labels of the start nodes by relationship type.
        ranges: Labels of the end nodes by relationship type.
        generic_share: How often the type's own words are used although the lexicon has others.
        given: Forms to use for a type whatever its name is, where the maker of a graph knows them.
    """

    lexicon: Lexicon
    domains: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ranges: Mapping[str, Sequence[str]] = field(default_factory=dict)
    generic_share: float = 0.25
    given: Mapping[str, RelationWords] = field(default_factory=dict)
    _known: dict[Step, tuple[tuple[RelationWords, ...], RelationWords]] = field(
        default_factory=dict, init=False
    )

    def words(self, step: Step, random: Random) -> RelationWords:
        """Draw words for a step; they go from the node that it leaves."""
        found, generic = self._words(step)
        if not found or random.random() < self.generic_share:
            return generic
        return found[random.randrange(len(found))]

    def _words(self, step: Step) -> tuple[tuple[RelationWords, ...], RelationWords]:
        if step not in self._known:
            type_, forward = step
            given = self.given.get(type_)
            found = (given,) if given else self._fitting(type_)
            generic = generic_words(type_, self.domains.get(type_, ()), self.ranges.get(type_, ()))
            self._known[step] = (
                (found, generic)
                if forward
                else (tuple(entry.inverted() for entry in found), generic.inverted())
            )
        return self._known[step]

    def _fitting(self, type_: str) -> tuple[RelationWords, ...]:
        """Prefer entries whose ends have the labels of the graph, where any do."""
        found = self.lexicon.find(type_)
        labels = [
            {stem for label in side.get(type_, ()) for stem in stems(label)}
            for side in (self.domains, self.ranges)
        ]
        if not any(labels):
            return found
        fits = [
            sum(
                any(set(stems(noun)) & wanted for noun, _ in (*thing.nouns, (thing.kind, "")))
                for thing, wanted in zip((entry.source, entry.target), labels, strict=True)
            )
            for entry in found
        ]
        best = max(fits, default=0)
        return tuple(entry for entry, fit in zip(found, fits, strict=True) if fit == best)

    def phrase(self, name: str, chain: Chain, random: Random) -> str:
        """Say what a chain leads to from a named node, as a noun phrase; the name for no step."""
        text = name
        position = 0
        while position < len(chain):
            text, used = self._phrase_step(text, chain[position:], random)
            position += used
        return text

    def _phrase_step(self, text: str, chain: Chain, random: Random) -> tuple[str, int]:
        words = self.words(chain[0], random)
        back = len(chain) > 1 and chain[1] == (chain[0][0], not chain[0][1])
        if back and words.share_target and random.random() < 0.7:
            # There and back by one relation: what shares something with where one started.
            return _fill(words.share_target, text, random), 2
        return _fill(words.to_target, text, random), 1

    def question(self, name: str, chain: Chain, random: Random) -> str:
        """Ask for what a chain of at least one step leads to from a named node."""
        inner = chain[:-1]
        last = chain[-1]
        back = len(chain) > 1 and chain[-2] == (last[0], not last[1])
        words = self.words(last, random)
        if not back and random.random() < 0.6:
            return _fill(words.ask_target, self.phrase(name, inner, random), random)
        phrase = self.phrase(name, chain, random)
        return wrap(phrase, words.target, random)


def wrap(phrase: str, thing: Thing, random: Random) -> str:
    """Make a question of a noun phrase for something of a kind."""
    draw = random.random()
    if draw < 0.45:
        openings = _WH_OF_KIND.get(thing.kind, _WH)
        return f"{openings[random.randrange(len(openings))]} {phrase}"
    if draw < 0.6 and thing.nouns[0][0] != "thing":
        noun, nouns = thing.nouns[random.randrange(len(thing.nouns))]
        return (f"which {noun} is {phrase}", f"what {nouns} are {phrase}")[random.randrange(2)]
    return _COMMANDS[random.randrange(len(_COMMANDS))].format(phrase)


def _fill(forms: Sequence[str], x: str, random: Random) -> str:
    form = forms[random.randrange(len(forms))]
    if "{x}'s" in form and len(x.split()) > 4:
        # A possessive after a long phrase belongs to its last word; mostly draw another form.
        form = forms[random.randrange(len(forms))]
    return form.replace("{x}", x)


_DETERMINERS = re.compile(r"\b(?:the|a|an) ", re.IGNORECASE)


def noise(question: str, random: Random) -> str:
    """Write a question as people do: mostly without capitals, often without the question mark."""
    if random.random() < 0.06:
        question = _DETERMINERS.sub("", question)
    style = random.random()
    if style < 0.45:
        question = question.lower()
    elif style < 0.8 and question:
        question = question[0].upper() + question[1:]
    if random.random() < 0.1:
        question = question.replace("'s ", " 's ")
    ending = random.random()
    return question + ("?" if ending < 0.6 else " ?" if ending < 0.68 else "")
