"""The gold of the probes follows from the graphs: each row brings the query that proves it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.evaluation.datasets import PARTS, open_dataset
from pathrag_gds.evaluation.datasets.probes import Row, read_rows
from pathrag_gds.evaluation.probe import same_value
from pathrag_gds.graph.database import Database
from pathrag_gds.ingest.load import load_files
from tests.statements import statement

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize("name", [*PARTS["probes"], *PARTS["probes-held-out"]])
def test_gold_is_what_the_graph_says(migrated: Database, name: str) -> None:
    graph = name.rpartition("-")[2]
    folder = "probes_held_out" if "held-out" in name else "probes"
    data = os.environ.get("PATHRAG_DATA")
    if graph in ("movies", "northwind") and not data:
        pytest.skip("PATHRAG_DATA names no folder of data sets")
    with open_dataset(name, data=Path(data) if data else None) as dataset:
        load_files(migrated, dataset.inputs, tenant=name)
    wrong = {}
    for row in read_rows(DATA / folder / f"{graph}.jsonl"):
        assert (row.check == "") == (row.probe.expected == "relation"), row.id
        if row.check:
            found = proved(migrated, row, name)
            if not agree(row, found):
                wrong[row.id] = found
    assert wrong == {}


def proved(database: Database, row: Row, tenant: str) -> list[Any]:
    """Run the query of a row; of rows with a column ``best``, those as good as the first."""
    found = database.run(statement(row.check, "read"), tenant=tenant)
    if found and "best" in found[0]:
        assert all(one["best"] is not None for one in found), row.id
        # Two as good as each other would make the question a riddle.
        return [one["gold"] for one in found if one["best"] == found[0]["best"]]
    return [one["gold"] for one in found]


def agree(row: Row, found: list[Any]) -> bool:
    if row.probe.expected == "entities":
        return len(found) == len(row.probe.ids) and set(found) == row.probe.ids
    (gold,) = row.probe.values
    return len(found) == 1 and same_value(found[0], gold) and type(found[0]) is type(gold)
