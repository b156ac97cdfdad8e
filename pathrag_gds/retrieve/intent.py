"""What kind of thing a question asks for, by its words alone. Pure."""

from __future__ import annotations

import re

from pathrag_gds.retrieve.serialize import relation_phrase
from pathrag_gds.types import Entity

__all__ = ["asked_type", "stems", "type_text"]

_WORD = re.compile(r"[^\W_]+(?:['’]s\b)?")
_VERB_WORDS = """
    is are was were be been did do does has have had can could will would shall should may might
    must got gets get
"""
_VERBS = frozenset(_VERB_WORDS.split())
_PREPOSITION_WORDS = """
    of in on at by for with from to into under over that where which who whose when after before
    while during since and or
"""
_PREPOSITIONS = frozenset(_PREPOSITION_WORDS.split())
_ARTICLES = frozenset({"the", "a", "an"})
# Words of a noun phrase before its noun is taken to have been passed.
_LONGEST = 4
# A property with such a word in its key says what kind of thing its node is.
_KIND_KEY = re.compile(
    r"(?:^|_)(?:type|kind|category|class|species|genre|role|profession|occupation|job|function)$"
)
_MOST_WORDS = 3


def asked_type(question: str) -> str:
    """Name the kind of thing that a question asks for; empty where its words do not tell.

    ``"In which town did they meet?"`` gives ``"town"``, ``"Which of Anna's trains was late?"``
    ``"trains"``, ``"What is the home station of the train?"`` ``"home station"``. Who and where
    name none: cats and companies act, too, and things are where other things are.
    """
    words = [word.lower() for word in _WORD.findall(question)]
    for at, word in enumerate(words):
        if word in ("who", "whom", "whose", "where", "when", "why", "how"):
            return ""
        if word in ("which", "what"):
            return _noun_phrase(words[at + 1 :])
    return ""


def _noun_phrase(words: list[str]) -> str:
    if words and words[0] == "of":
        owners = [n for n, word in enumerate(words) if word.endswith(("'s", "’s"))]
        words = words[owners[0] + 1 :] if owners else []
    elif words and words[0] in _VERBS:
        # "What is the home station of …" names it; "What did she mend" does not.
        words = words[2:] if words[1:2] and words[1] in _ARTICLES else []
        if not any(word in _PREPOSITIONS for word in words[1 : _LONGEST + 1]):
            return ""
    phrase: list[str] = []
    for word in words[:_LONGEST]:
        if word in _VERBS or word in _PREPOSITIONS:
            return " ".join(phrase)
        phrase.append(word)
    # No verb that we know follows: the noun comes first, as in "which town saw them".
    return phrase[0] if phrase else ""


def type_text(entity: Entity) -> str:
    """Say what kind of thing an entity is: its labels, and properties that name a kind.

    ``"place town"`` for the label ``Place`` and ``location_type: town``; empty without either.
    """
    labels = [relation_phrase(label) for label in entity.labels]
    values = [
        value.strip().lower()
        for key, value in sorted(entity.properties.items())
        if isinstance(value, str)
        and _KIND_KEY.search(relation_phrase(key).replace(" ", "_"))
        and 0 < len(value.split()) <= _MOST_WORDS
    ]
    return " ".join(dict.fromkeys(part for part in (*labels, *values) if part))


def stems(text: str) -> frozenset[str]:
    """Give the words of a text without the ending of a regular plural."""
    return frozenset(_stem(word) for word in _WORD.findall(text.lower()))


def _stem(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        return word[:-1]
    return word
