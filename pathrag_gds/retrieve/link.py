"""Link the words of a question to entities: longest names first. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pathrag_gds.text import fold, words
from pathrag_gds.types import Anchor

__all__ = ["STOP_WORDS", "Mention", "choose_anchors", "content_terms", "mentions", "phrase_query"]

MAX_WORDS = 256
MAX_NAME_WORDS = 12
_EDGE = "\"'`.,;:!?()[]{}<>«»“”‘’„…¿¡*"
_OPENING = frozenset("\"'“‘«„[")
_CLOSING = frozenset("\"'”’»“]")
_POSSESSIVE = re.compile(r"(?:['’]s|['’])$")

# Words that carry no content of their own in a question. A name made of them alone ("It") counts
# as a mention only where the question marks it as a name.
_STOP_WORDS = """
    a about after all am an and any are as at be been before being between both but by can could
    did do does done each every for from had has have having he her him his how i if in into is it
    its itself just many me more most much my no nor not of off on once one only or other our out
    over own please same she should so some such tell than that the their them then there these
    they this those through to too under until up us very was we were what when where which while
    who whom whose why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Mention:
    """A run of words of the question that may be a name.

    Attributes:
        start: Index of its first word.
        end: Index after its last word.
        keys: Folded forms to look up: as written, and without a possessive ending.
        marked: The question marks it as a name: a capital inside the sentence, or quotes.
    """

    start: int
    end: int
    keys: tuple[str, ...]
    marked: bool


def mentions(question: str) -> tuple[Mention, ...]:
    """List every run of up to twelve words that could be a name, longest first, then leftmost.

    Only the first 256 words are looked at. An empty question gives none.
    """
    raw = question.replace("_", " ").split()[:MAX_WORDS]
    folded = [fold(word) for word in raw]
    found = []
    for length in range(min(MAX_NAME_WORDS, len(raw)), 0, -1):
        for start in range(len(raw) - length + 1):
            end = start + length
            whole = " ".join(folded[start:end])
            bare = whole.strip(_EDGE + " ")
            # Once more: in "[Bob]'s" the bracket is not at the end.
            owner = _POSSESSIVE.sub("", bare).strip(_EDGE + " ")
            keys = tuple(dict.fromkeys(k for k in (whole, bare, owner) if bare))
            if keys:
                found.append(Mention(start, end, keys, _marked(raw, start, end)))
    return tuple(found)


def _marked(raw: Sequence[str], start: int, end: int) -> bool:
    first, last = raw[start], raw[end - 1].rstrip(".,;:?!")
    closed = any(word[-1:] in _CLOSING for word in (last, _POSSESSIVE.sub("", last)))
    quoted = first[:1] in _OPENING and closed
    capital = start > 0 and first.strip(_EDGE)[:1].isupper()
    return bool(first) and (quoted or capital)


def choose_anchors(
    found: Iterable[Mention], entities: Mapping[str, Sequence[tuple[str, str]]]
) -> tuple[Anchor, ...]:
    """Choose which mentions count: the longest first, none inside or across a chosen one.

    Args:
        found: Mentions, longest first.
        entities: By key, the (id, name) pairs of the entities called so.

    Returns:
        Anchors in the order of the question, then by id. All entities of an ambiguous name are
        kept. A name of stop words alone counts only where the question marks it.
    """
    taken: set[int] = set()
    chosen: list[tuple[int, Anchor]] = []
    for mention in found:
        span = range(mention.start, mention.end)
        if taken.intersection(span):
            continue
        key = next((k for k in mention.keys if k in entities), None)
        if key is None or (set(words(key)) <= STOP_WORDS and not mention.marked):
            continue
        taken.update(span)
        chosen += [
            (mention.start, Anchor(id_, name, key, 1.0)) for id_, name in sorted(entities[key])
        ]
    unique: dict[str, Anchor] = {}
    for _, anchor in sorted(chosen, key=lambda pair: (pair[0], pair[1].id)):
        unique.setdefault(anchor.id, anchor)
    return tuple(unique.values())


def content_terms(question: str) -> tuple[str, ...]:
    """List the distinct folded words of the question in order, stop words left out.

    A question of stop words alone gives them all, so that "Who is it?" still finds something.
    """
    distinct = tuple(dict.fromkeys(words(question)[:MAX_WORDS]))
    return tuple(w for w in distinct if w not in STOP_WORDS) or distinct


def phrase_query(field: str, keys: Iterable[str]) -> str:
    """Write a Lucene query for any of the keys as a phrase in a field; empty for no keys.

    Inside quotes only the quote and the backslash have a meaning of their own.
    """
    phrases = [
        '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"' for key in keys if words(key)
    ]
    return " OR ".join(f"{field}:{phrase}" for phrase in phrases)
