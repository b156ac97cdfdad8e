"""Sentences to measure encoders on, written by us; none of them calibrated the shipped model."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PAIRS", "SENTENCES", "Pair"]


class Pair(NamedTuple):
    """Two texts and how alike they are: 5 the same, 0 strangers (our own judgement)."""

    left: str
    right: str
    grade: float


PAIRS = [
    Pair("A woman is slicing an onion.", "An onion is being cut by a woman.", 5),
    Pair("The ferry leaves at noon.", "At twelve o'clock the ferry departs.", 5),
    Pair("He founded the bank in 1902.", "The bank was founded by him in 1902.", 5),
    Pair("Where was the painter born?", "What is the painter's place of birth?", 5),
    Pair("The child fell asleep in the car.", "The kid dozed off in the car.", 5),
    Pair("Who wrote the song?", "Who is the author of the song?", 5),
    Pair("Two dogs run along the beach.", "A pair of dogs is running on the sand by the sea.", 4.5),
    Pair("Prices rose by a tenth.", "Prices went up about ten percent last year.", 4),
    Pair("The mayor resigned on Monday.", "The mayor of the town stepped down this week.", 4),
    Pair("The tower was built of brick.", "They built the tower with bricks from the valley.", 4),
    Pair("Vitamin C is found in oranges.", "Oranges and lemons contain vitamin C.", 4),
    Pair("The train was late again.", "Once more the bus did not come on time.", 3.5),
    Pair("A man plays the violin.", "A man plays the cello in the street.", 3.5),
    Pair("The cat knocked over the milk.", "Milk was spilled on the kitchen floor.", 3.5),
    Pair("Ada directed the film in 1994.", "The film of 1994 stars Ada.", 3.5),
    Pair("The village lies by a lake.", "The lake is three miles from the village.", 3.5),
    Pair("She sold her house.", "She bought a house by the river.", 3),
    Pair("The court freed the accused.", "The court sentenced the accused to prison.", 3),
    Pair("Copper conducts electricity.", "Copper is mined in Chile.", 2.5),
    Pair("The river flooded the fields.", "The fields were dry after the long summer.", 2.5),
    Pair("How tall is the tower?", "Who designed the tower?", 2.5),
    Pair("A chef prepares fish.", "A fisherman sells his catch at the market.", 2),
    Pair("The company makes watches.", "The company dismissed two hundred people.", 2),
    Pair("Bob lives with Martha.", "Martha's sister works in a bakery.", 1.5),
    Pair("The violin is out of tune.", "The orchestra performs on Sunday.", 1.5),
    Pair("Snow fell in the night.", "The ski lift costs thirty francs.", 1.5),
    Pair("The patient has a fever.", "The hospital was built in 1970.", 1),
    Pair("The goalkeeper broke his arm.", "Tickets for the match are sold out.", 1),
    Pair("A query scans every node.", "The tree in the garden lost its leaves.", 0.5),
    Pair("The bishop crowned the king.", "The chess club meets on Fridays.", 0.5),
    Pair("The soup needs more salt.", "Neptune has fourteen known moons.", 0),
    Pair("She repaired the old clock.", "The bond yields four percent.", 0),
    Pair("Whales breathe air.", "The printer is out of paper.", 0),
    Pair("He forgot his umbrella.", "Granite is an igneous rock.", 0),
    Pair("The play has five acts.", "My brother keeps goats.", 0),
    Pair("Which river crosses the city?", "The recipe takes two eggs.", 0),
]

SENTENCES = [
    *(pair.left for pair in PAIRS),
    *(pair.right for pair in PAIRS),
    "Which directors made a film with an actor who was born in the same town as they were?",
    "Rosalind Achterberg is the author of The Salt Ledger. The Salt Ledger was published by "
    "Heron Press (year: 1987). ||| Heron Press: a small house for poetry and maps.",
    "Plant 12 supplies Warehouse North (daily: true, tons: 40). Warehouse North is managed by "
    "Oskar Lind. Oskar Lind reports to Amina Diallo.",
    "film/film_genre/films_in_this_genre",
    "DIRECTED_BY",
    "Þingvellir",
    "Nguyễn Văn An",
    "1815-12-10",
    "Reykjavík; population 139,875; founded 874",
    "SELECT count(*) FROM orders WHERE shipped IS NULL",
    "The old miller had two daughters. The elder married a surveyor and went with him to the "
    "colonies, where they laid out four towns and a railway; the younger stayed, learned the trade "
    "and ran the mill for thirty years. When the new road came and flour arrived by lorry, she let "
    "the wheel stand, rented the upper floor to a weaver, and began to write down the stories that "
    "farmers had told while they waited for their grain. Those notebooks are now in the county "
    "archive, eleven of them, with an index in her own hand.",
]
