"""Read the wording of a question apart from the names in it. Pure.

Words of a name never say what is asked: in "Who directed The Last Samurai?" nothing is last. So
each name becomes one sign, and rules about wording are written against what is left::

    Is Bob's cat older than Anna?   →   is @ 's cat older than @
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pathrag_gds.retrieve.when import MONTHS
from pathrag_gds.text import fold, words

__all__ = ["NAME", "OTHER", "Unit", "Wording", "read_wording"]

NAME = "@"
"""Stands for a mention that was linked to the graph."""
OTHER = "#"
"""Stands for what is written like a name and was not linked."""

_TOKEN = re.compile(r"[^\W_]+", re.UNICODE)
_QUOTED = re.compile(r"\"[^\"]+\"|“[^”]+”|«[^»]+»|„[^“”]+[“”]|\[[^\]]+\]")
_APOSTROPHES = "'’"
# What a question opens with; its capital says nothing.
_OPENER_WORDS = """
    a about after all among an and any are as at before between by can compare could count did do
    does during each every except excluding find for from give had has have how if in into is it
    list may might name of on or out over please shall should show since tell than that the there
    these this those to under until was were what when where whether which who whom whose why will
    with without would
"""
_OPENERS = frozenset(_OPENER_WORDS.split())
# Small words that stand inside names: "Lord of the Rings".
_INSIDE_NAME_WORDS = "a an at by de der for in la of on the to van von with"
_INSIDE_NAMES = frozenset(_INSIDE_NAME_WORDS.split())
_CONTRACTED = {"ca": "can", "wo": "will", "sha": "shall"}
# Written without their apostrophe.
_BARE_NEGATION_WORDS = """
    arent cant couldnt didnt doesnt dont hasnt havent isnt shouldnt wasnt werent wont
"""
_BARE_NEGATIONS = frozenset(_BARE_NEGATION_WORDS.split())
_BEFORE_IS_WORDS = "how it that there what when where which who why"
_BEFORE_IS = frozenset(_BEFORE_IS_WORDS.split())


@dataclass(frozen=True, slots=True)
class Unit:
    """A word of the question, folded, or a name.

    Attributes:
        text: The word, ``@`` for a linked name, ``#`` for another, ``'s`` for a possessive.
        start: Where it begins in the question.
        end: Where it ends.
        mention: Of a linked name, which of the mentions it is; else -1.
    """

    text: str
    start: int
    end: int
    mention: int = -1


@dataclass(frozen=True, slots=True)
class Wording:
    """A question as words and names.

    Attributes:
        question: As it was asked.
        units: In order.
        text: Their texts with one space between; what rules are matched against.
    """

    question: str
    units: tuple[Unit, ...]
    text: str

    def mentions(self, start: int = 0, end: int | None = None) -> tuple[int, ...]:
        """Give the distinct linked mentions between two places in ``text``, in order."""
        found = (u.mention for u in self.between(start, end) if u.mention >= 0)
        return tuple(dict.fromkeys(found))

    def between(self, start: int = 0, end: int | None = None) -> tuple[Unit, ...]:
        """Give the units between two places in ``text`` at which a unit begins or ends."""
        first = self.text[:start].count(" ")
        part = self.text[start:end].strip()
        return self.units[first : first + part.count(" ") + 1] if part else ()

    def original(self, start: int, end: int) -> str:
        """Give what was asked between two places in ``text``, as it was written."""
        units = self.between(start, end)
        return self.question[units[0].start : units[-1].end] if units else ""

    def without(self, places: Sequence[tuple[int, int]]) -> str:
        """Give the question without what stands at some places in ``text``, which are in order."""
        left = self.question
        for start, end in reversed(places):
            units = self.between(start, end)
            before = left[: units[0].start].rstrip(" ,;")
            after = left[units[-1].end :].lstrip(" ,;")
            left = f"{before} {after}".strip() if after[:1].isalnum() else before + after
        return left


def read_wording(question: str, mentions: Sequence[str]) -> Wording:
    """Tell names from words.

    A name is a linked mention; what stands in quotes or brackets; and a capital inside a sentence,
    with the capitals that follow it. Where all words begin with a capital, capitals say nothing.

    Args:
        mentions: Linked mentions, folded, in any order; a longer one goes before a shorter one.
    """
    tokens = [(fold(m[0]), m.start(), m.end()) for m in _TOKEN.finditer(question)]
    owner = _linked([text for text, _, _ in tokens], mentions)
    other = _other_names(question, tokens, owner)
    units: list[Unit] = []
    for at, (text, start, end) in enumerate(tokens):
        name = owner[at] if owner[at] is not None else (-1, other[at]) if other[at] else None
        if name is not None:
            again = at and (owner[at - 1] or (other[at - 1] and (-1, other[at - 1]))) == name
            if again:
                units[-1] = Unit(units[-1].text, units[-1].start, end, units[-1].mention)
            else:
                units.append(Unit(NAME if name[0] >= 0 else OTHER, start, end, name[0]))
        else:
            units += _spelled_out(question, text, start, end, units)
    return Wording(question, tuple(units), " ".join(unit.text for unit in units))


def _spelled_out(
    question: str, text: str, start: int, end: int, before: list[Unit]
) -> tuple[Unit, ...]:
    """Undo contractions; may change the last unit before."""
    contracted = start > 0 and question[start - 1] in _APOSTROPHES and before
    if contracted and before[-1].end == start - 1:
        last = before[-1]
        if text == "t" and last.text.endswith("n"):
            stem = last.text[:-1]
            if last.text == "can":
                stem = "can"
            before[-1] = Unit(_CONTRACTED.get(stem, stem), last.start, last.end)
            return (Unit("not", start, end),)
        if text == "s":
            return (Unit("is" if last.text in _BEFORE_IS else "'s", start, end),)
    if text in _BARE_NEGATIONS:
        stem = text[:-2].removesuffix("n") if text != "cant" else "can"
        return (Unit(_CONTRACTED.get(stem, stem), start, end), Unit("not", end, end))
    return (Unit(text, start, end),)


def _linked(tokens: Sequence[str], mentions: Sequence[str]) -> list[tuple[int, int] | None]:
    """Give by token the mention that it belongs to and where that begins."""
    owner: list[tuple[int, int] | None] = [None] * len(tokens)
    named = [(number, words(mention)) for number, mention in enumerate(mentions)]
    for number, parts in sorted(named, key=lambda item: -len(item[1])):
        for at in range(len(tokens) - len(parts) + 1 if parts else 0):
            span = slice(at, at + len(parts))
            if tokens[span] == parts and not any(owner[span]):
                owner[span] = [(number, at)] * len(parts)
    return owner


def _other_names(
    question: str,
    tokens: Sequence[tuple[str, int, int]],
    owner: Sequence[tuple[int, int] | None],
) -> list[int]:
    """Give by token the number of the unlinked name that it belongs to, from 1; 0 for a word."""
    names = [0] * len(tokens)
    quoted = [match.span() for match in _QUOTED.finditer(question)]
    for number, (first, last) in enumerate(quoted, 1):
        for at, (_, start, end) in enumerate(tokens):
            if owner[at] is None and first <= start and end <= last:
                names[at] = number
    free = [at for at in range(len(tokens)) if owner[at] is None and not names[at]]
    capital = {
        at
        for at in free
        if question[tokens[at][1]].isupper() and tokens[at][0] != "i" and not _is_month(tokens, at)
    }
    if len(capital) == len(free) and len(free) > 2:
        return names
    number = len(quoted)
    for at in sorted(capital):
        opens = at == 0 or question[tokens[at - 1][2] : tokens[at][1]].strip() in (".", "?", "!")
        if opens and (tokens[at][0] in _OPENERS or at + 1 not in capital):
            continue
        back = at - 1
        while back in free and tokens[back][0] in _INSIDE_NAMES and not names[back]:
            back -= 1
        if back >= 0 and names[back] > len(quoted):
            for inside in range(back + 1, at + 1):
                names[inside] = names[back]
        else:
            number += 1
            names[at] = number
    return names


def _is_month(tokens: Sequence[tuple[str, int, int]], at: int) -> bool:
    beside = [tokens[n][0] for n in (at - 1, at + 1, at + 2) if 0 <= n < len(tokens)]
    return tokens[at][0] in MONTHS and any(text[0].isdigit() for text in beside)
