"""Fixtures on a real Neo4j server.

Every test that asks for one of them runs once on each server to test on (see tests/sources.py):

- ``lane``: its name, ``lts``, ``current`` or ``given``
- ``server``: its ``Connection``, the server started once a session
- ``connection``: a ``Database`` on it, as it is: whatever earlier tests left
- ``database``: the same, empty: no data, no GDS graph, no constraint, no index
- ``migrated``: the same, with our schema and no data
- ``demo``: the same, with the demo graph loaded and embedded; tests only read it

Write test data with ``tests.statements.statement``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pathrag_gds.config import Connection
from pathrag_gds.graph.database import Database
from tests.conftest import SOURCES
from tests.integration.content import Content
from tests.sources import Source, embedded


@pytest.fixture(scope="session")
def lane(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def source(request: pytest.FixtureRequest, lane: str) -> Source:
    return next(s for s in request.config.stash[SOURCES] if s.name == lane)


@pytest.fixture(scope="session")
def server(source: Source, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    if source.connection is not None:
        yield source.connection
        return
    with embedded(source.name, tmp_path_factory.mktemp(f"server-{source.name}")) as connection:
        yield connection


@pytest.fixture(scope="session")
def content(server: Connection, source: Source) -> Iterator[Content]:
    with Database(server) as database:
        database.verify()
        held = Content(database)
        if source.connection is not None and not source.wipe:
            held.refuse_foreign_data(server.uri)
        yield held
        held.empty()
        if source.connection is not None:
            held.mark()


@pytest.fixture
def connection(content: Content) -> Database:
    return content.database


@pytest.fixture
def database(content: Content) -> Database:
    content.empty()
    return content.database


@pytest.fixture
def migrated(content: Content) -> Database:
    content.migrate()
    return content.database


@pytest.fixture
def demo(content: Content) -> Database:
    content.demo()
    return content.database
