"""Words and names of a question."""

from __future__ import annotations

import pytest

from pathrag_gds.retrieve.wording import read_wording


@pytest.mark.parametrize(
    ("question", "mentions", "text"),
    [
        ("Is Otto's cat older than Ada?", ["otto", "ada"], "is @ 's cat older than @"),
        ("Who directed The Last Ferry?", ["the last ferry"], "who directed @"),
        ("Who directed The Last Ferry?", [], "who directed #"),
        ("who directed the last ferry", [], "who directed the last ferry"),
        ("Who wrote Lord of the Lamps?", [], "who wrote #"),
        ("Lost and Found or Salt Road?", ["salt road"], "lost and # or @"),
        ("What is [not here] about?", [], "what is # about"),
        ("Who wrote “is it so”?", [], "who wrote #"),
        ("WHO DIRECTED SALT ROAD?", [], "who directed salt road"),
        ("Who sailed in March 1997?", [], "who sailed in march 1997"),
        ("Who met March?", [], "who met #"),
        ("Not Tonight was whose?", [], "# was whose"),
        ("Wasn't it Otto?", ["otto"], "was not it @"),
        ("who can’t swim and won't try", [], "who can not swim and will not try"),
        ("who didnt come", [], "who did not come"),
        ("What's Otto's?", ["otto"], "what is @ 's"),
        ("Is the ferry the last ferry?", ["ferry", "last ferry"], "is the @ the @"),
        ("Otto Otto", ["otto"], "@ @"),
        ("", [], ""),
    ],
)
def test_names_become_signs(question: str, mentions: list[str], text: str) -> None:
    assert read_wording(question, mentions).text == text


def test_mentions_by_number_and_what_was_written() -> None:
    wording = read_wording("Did Otto meet Ada in 1990, or Otto's cat?", ["ada", "otto"])
    assert wording.text == "did @ meet @ in 1990 or @ 's cat"
    assert wording.mentions() == (1, 0)
    assert wording.mentions(4, 5) == (1,)
    assert wording.original(6, 20) == "meet Ada in 1990"
    assert wording.without([(13, 20)]) == "Did Otto meet Ada or Otto's cat?"
    assert wording.without([]) == wording.question
    assert wording.original(0, 0) == ""
