"""Questions of every shape, on a harbour town of our own invention, on a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pathrag_gds import PathRAG
from pathrag_gds.graph.database import Database
from pathrag_gds.ingest import embed, load_files
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.types import SearchResult

pytestmark = pytest.mark.integration

FILES = {
    "people.csv": """id:ID,name,:LABEL,born:int,home_phone
ada,Ada Berg,Person,1950,555
otto,Otto Lund,Person,1948,
mia,Mia Rask,Person,1961,
kim,Kim Holt,Person,,
""",
    "films.csv": """id:ID,name,:LABEL,year:int,runtime:int
salt,Salt Road,Film,1984,90
ferry,The Last Ferry,Film,1991,121
nets,Torn Nets,Film,1995,101
tide,High Tide,Film,2003,
""",
    "things.csv": """id:ID,name,:LABEL,listPriceEur:float,unitsInStock:int
lamp,Blue Lamp,Product,19.5,7
rope,Long Rope,Product,8,0
bell,Brass Bell,Product,120,3
""",
    "places.csv": """id:ID,name,:LABEL,population:int
ness,Port Ness,Harbour,1200
wick,Grey Wick,Harbour,300
shop,Corner Shop,Shop,
""",
    "facts.csv": """:START_ID,:END_ID,:TYPE,since:int,roles
ada,salt,DIRECTED,,
ada,ferry,DIRECTED,,
ada,nets,DIRECTED,,
mia,tide,DIRECTED,,
otto,salt,ACTED_IN,,Old Skipper
otto,tide,ACTED_IN,,Ghost
kim,ferry,ACTED_IN,,
ada,otto,MARRIED,1980,
ada,ness,LIVES_IN,1975,
kim,ness,LIVES_IN,1999,
mia,wick,LIVES_IN,2001,
shop,lamp,SELLS,,
shop,rope,SELLS,,
shop,bell,SELLS,,
shop,ness,LOCATED_IN,,
""",
}


@pytest.fixture
def rag(migrated: Database, tmp_path: Path) -> PathRAG:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    load_files(migrated, [tmp_path / name for name in FILES])
    embed(migrated, load_encoder(None))
    return PathRAG(migrated)


def told(result: SearchResult) -> tuple[str, list[tuple[str, str, Any]]]:
    return result.outcome, [
        (a.kind, a.name if a.kind == "entity" else a.property, a.value) for a in result.answers
    ]


def test_every_shape(rag: PathRAG) -> None:
    expected = [
        ("How old is Ada Berg?", "answered", [("value", "born", 1950)]),
        ("When was the director of High Tide born?", "answered", [("value", "born", 1961)]),
        ("What is the phone number of Ada Berg?", "answered", [("value", "home_phone", "555")]),
        ("How much does the Blue Lamp cost?", "answered", [("value", "listPriceEur", 19.5)]),
        (
            "How many units of the Brass Bell are in stock?",
            "answered",
            [("value", "unitsInStock", 3)],
        ),
        ("How many films did Ada Berg direct?", "answered", [("number", "", 3)]),
        ("How many films did Ada Berg direct after 1985?", "answered", [("number", "", 2)]),
        ("How many movies did Ada Berg direct?", "answered", [("number", "", 3)]),
        ("How many actors does Salt Road have?", "answered", [("number", "", 1)]),
        ("How many harbours are there?", "answered", [("number", "", 2)]),
        ("How many films were released after 1990?", "answered", [("number", "", 3)]),
        (
            "Which films came out in the 1990s?",
            "answered",
            [("entity", "The Last Ferry", None), ("entity", "Torn Nets", None)],
        ),
        ("Which films came out in 1900?", "not_in_graph", []),
        (
            "Which films did Ada Berg direct before 1993?",
            "answered",
            [("entity", "Salt Road", None), ("entity", "The Last Ferry", None)],
        ),
        ("Did Ada Berg direct Salt Road?", "answered", [("boolean", "", True)]),
        ("Was Salt Road directed by Ada Berg?", "answered", [("boolean", "", True)]),
        ("Did Ada Berg direct High Tide?", "partial", []),
        ("Did Mia Rask direct the Blue Lamp?", "partial", []),
        ("Did Otto Lund direct Salt Road?", "partial", []),
        ("Is Salt Road older than The Last Ferry?", "answered", [("boolean", "year", True)]),
        ("Is Ada Berg older than Otto Lund?", "answered", [("boolean", "born", False)]),
        (
            "Which is longer, Salt Road or The Last Ferry?",
            "answered",
            [("entity", "The Last Ferry", None)],
        ),
        ("Who is younger, Ada Berg or Kim Holt?", "unsupported", []),
        (
            "What is the oldest film that Ada Berg directed?",
            "answered",
            [("entity", "Salt Road", None)],
        ),
        ("Which product is the most expensive?", "answered", [("entity", "Brass Bell", None)]),
        ("Which film is the longest?", "unsupported", []),
        ("Who directed the most films?", "unsupported", []),
        ("Which films did Ada Berg not direct?", "unsupported", []),
        (
            "Which films other than Salt Road and Torn Nets did Ada Berg direct?",
            "answered",
            [("entity", "The Last Ferry", None)],
        ),
        (
            "What does the Corner Shop sell besides the Long Rope and the Brass Bell?",
            "answered",
            [("entity", "Blue Lamp", None)],
        ),
        (
            "What costs less, the Blue Lamp or the Brass Bell?",
            "answered",
            [("entity", "Blue Lamp", None)],
        ),
        (
            "What part did Otto Lund play in Salt Road?",
            "answered",
            [("value", "roles", "Old Skipper")],
        ),
        ("Since when has Ada Berg lived in Port Ness?", "answered", [("value", "since", 1975)]),
        ("When did Ada Berg marry Otto Lund?", "answered", [("value", "since", 1980)]),
        ("How are Ada Berg and Xaver Nobody related?", "not_in_graph", []),
    ]
    assert [(question, *told(rag.search(question))) for question, *_ in expected] == expected


def test_a_relation_is_its_paths(rag: PathRAG) -> None:
    result = rag.search("How are Ada Berg and Otto Lund connected?")
    assert result.outcome == "answered"
    assert result.shape == {"kind": "relation", "mentions": [["ada"], ["otto"]]}
    assert [(a.kind, a.value, a.paths) for a in result.answers[:2]] == [
        ("relation", "Ada Berg married Otto Lund (since is 1980).", (1,)),
        (
            "relation",
            "Ada Berg directed Salt Road. Otto Lund acted in Salt Road (roles is Old Skipper).",
            (2,),
        ),
    ]
    assert [path.path.nodes for path in result.paths[:2]] == [
        ("ada", "otto"),
        ("ada", "salt", "otto"),
    ]
    # Seeds, the paths, their nodes, their sources.
    assert result.stats.round_trips == 4


def test_a_relation_keeps_to_depth_types_and_tenant(rag: PathRAG) -> None:
    question = "How are Kim Holt and Otto Lund connected?"
    assert rag.search(question, max_depth=2).outcome == "not_in_graph"
    assert len(rag.search(question, max_depth=4).paths[0].hops) == 4 - 1
    only = rag.search(question, rel_types=("ACTED_IN", "DIRECTED"))
    assert {hop.hop.edge.type for path in only.paths for hop in path.hops} == {
        "ACTED_IN",
        "DIRECTED",
    }
    assert rag.search(question, tenant="other").outcome == "not_in_graph"


def test_what_is_excluded_is_a_parameter_of_the_query_that_proves_it(rag: PathRAG) -> None:
    result = rag.search("Which films except The Last Ferry did Ada Berg direct?")
    assert {a.id for a in result.answers} == {"salt", "nets"}
    (pattern,) = result.patterns
    assert "NOT answer.id IN $named" in pattern.cypher
    assert pattern.parameters["named"] == ["ferry"]
    assert (pattern.total, pattern.complete) == (2, True)


def test_what_is_not_proved_comes_with_evidence_of_both_sides(rag: PathRAG) -> None:
    for question in (
        "Did Mia Rask direct the Blue Lamp?",
        "Who is younger, Mia Rask or the Blue Lamp?",
        "Which of Mia Rask and the Blue Lamp is not old?",
    ):
        result = rag.search(question)
        assert result.answers == ()
        assert result.outcome in ("partial", "unsupported")
        assert {node for path in result.paths for node in path.path.nodes} >= {"mia", "lamp"}
        assert [path.rank for path in result.paths] == list(range(1, len(result.paths) + 1))


def test_what_no_relationship_tells_is_asked_otherwise(rag: PathRAG) -> None:
    result = rag.search("What role did Ada Berg play in Port Ness?")
    assert result.shape == {"kind": "conjunction", "mentions": [["ada"], ["ness"]]}


def test_a_time_filter_is_in_the_query_that_proves_it(rag: PathRAG) -> None:
    result = rag.search("Which films did Ada Berg direct after 1985?")
    assert {a.id for a in result.answers} == {"ferry", "nets"}
    assert {path.path.tail for path in result.paths} == {"ferry", "nets"}
    (pattern,) = result.patterns
    assert (pattern.total, pattern.complete) == (2, True)
    assert pattern.parameters["filters"] == {"time_from": "1986"}


def test_a_time_without_a_property_is_said(rag: PathRAG) -> None:
    result = rag.search("What does the Corner Shop sell after 1990?")
    assert result.outcome == "partial"
    assert any("no time" in warning for warning in result.warnings)


def test_intent_off_leads_every_question_to_the_end_of_a_path(rag: PathRAG) -> None:
    result = rag.search("How many films did Ada Berg direct?", intent="off")
    assert result.shape == {"kind": "path"}
    assert {a.kind for a in result.answers} == {"entity"}
