"""The same program on a server in a container, started by testcontainers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from pathrag_gds import PathRAG
from pathrag_gds.config import Connection
from pathrag_gds.demo import (
    CHUNK_FILES,
    DEFAULT_QUESTION,
    NODE_FILES,
    RELATIONSHIP_FILES,
    questions,
)
from pathrag_gds.errors import QueryTimeout, ServerUnavailable
from pathrag_gds.graph.database import Database, probe_gds
from pathrag_gds.ingest import embed, load_files
from pathrag_gds.migrate import up
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.server.artifacts import LANES
from tests.compose import official_image
from tests.statements import statement

pytestmark = pytest.mark.container

IMAGE = os.environ.get("PATHRAG_TEST_IMAGE") or official_image()
PASSWORD = "container-test"


def _has_ryuk() -> bool:
    """Tell whether the helper that removes left-over containers is there or can be fetched."""
    import docker
    import docker.errors
    from testcontainers.core.config import testcontainers_config

    client = docker.from_env()
    try:
        client.images.get(testcontainers_config.ryuk_image)
    except docker.errors.ImageNotFound:
        try:
            client.images.pull(testcontainers_config.ryuk_image)
        except docker.errors.APIError:
            return False
    finally:
        client.close()
    return True


def _wait_for_plugin(connection: Connection) -> None:
    """Wait until the plugin answers: the container's own strategy knows of the server only."""
    deadline = time.monotonic() + 120
    while True:
        try:
            probe_gds(connection, timeout_s=10.0)
            return
        except (ServerUnavailable, QueryTimeout):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


@pytest.fixture(scope="module")
def container() -> Iterator[Connection]:
    import docker.errors
    from testcontainers.community.neo4j import Neo4jContainer
    from testcontainers.core.config import testcontainers_config

    try:
        if not testcontainers_config.ryuk_disabled and not _has_ryuk():
            testcontainers_config.ryuk_disabled = True
        made = Neo4jContainer(IMAGE, username="neo4j", password=PASSWORD)
    except docker.errors.DockerException as error:
        pytest.skip(f"no Docker engine answers: {error}")
    made.with_env("NEO4J_PLUGINS", '["graph-data-science"]')
    made.with_env("NEO4J_dbms_security_procedures_unrestricted", "gds.*")
    made.with_env("NEO4J_server_memory_heap_max__size", "1g")
    with made:
        connection = Connection(made.get_connection_url(), "neo4j", PASSWORD)
        _wait_for_plugin(connection)
        yield connection


@pytest.fixture(scope="module")
def database(container: Connection) -> Iterator[Database]:
    with Database(container) as database:
        yield database


def test_plugin_answers_over_our_seam(container: Connection, database: Database) -> None:
    assert probe_gds(container, timeout_s=30.0) == database.capabilities.gds_version
    assert database.capabilities.edition == "community"
    if official_image() == IMAGE or IMAGE.endswith(":lts"):
        assert database.capabilities.version == LANES["lts"].neo4j


def test_settings_of_the_environment_arrive(database: Database) -> None:
    rows = database.run(
        statement("SHOW SETTINGS 'dbms.security.procedures.unrestricted' YIELD value", "read")
    )
    assert rows == [{"value": "gds.*"}]


def test_schema_load_and_answer(database: Database) -> None:
    assert up(database).applied
    report = load_files(database, [*NODE_FILES, *RELATIONSHIP_FILES, *CHUNK_FILES])
    assert (report.nodes, report.relationships, report.rejected) == (104, 165, 0)
    assert embed(database, load_encoder(None)).entities == report.nodes

    result = PathRAG(database).search(DEFAULT_QUESTION)

    (gold,) = (q.id for q in questions() if q.question == DEFAULT_QUESTION)
    assert result.answers[0].id == gold
    assert result.paths[result.answers[0].paths[0] - 1].path.nodes[-1] == gold
