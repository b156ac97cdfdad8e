"""Folding of names, so that the same name written differently is found."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["fold", "words"]

_SPACE = re.compile(r"[\s_]+")
_WORD = re.compile(r"[^\W_]+", re.UNICODE)


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
