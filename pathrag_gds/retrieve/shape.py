"""What a question asks for, and the question made ready to be matched. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pathrag_gds.graph.schema import NODE_SYSTEM_KEYS, Ontology
from pathrag_gds.retrieve.intent import stems
from pathrag_gds.retrieve.kinds import kind_words
from pathrag_gds.retrieve.serialize import relation_phrase
from pathrag_gds.retrieve.when import Span, asked_span
from pathrag_gds.retrieve.wording import Wording, read_wording
from pathrag_gds.types import Anchor

__all__ = [
    "AUXILIARY",
    "BE",
    "BESIDE",
    "DO",
    "HAVE",
    "NAMED",
    "Asked",
    "Shape",
    "ShapeKind",
    "read_asked",
]

_NEVER_ASKED = NODE_SYSTEM_KEYS | {"id", "name", "aliases", "description"}

_SMALL = frozenset(("of", "in", "by", "to", "at", "on", "for", "from", "with", "is", "has", "the"))

_POLITE = re.compile(
    r"(?:(?:please|hi|hello|so|and|ok|okay|now|well) )*"
    r"(?:(?:(?:can|could|would|will) you (?:please |kindly )?"
    r"|(?:please |kindly ))?(?:tell|show|give|remind|inform) (?:me|us)(?: about)?(?: please)? "
    r"|(?:(?:can|could|would|will) you (?:please |kindly )?|please |kindly )"
    r"(?:say|name|list|find out|find|explain|state|determine|check|describe|give|recommend) "
    r"|(?:do|does|did|would) (?:you|anyone|anybody) (?:happen to )?(?:know|remember|recall) "
    r"|(?:i|we) (?:want|need|like|would like|d like|wish) to know "
    r"|(?:i|we) (?:wonder|am wondering|are wondering|was wondering) "
    r"|(?:any idea|have you any idea|do you have any idea) )?"
)

# Pieces of the forms of wording.
BESIDE = r"(?!(?:of|in|at|on|by|from|with|and|or|to|who|that|which|than|for|near) )[a-z]+"
"""A word that may stand beside a name."""
NAMED = rf"(?:(?:{BESIDE} ){{0,2}}[@#](?: the [a-z]+)?)"
"""A name with up to two words beside it: "the film @", "@ the actor"."""
BE = r"(?:is|are|was|were)"
DO = r"(?:do|does|did)"
HAVE = r"(?:has|have|had)"
AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might"
    r"|must)"
)
"""A verb that a question whether something is so may begin with."""

# "Who of the people reporting to her was …" asks which people report to her.
_PARTITIVE = re.compile(
    r"^(?:who|which(?: ones?)?) of (?:all )?(?:the|those|these) ", re.IGNORECASE
)
_TAG = re.compile(
    r"(?: (?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)(?: not)?"
    r" (?:it|he|she|they|that|there)| right| correct| true)$"
)
_WHETHER = re.compile(
    rf"(?:{AUXILIARY} (?:not )?|(?:is|was) it (?:true|correct|right|so|a fact|the case) (?:that )?"
    r"|true or false |whether (?:or not )?|if (?=.*[@#]))"
)
# "Does she appear in which films?" asks for films.
# German for what is, has, are …
_OTHER_LANGUAGE = re.compile(
    r"was (?:ist|sind|war|waren|hat|haben|macht|heisst|bedeutet|passiert)\b"
)
# "Is it a cat or a dog?" asks which.
_EITHER = re.compile(r" or (?!not\b)")
_ASKS_LATE = re.compile(r" (?:which|what)(?: [a-z]+){1,2}$| (?:whom?|what|where|when|which)$")
_WH = frozenset(("what", "which", "who", "whom", "whose", "where", "when", "why", "how"))

ShapeKind = Literal[
    "path",
    "property",
    "relation",
    "conjunction",
    "count",
    "boolean",
    "comparison",
    "superlative",
    "time",
    "negation",
]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a question asks for.

    Attributes:
        kind: ``path``: the end of a path; ``property``: a value of something; ``relation``: how two
            named things are connected; ``conjunction``: what several named things lead to;
            ``count``: how many; ``boolean``: whether; ``comparison``: which of several has more of
            something, or whether one has; ``superlative``: which of all; ``time``: a path, within a
            time; ``negation``: what is not so.
        core: The question without what the rest of the shape says, where that can be taken out: by
            this paths are ranked. "Which films did she make?" for "How many films did she make
            after 1990?"
        keys: Property keys of the graph that are asked for, or compared, best first.
        of_end: The property is not asked of what is named, but of what a path leads to.
        noun: What is counted, or what is compared, in the words of the question.
        mentions: Ids by mention, in the order of the question: those that are compared, connected
            or asked about. A mention of several ids is ambiguous.
        span: The time that it is limited to, if it is.
        vague: That time is put vaguely ("around 1990").
        larger: With ``keys``, by key: the larger value wins.
        yes_no: A comparison or negation that asks whether.
        negated: The words that are denied or excluded.
        excluded: Ids by mention: what is named only to be left out of the answer.
        of_hop: What is asked of the relationship between the two that are named: "role".
        instead: With ``of_hop``, what is asked where no such relationship tells that.
    """

    kind: ShapeKind
    core: str
    keys: tuple[str, ...] = ()
    of_end: bool = False
    noun: str = ""
    mentions: tuple[tuple[str, ...], ...] = ()
    span: Span | None = None
    vague: bool = False
    larger: tuple[bool, ...] = ()
    yes_no: bool = False
    negated: str = ""
    excluded: tuple[tuple[str, ...], ...] = ()
    of_hop: str = ""
    instead: Shape | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values: the kind, and what it found that is not empty."""
        found: dict[str, Any] = {
            "properties": list(self.keys),
            "of_end": self.of_end,
            "noun": self.noun,
            "mentions": [list(ids) for ids in self.mentions],
            "time": self.span.to_dict() if self.span else None,
            "vague": self.vague,
            "larger": list(self.larger),
            "yes_no": self.yes_no,
            "negated": self.negated,
            "excluded": [list(ids) for ids in self.excluded],
            "of_relationship": self.of_hop,
        }
        return {"kind": self.kind, **{key: value for key, value in found.items() if value}}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question ready to be matched.

    Attributes:
        wording: Without polite words and without the time that it is limited to.
        keys: Property keys of the graph.
        vocabulary: Words of each type, label and key of the graph.
        kinds: Words of each label of the graph.
        groups: Ids by mention, as the wording numbers them.
        base: What is known before any rule is tried.
    """

    wording: Wording
    keys: tuple[str, ...]
    vocabulary: tuple[frozenset[str], ...]
    kinds: frozenset[str]
    groups: tuple[tuple[str, ...], ...]
    base: Shape

    @property
    def text(self) -> str:
        """What rules are matched against."""
        return self.wording.text

    @property
    def untagged(self) -> str:
        """The text without ", isn't it?" and the like."""
        return _TAG.sub("", self.text)

    @property
    def whether(self) -> bool:
        """Whether the question asks whether something is so."""
        opening = _WHETHER.match(self.text)
        if opening and not _OTHER_LANGUAGE.match(self.text):
            rest = self.text[opening.end() - 1 :]
            return not (_ASKS_LATE.search(rest) or _EITHER.search(rest))
        return self.untagged != self.text and self.text.split()[0] not in _WH

    def ids(self, start: int = 0, end: int | None = None) -> tuple[tuple[str, ...], ...]:
        """Give the ids of the mentions between two places in the text, by mention."""
        return tuple(self.groups[number] for number in self.wording.mentions(start, end))


def read_asked(question: str, anchors: Sequence[Anchor], ontology: Ontology) -> Asked:
    """Read a question: its names, the time that it is limited to, and what the graph calls things.

    Args:
        question: In plain language.
        anchors: What it names.
        ontology: Types and property keys of the graph.
    """
    groups: dict[str, list[str]] = {}
    for anchor in anchors:
        groups.setdefault(anchor.mention, []).append(anchor.id)
    wording = read_wording(question, list(groups))
    polite = _POLITE.match(wording.text)
    if polite and polite.end() < len(wording.text):
        rest = wording.between(polite.end())[0].start
        wording = read_wording(question[rest:], list(groups))
    when = asked_span(wording.text)
    base = Shape("path", question)
    if when is not None:
        core = _PARTITIVE.sub(r"which ", wording.without(when.places))
        core = core[:1].upper() + core[1:]
        base = Shape("time", core, span=when.span, vague=when.vague)
        wording = read_wording(core, list(groups))
    keys, vocabulary = _terms(ontology)
    kinds = kind_words(" ".join(relation_phrase(t.name) for t in ontology.entity_types))
    return Asked(wording, keys, vocabulary, kinds, tuple(map(tuple, groups.values())), base)


def _terms(ontology: Ontology) -> tuple[tuple[str, ...], tuple[frozenset[str], ...]]:
    """Give the keys that may be asked for, and the words of everything that has a name."""
    keys = {key for type_ in ontology.entity_types for key in type_.properties} - _NEVER_ASKED
    names = {t.name for t in ontology.relation_types} | {t.name for t in ontology.entity_types}
    terms = (stems(relation_phrase(name)) - _SMALL for name in sorted(names | keys))
    return tuple(sorted(keys)), tuple(term for term in terms if term)
