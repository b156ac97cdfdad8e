"""Find the property that words ask for, and compare its values. Pure.

A graph calls a price ``price``, ``unitPrice`` or ``list_price_usd``; a question says "how much",
"the cheapest" or "the cost of". Both are brought to one *measure*, here ``price``. What is under no
measure must be asked for by the words of its key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pathrag_gds.retrieve.intent import stems
from pathrag_gds.retrieve.serialize import relation_phrase
from pathrag_gds.retrieve.when import span_of_value

__all__ = [
    "ADJECTIVES",
    "COMPARATIVES",
    "SUPERLATIVES",
    "TIME_MEASURES",
    "Adjective",
    "any_of",
    "extent",
    "extents",
    "keys_by_measure",
    "keys_by_words",
    "measure_of",
    "measures_said",
    "verbs_of_time",
]

# What keys and questions call each measure; the likelier meaning of a key first.
_CALLED = """
birth: birth date, date of birth, birthdate, birthday, born, born on, birth year, year of birth, dob
death: death date, date of death, died, died on, death year, year of death, deceased
age: age, age in years, age years
founding: founded, founding date, foundation date, founding year, year founded, founded in,
    year of foundation, foundation, established, established in, year established, inception,
    construction date, year built, built, built in, constructed, completed, year of construction,
    opened, opening date, opening year, launched, launch date, launch year, commissioned
release: release date, released, released on, released in, date released, date of release,
    release year, year released, year of release, publication date, date of publication, published,
    publication year, year published, year of publication, premiere, premiere date
year: year
date: date, day, occurred on, happened on, held on, order date, event date
hire: hire date, hired, hired on, date of hire, hiring date, date hired, joined, date joined,
    joined on, joining date, employed since
start: start date, started, start, begin, begin date, since, start year, from
end: end date, ended, end, until, end year
price: price, unit price, list price, cost, unit cost, fare, fee
height: height, elevation, altitude
length: length
duration: duration, runtime, running time, run time, playing time
width: width, breadth
depth: depth, maximum depth, max depth
weight: weight, mass
area: area, surface area, surface
size: size, tonnage, gross tonnage
population: population, inhabitants, number of inhabitants, residents
capacity: capacity, seats, seating capacity
speed: speed, top speed, max speed, maximum speed
distance: distance
rating: rating, score, stars, average rating
temperature: temperature
income: income, salary, wage, revenue, turnover, net worth, wealth
job: job, job title, occupation, profession
role: roles, role, characters, character, character name, part, function
material: material, materials, made of, made from
contact: contact name, contact person, contact
phone: phone, phone number, telephone, telephone number
email: email, email address, e mail
postcode: postal code, postcode, zip, zip code
website: website, homepage, home page, web page, url
tagline: tagline, slogan, motto
"""
TIME_MEASURES = ("date", "release", "year", "founding", "birth", "start", "hire", "death", "end")
"""Measures whose values are dates or years, the likeliest for "when" first."""

# Say what a number counts, not what it measures.
_UNITS = frozenset(("cm", "km", "m", "kg", "g", "t", "usd", "eur", "gbp", "km2", "min", "minutes"))
_SPELLING = {"colour": "color", "grey": "gray", "metre": "meter", "centre": "center"}
_EMPTY_WORD_TEXT = "the a an of in for exact current full total value"
_EMPTY_WORDS = frozenset(_EMPTY_WORD_TEXT.split())

# Base, comparative and superlative; the measures that they may be about, likeliest first; a minus
# where less of it is more. An early date makes old, so for dates it is the other way round.
_ADJECTIVES = """
old, older, oldest: age birth release year founding date
elder, elder, eldest: age birth
- young, younger, youngest: age birth
- new, newer, newest: release year founding date
- recent, more recent, most recent: date release year founding start
- late, later, latest: date release year founding birth start
- late, later, last: date release year founding birth start
early, earlier, earliest: date release year founding birth start
early, earlier, first: date release year founding birth start
tall, taller, tallest: height
high, higher, highest: height
- low, lower, lowest: height
long, longer, longest: duration length
- short, shorter, shortest: height duration length
large, larger, largest: area population size capacity
big, bigger, biggest: area population size capacity
- small, smaller, smallest: area population size capacity
heavy, heavier, heaviest: weight
- light, lighter, lightest: weight
expensive, more expensive, most expensive: price
- expensive, less expensive, least expensive: price
costly, more costly, most costly: price
costly, costlier, costliest: price
dear, dearer, dearest: price
pricey, pricier, priciest: price
- cheap, cheaper, cheapest: price
fast, faster, fastest: speed
- slow, slower, slowest: speed
deep, deeper, deepest: depth
- shallow, shallower, shallowest: depth
wide, wider, widest: width
- narrow, narrower, narrowest: width
populous, more populous, most populous: population
- populous, less populous, least populous: population
rich, richer, richest: income
- poor, poorer, poorest: income
hot, hotter, hottest: temperature
warm, warmer, warmest: temperature
- cold, colder, coldest: temperature
far, farther, farthest: distance
far, further, furthest: distance
- near, nearer, nearest: distance
- close, closer, closest: distance
good, better, best: rating
- bad, worse, worst: rating
strong, stronger, strongest:
- weak, weaker, weakest:
great, greater, greatest:
busy, busier, busiest:
bright, brighter, brightest:
"""


# What a verb says a date is of.
_SAID_BY = tuple(
    (re.compile(rf"\b(?:{verbs})\b"), tuple(measures.split()))
    for verbs, measures in (
        ("born", "birth"),
        ("died?|dead|pass(?:ed)? away", "death"),
        ("hired?|employed|joined?", "hire start date"),
        ("released?|c[ao]me out|published?|premiered?", "release year date"),
        (
            "founded|established|built|constructed|opened|launched|completed|created|formed"
            "|commissioned|set up",
            "founding start year date",
        ),
        (
            "happen(?:ed)?|take place|took place|held|occur(?:red)?|start(?:ed)?|begin|began",
            "date start year",
        ),
        ("end|ended|finish|finished|close|closed", "end"),
        ("made|filmed|shot|produced|written|from", "release year founding"),
        ("placed|shipped|sent|signed|ordered", "date start"),
    )
)


@dataclass(frozen=True, slots=True)
class Adjective:
    """What an adjective compares.

    Attributes:
        measures: What it may be about, the likeliest first; empty where nothing says.
        more: It means more of the measure, not less.
    """

    measures: tuple[str, ...]
    more: bool

    def larger(self, measure: str) -> bool:
        """Whether the larger value is meant: of ages the larger is older, of dates the smaller."""
        return self.more != (measure in TIME_MEASURES)


def _adjectives(form: int) -> dict[str, Adjective]:
    found: dict[str, Adjective] = {}
    for line in _ADJECTIVES.strip().splitlines():
        forms, _, measures = line.removeprefix("- ").partition(":")
        adjective = Adjective(tuple(measures.split()), not line.startswith("- "))
        found.setdefault(forms.split(", ")[form], adjective)
    return found


ADJECTIVES = _adjectives(0)
COMPARATIVES = _adjectives(1)
SUPERLATIVES = _adjectives(2)


def _measures() -> dict[str, tuple[str, ...]]:
    lines = _CALLED.replace("\n    ", " ").strip().splitlines()
    split = (line.partition(":") for line in lines)
    return {name: tuple(n.strip() for n in names.split(",")) for name, _, names in split}


_MEASURES = _measures()
_MEASURE_OF = {called: name for name, names in reversed(_MEASURES.items()) for called in names}


@lru_cache(maxsize=4096)
def _key_words(key: str) -> tuple[str, ...]:
    """Give the words of a key without units: ``listPriceUsd`` → list, price."""
    parts = relation_phrase(key).removeprefix("is ").split()
    kept = [part for part in parts if part not in _UNITS] or parts
    return tuple(_SPELLING.get(part, part) for part in kept)


def measure_of(key: str) -> str:
    """Name the measure that a key is of; empty for none.

    ``"unitPrice"`` gives ``"price"``, ``"born"`` ``"birth"``.
    """
    return _MEASURE_OF.get(" ".join(_key_words(key)), "")


def keys_by_measure(measures: Iterable[str], keys: Iterable[str]) -> tuple[str, ...]:
    """List the keys that are of any of the measures: by measure, then as that is mostly called."""
    by_words: dict[str, list[str]] = {}
    for key in sorted(set(keys)):
        by_words.setdefault(" ".join(_key_words(key)), []).append(key)
    found = [
        key
        for measure in measures
        for called in _MEASURES.get(measure, ())
        for key in by_words.get(called, ())
    ]
    return tuple(dict.fromkeys(found))


def keys_by_words(phrase: str, keys: Iterable[str]) -> tuple[str, ...]:
    """List the keys that a phrase asks for, best first; empty where it asks for none of them.

    A key with the same words comes first ("fur colour": ``fur_color``), then those of the measure
    that the phrase names ("date of birth": ``born``), then the only one that has all of the
    phrase's words ("colour": ``fur_color``) or ends in such a measure ("phone number":
    ``home_phone``).
    """
    known = sorted(set(keys))
    plain = " ".join(_SPELLING.get(word, word) for word in phrase.lower().split())
    asked = stems(plain) - _EMPTY_WORDS
    if asked <= {"name"}:
        return ()
    equal = [key for key in known if stems(" ".join(_key_words(key))) - _EMPTY_WORDS == asked]
    bare = " ".join(word for word in plain.split() if word not in ("the", "a", "an", "exact"))
    measure = _MEASURE_OF.get(bare, "")
    alike = keys_by_measure((measure,), known) if measure else ()
    wider = [
        key
        for key in known
        if asked < stems(" ".join(_key_words(key)))
        or (measure and _MEASURE_OF.get(_key_words(key)[-1]) == measure)
    ]
    return tuple(dict.fromkeys([*equal, *alike, *(wider if len(wider) == 1 else ())]))


def measures_said(text: str) -> tuple[str, ...]:
    """Give the measures of time that a verb of a text is about, likeliest first; none without one.

    ``"was born"`` gives ``("birth",)``.
    """
    return next((measures for verbs, measures in _SAID_BY if verbs.search(text)), ())


def verbs_of_time(text: str) -> frozenset[str]:
    """Give the words of a text that say what a time is of: "came", "out", "released"."""
    found = (match[0] for verbs, _ in _SAID_BY for match in verbs.finditer(text))
    return frozenset(word for verb in found for word in verb.split())


def any_of(adjectives: Iterable[str]) -> str:
    """Write the pattern of any of these adjectives, the longest first."""
    return "|".join(sorted(adjectives, key=lambda word: (-len(word), word)))


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?$")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


# What a unit measures, and how much of its base it is.
_UNIT_LINES = """
length: mm .001, cm .01, m 1, km 1000, in .0254, ft .3048, yd .9144, mi 1609.344
mass: mg .000001, g .001, kg 1, t 1000, oz .028349523125, lb .45359237
time: s 1, sec 1, min 60, h 3600, hr 3600, hours 3600, minutes 60
area: m2 1, ha 10000, km2 1000000
speed: km/h 1, kmh 1, kph 1, mph 1.609344, kn 1.852
volume: ml .001, cl .01, l 1
"""
_OF_UNIT = {
    unit.split()[0]: (line.partition(":")[0], float(unit.split()[1]))
    for line in _UNIT_LINES.strip().splitlines()
    for unit in line.partition(": ")[2].split(", ")
}
_WITH_UNIT = re.compile(r"([-+]?\d+(?:\.\d+)?) ?([a-z][a-z/]*2?)$")


def extents(values: Mapping[str, Any], measure: str) -> dict[str, tuple[float, float]] | None:
    """Give what each value may mean, in one unit; None where they are not all comparable.

    ``"980 m"`` and ``"1.2 km"`` are; a number without a unit beside one with a unit is not.

    Args:
        values: By whose they are.
        measure: As for :func:`extent`.
    """
    found = {owner: extent(value, measure) for owner, value in values.items()}
    if all(found.values()):
        return {owner: span for owner, span in found.items() if span is not None}
    matches = {owner: _WITH_UNIT.match(_plain(value)) for owner, value in values.items()}
    amounts = {
        owner: (*_OF_UNIT[match[2]], float(match[1]))
        for owner, match in matches.items()
        if match and match[2] in _OF_UNIT
    }
    if len(amounts) < len(values) or len({kind for kind, _, _ in amounts.values()}) != 1:
        return None
    return {owner: (unit * n, unit * n) for owner, (_, unit, n) in amounts.items()}


def _plain(value: Any) -> str:
    return _THOUSANDS.sub("", value.strip().casefold()) if isinstance(value, str) else ""


def extent(value: Any, measure: str) -> tuple[float, float] | None:
    """Give the least and the largest that a value may mean; None where it is not to be compared.

    A number is itself, as text too ("1,250.50"). Of a measure of time it is the first and the last
    day, as ordinals: the year 1997 may be any day of it.
    """
    if measure in TIME_MEASURES:
        span = span_of_value(value)
        if span is None or span.start is None or span.end is None:
            return None
        return float(span.start.toordinal()), float(span.end.toordinal() - 1)
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value), float(value)
    if isinstance(value, str):
        text = _THOUSANDS.sub("", value.strip().lstrip("$€£ "))
        if _NUMBER.match(text):
            return float(text), float(text)
    return None
