"""Point at a node by what its description tells instead of by its name. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from random import Random

__all__ = ["fragment", "is_clause", "pointing"]

_LEAST_TOLD = 5
_LEAST_WORDS = 4
_MOST_WORDS = 14
_BREAK = re.compile(r"[.;!?](?=\s|$)|, ")
_PUNCTUATION = re.compile(r"\W.*")
_COPULAS = frozenset({"is", "was", "are", "were"})
_ARTICLES = frozenset({"a", "an", "the"})
_RELATIVES = frozenset({"who", "that", "which", "whose", "known"})
# A relative word that comes later belongs to another noun.
_EARLY = 6
# A cut after one of these leaves a phrase without its end.
_OPEN = frozenset(
    {"a", "an", "the", "of", "in", "on", "at", "to", "and", "or", "but", "with", "by", "for"}
    | {"from", "into", "over", "as", "that", "which", "who", "whose", "his", "her", "its"}
    | {"their", "is", "was", "are", "were"}
)
_CLAUSE_FORMS: tuple[str, ...] = (
    "the {label}{named} where {told}",
    "the {label}{named} in which {told}",
    "the {label}{named} described as {told}",
)
_NOUN_FORMS = ("the {label}{named} described as {told}", "the {label}{named} that is {told}")
# "a beam gave way", or "a bridge of steel": without a grammar nobody knows.
_UNCLEAR_FORMS = (*_NOUN_FORMS[:1], *_NOUN_FORMS[:1], *_CLAUSE_FORMS[:1])
_PREDICATE_FORMS = ("the {label}{named} that {told}", "the {label}{named} which {told}")


def fragment(description: str, name: str = "", names: Collection[str] = ()) -> str:
    """Take the beginning of a description as somebody would put it into a question.

    ``"The cat knocked a vase off the shelf, and fled."`` gives ``"the cat knocked a vase off the
    shelf"``: the first clause of 4 words at least, cut after 14. A beginning like ``"Heat is a"``
    loses the node's own name.

    Args:
        name: Of the node that is described.
        names: Of nodes near it; a first word that is in one of them keeps its capital, unless it is
            an article.

    Returns:
        The fragment; empty where the description has fewer than 5 words, or the fragment 4.
    """
    text = " ".join(description.split())
    if len(text.split()) < _LEAST_TOLD:
        return ""
    for found in _BREAK.finditer(text):
        if len(text[: found.start()].split()) >= _LEAST_WORDS:
            text = text[: found.start()]
            break
    own = name.split()
    words = text.split()
    if own and words[: len(own)] == own and not _COPULAS.isdisjoint(words[len(own) :][:1]):
        words = words[len(own) :]
    cut = words[_MOST_WORDS:]
    words = words[:_MOST_WORDS]
    while cut and words and words[-1].lower() in _OPEN:
        words.pop()
    if len(words) < _LEAST_WORDS:
        return ""
    return " ".join([_lowered(words[0], names), *words[1:]]).rstrip(".,;:!?")


def _lowered(word: str, names: Collection[str]) -> str:
    bare = _PUNCTUATION.sub("", word)
    # "I'm", "NASA", "McGregor"
    if bare == "I" or (bare[1:] and not bare[1:].islower()):
        return word
    if bare.lower() not in _ARTICLES and any(bare in name.split() for name in names):
        return word
    return word.lower()


def is_clause(told: str) -> bool:
    """Say whether a fragment tells what happened, so that it can follow ``when``.

    ``"is a grey cat"`` does not, nor does ``"a grey cat that sleeps all day"``; what begins with
    ``a`` could be either, and counts as not.
    """
    return not (_is_predicate(told) or _is_noun(told) or _is_unclear(told))


def _is_predicate(told: str) -> bool:
    return told.split()[0] in _COPULAS


def _is_noun(told: str) -> bool:
    words = told.split()
    return words[0] in _ARTICLES and not _RELATIVES.isdisjoint(words[2:_EARLY])


def _is_unclear(told: str) -> bool:
    return told.split()[0] in ("a", "an")


def pointing(told: str, label: str, named: str, random: Random) -> str:
    """Make a noun phrase of a fragment: ``"the incident with Tom where the cat knocked a vase"``.

    Args:
        told: What :func:`fragment` gave, not empty.
        label: What kind of thing it tells of, in lower case words.
        named: Name of a neighbour to mention; empty for none.
    """
    forms = _CLAUSE_FORMS
    if _is_predicate(told):
        forms = _PREDICATE_FORMS
    elif _is_noun(told):
        forms = _NOUN_FORMS if named else (*_NOUN_FORMS, "the {rest}")
    elif _is_unclear(told):
        forms = _UNCLEAR_FORMS
    form = forms[random.randrange(len(forms))]
    return form.format(
        label=label,
        named=f" with {named}" if named else "",
        told=told,
        rest=told.partition(" ")[2],
    )
