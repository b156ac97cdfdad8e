"""Which servers the integration tests choose."""

from __future__ import annotations

import pytest

from pathrag_gds.config import Connection
from pathrag_gds.server.artifacts import LANES
from tests.sources import GIVEN, Source, choose_sources, describe

SERVER = {
    "PATHRAG_TEST_NEO4J_URI": "bolt://127.0.0.1:1",
    "PATHRAG_TEST_NEO4J_USERNAME": "u",
    "PATHRAG_TEST_NEO4J_PASSWORD": "geheim-geheim",
    "PATHRAG_TEST_NEO4J_DATABASE": "d",
}


def test_both_lanes_unless_told_otherwise() -> None:
    assert choose_sources({}) == (Source("lts"), Source("current"))
    assert choose_sources({"PATHRAG_TEST_LANE": "all"}) == choose_sources({})
    assert choose_sources({"PATHRAG_TEST_LANE": "current"}) == (Source("current"),)
    assert choose_sources({"PATHRAG_TEST_LANE": "current"}, lane="lts") == (Source("lts"),)
    with pytest.raises(ValueError, match="'newest'"):
        choose_sources({"PATHRAG_TEST_LANE": "newest"})


def test_a_given_server_comes_first_and_is_wiped_only_on_request() -> None:
    expected = Connection("bolt://127.0.0.1:1", "u", "geheim-geheim", "d")
    assert choose_sources({**SERVER, "PATHRAG_TEST_LANE": "lts"}) == (Source(GIVEN, expected),)
    (wiped,) = choose_sources({**SERVER, "PATHRAG_TEST_NEO4J_WIPE": "1"})
    assert wiped.wipe
    for value in ("", "0", "true"):
        (kept,) = choose_sources({**SERVER, "PATHRAG_TEST_NEO4J_WIPE": value})
        assert not kept.wipe


def test_the_settings_of_the_program_choose_no_test_server() -> None:
    real = {"NEO4J_URI": "bolt://real", "NEO4J_PASSWORD": "real-password"}
    assert all(source.connection is None for source in choose_sources(real))


def test_the_header_tells_versions_or_why_there_are_none() -> None:
    for name, lane in LANES.items():
        assert describe(Source(name)) == (
            f"embedded, lane {name}: {lane.neo4j} community, GDS {lane.gds}"
        )
    (given,) = choose_sources(SERVER)
    text = describe(given)
    assert text.startswith("bolt://127.0.0.1:1 (PATHRAG_TEST_NEO4J_URI): none, No Neo4j answers")
    assert "geheim" not in text
