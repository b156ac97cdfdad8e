"""Which questions are plainly not English."""

from __future__ import annotations

import pytest

from pathrag_gds.retrieve.language import foreign_language, language_warnings

FOREIGN = {
    "German": (
        "Wer hat Regie bei The Matrix geführt?",
        "In welchem Jahr wurde Cloud Atlas veröffentlicht?",
        "Welche Filme hat Tom Hanks gedreht?",
        "Wo wurde Keanu Reeves geboren?",
        "Wie heißt die Katze von Jane?",
        "Was ist das Thema von Wings of Desire?",
        "Wer wohnt in KOELN oder in koln?",
        "Wie viele Menschen wohnen in Köln?",
        "Mit wem spielte Hugo Weaving in The Matrix?",
    ),
    "Norwegian": (
        "Hvem regisserte The Matrix?",
        "Hvilke filmer har Tom Hanks spilt i?",
        "Hva heter katten til Jane?",
        "Når kom filmen Cloud Atlas ut?",
        "Hvor ble Keanu Reeves født?",
        "I hvilken film spilte Meg Ryan?",
    ),
    "Russian": (
        "Кто снял фильм The Matrix?",
        "В каких фильмах играл Tom Hanks?",
        "Где родился Keanu Reeves?",
        "Когда вышел фильм Cloud Atlas?",
        "Как зовут кошку, которая живёт у Jane?",
        "Сколько фильмов снял Ron Howard?",
    ),
    "Japanese": (
        "The Matrixの監督は誰ですか？",
        "Tom Hanksはどの映画に出演しましたか？",
        "Keanu Reevesはいつ生まれましたか？",
        "Cloud Atlasは何年に公開されましたか",
        "Janeの猫の名前は何ですか？",
        "Meg Ryanはどこで生まれましたか？",
    ),
}


@pytest.mark.parametrize(
    ("language", "question"), [(name, q) for name, asked in FOREIGN.items() for q in asked]
)
def test_a_question_in_another_language_is_warned_of(language: str, question: str) -> None:
    assert foreign_language(question) == language
    (warning,) = language_warnings(question)
    assert warning.startswith(f"language: the question seems to be {language}, ")
    assert warning.endswith("Ask in English.")


@pytest.mark.parametrize(
    "question",
    [
        "",
        "?!",
        "Bob",
        "Tom Hanks",
        "Das Boot",
        "Das Leben der Anderen",
        "Who directed Das Boot?",
        "who directed Wo hu cang long",
        "Who wrote Война и мир?",
        "Война и мир",
        "東京",
        "となりのトトロ",
        "what films are about die welle",
        "Which film of Wim Wenders won in Cannes?",
        "was der untergang directed by oliver hirschbiegel",
        "Wie heeft",
        "films starring Qui Nguyen",
        "in which year was La vie en rose released",
        "Michelle Wie",
        "list the movies of El Mariachi",
        "que sera sera",
        "Men in war",
    ],
)
def test_english_and_names_alone_are_not_warned_of(question: str) -> None:
    assert foreign_language(question) is None
    assert language_warnings(question) == ()
