"""Terms of a path's score that come from the question's words alone, without a model. Pure.

Both count *roots*: words without small words and without their commonest English endings, so that
"directed" and "director" are one. Words of names that the question was linked by count in neither:
every path from there has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pathrag_gds.graph.schema import Ontology, RelationType
from pathrag_gds.retrieve.intent import stems
from pathrag_gds.retrieve.link import STOP_WORDS
from pathrag_gds.retrieve.serialize import relation_phrase
from pathrag_gds.retrieve.wording import NAME, read_wording
from pathrag_gds.text import fold

__all__ = ["WordTerms", "roots", "word_terms"]

# Words that ask, beside those that carry no content anywhere.
_ASKING_WORDS = "find give list name show want"
_SMALL = STOP_WORDS | frozenset(_ASKING_WORDS.split())
_ENDING = re.compile(r"(?:ings?|ed|er|or|ion|en|e)$")
_DOUBLED = re.compile(r"([bdfgklmnprt])\1$")
_LEAST_ROOT = 3
_POSSESSIVE = "'s"


def roots(text: str) -> frozenset[str]:
    """Give the roots of the content words of a text: ``"the films she directed"`` → film, direct.

    An ending is taken off where three letters are left. Words of other languages stay as they are
    but for what looks like such an ending, the same in the question and in the graph.
    """
    return frozenset(_root(word) for word in stems(fold(text)) if word not in _SMALL)


def _root(word: str) -> str:
    bare = _ENDING.sub("", word)
    if len(bare) < _LEAST_ROOT:
        return word
    # "movies" has lost its plural as "movy", "movie" its ending as "movi".
    return re.sub(r"y$", "i", _DOUBLED.sub(r"\1", bare))


@dataclass(frozen=True, slots=True)
class WordTerms:
    """What the words of one question ask for.

    Attributes:
        asked: Roots of the question's words, those of linked names left out.
        prior: How much of each relationship type's wording the question has, from 0 to 1; types of
            which it has nothing are left out.
    """

    asked: frozenset[str] = frozenset()
    prior: Mapping[str, float] = field(default_factory=dict)

    def coverage(self, text: str) -> float:
        """Give the share of what is asked that a text has: ``|asked ∩ text| / |asked|``.

        From 0 to 1, rounded to 6 decimals; 0 where nothing but names and small words is asked.
        """
        if not self.asked:
            return 0.0
        return round(len(self.asked & roots(text)) / len(self.asked), 6)

    def relation_prior(self, types: Sequence[str]) -> float:
        """Give the mean of ``prior`` over the relationship types of a path, one for each hop.

        From 0 to 1, rounded to 6 decimals; 0 for a path of no hop.
        """
        if not types:
            return 0.0
        return round(sum(self.prior.get(type_, 0.0) for type_ in types) / len(types), 6)


def word_terms(question: str, mentions: Iterable[str], ontology: Ontology) -> WordTerms:
    """Read a question against the wording of the live graph's types.

    A type's prior is that of its best wording: of its name, its phrase and its inverse the one of
    which the question has the largest share, ``|asked ∩ wording| / |wording|``.

    Args:
        mentions: What of the question was linked, folded.
    """
    units = read_wording(question, tuple(mentions)).units
    # A name that the graph does not have is asked for like any other word.
    told = [question[u.start : u.end] for u in units if u.text not in (NAME, _POSSESSIVE)]
    asked = roots(" ".join(told))
    prior = {type_.name: _prior(type_, asked) for type_ in ontology.relation_types}
    return WordTerms(asked, {name: share for name, share in prior.items() if share})


def _prior(type_: RelationType, asked: frozenset[str]) -> float:
    wordings = (relation_phrase(type_.name), type_.phrase, type_.inverse)
    shares = [len(words & asked) / len(words) for words in map(_wording, wordings) if words]
    return round(max(shares, default=0.0), 6)


# The wording of a graph's types is the same for every question.
@lru_cache(maxsize=16384)
def _wording(text: str) -> frozenset[str]:
    return roots(text)
