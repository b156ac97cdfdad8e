"""The shape of a question by its wording: on shops, ships and films of our own invention."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from pathrag_gds.graph.schema import EntityType, Ontology, RelationType
from pathrag_gds.retrieve.shapes import Shape, shape_of
from pathrag_gds.retrieve.when import Span
from pathrag_gds.text import words
from pathrag_gds.types import Anchor

GRAPH = Ontology(
    "t",
    tuple(
        RelationType(name, 1)
        for name in ("ACTED_IN", "DIRECTED", "FIRST_EDITION_OF", "MARRIED_TO", "SELLS", "SAILED_TO")
    ),
    (
        EntityType("Film", 5, ("id", "name", "year", "runtime", "tagline", "genre")),
        EntityType("Harbour", 3, ("name", "population", "last_storm")),
        EntityType("Person", 4, ("born", "name", "home_phone", "salary")),
        EntityType("Product", 6, ("listPriceEur", "unitsInStock", "fur_color", "weight_kg")),
        EntityType("Ship", 3, ("launched", "length_m", "topSpeed", "tenant", "embedding")),
    ),
)
NAMES = (
    "Ada Berg",
    "Blue Lamp",
    "Corner Shop",
    "Fram",
    "No Fish Before Noon",
    "Otto",
    "Port Ness",
    "Salt Road",
    "The Last Ferry",
)


def linked(question: str) -> list[Anchor]:
    """Link the names above, longest first, in the order of the question."""
    text = f" {' '.join(words(question))} "
    found = []
    for name in sorted(NAMES, key=lambda name: -len(name)):
        key = " ".join(words(name))
        if f" {key} " in text:
            found.append((text.index(f" {key} "), Anchor(key, name, key, 1.0)))
    return [anchor for _, anchor in sorted(found, key=lambda pair: pair[0])]


def shape(question: str) -> Shape:
    return shape_of(question, linked(question), GRAPH)


KINDS = {
    "path": """
        Who directed Salt Road?
        Who directed The Last Ferry?
        Who directed No Fish Before Noon?
        Who plays the captain in The Most Unlikely Harbour?
        Which films did the director of Salt Road make?
        Which film after Salt Road did he direct?
        In which harbour was the Fram when the storm came?
        In which harbor did Otto lose his hat before the storm?
        Where did Otto go after the storm?
        Where did Otto first see the sea?
        When did Otto see the sea for the first time?
        How many metres above the water does the Fram ride?
        how many miles did Otto walk
        When did Otto last visit?
        What did Otto do at first?
        What happened at last on the Fram?
        What is Otto best known for?
        What is Otto's last name?
        What is the first name of the captain of the Fram?
        Who is Otto's best friend?
        Who is Otto's older brother?
        Who is the younger sister of Ada Berg?
        Who won best actor for Salt Road?
        What was the first edition of Salt Road?
        When was the last storm at Port Ness?
        Where does most of the crew of the Fram live?
        Why did Otto not sail?
        Why didn't Otto buy the lamp?
        Where was Otto when the ferry did not come?
        Who helped Otto because he could not swim?
        Which shop sells the Blue Lamp?
        What does the Corner Shop sell?
        who sells lamps
        name a shop that sells lamps
        can you name a film directed by Ada Berg
        Can you tell me who directed Salt Road?
        Could you please list the films of Ada Berg?
        Do you know which shop sells the Blue Lamp?
        does Ada Berg appear in which films
        Is Otto a cat or a dog?
        is the captain of the Fram a man or a woman ?
        can you describe Salt Road in a few words
        Tell me about Otto.
        Who is Otto?
        What is the Fram?
        the films directed by Ada Berg were released in which years
        when did the films directed by Ada Berg come out of the archive
        what kinds of films did Ada Berg direct
        What are the films like that Ada Berg made?
        What is the name of the director of Salt Road?
        Who acted in the same film as Ada Berg?
        Which films share a director with Salt Road?
        films with the same director as Salt Road
        Which sailors know each other?
        How did Otto travel?
        How did the Fram get its name?
        How long has Otto been at sea?
        after how many years did Otto return
        Who ordered number 10248?
        In which room was flight 1999 announced?
        Which shop is at 12 Market Street?
        What happened before noon?
        What was mended during the morning?
        Who came by for the year book?
        Which harbours connect to Port Ness?
        Which captain connects to Port Ness?
        What is linked on the page of the Fram?
        Who is related to Otto?
        What does the count of Port Ness own?
        Which lamp did Count Olaf buy?
        What is the house number of Otto?
        Which county counts as rich?
        Whose interest did the west coast guest earn?
        What is the forest near Port Ness?
        Why is Port Ness famous?
        Good morning. Who directed Salt Road?
        Who wrote "How many are the most, not the least"?
        Who wrote [Is it true that 1999 was last]?
        Who directed Not Without My Hat?
        Before Sunrise was directed by whom?
        Not Tonight was directed by whom?
        Tell me which film Ada Berg directed
        Was ist die Hauptstadt von Port Ness?
        Hvem regisserte Salt Road?
        кто режиссёр фильма
        Who?
        ?
        """,
    "property": """
        What role did Otto play in Salt Road?
        which part does Otto play in Salt Road
        Whom did Otto play in Salt Road?
        What was the role of Otto in Salt Road?
        What was Otto's role in Salt Road?
        Since when has Otto lived in Port Ness?
        How did Otto rate Salt Road?
        What does a box of Blue Lamp cost us?
        The Fram was built when?
        How old is Ada Berg?
        How many years old is Otto?
        When was Ada Berg born?
        In what year was Ada Berg born?
        In which year was the director of Salt Road born?
        What year was Salt Road released?
        When did Salt Road come out?
        When was the Fram launched?
        When was the Fram built?
        What year is Salt Road from?
        What is the birth year of the director of Salt Road?
        What is the date of birth of Ada Berg?
        What's Ada Berg's birthday?
        What is Salt Road's director's birth year?
        How long is the Fram?
        How long is the film Salt Road?
        How many minutes long is Salt Road?
        How many minutes does Salt Road last?
        How long does Salt Road run?
        How fast is the Fram?
        How heavy is the Blue Lamp?
        How much does the Blue Lamp weigh?
        How much does the Blue Lamp cost?
        How much is the Blue Lamp?
        What does the Blue Lamp cost?
        What is the price of the Blue Lamp?
        What is the Blue Lamp's list price?
        How much does the captain of the Fram earn?
        What is the salary of the captain of the Fram?
        How many people live in Port Ness?
        How many inhabitants does Port Ness have?
        What is the population of the harbour that the Fram sailed to?
        How many units in stock does the Blue Lamp have?
        How many units of the Blue Lamp are in stock?
        What colour is Otto's fur?
        What is the colour of Otto?
        What tagline does Salt Road have?
        What is the slogan of Salt Road?
        What is the phone number of Ada Berg?
        Can you tell me how old Otto is?
        Tell me when Ada Berg was born
        I would like to know what the price of the Blue Lamp is.
        Please tell me how much the Blue Lamp costs
        Please tell me: what genre is Salt Road?
        the price of the Blue Lamp
        """,
    "relation": """
        How are Otto and Ada Berg related?
        How is Otto related to Ada Berg?
        how is the film Salt Road connected to the Fram
        How are Otto and the Corner Shop connected to each other?
        How is Otto linked with Port Ness?
        In what way are Otto and the Fram connected?
        In which ways is Otto tied to Port Ness?
        How does Otto relate to Ada Berg?
        How do Otto and Ada Berg know each other?
        How does Otto know Ada Berg?
        What links Otto to Ada Berg?
        What connects the Fram with Port Ness?
        What is the connection between Otto and Ada Berg?
        What connection is there between Otto and Ada Berg?
        What is the relationship between the Corner Shop and the Blue Lamp?
        Is there a link between Otto and the Fram?
        Is there any relation between Otto and the Fram?
        Show me the paths between Otto and the Fram.
        Find the path from Otto to the Fram
        What is the relation of Otto to Ada Berg?
        What relationship does Otto have with Ada Berg?
        What do Otto and Ada Berg have in common?
        What does Salt Road have in common with The Last Ferry?
        What do Otto and Ada Berg share?
        What has Otto to do with the Fram?
        What does Otto have to do with the Fram?
        Are Otto and Ada Berg related?
        Is Otto connected to the Corner Shop?
        Is Otto related to Ada Berg in any way?
        How can one get from Port Ness to the Corner Shop?
        How are Otto and Mister Nobody related?
        """,
    "conjunction": """
        Who acted in Salt Road and The Last Ferry?
        Which actor do Salt Road and The Last Ferry share?
        Which actor links Salt Road and The Last Ferry?
        Who directed Salt Road and acted in The Last Ferry?
        Which harbour did Otto and Ada Berg sail to?
        Which shop in Port Ness sells the Blue Lamp?
        Why did Otto not act in Salt Road?
        Who is married to Otto and lives in Port Ness?
        Which films did Otto and Ada Berg make together?
        """,
    "count": """
        How many films did Ada Berg direct?
        How many films has Ada Berg made?
        how many shops sell the Blue Lamp
        How many of the films of Ada Berg are comedies?
        In how many films did Otto act?
        For how many shops does Otto work?
        How many harbours are there?
        How many children does the captain of the Fram have?
        What is the number of films directed by Ada Berg?
        What is the total number of lamps that the Corner Shop sells?
        Give me the number of harbours that the Fram sailed to.
        Number of films with Otto
        What's the exact number of ships in Port Ness?
        Count the films with Otto.
        Count all ships in Port Ness
        Can you tell me how many films Ada Berg directed?
        How many films did Ada Berg direct after 1990?
        How many films were released in 1999?
        """,
    "boolean": """
        Did Ada Berg direct Salt Road?
        Was Salt Road directed by Ada Berg?
        Is Otto married to Ada Berg?
        Does the Corner Shop sell the Blue Lamp?
        Has the Fram sailed to Port Ness?
        Can Otto swim?
        Is it true that Otto acted in Salt Road?
        True or false: Otto acted in Salt Road
        Wasn't Salt Road directed by Ada Berg?
        Didn't Otto act in Salt Road?
        Otto acted in Salt Road, didn't he?
        Salt Road was directed by Ada Berg, right?
        Is there a shop in Port Ness?
        Are there ships that sailed to Port Ness?
        Please tell me whether Otto acted in Salt Road.
        Do you know if Otto acted in Salt Road?
        Was Salt Road released in 1999?
        Was the town in which Otto lives flooded?
        Does the film which Ada Berg directed play in Port Ness?
        Is Otto Ada Berg's brother?
        """,
    "comparison": """
        Is Salt Road older than The Last Ferry?
        Which is older, Salt Road or The Last Ferry?
        Which film is longer, Salt Road or The Last Ferry?
        Which of Salt Road and The Last Ferry came out first?
        Of Salt Road and The Last Ferry, which was released earlier?
        Who was born first, Otto or Ada Berg?
        Who is younger: Otto or Ada Berg?
        Is the Blue Lamp more expensive than the Salt Road?
        Does the Blue Lamp cost more than the Fram?
        Does Port Ness have more inhabitants than the Corner Shop?
        Does the Blue Lamp have a higher price than the Fram?
        Which products are cheaper than the Blue Lamp?
        Which films are longer than Salt Road?
        Did Otto act in more films than Ada Berg?
        Which actors appeared in more than one film?
        Do Otto and Ada Berg have the same salary?
        Were Salt Road and The Last Ferry made by the same director?
        Is Otto as old as Ada Berg?
        Is Otto the same age as Ada Berg?
        What is the difference between Otto and Ada Berg?
        Compare Otto with Ada Berg.
        How do Otto and Ada Berg compare?
        Is the Fram faster than the ferry?
        Is the Fram stronger than the ferry?
        """,
    "superlative": """
        What is the oldest film by Ada Berg?
        Which product is the most expensive?
        What is the cheapest lamp in the Corner Shop?
        Which ship is the longest?
        Which film of Ada Berg has the longest runtime?
        Which harbour has the highest population?
        Who directed the most films?
        Who acted in the fewest films?
        Which shop has most lamps?
        What was Ada Berg's first film?
        What was the last film that Ada Berg made?
        What is Ada Berg's latest film?
        What is the most recent film of Ada Berg?
        Who was the first to sail to Port Ness?
        Which film was released first?
        Who came last?
        Who is the youngest?
        Who is the eldest daughter of Otto?
        Which is the largest harbour?
        Which shop is nearest to Port Ness?
        Where does the richest captain live?
        What are the top 5 films of Ada Berg?
        What is the maximum price of a lamp?
        Which film has Otto most often seen?
        What is the best film of Ada Berg?
        Which film of Ada Berg after 1990 is the shortest?
        Is Salt Road the oldest film?
        """,
    "time": """
        Which films did Ada Berg direct after 1990?
        Which films did Ada Berg make before 1985?
        Which films has Ada Berg made since 2001?
        Which films did she make until 1990?
        Which films came out between 1990 and 1995?
        Films from 1990 to 1995
        Which films were released in 1999?
        Which films came out during the 1990s?
        Who sailed in the nineties?
        Which ships were launched in the 19th century?
        Who sailed to Port Ness in March 1997?
        What was sold on 5 March 1997?
        What was sold on March 5th, 1997?
        Which orders were shipped before 1997-03-05?
        Which 1999 film did Ada Berg direct?
        What are the films of 1999?
        Who acted in the 1999 film?
        Which films came out around 1990?
        Which films came out in the early 1990s?
        Which films came out in the '90s?
        Which films did Ada Berg make after 1990 but before 2000?
        What happened in 1999?
        """,
    "negation": """
        Which films did Ada Berg not direct?
        Which actors never worked with Ada Berg?
        Which films other than Salt Road did Ada Berg direct?
        Which films except Salt Road did Ada Berg direct?
        Apart from Salt Road, what did Ada Berg direct?
        What did Ada Berg direct besides Salt Road?
        Which shops do not sell the Blue Lamp?
        Which shops don't sell the Blue Lamp?
        which shops dont sell the blue lamp
        Who hasn't acted in Salt Road?
        Which films have no director?
        Which harbour is without a shop?
        Who has no children?
        Which ship can't sail to Port Ness?
        Which ship cannot sail?
        Did Otto never act in a film?
        Who acted in neither Salt Road nor The Last Ferry?
        Which lamps are no longer sold?
        Which films lack a director?
        Which films didn't come out in 1999?
        Nobody sells what?
        """,
}
CASES = [
    (" ".join(line.split()), kind)
    for kind, lines in KINDS.items()
    for line in lines.strip().splitlines()
]


def test_there_are_more_than_two_hundred_questions() -> None:
    assert len({question for question, _ in CASES}) == len(CASES) > 200


@pytest.mark.parametrize(("question", "kind"), CASES)
def test_kinds(question: str, kind: str) -> None:
    assert shape(question).kind == kind


def span(first: tuple[int, int, int] | None, end: tuple[int, int, int] | None) -> Span:
    return Span(date(*first) if first else None, date(*end) if end else None)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How old is Ada Berg?", {"keys": ("born", "year", "launched"), "of_end": False}),
        ("When was Ada Berg born?", {"keys": ("born",), "mentions": (("ada berg",),)}),
        (
            "When was the director of Salt Road born?",
            {"keys": ("born",), "of_end": True, "core": "What is the director of Salt Road?"},
        ),
        (
            "What is Salt Road's director's birth year?",
            {"keys": ("born",), "of_end": True, "core": "What is Salt Road's director?"},
        ),
        ("How much does the Blue Lamp cost?", {"keys": ("listPriceEur",)}),
        ("How many units of the Blue Lamp are in stock?", {"keys": ("unitsInStock",)}),
        ("What is the colour of Otto?", {"keys": ("fur_color",)}),
        ("What colour is Otto's fur?", {"keys": ("fur_color",), "of_end": False}),
        ("How long is the Fram?", {"keys": ("runtime", "length_m")}),
        ("How are Otto and Ada Berg related?", {"mentions": (("otto",), ("ada berg",))}),
        ("How are Otto and Mister Nobody related?", {"mentions": (("otto",),)}),
        (
            "How many films did Ada Berg direct after 1990?",
            {
                "noun": "films",
                "core": "Which films did Ada Berg direct?",
                "span": span((1991, 1, 1), None),
            },
        ),
        (
            "What is the number of films directed by Ada Berg?",
            {"noun": "films", "core": "What are the films directed by Ada Berg?"},
        ),
        (
            "Count all ships in Port Ness",
            {"noun": "ships", "core": "What are the ships in Port Ness"},
        ),
        (
            "Which films did Ada Berg make after 1990 but before 2000?",
            {"span": span((1991, 1, 1), (2000, 1, 1)), "vague": False},
        ),
        (
            "Which films came out around 1990?",
            {"core": "Which films came out?", "vague": True},
        ),
        (
            "Is Salt Road older than The Last Ferry?",
            {
                "keys": ("born", "year", "launched"),
                "larger": (False, False, False),
                "yes_no": True,
                "mentions": (("salt road",), ("the last ferry",)),
            },
        ),
        ("Who was born first, Otto or Ada Berg?", {"keys": ("born",), "larger": (False,)}),
        (
            "Does Port Ness have more inhabitants than the Corner Shop?",
            {"keys": ("population",), "larger": (True,)},
        ),
        ("Is the Fram stronger than the ferry?", {"keys": (), "larger": ()}),
        (
            "What is the cheapest lamp in the Corner Shop?",
            {
                "keys": ("listPriceEur",),
                "larger": (False,),
                "noun": "lamp",
                "core": "What is the lamp in the Corner Shop?",
            },
        ),
        (
            "Which film of Ada Berg has the longest runtime?",
            {"keys": ("runtime",), "larger": (True,), "noun": "film"},
        ),
        ("Who directed the most films?", {"keys": (), "noun": "films"}),
        (
            "Which films other than Salt Road did Ada Berg direct?",
            {
                "negated": "other than Salt Road",
                "excluded": (("salt road",),),
                "mentions": (("salt road",), ("ada berg",)),
                "core": "Which films did Ada Berg direct?",
            },
        ),
        (
            "Apart from Salt Road and The Last Ferry, what did Ada Berg direct?",
            {
                "excluded": (("salt road",), ("the last ferry",)),
                "core": "What did Ada Berg direct?",
            },
        ),
        # What is denied besides, or must be found first, is not excluded by its name.
        ("Which films besides those of Otto did Ada Berg direct?", {"excluded": ()}),
        (
            "Which lamps of the Corner Shop are not in stock?",
            {"kind": "negation", "keys": ("unitsInStock",), "negated": "not in stock"},
        ),
        ("Which films did Otto not see?", {"kind": "negation", "keys": ()}),
        ("Who except Otto has never acted in Salt Road?", {"excluded": ()}),
        ("Which films except Otto's has Ada Berg seen?", {"excluded": ()}),
        ("What did Ada Berg direct besides Lost Nets?", {"excluded": ()}),
        ("What part did Otto play in Salt Road?", {"of_hop": "part"}),
        ("Whom did Otto portray in Salt Road?", {"of_hop": "role"}),
        ("Since when has Otto lived in Port Ness?", {"of_hop": "start"}),
        ("Until when did Otto live in Port Ness?", {"of_hop": "end"}),
        # A kind of thing that the graph has is no property of a relationship.
        ("Which film did Otto show Ada Berg?", {"of_hop": ""}),
        ("Which actors did Salt Road and The Last Ferry share?", {"of_hop": ""}),
        ("Who should I ask for when I ring the Corner Shop?", {"keys": ()}),
        ("What does a box of Blue Lamp cost us?", {"keys": ("listPriceEur",), "of_end": False}),
        ("The Fram was built in what year?", {"keys": ("launched", "year"), "of_end": False}),
        ("The Fram is how long?", {"keys": ("runtime", "length_m"), "of_end": False}),
        ("What costs more, the Blue Lamp or Salt Road?", {"keys": ("listPriceEur",)}),
        ("Are there fewer of Blue Lamp or Salt Road in stock?", {"larger": (False,)}),
        ("Who owns more lamps, Otto or Ada Berg?", {"kind": "comparison", "keys": ()}),
        (
            "Otto and Ada Berg: which of the two is older?",
            {"kind": "comparison", "keys": ("born", "year", "launched")},
        ),
        ("How often has Otto sailed to Port Ness?", {"kind": "count", "noun": "times"}),
        (
            "How many times did Otto ship it to Port Ness?",
            {"noun": "ship", "core": "What did Otto ship it to Port Ness?"},
        ),
        (
            "Who of the actors in Salt Road was born before 1950?",
            {"core": "Which actors in Salt Road was born?"},
        ),
        ("Did Otto never act in a film?", {"negated": "never act in a film", "yes_no": True}),
        ("Did Ada Berg direct Salt Road?", {"mentions": (("ada berg",), ("salt road",))}),
    ],
)
def test_what_is_found(question: str, found: dict[str, Any]) -> None:
    made = shape(question)
    assert {key: getattr(made, key) for key in found} == found


def test_an_ambiguous_mention_keeps_all_its_ids() -> None:
    anchors = [Anchor("otto-1", "Otto", "otto", 1.0), Anchor("otto-2", "Otto", "otto", 1.0)]
    made = shape_of("How old is Otto?", anchors, GRAPH)
    assert made.mentions == (("otto-1", "otto-2"),)
    # Two of one name are no two names.
    assert shape_of("Who knows Otto?", anchors, GRAPH).kind == "path"


def test_without_such_a_property_a_question_leads_to_a_path() -> None:
    bare = Ontology("t", GRAPH.relation_types, (EntityType("", 3, ("id", "name")),))
    for question in ("When was Ada Berg born?", "How much does the Blue Lamp cost?"):
        assert shape_of(question, linked(question), bare).kind == "path"


def test_a_linked_year_is_a_name() -> None:
    question = "Which films were released in 1999?"
    assert shape_of(question, [Anchor("1999", "1999", "1999", 1.0)], GRAPH).kind == "path"


def test_plain_values() -> None:
    assert shape("Which films did Ada Berg direct before 1985?").to_dict() == {
        "kind": "time",
        "time": {"start": None, "end": "1985-01-01"},
    }
    assert shape("Who?").to_dict() == {"kind": "path"}
