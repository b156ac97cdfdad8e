"""Link the words of a question to entities: longest names first. Pure.

Exact names and aliases come first, then the same however punctuated, then a name without its
article or the brackets behind it; last, where none of these covers a word, names of which a word of
six letters or more differs by one edit. The longest mention wins, and none counts inside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pathrag_gds.text import EXACT, WITHOUT_ARTICLE, fold, loosened, words
from pathrag_gds.types import Anchor

__all__ = [
    "MAX_SAME_NAME",
    "NEAR",
    "STOP_WORDS",
    "Links",
    "Mention",
    "choose_anchors",
    "content_terms",
    "link",
    "mentions",
    "near_mentions",
    "near_query",
    "one_edit",
    "phrase_query",
]

MAX_WORDS = 256
MAX_NAME_WORDS = 12
# So many entities of one name are kept; which of them is meant, the paths decide.
MAX_SAME_NAME = 50
# How surely a name one letter apart is meant.
NEAR = 0.8
# Shorter words become another word by one letter too easily ("Bob", "Rob").
SHORTEST_MISSPELT = 6
MAX_NEAR_WORDS = 6
MAX_NEAR = 20
_EDGE = "\"'`.,;:!?()[]{}<>«»“”‘’„…¿¡*「」『』《》〈〉【】（）、。・！？：；"
_ENDING = frozenset(".,;:?!？！。")
_OPENING = frozenset("\"'“‘«„[「『《〈【")
_CLOSING = frozenset("\"'”’»“]」』》〉】")
_POSSESSIVE = re.compile(r"(?:['’]s|['’])$")
# Scripts that write no space between words, or whose endings grow onto names: each character may
# begin or end a name (Thai, Lao, Burmese, Khmer, Hiragana, Han, Hangul, and their punctuation).
# A run of Katakana is one word: a name inside it is another word.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3001-\u303f\u3040-\u309f\u30fb\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff0f\uff1a-\uff20"
)
_KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[{_KATAKANA}]+|[^\s{_UNSPACED}{_KATAKANA}]+")
_UNSPACED_LETTER = re.compile(rf"[{_UNSPACED}]")

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

Named = Mapping[str, Sequence[tuple[str, str]]]
"""By key, the (id, name) pairs of the entities called so."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A run of words of the question that may be a name.

    Attributes:
        start: Index of its first word.
        end: Index after its last word.
        keys: Folded forms to look up: as written, and without a possessive ending.
        marked: The question marks it as a name: a capital inside the sentence, or quotes.
        loose: Further forms to look up: loosened, the one without a possessive ending first; and
            without the mark that ends the sentence.
    """

    start: int
    end: int
    keys: tuple[str, ...]
    marked: bool
    loose: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Links:
    """Anchors, and what the reader of the result should know of them.

    Attributes:
        anchors: In the order of the question, then by id.
        warnings: Names that too many share, and names that were not written exactly.
    """

    anchors: tuple[Anchor, ...]
    warnings: tuple[str, ...] = ()


@lru_cache(maxsize=16)
def mentions(question: str) -> tuple[Mention, ...]:
    """List every run of up to twelve words that could be a name, longest first, then leftmost.

    Where a script sets no spaces a word is a character, so that a name inside running text is
    found; a single one is no name. Only the first 256 words are looked at. An empty question gives
    none.
    """
    text = question.replace("_", " ")
    spans = [found.span() for found in _TOKEN.finditer(text)][:MAX_WORDS]
    raw = [text[start:end] for start, end in spans]
    shouted = text == text.upper()
    found = []
    for length in range(min(MAX_NAME_WORDS, len(raw)), 0, -1):
        for start in range(len(raw) - length + 1):
            end = start + length
            written = text[spans[start][0] : spans[end - 1][1]]
            if len(written) == 1 and _UNSPACED_LETTER.match(written):
                continue
            whole = fold(written)
            bare = whole.strip(_EDGE + " ")
            # Once more: in "[Bob]'s" the bracket is not at the end.
            owner = _POSSESSIVE.sub("", bare).strip(_EDGE + " ")
            keys = tuple(dict.fromkeys(k for k in (whole, bare, owner) if bare))
            if keys:
                marked = _marked(raw, start, end, shouted=shouted)
                found.append(Mention(start, end, keys, marked, _loose(written)))
    return tuple(found)


def _loose(written: str) -> tuple[str, ...]:
    bare = written.strip(_EDGE + " ")
    owner = _POSSESSIVE.sub("", bare).strip(_EDGE + " ")
    # The mark that ends the sentence is not the one that ends the name: "U.S.?", "Heat (1995)?".
    ended = fold(written[:-1]) if bare and written[-1] in _ENDING else ""
    forms = (*loosened(owner), *loosened(bare), ended)
    return tuple(dict.fromkeys(form for form in forms if form))


def _marked(raw: Sequence[str], start: int, end: int, *, shouted: bool) -> bool:
    first, last = raw[start], raw[end - 1].rstrip(".,;:?!")
    closed = any(word[-1:] in _CLOSING for word in (last, _POSSESSIVE.sub("", last)))
    quoted = first[:1] in _OPENING and closed
    capital = start > 0 and not shouted and first.strip(_EDGE)[:1].isupper()
    return bool(first) and (quoted or capital)


def near_mentions(
    found: Iterable[Mention], known: Callable[[str], bool] | None
) -> tuple[Mention, ...]:
    """List the mentions that may be a name with a slip of the pen, at most twenty, shortest first.

    They have up to six words of letters alone, no stop word at their ends, and one of five letters
    or more that is no known word: a word that everybody writes so is meant as it stands.

    Args:
        found: All mentions of the question.
        known: Whether a word is one; None where nothing tells, which gives none.
    """
    if known is None:
        return ()
    doubtful: dict[str, bool] = {}
    chosen: dict[str, Mention] = {}
    for mention in sorted(found, key=lambda m: (m.end - m.start, m.start)):
        told = mention.loose[0].split() if mention.loose else []
        if not told or len(told) > MAX_NEAR_WORDS or not all(word.isalpha() for word in told):
            continue
        if told[0] in STOP_WORDS or told[-1] in STOP_WORDS:
            continue
        for word in told:
            if word not in doubtful:
                doubtful[word] = len(word) >= SHORTEST_MISSPELT - 1 and not known(word)
        if any(doubtful[word] for word in told):
            chosen.setdefault(mention.loose[0], mention)
    return tuple(chosen.values())[:MAX_NEAR]


def one_edit(asked: str, form: str, *, plural: bool = True) -> tuple[int, int] | None:
    """Say which words of the question differ from a name by one edit, all others being equal.

    An edit is a letter too many, too few, another, or two that changed places, in a word that has
    six letters or more in the name; or a space between two words of at least three.

    Args:
        asked: Words of the question, loosened.
        form: Of a name, loosened.
        plural: An ``s`` at the end of a word counts as an edit, too.

    Returns:
        Index of the first and after the last of them; None where the two are equal or further
        apart.
    """
    ours, theirs = asked.split(), form.split()
    if len(ours) == len(theirs):
        differing = [n for n, pair in enumerate(zip(ours, theirs, strict=True)) if len({*pair}) > 1]
        if len(differing) != 1:
            return None
        (at,) = differing
        word, other = ours[at], theirs[at]
        if len(other) < SHORTEST_MISSPELT or not (word.isalpha() and other.isalpha()):
            return None
        if not plural and other in (word + "s", word.removesuffix("s")):
            return None
        return (at, at + 1) if _one_letter_apart(word, other) else None
    if abs(len(ours) - len(theirs)) != 1 or "".join(ours) != "".join(theirs):
        return None
    fewer, more = sorted((ours, theirs), key=len)
    at = next(n for n, word in enumerate(fewer) if word != more[n])
    parts = more[at : at + 2]
    if fewer[at] != "".join(parts) or len(fewer[at]) < SHORTEST_MISSPELT:
        return None
    if min(map(len, parts)) < 3 or not STOP_WORDS.isdisjoint(parts):
        return None
    return (at, at + (1 if fewer is ours else 2))


def _one_letter_apart(word: str, other: str) -> bool:
    if word == other or abs(len(word) - len(other)) > 1:
        return False
    short, long = sorted((word, other), key=len)
    at = next((n for n, letter in enumerate(short) if letter != long[n]), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    swapped = short[at : at + 2] == long[at : at + 2][::-1]
    return short[at + 1 :] == long[at + 1 :] or (swapped and short[at + 2 :] == long[at + 2 :])


Scored = Mapping[str, Mapping[str, tuple[str, float]]]
"""By form, then by id: the entity's name, and how surely the form means it."""


def choose_anchors(found: Iterable[Mention], entities: Named) -> tuple[Anchor, ...]:
    """Choose which mentions count, where names are looked up exactly.

    Args:
        found: Mentions, longest first.
        entities: By key.

    Returns:
        The anchors of :func:`link`.
    """
    scored = {key: {id_: (name, EXACT) for id_, name in pairs} for key, pairs in entities.items()}
    return link(found, scored).anchors


def link(
    found: Sequence[Mention] | Iterable[Mention],
    entities: Scored,
    near: Scored | None = None,
    known: Callable[[str], bool] | None = None,
) -> Links:
    """Choose which mentions count: the longest first, none inside or across a chosen one.

    A name of stop words alone counts only where the question marks it; one plain word that lost
    its article ("matrix") where it is marked or no known word. Of the entities that a mention may
    mean the surest are kept, up to fifty of them by id. Names one edit apart come last, and only
    for words that no name has; a name that lies inside theirs stays beside them.

    Args:
        found: Mentions, longest first.
        entities: By the keys and loose forms of the mentions.
        near: By loosened form, entities that a mention may mean with one edit.
        known: Whether a word is one; None where nothing tells: then no edit is forgiven.

    Returns:
        Anchors in the order of the question, then by id, each entity once; and warnings.
    """
    listed = tuple(found)
    linker = _Linker(entities, known)
    for mention in listed:
        linker.take(mention)
    if near:
        by_length = sorted(near_mentions(listed, known), key=lambda m: (m.start - m.end, m.start))
        for mention in by_length:
            linker.take_near(mention, near)
    unique: dict[str, Anchor] = {}
    for _, anchor in sorted(linker.chosen, key=lambda pair: (pair[0], pair[1].id)):
        unique.setdefault(anchor.id, anchor)
    return Links(tuple(unique.values()), tuple(dict.fromkeys(linker.warnings)))


@dataclass(slots=True)
class _Linker:
    """Words that are taken, and the anchors that took them."""

    entities: Scored
    known: Callable[[str], bool] | None
    taken: list[range] = field(default_factory=list)
    chosen: list[tuple[int, Anchor]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def take(self, mention: Mention) -> None:
        """Give a mention its words if they are free and it is a name."""
        if any(_overlap(span, mention.start, mention.end) for span in self.taken):
            return
        best: tuple[float, str] | None = None
        for key in (*mention.keys, *mention.loose):
            score = self._score(mention, key)
            if score and (best is None or score > best[0]):
                best = score, key
        if best is not None:
            self._keep(mention, best[1], self.entities[best[1]], best[0])

    def _score(self, mention: Mention, key: str) -> float:
        """Say how surely a key means an entity; 0 where it is hardly meant as a name."""
        called = self.entities.get(key)
        content = [word for word in words(key) if word not in STOP_WORDS]
        if not called or not (content or mention.marked):
            return 0.0
        score = max(score for _, score in called.values())
        if score > WITHOUT_ARTICLE or len(content) > 1 or mention.marked:
            return score
        # One plain word is rather itself than a name that lost its article.
        plain = not content or self.known is None or self.known(content[0])
        return 0.0 if plain else score

    def take_near(self, mention: Mention, forms: Scored) -> None:
        """Give a mention its words if it is a name with one edit, in a word that is free."""
        asked = mention.loose[0]
        called: dict[str, tuple[str, float]] = {}
        for form, pairs in forms.items():
            where = one_edit(asked, form, plural=mention.marked)
            if where is None or not self._may_edit(mention, asked, where):
                continue
            for id_, (name, score) in pairs.items():
                if score > called.get(id_, ("", 0.0))[1]:
                    called[id_] = name, score
        if not called:
            return
        best = max(score for _, score in called.values())
        names = sorted(name for name, score in called.values() if score == best)
        self._keep(mention, asked, called, best, times=NEAR)
        others = len(set(names)) - 1
        self.warnings.append(
            f"{asked!r} is read as {names[0]!r}{f' and {others} more' if others else ''}, one "
            "letter apart. If something else is meant, write its name as the graph does."
        )

    def _may_edit(self, mention: Mention, asked: str, where: tuple[int, int]) -> bool:
        told = asked.split()
        if self.known is None or all(self.known(word) for word in told[slice(*where)]):
            return False
        edited = mention.start, mention.end
        if len(told) == mention.end - mention.start:
            edited = mention.start + where[0], mention.start + where[1]
        inside = (m for m in self.taken if _overlap(m, mention.start, mention.end))
        return all(
            mention.start <= m.start and m.stop <= mention.end and not _overlap(m, *edited)
            for m in inside
        )

    def _keep(
        self,
        mention: Mention,
        key: str,
        called: Mapping[str, tuple[str, float]],
        score: float,
        times: float = 1.0,
    ) -> None:
        meant = sorted(id_ for id_, pair in called.items() if pair[1] == score)
        if len(meant) > MAX_SAME_NAME:
            self.warnings.append(
                f"{len(meant)} entities are called {key!r}; paths start at the first "
                f"{MAX_SAME_NAME} by id. Where another is meant, give its id to PathRAG.search: "
                "start_ids."
            )
        self.taken.append(range(mention.start, mention.end))
        self.chosen += [
            (mention.start, Anchor(id_, called[id_][0], key, round(score * times, 6)))
            for id_ in meant[:MAX_SAME_NAME]
        ]


def _overlap(span: range, start: int, end: int) -> bool:
    return span.start < end and start < span.stop


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


def near_query(mention: Mention, fields: Iterable[str]) -> str:
    """Write a Lucene query for the names one edit from a mention, in fields of whole names."""
    form = mention.loose[0].replace(" ", "\\ ")
    return " OR ".join(f"{field}:{form}~1" for field in fields)
