"""The catalog through the graphdatascience client, on a real server."""

from __future__ import annotations

import pytest

from pathrag_gds.graph.database import Database
from pathrag_gds.graph.gds_client import GdsClient, projection_name

pytestmark = pytest.mark.integration


def test_the_projections_of_the_demo_are_listed_and_dropped(
    demo: Database,
) -> None:
    from pathrag_gds.migrate import up

    up(demo)
    name = projection_name("default")
    with GdsClient(demo.connection) as gds:
        found = {p.name: p for p in gds.projections()}
        assert found[name].nodes == 104
        # Undirected: every relationship counts once per direction.
        assert found[name].relationships == 2 * 165
        assert gds.drop(name) is True
        assert gds.drop(name) is False
        assert name not in {p.name for p in gds.projections()}
