"""Whether a noun and a graph's own word mean the same kind of thing. Pure.

A question says "films", a graph has the label ``Movie``; "people" are of the label ``Person``, and
"reviewers" are those who ``REVIEWED``.
"""

from __future__ import annotations

import re

from pathrag_gds.retrieve.intent import stems

__all__ = ["does_it", "fits", "kind_words", "root"]

# Singulars that no ending gives away, by the plural or by what stems make of it.
_PLURALS = {
    "movy": "movie",
    "sery": "series",
    "specy": "species",
    "cooky": "cookie",
    "people": "person",
    "men": "man",
    "women": "woman",
    "children": "child",
    "wives": "wife",
    "knives": "knife",
    "wolves": "wolf",
    "mice": "mouse",
    "geese": "goose",
    "feet": "foot",
    "teeth": "tooth",
}
# What is left of "branches", "boxes" without the s.
_PLURAL_E = re.compile(r"(?<=ch|sh|ss)e$|(?<=x)e$")
# Words for one kind of thing in a line; the first stands for all.
_SAME = """
film movie picture feature
person human individual
firm company business corporation enterprise
organisation organization
town city municipality
country nation
supplier vendor
customer client
product item article good
employee worker colleague
job occupation profession
song track
ship vessel boat
shop store
harbour harbor port
animal pet beast
teacher instructor
doctor physician
"""
# Kinds of a kind: who asks for people is content with employees, not the other way round.
_PERSON_WORDS = """
    actor actress artist author boy child citizen director doctor employee girl guest inhabitant man
    manager member musician player politician resident scientist singer student teacher user woman
    writer
"""
_AMONG = {"person": frozenset(_PERSON_WORDS.split())}
_KIND = {word: line.split()[0] for line in _SAME.strip().splitlines() for word in line.split()}

# Forms of verbs whose ending is not -ed, by what is left of their base.
_IRREGULAR = {
    "wrote": "write",
    "written": "write",
    "sold": "sell",
    "bought": "buy",
    "made": "make",
    "built": "build",
    "led": "lead",
    "taught": "teach",
    "held": "hold",
    "won": "win",
    "drove": "drive",
    "driven": "drive",
    "sang": "sing",
    "sung": "sing",
    "ran": "run",
    "kept": "keep",
    "found": "find",
    "met": "meet",
}


def root(word: str) -> str:
    """Bring the forms of a verb to one: directed, directs, directing → direct; sold → sel."""
    word = _IRREGULAR.get(word, word)
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word.removesuffix("e")


def kind_words(text: str) -> frozenset[str]:
    """Give the words of a text, each as the one that stands for its kind.

    ``"motion pictures"`` gives ``{"motion", "film"}``; empty for empty text.
    """
    single = (_PLURALS.get(word, _PLURAL_E.sub("", word)) for word in stems(text))
    return frozenset(_KIND.get(word, word) for word in single)


def fits(noun: str, kind: str) -> bool:
    """Whether a noun names a kind of thing, by any of its words: "people" and "person"."""
    asked = kind_words(noun)
    wider = asked.union(*(_AMONG.get(word, ()) for word in asked))
    return not wider.isdisjoint(kind_words(kind))


def does_it(noun: str, verb: str) -> bool:
    """Whether a noun names those who do something: "reviewers" and "reviewed".

    Args:
        verb: One word, in any form.
    """
    return any(
        word.endswith(("er", "or")) and root(word[:-2]) == root(verb)
        for word in kind_words(noun)
        if len(word) > 4
    )
