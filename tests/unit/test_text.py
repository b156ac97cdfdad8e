"""Folding: one key for one name, however it is written."""

from __future__ import annotations

import pytest

from pathrag_gds.text import fold, words


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", ""),
        ("   ", ""),
        ("Bob", "bob"),
        ("Zoë_Kazan ", "zoe kazan"),
        ("zoe  \t kazan\n", "zoe kazan"),
        ("__a__b__", "a b"),
        ("ÉCOLE", "ecole"),
        ("E\u0301cole", "ecole"),
        ("Straße", "strasse"),
        ("STRASSE", "strasse"),
        ("İstanbul", "istanbul"),
        ("ﬁlm", "film"),
        ("①", "1"),
        ("K\u00a0elvin", "k elvin"),
        ("猫 の Bob", "猫 の bob"),
        ("Ёлка", "елка"),
        ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
        ("It's", "it's"),
        ("A-B", "a-b"),
    ],
)
def test_fold(text: str, key: str) -> None:
    assert fold(text) == key


@pytest.mark.parametrize(
    "text", ["İı", "ẞß", "ﬀ", "Å", "Ǆ", "ⅷ", "한국어", "é̂", "ŉ", "ϔ", "a_ b", "ΐ", "ᾳ", "ﷺ", "½"]
)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("?!…", []),
        ("In which village was Bob?", ["in", "which", "village", "was", "bob"]),
        ("Café_au lait", ["cafe", "au", "lait"]),
        ("it's 3.5", ["it", "s", "3", "5"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected
