"""Folding of names, so that the same name written differently is found."""

from __future__ import annotations

import re
import unicodedata

__all__ = [
    "ALIKE",
    "EXACT",
    "UNQUALIFIED",
    "WITHOUT_ARTICLE",
    "fold",
    "loosen",
    "loosened",
    "name_forms",
    "words",
]

# How surely a form of a name means the entity: from the name itself to a part of it.
EXACT = 1.0
ALIKE = 0.95
UNQUALIFIED = 0.9
WITHOUT_ARTICLE = 0.85

_SPACE = re.compile(r"[\s_]+")
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_HUMP = re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])")
_FRACTION = re.compile(r"(?=[¼-¾⅐-⅞])")
_APOSTROPHES = re.compile(r"['’‘ʼ`´]")
_INITIALS = re.compile(r"(?<![^ ])[^\W\d_](?: [^\W\d_])+(?![^ ])")
_HYPHEN = re.compile(r"(?<=[^\W_])[-‐‑–](?=[^\W_])")
_QUALIFIER = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
_ARTICLE = re.compile(r"^(?:the|an?) (?=.)")
_ARTICLE_BEHIND = re.compile(r"^(.+), (the|an?)$")


def fold(text: str) -> str:
    """Fold a name to the key that it is looked up by.

    NFKD without combining marks, case-folded, ``_`` and runs of white space to one space, no space
    at the ends: ``"Zoë_Kazan "`` and ``"zoe kazan"`` are one. Letters of other scripts stay.
    Empty in, empty out.
    """
    marks_off = "".join(
        c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)
    )
    # Case folding may compose again (İ), so fold first and strip what it leaves.
    folded = unicodedata.normalize("NFKC", marks_off.casefold())
    return _SPACE.sub(" ", folded).strip()


def words(text: str) -> list[str]:
    """List the words of a text, folded, in order; punctuation separates them."""
    return _WORD.findall(fold(text))


def loosen(text: str) -> str:
    """Fold a name further, to what remains of it however it is punctuated.

    Words with one space between: hyphens, full stops and brackets separate, apostrophes vanish,
    ``&`` is "and", a capital after a small letter begins a word, letters that stand alone come
    together. ``"Spider-Man"`` and ``"SpiderMan"`` are ``"spider man"``, ``"Mr. & Mrs. Smith"`` is
    ``"mr and mrs smith"``, ``"U.S."`` is ``"us"``, ``"8½"`` and ``"8 1/2"`` are ``"8 1 2"``.
    """
    parted = _FRACTION.sub(" ", _HUMP.sub(" ", text))
    bare = _APOSTROPHES.sub("", fold(parted)).replace("&", " and ")
    return _INITIALS.sub(lambda found: found[0].replace(" ", ""), " ".join(_WORD.findall(bare)))


def loosened(text: str) -> tuple[str, ...]:
    """Give the loosened text, and once more with its hyphens taken out ("Spiderman")."""
    joined = _HYPHEN.sub("", text)
    both = (loosen(text), loosen(joined.casefold()) if joined != text else "")
    return tuple(dict.fromkeys(form for form in both if form))


def name_forms(name: str) -> dict[str, float]:
    """Give the forms in which a name may stand in a question, the surest first.

    Returns:
        By form how surely it means what is called so: :data:`EXACT` for the folded name,
        :data:`ALIKE` for it loosened, :data:`UNQUALIFIED` without brackets at its end ("Heat" for
        "Heat (1995)") and with an article that stood behind, :data:`WITHOUT_ARTICLE` without a
        leading English article. A name of no letter or digit has its folded form alone, an empty
        one none.
    """
    key = fold(name)
    forms = {key: EXACT} if key else {}
    plain = _QUALIFIER.sub("", name)
    bases = [(name, ALIKE)] + ([(plain, UNQUALIFIED)] if plain and plain != name else [])
    for text, score in bases:
        for form in (fold(text), *loosened(text)):
            forms.setdefault(form, score)
    behind = _ARTICLE_BEHIND.match(fold(plain))
    if behind:
        forms.setdefault(loosen(f"{behind[2]} {behind[1]}"), UNQUALIFIED)
        forms.setdefault(loosen(behind[1]), WITHOUT_ARTICLE)
    for form in loosened(plain):
        forms.setdefault(_ARTICLE.sub("", form), WITHOUT_ARTICLE)
    forms.pop("", None)
    return forms
