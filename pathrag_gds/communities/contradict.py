"""Find reports that contradict each other about a property of an entity. Pure, no language model.

What can be found is what a sentence states in a form that leaves nothing to guess:

- It names an entity, by its name or an alias that only one entity has.
- It names a property, by a key that some entity of the graph has, written as words
  (``birthYear``, ``birth_year`` and ``birth year`` are one).
- Name, property and value stand together in one of these forms, in which nothing may come between::

      Oslo's population is 709,000      the population of Oslo was 709,000
      Oslo has a population of 709,000  Oslo, with a population of 709,000
      Oslo (population: 709,000; mayor: Anne Lindboe)

Such a sentence of a summary, or of a finding's summary or explanation, is a *claim*. It is none
where the value is hedged ("about", "at least"), denied, or longer than eight words. So what is told
in other words is not found, and a pronoun is not followed; what is found is there to be read. Two
claims contradict each other where both values are

- numbers in the same unit, and differ: ``709,000`` and ``0.7 million``; ``5 km`` and ``5 miles``
  cannot be compared;
- dates or years, of which neither begins like the other: ``1843`` agrees with ``1843-12-19``;
- texts, of which neither holds the other's words in a row: ``lender`` agrees with ``money lender``.

A property that holds lists in the graph may have many values: about one, nothing is found.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from pathrag_gds.communities.types import CommunityReport, check_one_tenant
from pathrag_gds.text import fold, loosen, words
from pathrag_gds.types import Entity

__all__ = ["Claim", "Contradiction", "Vocabulary", "claims_of", "find_contradictions"]

_LONGEST_NAME = 10
_LONGEST_VALUE = 8
# A name so short is also a word of the language: then it must be written as it is.
_SHORT_NAME = 3

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_SENTENCE_END = re.compile(
    r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bJr)(?<!\bSr)(?<!\b[A-Z])[.!?](?=\s|$)|\n+"
)
_QUOTED = re.compile(r"[\"“„«]([^\"“”«»]+)[\"”“»]")
# Where a value ends: a comma does not where three digits follow it.
_VALUE_END = re.compile(
    r"[;()\[\]]|,(?!\d{3}(?!\d))|\s[-–—]\s|"
    r"\s(?:and|but|while|whereas|which|who|whose|where|when|as|according|because|since)\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)
_HEDGE = re.compile(
    r"(?:about|around|approximately|approx|roughly|some|nearly|almost|circa|ca|over|under|above|"
    r"below|at (?:least|most)|(?:more|less|fewer) than|up to|between|from|not|no|never|none|"
    r"unknown|unclear|uncertain|disputed|perhaps|possibly|probably|said|believed|thought|reported|"
    r"one of|[~≈<>±])(?![^\W_])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"([€$£¥]?)\s?([-−]?\d{1,3}(?:[,\u00a0\u202f]\d{3})+|[-−]?\d+)(\.\d+)?\s*(.*)")
_DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2})?")
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}

_IS = r"(?:\s*[:=]\s*|\s+(?:is|was|are|were|equals)\s+)"
_OWNS = r"(?:['’]s?\s+|\s+|\s*[:,]\s*)"
_HAS = r"\s*,?\s*(?:has|have|had|having|with)\s+(?:an?\s+|the\s+)?"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a report states about a property of an entity.

    Attributes:
        community_id: Of the report.
        entity: Id of the entity.
        property: Key of the property, as the graph has it.
        value: As it is written.
        sentence: In which it stands.
    """

    community_id: str
    entity: str
    property: str
    value: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two reports that state different values.

    Attributes:
        entity: Id of the entity.
        name: Of the entity.
        property: Key of the property.
        first: Claim of the report whose community has the smaller id.
        second: Claim of the other.
        graph: What the graph says now; None where the entity has no such property.
    """

    entity: str
    name: str
    property: str
    first: Claim
    second: Claim
    graph: str | None = None


class Vocabulary:
    """The names and properties that claims are looked for with; made once for many reports.

    Args:
        entities: Of one tenant, in any order, each once.
    """

    def __init__(self, entities: Iterable[Entity]) -> None:
        self.entities: dict[str, Entity] = {entity.id: entity for entity in entities}
        named: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self._short: dict[str, str] = {}
        for entity in self.entities.values():
            for name in _names(entity):
                folded = tuple(words(name))
                if not 0 < len(folded) <= _LONGEST_NAME:
                    continue
                named[folded].add(entity.id)
                if len("".join(folded)) <= _SHORT_NAME:
                    self._short[" ".join(folded)] = name
        # A name of several says nothing about any of them.
        self._named = {name: min(ids) for name, ids in named.items() if len(ids) == 1}
        self._longest = max(map(len, self._named), default=0)
        keys = self._scalar_keys()
        self._keys = {_joined(key): key for key in reversed(keys)}
        said = "|".join(sorted({_pattern(key) for key in keys}, key=lambda p: (-len(p), p)))
        self._forms = _forms(said) if said else None

    def _scalar_keys(self) -> list[str]:
        """Give the keys of properties, ascending, those out that hold lists anywhere."""
        keys = sorted({key for entity in self.entities.values() for key in entity.properties})
        lists = {
            key
            for entity in self.entities.values()
            for key, value in entity.properties.items()
            if isinstance(value, (list, tuple, set, Mapping))
        }
        return [key for key in keys if key not in lists and len(_joined(key)) > 1]

    def mentions(self, sentence: str) -> list[tuple[int, int, str]]:
        """Find the entities that a sentence names: where, and their ids; the longest names first.

        No two share a word.
        """
        found = [(match.start(), match.end(), fold(match[0])) for match in _WORD.finditer(sentence)]
        folded = [word for _, _, word in found]
        named: list[tuple[int, int, str]] = []
        at = 0
        while at < len(found):
            for length in range(min(self._longest, len(found) - at), 0, -1):
                name = tuple(folded[at : at + length])
                start, end = found[at][0], found[at + length - 1][1]
                id_ = self._named.get(name)
                as_written = self._short.get(" ".join(name), sentence[start:end])
                if id_ is not None and as_written == sentence[start:end]:
                    named.append((start, end, id_))
                    at += length
                    break
            else:
                at += 1
        return named

    def stated(self, sentence: str) -> Iterator[tuple[str, str, str]]:
        """Give id, key and value of what a sentence states, in its order."""
        if self._forms is None:
            return
        for start, end, id_ in self.mentions(sentence):
            for said, text in self._forms.around(sentence[:start], sentence[end:]):
                if value := _value_in(text):
                    yield id_, self._keys[_joined(said)], value


@dataclass(frozen=True, slots=True)
class _Forms:
    """How a sentence may put name, property and value together; ``key`` is the property."""

    before: re.Pattern[str]
    link: re.Pattern[str]
    after: re.Pattern[str]
    bracket: re.Pattern[str]
    part: re.Pattern[str]

    def around(self, before: str, after: str) -> list[tuple[str, str]]:
        """Give the properties that are said of a name, each with the text of its value."""
        of, is_ = self.before.search(before), self.link.match(after)
        if of and is_:
            return [(of["key"], after[is_.end() :])]
        if own := self.after.match(after):
            return [(own["key"] or own["had"], after[own.end() :])]
        if bracket := self.bracket.match(after):
            parts = re.split(r";\s*|,\s+", bracket["inside"])
            return [(m["key"], m["value"]) for m in map(self.part.match, parts) if m]
        return []


def _forms(said: str) -> _Forms:
    flags = re.IGNORECASE
    key = rf"(?P<key>{said})"
    return _Forms(
        before=re.compile(rf"\b{key}\s+of\s+(?:the\s+)?$", flags),
        link=re.compile(_IS, flags),
        after=re.compile(rf"{_OWNS}{key}{_IS}|{_HAS}(?P<had>{said})\s+of\s+", flags),
        bracket=re.compile(r"\s*\((?P<inside>[^()]*)\)"),
        part=re.compile(rf"\s*{key}(?:{_IS}|\s+(?:of\s+)?)(?P<value>.+)", flags),
    )


def _joined(key: str) -> str:
    """Give the words of a key without what parts them: birthYear, birth_year and birth year."""
    return loosen(key).replace(" ", "")


def _pattern(key: str) -> str:
    """Write the words of a key so that they may be joined as keys are."""
    return r"[\s_-]*".join(map(re.escape, loosen(key).split()))


def _names(entity: Entity) -> list[str]:
    aliases = entity.properties.get("aliases") or ()
    given = [aliases] if isinstance(aliases, str) else list(aliases)
    return [entity.name, *map(str, given)]


def claims_of(report: CommunityReport, vocabulary: Vocabulary) -> tuple[Claim, ...]:
    """Give what a report states about properties of entities, in its order, each once."""
    texts = [report.summary]
    for finding in report.findings:
        texts += [finding.summary, finding.explanation]
    claims = [
        Claim(report.community_id, id_, key, value, " ".join(sentence.split()))
        for text in texts
        for sentence in _SENTENCE_END.split(text)
        for id_, key, value in vocabulary.stated(sentence)
    ]
    first: dict[tuple[str, str, str], Claim] = {}
    for claim in claims:
        first.setdefault((claim.entity, claim.property, fold(claim.value)), claim)
    return tuple(first.values())


def find_contradictions(
    reports: Iterable[CommunityReport], entities: Iterable[Entity]
) -> tuple[Contradiction, ...]:
    """Find the pairs of reports that contradict each other on the value of a property.

    A report that gives several values itself contradicts another one where no value of the one
    agrees with any of the other; the first of each are told.

    Args:
        reports: Of one tenant, in any order, one for each community.
        entities: That the reports may speak of.

    Returns:
        By entity, property and ids of the communities; none without reports.

    Raises:
        TenantError: The reports are of several tenants.
    """
    given = sorted(reports, key=lambda report: report.community_id)
    check_one_tenant(report.tenant_id for report in given)
    vocabulary = Vocabulary(entities)
    stated: dict[tuple[str, str], dict[str, list[Claim]]] = defaultdict(dict)
    for report in given:
        for claim in claims_of(report, vocabulary):
            by = stated[claim.entity, claim.property]
            by.setdefault(claim.community_id, []).append(claim)
    found = []
    for (id_, key), by in sorted(stated.items()):
        entity = vocabulary.entities[id_]
        actual = entity.properties.get(key)
        for one, other in combinations(sorted(by), 2):
            if not any(_agree(a.value, b.value) for a in by[one] for b in by[other]):
                graph = None if actual is None else str(actual)
                pair = by[one][0], by[other][0]
                found.append(Contradiction(id_, entity.name, key, *pair, graph))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value that can be compared: a number with its unit, a date, or words."""

    words: tuple[str, ...]
    number: float | None = None
    unit: tuple[str, ...] = ()
    date: str = ""


def _value_in(text: str) -> str:
    """Give the value that a text begins with; empty where it states none."""
    text = text.strip()
    quoted = _QUOTED.match(text)
    if quoted:
        return quoted[1].strip()
    text = _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text
    end = _VALUE_END.search(text)
    value = (text[: end.start()] if end else text).strip(" .,:!?'’")
    if _HEDGE.match(value) or not 0 < len(words(value)) <= _LONGEST_VALUE:
        return ""
    return value


def _read_value(text: str) -> _Value:
    folded = tuple(words(text))
    if _DATE.fullmatch(text):
        return _Value(folded, date=text)
    number = _NUMBER.fullmatch(text)
    if number is None:
        return _Value(folded)
    digits = re.sub("[,\u00a0\u202f]", "", number[2]).replace("−", "-")
    amount = float(digits + (number[3] or ""))
    unit = words(number[4])
    if unit and unit[0] in _SCALES:
        amount *= _SCALES[unit.pop(0)]
    if number[1]:
        unit.insert(0, number[1])
    bare = not unit and not number[3] and re.fullmatch(r"\d{4}", number[2])
    return _Value(folded, amount, tuple(unit), number[2] if bare else "")


def _agree(one: str, other: str) -> bool:
    """Whether two values agree, or cannot be compared."""
    a, b = _read_value(one), _read_value(other)
    if a.date and b.date:
        return a.date.startswith(b.date) or b.date.startswith(a.date)
    if a.number is not None and b.number is not None:
        return a.unit != b.unit or a.number == b.number
    if a.number is not None or b.number is not None or a.date or b.date:
        return True
    return _holds(a.words, b.words) or _holds(b.words, a.words)


def _holds(long: Sequence[str], short: Sequence[str]) -> bool:
    size = len(short)
    return any(tuple(long[at : at + size]) == tuple(short) for at in range(len(long) - size + 1))
