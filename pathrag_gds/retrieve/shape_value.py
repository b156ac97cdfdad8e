"""Questions for a value: a property of something, or how many there are. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from pathrag_gds.retrieve.attributes import (
    ADJECTIVES,
    any_of,
    keys_by_measure,
    keys_by_words,
    measures_said,
)
from pathrag_gds.retrieve.intent import stems
from pathrag_gds.retrieve.kinds import kind_words, root
from pathrag_gds.retrieve.serialize import relation_phrase
from pathrag_gds.retrieve.shape import BE, DO, HAVE, NAMED, Asked, Shape

__all__ = ["count_shape", "hop_property_shape", "property_shape"]

# Where a noun phrase ends.
_END_OF_NOUN = re.compile(
    rf" ?\b(?:{DO}|{BE}|{HAVE}|can|could|will|would|should|must|of|in|on|at|by|for|with|from|to"
    r"|that|which|who|whose|where|there|directed|made|released|written|built|born|lives?|lived"
    r"|works?|worked|belongs?|came|come)\b.*| ?[@#'].*"
)
_HOW_MANY = re.compile(r"\bhow many (?P<what>(?:of )?(?:the )?[a-z].*)")
_NUMBER_OF = re.compile(
    rf"(?:^|\b(?:{BE}|find|give|state|what|the|a|total|overall|exact|in) )(?:total )?"
    r"(?:number|count|total) of (?:all )?(?:the )?(?P<what>[a-z].*)"
)
_COUNT = re.compile(r"^count (?:up )?(?:all )?(?:of )?(?:the |every )?(?P<what>[a-z].*)")
_HOW_OFTEN = re.compile(rf"^(?:how often|how many times) (?={BE} |{DO} |{HAVE} )(?P<what>.+)$")
# How long, far or heavy something is is no number of things in the graph.
_UNITS = """
    year day week month hour minute second time
    metre meter kilometre kilometer km mile foot yard inch
    gram kilo kilogram kg pound ounce ton tonne
    litre liter degree percent acre hectare
"""
_SPELL = frozenset(_UNITS.split())


def count_shape(asked: Asked) -> Shape | None:
    """Give the shape of a question for a number of things; None where it asks for none."""
    often = _HOW_OFTEN.match(asked.text)
    if often:
        return _times(asked, often)
    for form in (_HOW_MANY, _NUMBER_OF, _COUNT):
        match = form.search(asked.text)
        if match is None:
            continue
        noun = _END_OF_NOUN.sub("", match["what"].removeprefix("of ").removeprefix("the "))
        if not noun or (form is not _COUNT and kind_words(noun) & _SPELL):
            continue
        keys = _key_inside(asked, match["what"])
        named = asked.ids()
        if keys and len(named) == 1:
            return replace(asked.base, kind="property", keys=keys, mentions=named)
        return replace(
            asked.base, kind="count", core=_core(asked, form, match), noun=noun, mentions=named
        )
    return None


def _times(asked: Asked, often: re.Match[str]) -> Shape:
    """Count the events that a verb is of: how often they ordered is the number of orders.

    Where the graph has no such kind of thing, nothing is of the kind "times" either.
    """
    done = {root(word) for word in often["what"].split()}
    events = sorted(kind for kind in asked.kinds if root(kind) in done)
    rest = asked.wording.between(often.start("what"))[0].start
    return replace(
        asked.base,
        kind="count",
        core=f"What {asked.wording.question[rest:]}",
        noun=events[0] if events else "times",
        mentions=asked.ids(),
    )


def _key_inside(asked: Asked, said: str) -> tuple[str, ...]:
    """List keys of several words that are all said: "units of @ are in stock" → unitsInStock."""
    words = stems(said)
    found = [(stems(relation_phrase(key)), key) for key in asked.keys]
    return tuple(key for parts, key in found if len(parts) > 1 and parts <= words)


def _core(asked: Asked, form: re.Pattern[str], match: re.Match[str]) -> str:
    """Ask for the things that are counted."""
    question = asked.wording.question
    if form is _HOW_MANY:
        units = asked.wording.between(match.start(), match.start("what"))
        core = f"{question[: units[0].start]}which{question[units[-1].end :]}"
    else:
        core = f"what are the {question[asked.wording.between(match.start('what'))[0].start :]}"
    return core[:1].upper() + core[1:]


# A noun phrase that may name a property.
_NOUN = (
    rf"(?:(?:(?:date|year|place|rate) of )?(?:(?!(?:of|for|{BE}|{DO}|{HAVE}) |[@#'])[a-z0-9]+ ?)"
    r"{1,4})"
)
_VERBS_OF_TIME = (
    "be born|born|die|died|dead|pass away|released|come out|published|premiere|premiered|founded"
    "|established|built|constructed|opened|open|launched|completed|created|formed|commissioned"
    "|set up|happen|take place|held|occur|start|begin|end|finish|close|made|filmed|shot|produced"
    "|placed|shipped|signed|from"
)
_Keys = Callable[[re.Match[str], tuple[str, ...]], tuple[str, ...]]


def _of(*measures: str) -> _Keys:
    return lambda match, keys: keys_by_measure(measures, keys)


def _how(match: re.Match[str], keys: tuple[str, ...]) -> tuple[str, ...]:
    return keys_by_measure(ADJECTIVES[match["how"]].measures, keys)


def _when(match: re.Match[str], keys: tuple[str, ...]) -> tuple[str, ...]:
    return keys_by_measure(measures_said(match["verb"]), keys)


def _called(match: re.Match[str], keys: tuple[str, ...]) -> tuple[str, ...]:
    return keys_by_words(match["what"].strip(), keys)


def _how_many(match: re.Match[str], keys: tuple[str, ...]) -> tuple[str, ...]:
    return () if kind_words(match["what"]) & _SPELL else _called(match, keys)


_FORMS: tuple[tuple[re.Pattern[str], _Keys], ...] = tuple(
    (re.compile(form), keys)
    for form, keys in (
        (rf"^how many years old {BE} (?P<of>.+)$", _of("age", "birth")),
        (
            r"^how many (?:people|inhabitants|persons|residents) (?:lives?|lived|are living|dwell"
            rf"|{BE} there|{DO})(?: there)?(?: in| at)? (?P<of>.+?)(?: have)?$",
            _of("population"),
        ),
        (
            rf"^how (?:many (?:minutes|hours)(?: long)?|long) (?:{BE}|{DO}) (?P<of>.+?)"
            r" (?:last|run|take)$",
            _of("duration"),
        ),
        (rf"^how many (?:minutes|hours) long {BE} (?P<of>.+)$", _of("duration")),
        (
            r"^(?:when|since when|(?:in |on |at )?(?:what|which) (?:year|date|day|month)) "
            rf"(?:{BE}|{DO}|{HAVE}) (?P<of>.+?) (?P<verb>{_VERBS_OF_TIME})$",
            _when,
        ),
        (
            rf"^how (?P<how>{any_of(ADJECTIVES)}) (?:{BE}|will|would) (?P<of>.+?)"
            r"(?: be| now| today)?$",
            _how,
        ),
        # As it stands after "tell me".
        (
            rf"^how (?P<how>{any_of(ADJECTIVES)}) (?P<of>.+) {BE}$",
            _how,
        ),
        (
            rf"^(?:when|what year) (?P<of>.+) {BE} (?P<verb>{_VERBS_OF_TIME})$",
            _when,
        ),
        (rf"^what the (?P<what>{_NOUN})of (?P<of>.+) {BE}$", _called),
        (r"^(?:how much|what) (?P<of>.+) costs?$", _of("price")),
        (rf"^how much (?:{BE}|{DO}) (?P<of>.+) weigh$", _of("weight")),
        (rf"^(?:how much|what) {DO} (?P<of>.+) earn$", _of("income")),
        (rf"^(?:how much|what) {BE} (?P<of>.+) worth$", _of("price", "income")),
        (
            rf"^(?:how much|what) (?:{DO}|would) (?P<of>.+) (?:costs?|sell for|go for)"
            r"(?: (?:me|us|you|one|now|today|each))?$",
            _of("price"),
        ),
        (
            rf"^(?:of |from |out of )?(?:what|which) (?:materials? )?{BE} (?P<of>.+) made"
            r"(?: out of| of| from)?$",
            _of("material"),
        ),
        # As it stands after "tell me".
        (
            rf"^(?:of |from )?what (?:materials? )?(?P<of>.+) {BE} made(?: out of| of| from)?$",
            _of("material"),
        ),
        (
            rf"^whom? (?:{DO}|should|can|could|must|would|shall) (?:i|we|one|you) (?:contact"
            r"|ask for|call|ring|phone|write to|turn to|get in touch with"
            rf"|(?:speak|talk) (?:to|with)) (?:.* )?(?P<of>{NAMED})$",
            _of("contact"),
        ),
        # What is asked for stands last.
        (
            rf"^(?P<of>.+) {BE} (?P<verb>{_VERBS_OF_TIME})"
            r" (?:when|(?:in|on) (?:what|which) (?:year|date|day|month))$",
            _when,
        ),
        (rf"^(?P<of>.+) {BE} how (?P<how>{any_of(ADJECTIVES)})$", _how),
        (rf"^(?P<of>.+) {BE} made (?:of|from|out of) what$", _of("material")),
        (r"^(?P<of>.+) costs? (?:how much|what)$", _of("price")),
        (rf"^how much {BE} (?P<of>.+)$", _of("price")),
        (
            rf"^how many (?P<what>{_NOUN})(?:{BE}|{DO}|{HAVE})(?: there)? "
            r"(?:in |of |at |on |for )?"
            r"(?P<of>.+?)(?: have| has| hold| seat| carry)?$",
            _how_many,
        ),
        (
            rf"^(?:(?:what|which) {BE} |state |find |name |list |)(?:the |a )?"
            rf"(?P<what>{_NOUN})(?:of|for) (?P<of>.+)$",
            _called,
        ),
        (rf"^(?:(?:what|which) {BE} |state |find |)(?P<of>.+) 's (?P<what>{_NOUN})$", _called),
        (
            rf"^(?:of |in |at |on )?(?:what|which) (?P<what>{_NOUN})(?:{BE}|{DO}|{HAVE}) "
            r"(?P<of>.+?)(?: have| has| get| carry)?$",
            _called,
        ),
    )
)
# So much of a thing is, to a graph, the thing.
_SO_MUCH = (
    r"(?:(?:a|an|one|the|each|every) (?:bottle|box|bag|can|carton|crate|cup|glass|jar|kilo|litre"
    r"|pack|packet|package|piece|pound|slice|tin|ton|tube|unit) of )"
)
_ONE = re.compile(rf"{_SO_MUCH}?{NAMED}$")
_PART = re.compile(rf"{NAMED} 's (?P<part>[a-z]+)$")
# What says that the thing is found by way of another.
_LEADS = re.compile(r"\b(?:of|by|in|from|with|for|that|which|who|whose|where|at|on)\b|'s")


def property_shape(asked: Asked) -> Shape | None:
    """Give the shape of a question for a property that the graph has; None for any other."""
    for form, keys_of in _FORMS:
        match = form.match(asked.text)
        keys = keys_of(match, asked.keys) if match else ()
        if match is None or not keys:
            continue
        start, end = match.span("of")
        part = _PART.match(match["of"])
        parted = (
            keys_by_words(f"{part['part']} {match.groupdict().get('what', '')}", asked.keys)
            if part
            else ()
        )
        # The colour of his fur is his fur_color, not a property of a fur.
        keys = parted or keys
        of_end = not parted and _ONE.match(match["of"]) is None
        if of_end and not _LEADS.search(match["of"]):
            continue
        owner = asked.wording.original(start, end)
        return replace(
            asked.base,
            kind="property",
            core=f"What is {owner}?" if of_end else asked.base.core,
            keys=keys,
            of_end=of_end,
            mentions=asked.ids(start, end),
        )
    return None


# Two names joined by "and" are asked about together.
_TOLD_OF = rf"{NAMED}(?: (?!and |or |with )[a-z]+)* {NAMED}(?: [a-z]+)?$"
_HOP_FORMS = tuple(
    (re.compile(form), what)
    for form, what in (
        # What is asked for, where the form itself says it; else it is the noun.
        (
            rf"^(?:in |as |on |with )?(?:what|which) (?P<what>{_NOUN})(?:{BE}|{DO}|{HAVE}) "
            rf"{_TOLD_OF}",
            "",
        ),
        (
            rf"^(?:what|which) {BE} (?:the )?(?P<what>{_NOUN})of {NAMED} (?:in|at|on|for) {NAMED}$",
            "",
        ),
        (
            rf"^(?:what|which) {BE} {NAMED} 's (?P<what>(?:[a-z]+ ){{1,3}})(?:in|at|on|for) "
            rf"{NAMED}$",
            "",
        ),
        (rf"^whom? {DO} {NAMED} (?:play|portray) in {NAMED}$", "role"),
        (rf"^how {DO} {NAMED} (?:rate|score|judge) {NAMED}$", "rating"),
        (
            rf"^(?:when|since when|(?:since|in|on) (?:what|which) (?:year|date|day)) "
            rf"(?:{BE}|{DO}|{HAVE}) {_TOLD_OF}",
            "start",
        ),
        (rf"^(?:until|till) when (?:{BE}|{DO}|{HAVE}) {_TOLD_OF}", "end"),
    )
)


def hop_property_shape(asked: Asked) -> Shape | None:
    """Give the shape of a question for what a relationship between two named things tells.

    "What role did she play in it?" asks for no thing and for no property of her. Whether their
    relationship has such a property only the graph can say.
    """
    named = asked.ids()
    if len(named) != 2 or asked.base.kind != "path":
        return None
    for form, what in _HOP_FORMS:
        match = form.match(asked.text)
        if match is None:
            continue
        asked_for = what or match["what"].strip()
        if asked.kinds.isdisjoint(kind_words(asked_for)):
            return replace(asked.base, kind="property", mentions=named, of_hop=asked_for)
    return None
