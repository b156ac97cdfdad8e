"""Notice a question that is plainly not English. Pure.

What ranks paths reads English. A question is foreign where its small words are: names alone tell
nothing, since a film may be called "Das Boot" in any language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["foreign_language", "language_warnings"]

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class _Language:
    """What a language asks with.

    Attributes:
        asking: Words that ask, or pairs of words; none of them is English.
        others: Further words of which questions are made; they may be English, too.
        inside: They stand in running text, without spaces around them.
    """

    asking: frozenset[str]
    others: frozenset[str] = frozenset()
    inside: bool = False


def _language(asking: str, others: str = "", *, inside: bool = False) -> _Language:
    return _Language(frozenset(asking.split()), frozenset(others.split()), inside)


_LANGUAGES: Mapping[str, _Language] = {
    "German": _language(
        "wer wem wen wessen welche welcher welches welchen welchem wo wohin woher wann warum wieso "
        "wie wieviele nenne zeige was_ist was_sind was_war was_waren was_hat was_macht "
        "was_bedeutet",
        "was in oder viele vielen der das den dem des und ist sind war waren hat haben "
        "wurde wurden von vom im zum zur mit für nicht ein eine einen einem "
        "einer auf aus bei über nach gibt spielte spielt heißt filme filmen jahr",
    ),
    "Norwegian": _language(
        "hvem hva hvilken hvilke hvilket hvor hvorfor hvordan når",
        "er og av på som det en et ble har hadde med fra om til mange filmen filmer spilte "
        "regisserte regissert",
    ),
    "Swedish": _language(
        "vem vad vilken vilka vilket var varför hur när",
        "är och av på som det en ett blev har hade med från om till många filmen filmer spelade",
    ),
    "Dutch": _language(
        "welke waar waarom wanneer wie hoeveel",
        "de het een en van is zijn was waren heeft met voor op aan door werd",
    ),
    "French": _language(
        "qui quel quelle quels quelles où quand pourquoi combien",
        "le la les des du et est sont était dans avec pour par sur une un dont ce cette",
    ),
    "Spanish": _language(
        "quién quiénes qué cuál cuáles dónde cuándo cuánto cuántos cuántas cómo",
        "el la los las del y es son fue en con para por una un película películas",
    ),
    "Russian": _language(
        "кто кого кому что где куда когда почему зачем как какой какая какие какого каком каких "
        "какую каким сколько чей чья чьи чем назови",
        "в на и с у по из о об был была были снял сняла фильм фильма фильме фильмы фильмов",
    ),
    "Chinese": _language("谁 誰 什么 什麼 哪 几 多少 吗 嗎 为什么", inside=True),
    "Japanese": _language(
        "誰 だれ 何 なに どこ いつ どの どれ どんな なぜ いくつ ですか ますか ましたか でしたか",
        inside=True,
    ),
    "Korean": _language(
        "누구 누가 무엇 뭐 어디 언제 어떤 어느 왜 몇 습니까 인가요 나요", inside=True
    ),
}
_ENGLISH_WORDS = """
    about and are at by did do does for from had has have he her his how in is it its list many
    name of on or she tell than that their there they this to was were what when where which who
    whom whose why will with
"""
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_KANA = re.compile(r"[\u3040-\u30ff]")
_FEWEST_WORDS = 3


def foreign_language(question: str) -> str | None:
    """Name the language of a question that is plainly not English; None where that is not plain.

    Plain is a word that asks, at the beginning or beside another small word of its language, in a
    question of three words or more with fewer small words that are English alone.
    """
    text = unicodedata.normalize("NFC", question).lower()
    for name in ("Japanese", "Chinese", "Korean"):
        if name == "Chinese" and _KANA.search(text):
            continue
        if any(word in text for word in _LANGUAGES[name].asking):
            return name
    told = _WORD.findall(text)
    if len(told) < _FEWEST_WORDS:
        return None
    pairs = [f"{first}_{second}" for first, second in pairwise(told)]
    counts: dict[str, int] = {}
    for name, language in _LANGUAGES.items():
        if language.inside:
            continue
        asked = language.asking.intersection((*told, *pairs))
        opens = not language.asking.isdisjoint((told[0], pairs[0]))
        small = sum(word in language.asking or word in language.others for word in told)
        english = sum(word in _ENGLISH and word not in language.others for word in told)
        if asked and (opens or small > 1) and small > english:
            counts[name] = small
    return min(counts, key=lambda name: (-counts[name], name), default=None)


def language_warnings(question: str) -> tuple[str, ...]:
    """Warn of a question in another language than the rankers read; empty for English."""
    language = foreign_language(question)
    if language is None:
        return ()
    return (
        f"language: the question seems to be {language}, and what ranks the paths reads English. "
        "Names are found as the graph writes them, but the order is a guess. Ask in English.",
    )
