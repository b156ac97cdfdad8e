"""Questions that compare: named things with each other, or one with all of its kind. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from pathrag_gds.retrieve.attributes import (
    COMPARATIVES,
    SUPERLATIVES,
    Adjective,
    any_of,
    keys_by_measure,
    keys_by_words,
    measures_said,
)
from pathrag_gds.retrieve.intent import asked_type, stems
from pathrag_gds.retrieve.shape import AUXILIARY, BE, BESIDE, DO, HAVE, Asked, Shape

__all__ = ["comparison_shape", "superlative_shape"]

_THAN = re.compile(
    rf"\b(?!(?:other|rather|never|whether|either|after) )(?:(?P<how>{any_of(COMPARATIVES)})"
    r"|(?P<much>more|less|fewer)|[a-z]{3,}er)(?P<what>(?: (?!than)[a-z]+){0,4}?) than "
)
_BESIDE = rf"(?:{BESIDE} ){{0,2}}[@#]"
_CHOICE = re.compile(
    rf"(?:^| ){_BESIDE} or {_BESIDE}"
    rf"|\b(?:of|between|out of) (?:the two )?{_BESIDE} (?:and|or) {_BESIDE}"
    # Both are named first, and then meant by "which of the two".
    rf"|^{_BESIDE} (?:and|or) {_BESIDE} (?:which|who|what)\b"
)
_CHOSEN = re.compile(
    rf"\b(?:(?P<how>{any_of([*COMPARATIVES, *SUPERLATIVES])})"
    r"|(?P<much>more|less|fewer)(?P<what>(?: (?!or |than )[a-z]+){0,3}))\b"
)
# What a verb compares by itself: "costs more".
_COMPARED_BY = {"cost": "price", "weigh": "weight", "earn": "income"}
_ALIKE = re.compile(
    rf"^(?:{AUXILIARY} .*[@#] and .*[@#].*\b(?:same|equal|equally|alike|similar|different)\b"
    rf"|{AUXILIARY} .*[@#].*\bthe same [a-z ]+ as .*[@#]"
    rf"|{AUXILIARY} .*[@#].*\bas [a-z]+ as .*[@#]"
    r"|.*\bdifferences? (?:is there |are there )?between .*[@#] and .*[@#]"
    rf"|compare .*[@#]|how {DO} .*[@#].* compare\b"
    r"|.*[@#].* compared (?:to|with) .*[@#])"
)


def comparison_shape(asked: Asked) -> Shape | None:
    """Give the shape of a question which of several has more of something, or whether one has."""
    than = _THAN.search(asked.text)
    choice = _CHOICE.search(asked.text)
    chosen = _CHOSEN.search(asked.text) if choice else None
    if not (than or chosen or _ALIKE.search(asked.text)):
        return None
    keys: dict[str, bool] = {}
    if than and (than["how"] or than["much"]):
        adjective = COMPARATIVES.get(than["how"]) or Adjective((), than["much"] == "more")
        keys = _compared(asked, adjective, than["what"])
    elif chosen and chosen["much"]:
        keys = _more_of(asked, chosen)
    elif chosen:
        adjective = COMPARATIVES.get(chosen[0]) or SUPERLATIVES[chosen[0]]
        keys = _compared(asked, adjective, "")
    return replace(
        asked.base,
        kind="comparison",
        keys=tuple(keys),
        larger=tuple(keys.values()),
        mentions=asked.ids(),
        yes_no=asked.whether,
    )


def _more_of(asked: Asked, chosen: re.Match[str]) -> dict[str, bool]:
    """List the keys that "more" may be of, by its verb, its noun, or what ends the sentence."""
    verb = asked.text[: chosen.start()].rpartition(" ")[0].split()[-1:] or [""]
    measure = _COMPARED_BY.get(verb[0].removesuffix("s"), "")
    after = asked.text[chosen.end() :].rpartition("@")[2]
    named = (
        keys_by_measure((measure,), asked.keys)
        or keys_by_words(chosen["what"].strip(), asked.keys)
        or keys_by_words(after.strip(), asked.keys)
    )
    return dict.fromkeys(named, chosen["much"] == "more")


def _compared(asked: Asked, adjective: Adjective, noun: str) -> dict[str, bool]:
    """List the keys that an adjective may be about, likeliest first: is the larger value meant?

    Args:
        noun: Words after it that may name a property: "a higher *price* than".
    """
    named = keys_by_words(noun, asked.keys)
    if named:
        return dict.fromkeys(named, adjective.more)
    said = measures_said(asked.text)
    measures = said if set(said) & set(adjective.measures) else adjective.measures
    found: dict[str, bool] = {}
    for measure in measures:
        for key in keys_by_measure((measure,), asked.keys):
            found.setdefault(key, adjective.larger(measure))
    return found


_REGULAR = any_of(word for word in SUPERLATIVES if word not in ("first", "last"))
# Each with how, and what follows it. "First" and "last" are often no superlatives ("Where did they
# first meet?"), so more is asked of them.
_SUPERLATIVES = tuple(
    re.compile(form)
    for form in (
        rf"\b(?P<how>{_REGULAR})\b(?P<noun>(?: [a-z]+){{0,3}})",
        rf"\b(?:the|{HAVE}|with|which|who) (?P<how>most|fewest|least)\b(?! of\b)"
        r"(?P<noun>(?: [a-z]+){1,3})",
        r"\b(?P<how>most|least)(?= (?:often|frequently|commonly)\b)(?P<noun>)",
        r"\b(?P<how>top (?:\d+|two|three|four|five|ten)|maximum|minimum)(?P<noun>(?: [a-z]+){1,3})",
        r"(?:\b(?:the|his|her|its|their)|'s) (?:very )?(?P<how>first|last)"
        r"(?P<noun>(?: [a-z]+){1,3})",
        r"^(?:who|which|what) .*\b(?P<how>first|last)$(?P<noun>)",
        rf"^(?:who|which|what) (?:[a-z]+ )?{BE} (?:the )?(?P<how>first|last)(?= to\b)(?P<noun>)",
    )
)
_NO_SUPERLATIVE = re.compile(
    r"\bat (?:the )?(?:most|least|best|worst|latest|earliest|first|last)\b"
    r"|\bfor the (?:very )?(?:first|last) time\b"
    r"|\b(?:most|best|least) (?:famous|known|notable|remembered|recogni[sz]ed|noted|celebrated)\b"
    r"|\bbest (?:friends?|man|men|picture|actor|actress|director|supporting|sellers?|selling"
    r"|describes?|described|practices?|western|buy|suited|regards|of)\b"
    r"|\bfirst (?:names?|lady|ladies|aid|class|floor|person|half|degree|hand|grade|base|language"
    r"|minister|officer|mate|cousin|and)\b"
    r"|\blast (?:names?|week|month|year|night|summer|winter|spring|autumn|fall|minute|resort"
    r"|words?|known|supper|rites|of|decade|century)\b"
    r"|\b(?:highest|lowest) (?:court|degree|education|rank|authority)\b"
    r"|\b(?:closest|oldest) friends?\b|\bnearest and\b"
)
_END_OF_NOUN = re.compile(
    rf" ?\b(?:of|in|by|that|which|who|with|to|from|at|on|for|{BE}|{HAVE}|{DO}|directed|made)\b.*"
)


def superlative_shape(asked: Asked) -> Shape | None:
    """Give the shape of a question which of all has most or least of something."""
    excluded = [match.span() for match in _NO_SUPERLATIVE.finditer(asked.text)]
    for form in _SUPERLATIVES:
        for match in form.finditer(asked.text):
            at = match.start("how")
            noun = _END_OF_NOUN.sub("", match["noun"]).strip()
            if any(start <= at < end for start, end in excluded):
                continue
            if not _is_term(asked, match["how"], noun):
                return _superlative(asked, match, noun)
    return None


def _is_term(asked: Asked, how: str, noun: str) -> bool:
    """Whether the graph has a type or a property that is called so."""
    own, said = stems(how), stems(f"{how} {noun}")
    return any(own <= term <= said for term in asked.vocabulary)


def _superlative(asked: Asked, match: re.Match[str], noun: str) -> Shape:
    how = match["how"]
    adjective = SUPERLATIVES.get(how) or Adjective((), how not in ("fewest", "least", "minimum"))
    names_key = bool(keys_by_words(noun, asked.keys))
    keys = _compared(asked, adjective, noun)
    plain = how in SUPERLATIVES and noun and not names_key
    return replace(
        asked.base,
        kind="superlative",
        core=asked.wording.without([match.span("how")]) if plain else asked.base.core,
        keys=tuple(keys),
        larger=tuple(keys.values()),
        noun=asked_type(asked.wording.question) if names_key or not noun else noun,
        mentions=asked.ids(),
    )
