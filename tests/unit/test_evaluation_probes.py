"""Probes: what counts as right, the converter of Northwind, and the files of questions."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.errors import LoadError
from pathrag_gds.evaluation.datasets import PARTS, open_dataset
from pathrag_gds.evaluation.datasets.northwind import FILES, convert, mend
from pathrag_gds.evaluation.datasets.probes import read_rows
from pathrag_gds.evaluation.graph import Graph
from pathrag_gds.evaluation.probe import (
    ANSWERED,
    KINDS,
    Probe,
    judge_probe,
    parse_chain,
    same_value,
)
from pathrag_gds.ingest.formats import detect, read
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.lines import Lines
from pathrag_gds.ingest.rows import NodeRow, RelationshipRow
from pathrag_gds.types import (
    Answer,
    Edge,
    Entity,
    Hop,
    Outcome,
    RankedPath,
    ResultHop,
    SearchResult,
    SearchStats,
)
from pathrag_gds.types import Path as GraphPath

DATA = Path(__file__).parents[1] / "data"
ACTED = Hop(Edge("k1", "tom", "heat", "ACTED_IN"), True)
DIRECTED = Hop(Edge("k2", "ron", "heat", "DIRECTED"), False)
TOM_TO_RON = GraphPath(("tom",)).extend(ACTED).extend(DIRECTED)
RON_TO_TOM = GraphPath(("ron",)).extend(Hop(DIRECTED.edge, True)).extend(Hop(ACTED.edge, False))


def ranked(path: GraphPath, rank: int = 1) -> RankedPath:
    nodes = tuple(Entity(id_, id_) for id_ in path.nodes)
    return RankedPath(rank, 1.0, 1.0, {}, "", path, nodes, tuple(map(ResultHop, path.hops)))


def result(
    *answers: Answer, outcome: Outcome = "answered", paths: tuple[GraphPath, ...] = (TOM_TO_RON,)
) -> SearchResult:
    return SearchResult(
        question="",
        tenant="t",
        method="path",
        outcome=outcome,
        anchors=(),
        answers=answers,
        paths=tuple(ranked(path, rank) for rank, path in enumerate(paths, 1)),
        cut=(),
        stats=SearchStats(),
        config={},
    )


def entity(id_: str, confidence: float = 0.9) -> Answer:
    return Answer("entity", id_, id_, confidence=confidence, paths=(1,))


def judged(probe: Probe, asked: SearchResult, *predicted: tuple[str, str]) -> tuple[float, float]:
    told = judge_probe(probe, asked, predicted)
    return told["right"], told["confident_wrong"]


FILMS = Probe("conjunction", "entities", ("tom", "ron"), ids=frozenset({"heat", "ronin"}))


def test_entities_are_right_as_a_whole_set() -> None:
    both = result(entity("heat"), entity("ronin"), entity("other", 0.8))
    # "other" is an answer, but not one of the set that is stated.
    assert judged(FILMS, both, ("heat", ""), ("ronin", "")) == (1.0, 0.0)
    assert judged(FILMS, both, ("heat", "")) == (0.0, 0.0)
    assert judged(FILMS, both, ("heat", ""), ("ronin", ""), ("other", "")) == (0.0, 1.0)
    assert judged(FILMS, result()) == (0.0, 0.0)


def test_wrong_counts_from_half_confidence_on_and_only_where_it_is_an_answer() -> None:
    assert judged(FILMS, result(entity("x", 0.5))) == (0.0, 1.0)
    assert judged(FILMS, result(entity("x", 0.49))) == (0.0, 0.0)
    assert judged(FILMS, result(entity("x", 0.9), outcome="partial")) == (0.0, 0.0)
    # A kind that has to be answered is not right by saying that it is not known.
    assert judged(FILMS, result(outcome="unsupported")) == (0.0, 0.0)


def test_what_is_not_answered_yet_shows_what_it_found_of_all_that_was_named() -> None:
    older = Probe("comparison", "entities", ("tom", "ron"), ids=frozenset({"ron"}))
    one_side = GraphPath(("tom",)).extend(ACTED)
    assert judged(older, result(outcome="partial")) == (1.0, 0.0)
    assert judged(older, result(outcome="unsupported", paths=(one_side,))) == (0.0, 0.0)
    assert judged(older, result(outcome="not_in_graph")) == (0.0, 0.0)
    assert judged(older, result(outcome="partial", paths=())) == (0.0, 0.0)
    assert judged(older, result(entity("ron"))) == (1.0, 0.0)
    assert judged(older, result(entity("tom"))) == (0.0, 1.0)


def test_numbers_are_exact_and_are_no_values() -> None:
    count = Probe("count", "number", ("tom",), values=(3,))
    number = Answer("number", "", "", value=3, confidence=0.9)
    assert judged(count, result(number)) == (1.0, 0.0)
    assert judged(count, result(replace(number, value=4))) == (0.0, 1.0)
    assert judged(count, result(replace(number, kind="value"))) == (0.0, 1.0)
    assert judged(count, result(replace(number, value=True))) == (0.0, 1.0)


def test_values_belong_to_their_holder() -> None:
    born = Probe("property", "value", ("tom",), values=(1956,), holders=frozenset({"tom"}))
    value = Answer("value", "tom", "Tom", property="born", value=1956, confidence=0.9)
    assert judged(born, result(value)) == (1.0, 0.0)
    assert judged(born, result(replace(value, id="ron"))) == (0.0, 1.0)
    assert judged(born, result(entity("tom"))) == (0.0, 1.0)
    # A value of a relationship may be told with either end.
    role = Probe("property", "value", ("tom", "heat"), values=(["Jim", "Joe"],))
    assert judged(role, result(replace(value, id="heat", value=("Joe", "Jim")))) == (1.0, 0.0)


def test_truth_values() -> None:
    asked = Probe("yes-no", "boolean", ("tom", "ron"), values=(False,))
    answer = Answer("boolean", "", "", value=False, confidence=0.9)
    assert judged(asked, result(answer)) == (1.0, 0.0)
    assert judged(asked, result(replace(answer, value=True))) == (0.0, 1.0)
    assert judged(asked, result(replace(answer, value=0))) == (0.0, 1.0)


@pytest.mark.parametrize("path", [TOM_TO_RON, RON_TO_TOM])
def test_relations_may_be_read_from_either_end(path: GraphPath) -> None:
    chains = frozenset({parse_chain("ACTED_IN> <DIRECTED")})
    probe = Probe("relation", "relation", ("tom", "ron"), chains=chains)
    related = Answer("relation", "", "", confidence=0.9, paths=(1,))
    assert judged(probe, result(related, paths=(path,))) == (1.0, 0.0)
    # The right path under an answer that is its end answers another question.
    assert judged(probe, result(entity("ron"), paths=(path,))) == (0.0, 1.0)
    other = replace(probe, chains=frozenset({parse_chain("DIRECTED> <ACTED_IN")}))
    assert judged(other, result(related, paths=(path,))) == (0.0, 0.0)
    longer = GraphPath(("tom",)).extend(ACTED)
    assert judged(probe, result(related, paths=(longer,))) == (0.0, 0.0)


def test_a_control_is_answered_and_not_by_a_set() -> None:
    control = Probe("control", "entities", ("heat",), ids=frozenset({"ron"}))
    assert judged(control, result(entity("ron"), entity("tom", 0.1))) == (1.0, 0.0)
    assert judged(control, result(entity("ron"), outcome="partial")) == (0.0, 0.0)
    assert judged(control, result(outcome="unsupported")) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("found", "gold", "same"),
    [
        (1888, "1888", True),
        ("1888", 1888, True),
        (263.5, 263.50000000000006, True),
        (263, 263.5, False),
        (True, 1, False),
        (True, True, True),
        ("Silver  grey", "silver grey", True),
        (["a", "b"], ("b", "a"), True),
        (["a", "a"], ["a", "b"], False),
        ("Shane Falco", ["Shane Falco"], True),
        (None, "none", False),
        (None, None, True),
        ("nan", "nan", True),
    ],
)
def test_values_are_compared_by_what_they_mean(found: Any, gold: Any, same: bool) -> None:
    assert same_value(found, gold) is same


@pytest.mark.parametrize("text", ["", "ACTED_IN", "<ACTED_IN>"])
def test_chains_say_their_directions(text: str) -> None:
    with pytest.raises(ValueError, match=r"chain|TYPE"):
        parse_chain(text)


# Northwind


def test_cells_that_commas_tore_apart_are_joined() -> None:
    assert mend(["1", "Via Dante", " 75", "Rome"], 3) == ["1", "Via Dante, 75", "Rome"]
    assert mend(["1", "G'day", " Mate", "Rue 3", " Suite 4"], 3) == [
        "1",
        "G'day, Mate",
        "Rue 3, Suite 4",
    ]
    assert mend(["1", "a", "b", "c"], 3) == ["1", "a", "b", "c"]
    assert mend([" 1", "a"], 2) == [" 1", "a"]


COMPANY = "contactName,contactTitle,address,city,region,postalCode,country,phone,fax"
TINY = {
    "categories": "categoryID,categoryName,description,picture\n4,Dairy,Cheeses,0x15\n",
    "customers": f"customerID,companyName,{COMPANY}\n"
    "ANTON,Anton,A,Owner,Rd. 1,Rome,NULL,1,Italy,5,NULL\n",
    "suppliers": f"supplierID,companyName,{COMPANY}\n"
    "7,Pavlova, Ltd.,I,Chief,St. 2,Oslo,NULL,2,Norway,6,NULL\n",
    "products": "productID,productName,supplierID,categoryID,quantityPerUnit,unitPrice,"
    "unitsInStock,unitsOnOrder,reorderLevel,discontinued\n11,Queso,7,4,1 kg,21.50,22,30,3,1\n",
    "orders": "orderID,customerID,employeeID,orderDate,requiredDate,shippedDate,shipVia,freight,"
    "shipName,shipAddress,shipCity,shipRegion,shipPostalCode,shipCountry\n"
    "10,ANTON,5,1996-07-08 00:00:00.000,1996-08-05 00:00:00.000,NULL,2,65.83,Anton,Rd., 1,Rome,"
    "NULL,1,Italy\n",
    "order-details": "orderID,productID,unitPrice,quantity,discount\n10,11,20.00,12,0.05\n",
    "employees": "employeeID,lastName,firstName,title,titleOfCourtesy,birthDate,hireDate,address,"
    "city,region,postalCode,country,homePhone,extension,photo,notes,reportsTo,photoPath\n"
    "2,Fuller,Andrew,Boss,Dr.,1952-02-19 00:00:00.000,1992-08-14 00:00:00.000,a,b,c,d,USA,e,f,g,"
    '"Speaks, and reads.",NULL,h\n'
    "5,King,Ann,Clerk,Ms.,1960-05-29 00:00:00.000,1994-01-02 00:00:00.000,a,b,c,d,UK,e,f,g,,2,h\n",
    "employee-territories": "employeeID,territoryID\n5,01581\n",
    "territories": "territoryID,territoryDescription,regionID\n01581,Westboro,1\n",
    "regions": "regionID,regionDescription\n1,Eastern\n",
    "shippers": "shipperID,companyName,phone\n2,United,9\n",
}


def northwind(folder: Path, **changed: str) -> list[Path]:
    sources = {}
    for name, text in {**TINY, **changed}.items():
        sources[name] = folder / f"{name}.csv"
        sources[name].write_text(text, encoding="utf-8")
    return convert(sources, folder / "out")


def rows_of(paths: list[Path]) -> tuple[dict[str, NodeRow], list[RelationshipRow]]:
    nodes, relationships = {}, []
    for path in paths:
        with Lines(path) as lines:
            for record in read(detect(Input(path)), lines):
                assert record.fault is None
                if isinstance(record.row, NodeRow):
                    nodes[record.row.id] = record.row
                if isinstance(record.row, RelationshipRow):
                    relationships.append(record.row)
    return nodes, relationships


def test_northwind_becomes_a_graph(tmp_path: Path) -> None:
    assert set(TINY) == set(FILES)
    nodes, relationships = rows_of(northwind(tmp_path))
    assert {id_: (node.labels, node.properties["name"]) for id_, node in nodes.items()} == {
        "category:4": (("Category",), "Dairy"),
        "customer:ANTON": (("Customer",), "Anton"),
        "supplier:7": (("Supplier",), "Pavlova, Ltd."),
        "product:11": (("Product",), "Queso"),
        "order:10": (("Order",), "Order 10"),
        "employee:2": (("Employee",), "Andrew Fuller"),
        "employee:5": (("Employee",), "Ann King"),
        "territory:01581": (("Territory",), "Westboro"),
        "region:1": (("Region",), "Eastern"),
        "shipper:2": (("Shipper",), "United"),
    }
    assert {(r.source, r.type, r.target) for r in relationships} == {
        ("product:11", "IN_CATEGORY", "category:4"),
        ("supplier:7", "SUPPLIES", "product:11"),
        ("customer:ANTON", "PURCHASED", "order:10"),
        ("employee:5", "SOLD", "order:10"),
        ("order:10", "SHIPPED_BY", "shipper:2"),
        ("order:10", "ORDERS", "product:11"),
        ("employee:5", "REPORTS_TO", "employee:2"),
        ("employee:5", "WORKS_IN", "territory:01581"),
        ("territory:01581", "IN_REGION", "region:1"),
    }
    product, order = nodes["product:11"].properties, nodes["order:10"].properties
    assert (product["unitPrice"], product["unitsInStock"], product["discontinued"]) == (
        21.5,
        22,
        True,
    )
    assert str(order["orderDate"]) == "1996-07-08"
    assert (order["shipCity"], "shippedDate" in order) == ("Rome", False)
    (line,) = (r for r in relationships if r.type == "ORDERS")
    assert line.properties == {"unitPrice": 20.0, "quantity": 12, "discount": 0.05}


def test_a_row_of_northwind_that_cannot_be_mended_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"regions\.csv:3: a row has 2 cells, this one 3"):
        northwind(tmp_path, regions="regionID,regionDescription\n1,Eastern\n2,West,ern\n")


# The files of questions


def data_folder() -> Path:
    folder = os.environ.get("PATHRAG_DATA")
    if not folder:
        pytest.skip("PATHRAG_DATA names no folder of data sets")
    return Path(folder)


def test_there_are_eighty_probes_of_nine_kinds_and_eight_controls() -> None:
    rows = [row for path in sorted((DATA / "probes").glob("*.jsonl")) for row in read_rows(path)]
    kinds = Counter(row.probe.kind for row in rows)
    assert kinds == {
        kind: 8 if kind in ("negation", "control") else 9 for kind in (*KINDS, "control")
    }
    assert len({row.id for row in rows}) == len({row.question.lower() for row in rows}) == 88
    for kind in KINDS:
        begin = {row.question.lower().split()[0] for row in rows if row.probe.kind == kind}
        # No kind is known by the word that it begins with.
        assert len(begin) >= 4, kind


def test_forty_more_are_held_out() -> None:
    rows, held_out = (
        [row for path in sorted((DATA / folder).glob("*.jsonl")) for row in read_rows(path)]
        for folder in ("probes", "probes_held_out")
    )
    kinds = Counter(row.probe.kind for row in held_out)
    assert kinds == {kind: 5 if kind in ANSWERED and kind != "relation" else 4 for kind in KINDS}
    assert not {row.question.lower() for row in rows} & {row.question.lower() for row in held_out}
    assert len({row.id for row in held_out}) == 40


@pytest.mark.parametrize("name", [*PARTS["probes"], *PARTS["probes-held-out"]])
def test_what_probes_name_is_in_their_graph(name: str, tmp_path: Path) -> None:
    data = None if name.endswith(("bob", "story2")) else data_folder()
    with open_dataset(name, data=data) as dataset:
        graph = dataset.graph
        assert dataset.inputs
        assert dataset.graph_name == name.removeprefix("probes-").removeprefix("held-out-")
        for question in dataset.questions:
            probe = question.probe
            assert probe is not None
            assert question.groups == (probe.kind,)
            assert probe.ids or probe.values or probe.chains
            if probe.expected == "relation":
                assert shortest_chains(graph, *probe.named) == probe.chains, question.id


def shortest_chains(graph: Graph, start: str, end: str) -> set[tuple[tuple[str, bool], ...]]:
    paths = graph.shortest_paths([start], [end], 4)
    return {tuple((hop.edge.type, hop.forward) for hop in path.hops) for path in paths}


def test_the_stories_keep_their_own_tenants() -> None:
    for name in ("bob", "story2"):
        with open_dataset(name) as own, open_dataset(f"probes-{name}") as probed:
            assert (own.graph_name, own.graph_digest) == (probed.graph_name, probed.graph_digest)
            assert own.digest != probed.digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "riddle"}, "no probe"),
        ({"expects": "poem"}, "no probe"),
        ({"gold": "jane"}, "no probe"),
        ({"gold": ["nobody"]}, "no entity 'nobody'"),
        ({"expects": "relation", "gold": ["owns>"]}, "between two"),
    ],
)
def test_a_line_that_is_no_probe_is_named(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    item = {
        "id": "1",
        "kind": "control",
        "question": "Who owns Bob?",
        "expects": "entities",
        "gold": ["jane"],
        "named": ["bob"],
    }
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(item) + "\n", encoding="utf-8")
    with open_dataset("probes-bob", questions=path) as dataset:
        assert dataset.questions[0].answers == {("jane", "")}
    path.write_text(json.dumps({**item, **change}) + "\n", encoding="utf-8")
    with pytest.raises(LoadError, match=message), open_dataset("probes-bob", questions=path):
        pass
