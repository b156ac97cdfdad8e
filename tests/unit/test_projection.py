"""A tenant's graph in the catalog while others make it, too; what the server says is scripted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pathrag_gds.errors import DatabaseError
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.gds_client import ensure_projection


class Catalog:
    """A server on which somebody else makes the graph while ours is being made."""

    def __init__(self, refusal: str, *, theirs_comes: bool) -> None:
        self.refusal = refusal
        self.theirs_comes = theirs_comes
        self.mark = ""
        self.made = 0
        self.capabilities = SimpleNamespace(require_gds=lambda *_: None)

    def change_stamp(self) -> str:
        return "now"

    def run(self, query: Any, **parameters: Any) -> list[dict[str, Any]]:
        if query.name == "gds/catalog_entry":
            return [{"mark": self.mark}] if self.mark else []
        if query.name == "gds/tenant_counts":
            return [{"nodes": 3, "relationships": 2}]
        if query.name == "gds/memory":
            return [{"needed": 1, "free": 2**30}]
        if query.name == "gds/project_tenant":
            self.made += 1
            if self.theirs_comes:
                self.mark = parameters["mark"]
            raise DatabaseError(self.refusal)
        assert query.name == "gds/drop"
        return []


@pytest.mark.parametrize(
    "refusal",
    [
        "A graph with name 'pathrag_t' already exists.",
        "Caused by: java.lang.IllegalStateException: Graph name pathrag_t already loaded",
    ],
)
def test_the_graph_of_whoever_was_quicker_is_taken(refusal: str) -> None:
    catalog = Catalog(refusal, theirs_comes=True)
    assert ensure_projection(cast(Database, catalog), "t") == "pathrag_t"
    assert catalog.made == 1


def test_other_refusals_are_told_and_a_name_that_stays_taken_is_given_up() -> None:
    other = Catalog("the disk is full", theirs_comes=False)
    with pytest.raises(DatabaseError, match="the disk is full"):
        ensure_projection(cast(Database, other), "t")
    assert other.made == 1
    taken = Catalog("already loaded", theirs_comes=False)
    with pytest.raises(DatabaseError, match="already loaded"):
        ensure_projection(cast(Database, taken), "t")
    assert taken.made == 3
