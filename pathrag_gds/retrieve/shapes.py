"""What shape the answer to a question has, by its wording alone. Pure.

Most questions ask for the end of a path. Others ask for a property, a number, a yes, how two things
are connected, or what only a comparison of many tells; then the best path is evidence, and its end
no answer. A question is taken for what it plainly says and for a path otherwise: names are left out
(see :mod:`pathrag_gds.retrieve.wording`), and so are words that the graph itself uses for a type or
a property, such as "first" where it has ``FIRST_EDITION_OF``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pathrag_gds.graph.schema import Ontology
from pathrag_gds.retrieve.attributes import keys_by_words
from pathrag_gds.retrieve.shape import AUXILIARY, BE, DO, HAVE, NAMED, Asked, Shape, read_asked
from pathrag_gds.retrieve.shape_compare import comparison_shape, superlative_shape
from pathrag_gds.retrieve.shape_value import count_shape, hop_property_shape, property_shape
from pathrag_gds.retrieve.wording import OTHER
from pathrag_gds.types import Anchor

__all__ = ["Shape", "shape_of"]


def shape_of(question: str, anchors: Sequence[Anchor], ontology: Ontology) -> Shape:
    """Tell what shape the answer to a question has.

    Args:
        question: In English; another language is a ``path``, or a ``conjunction``.
        anchors: What it names.
        ontology: Its property keys say which words ask for a property.
    """
    asked = read_asked(question, anchors, ontology)
    shape = _first_shape(asked)
    told = hop_property_shape(asked) if shape.kind in _MAY_BE_TOLD else None
    return shape if told is None else replace(told, instead=shape)


# What a question for something between two names may be taken for by its other words.
_MAY_BE_TOLD = ("path", "property", "conjunction")


def _first_shape(asked: Asked) -> Shape:
    for rule in (
        relation_shape,
        negation_shape,
        comparison_shape,
        superlative_shape,
        boolean_shape,
        property_shape,
        count_shape,
        conjunction_shape,
    ):
        shape = rule(asked)
        if shape is not None:
            return shape
    return asked.base


_TIED = r"(?:related|connected|linked|associated|tied|acquainted)"
_TIE = r"(?:connection|relation|relationship|link|tie|path|association|chain|route)s?"
_EACH_OTHER = r"(?:each other|one another|the other)"
_IN_WHAT_WAY = (
    r"^(?:how|in (?:what|which) ways?) (?:closely |exactly )?"
    rf"(?:{BE}|{DO}|can|could|might) {NAMED} "
)
_RELATION = tuple(
    re.compile(form)
    for form in (
        rf"{_IN_WHAT_WAY}(?:and|with|to) {NAMED} (?:be )?(?:[a-z]+ )?"
        rf"(?:{_TIED}|relate|connect|link|know (?:one another|each other))",
        rf"{_IN_WHAT_WAY}(?:be )?(?:[a-z]+ )?(?:{_TIED}|relate|connect|link) (?:to|with) {NAMED}",
        rf"^how {DO} {NAMED} know {NAMED}$",
        rf"^{BE} {NAMED} (?P<pair>and {NAMED} )?(?:[a-z]+ )?{_TIED}"
        rf"(?(pair)|(?: to| with) {NAMED})(?: in any way| somehow)?$",
        # "Which actor links …?" asks for the actor.
        r"^what (?:links?|connects?|ties?|relates?|joins?|binds?|unites?) "
        rf"{NAMED} (?:to|and|with) {NAMED}",
        rf"\b{_TIE} (?:(?:is|are|was|were|there|that|exists?|lies?|runs?|leads?) )*"
        rf"(?:between|from|linking|connecting|joining|of) {NAMED} (?:and|to|with) {NAMED}$",
        rf"\b{_TIE} (?:{DO}|{HAVE}) {NAMED} (?:have |has )?(?:to|with) {NAMED}",
        r"^how (?:does|do|can|could|would) (?:i|we|you|one|someone) (?:get|go|come|travel) "
        rf"from {NAMED} to {NAMED}",
        rf"^what {DO} {NAMED} (?:and|with) {NAMED} (?:have in common|share)$",
        rf"^what {DO} {NAMED} have in common with {NAMED}$",
        rf"^what (?:{DO}|{HAVE}) {NAMED} (?:have |got )?to do with {NAMED}$",
        rf"^what (?:{DO}|{HAVE}) {NAMED} and {NAMED} (?:have |got )?to do with {_EACH_OTHER}$",
        # Both are named first, and then meant by "they".
        rf"^{NAMED} and {NAMED} (?:how|what|in (?:what|which) ways?) .*"
        rf"(?:\bto do with {_EACH_OTHER}|\b{_TIED}(?: (?:to|with) {_EACH_OTHER})?|in common)$",
    )
)


def relation_shape(asked: Asked) -> Shape | None:
    """Give the shape of a question for how two named things are connected."""
    matches = (form.search(asked.text) for form in _RELATION)
    match = next((match for match in matches if match), None)
    if match is None:
        return None
    # A name that the graph does not have is an end without a way to it.
    named = asked.ids(match.start(), match.end())
    return replace(asked.base, kind="relation", mentions=named) if named else None


_EXCLUDING = r"other than|apart from|aside from|except for|except|excluding|besides|but not"
_SEVERAL = rf"{NAMED}(?: (?:and|or|nor) {NAMED})*"
# Nothing but names is excluded: "apart from her films" excludes what must be found first.
_EXCLUDED = re.compile(rf"\b(?:{_EXCLUDING}) (?P<named>{_SEVERAL})(?! (?:'s|of|and|or|by|in)\b)")
_DENIED = re.compile(
    rf"\b(?:(?:{_EXCLUDING}|not|never|without|neither|nor|nobody|none|nowhere|cannot|no longer"
    r"|no one|lacks?|lacking)"
    r"|(?<=has )no|(?<=have )no|(?<=had )no|(?<=with )no|(?<=is )no|(?<=are )no|(?<=was )no"
    r"|(?<=were )no)\b"
)
_NO_DENIAL = re.compile(r"\b(?:or not|not only|if not|why not|not just|not yet known)\b")
_CLAUSE = re.compile(r"(?<=\S) (?:when|while|because|although|though|after|before|if|since|until) ")


def negation_shape(asked: Asked) -> Shape | None:
    """Give the shape of a question for what is not so, or for all but something."""
    text = asked.untagged
    if text.startswith(("why ", "how come ")):
        return None
    # What did not happen when something else did may well be told of.
    clause = _CLAUSE.search(text)
    main = text[: clause.start()] if clause else text
    complete = _exclusion_shape(asked, main) or _untrue_shape(asked, main)
    if complete is not None:
        return complete
    for match in _DENIED.finditer(main):
        if any(n.start() <= match.start() < n.end() for n in _NO_DENIAL.finditer(main)):
            continue
        if match[0] == "not" and re.fullmatch(AUXILIARY, main[: match.start()].strip()):
            # "Wasn't it …?" asks whether it was.
            continue
        return replace(
            asked.base,
            kind="negation",
            mentions=asked.ids(),
            yes_no=asked.whether,
            negated=asked.wording.original(match.start(), len(text)),
        )
    return None


def _exclusion_shape(asked: Asked, text: str) -> Shape | None:
    """Give the shape of a question for all but what is named; None where more is denied."""
    found = list(_EXCLUDED.finditer(text))
    if len(found) != 1 or len(_DENIED.findall(text)) != 1 or asked.whether:
        return None
    (match,) = found
    excluded = asked.ids(*match.span("named"))
    others = tuple(ids for ids in asked.ids() if ids not in excluded)
    if OTHER in match["named"] or not others:
        return None
    core = asked.wording.without([match.span()])
    return replace(
        asked.base,
        kind="negation",
        core=core[:1].upper() + core[1:],
        mentions=asked.ids(),
        negated=asked.wording.original(*match.span()),
        excluded=excluded,
    )


_UNTRUE = re.compile(r"\b(?P<not>not) (?P<what>[a-z]+(?: [a-z]+)?)$")


def _untrue_shape(asked: Asked, text: str) -> Shape | None:
    """Give the shape of a question for those of which a property is not true."""
    match = _UNTRUE.search(text)
    if match is None or len(_DENIED.findall(text)) != 1 or asked.whether:
        return None
    keys = keys_by_words(match["what"], asked.keys)
    if not keys or not asked.ids():
        return None
    return replace(
        asked.base,
        kind="negation",
        core=asked.wording.without([match.span("not")]),
        keys=keys,
        mentions=asked.ids(),
        negated=asked.wording.original(*match.span()),
    )


def boolean_shape(asked: Asked) -> Shape | None:
    """Give the shape of a question whether something is so."""
    if not asked.whether:
        return None
    return replace(asked.base, kind="boolean", mentions=asked.ids(), yes_no=True)


def conjunction_shape(asked: Asked) -> Shape | None:
    """Give the shape of a question for what several named things lead to."""
    named = asked.ids()
    if len(named) < 2 or asked.base.kind != "path":
        return None
    return replace(asked.base, kind="conjunction", mentions=named)
