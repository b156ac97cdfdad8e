"""The Docker set-up is of the same line as the embedded server and safe by default."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from pathrag_gds.server.artifacts import LANES, locked
from tests.compose import COMPOSE_FILE, official_image

TEXT = COMPOSE_FILE.read_text(encoding="utf-8")


def test_image_is_the_locked_server_of_the_default_lane() -> None:
    (server,) = {a.version for a in locked("lts") if a.artifact == "neo4j-server"}
    assert server == LANES["lts"].neo4j
    assert official_image() == f"neo4j:{server}-community"


def test_health_needs_the_plugin_over_bolt() -> None:
    health = TEXT[TEXT.index("healthcheck:") :]
    assert "cypher-shell" in health
    assert "bolt://" in health
    assert "RETURN gds.version()" in health
    assert '["graph-data-science"]' in TEXT


def test_no_port_is_open_to_other_machines() -> None:
    ports = TEXT[TEXT.index("ports:") : TEXT.index("volumes:")]
    entries = [line.strip() for line in ports.splitlines() if line.strip().startswith("- ")]
    assert len(entries) == 2
    assert all(entry.startswith('- "127.0.0.1:') for entry in entries)


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is not there")
@pytest.mark.container
def test_compose_accepts_the_file_and_wants_a_password() -> None:
    def config(**extra: str) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("NEO4J_")}
        return subprocess.run(
            ["docker-compose", "-f", str(COMPOSE_FILE), "config"],
            env={**kept, **extra},
            capture_output=True,
            text=True,
            check=False,
        )

    refused = config()
    assert refused.returncode != 0
    assert "NEO4J_PASSWORD" in refused.stderr + refused.stdout
    accepted = config(NEO4J_PASSWORD="long-enough")
    assert accepted.returncode == 0, accepted.stderr
    assert official_image() in accepted.stdout
    assert "neo4j/long-enough" in accepted.stdout
