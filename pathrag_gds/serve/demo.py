"""From nothing to an answer: server, schema, story, vectors, question."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Thread
from typing import Any

from pathrag_gds import server
from pathrag_gds.config import DEFAULT_TENANT, Connection, Settings, read_settings
from pathrag_gds.demo import (
    CHUNK_FILES,
    DEFAULT_QUESTION,
    DOCUMENT,
    NODE_FILES,
    RELATIONSHIP_FILES,
    keys,
)
from pathrag_gds.errors import ConfigError, EncoderMismatch, IndexMissing, ModelError
from pathrag_gds.graph.database import Database, QueryRunner, Row, probe_gds
from pathrag_gds.graph.queries import load
from pathrag_gds.ingest.embed import embed
from pathrag_gds.ingest.load import load_files
from pathrag_gds.migrate.folder import migrations_folder
from pathrag_gds.migrate.runner import status, up
from pathrag_gds.models.encoder import Encoder, load_encoder
from pathrag_gds.models.reranker import load_reranker
from pathrag_gds.pathrag import PathRAG
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION
from pathrag_gds.serve.command import command_line
from pathrag_gds.server.home import Home
from pathrag_gds.types import SearchResult

__all__ = ["DEMO_TENANT", "DemoReport", "Step", "choose_tenant", "run_demo"]

DEMO_TENANT = "demo"
FILES = (*CHUNK_FILES, *NODE_FILES, *RELATIONSHIP_FILES)
# Entities, relationships and chunks of the story.
SIZE = (104, 165, 32)
SECOND_QUESTION = "Who are Bob's friends?"

Bar = Callable[..., AbstractContextManager[Callable[..., None]]]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was done, in words, and how long it took."""

    name: str
    detail: str
    millis: float


@dataclass(frozen=True, slots=True)
class DemoReport:
    """What the demo did and found.

    Attributes:
        next: Commands that go on from here.
    """

    tenant: str
    steps: tuple[Step, ...]
    result: SearchResult
    next: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {
            "tenant": self.tenant,
            "steps": [{"name": s.name, "detail": s.detail, "millis": s.millis} for s in self.steps],
            "result": self.result.to_dict(),
            "next": list(self.next),
        }


@dataclass(slots=True)
class _Clock:
    steps: list[Step] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[list[str]]:
        """Time a block; what it appends to the list is the detail."""
        began = time.perf_counter()
        detail: list[str] = []
        yield detail
        millis = round((time.perf_counter() - began) * 1000, 1)
        self.steps.append(Step(name, " ".join(detail), millis))


def run_demo(settings: Settings, question: str | None, *, progress: Bar) -> DemoReport:
    """Start the server unless one is named, migrate, load, embed, and ask.

    Every step is idempotent: a second call finds the work done, an interrupted one goes on.

    Args:
        settings: Where; without a URI the embedded server, which is installed and started.
        question: ``DEFAULT_QUESTION`` when None.
        progress: Opens a bar: called with what is done and, for sizes, ``unit="bytes"``.

    Raises:
        ConfigError: The tenants that the demo may use hold other data.
        EmbeddedServerError: The server cannot be installed or started.
        DatabaseError: A statement failed.
    """
    clock = _Clock()
    encoder = load_encoder(settings.model or None)
    connection = settings.connection()
    if connection is None:
        # The model opens while the server does: the one waits for the disk, the other for itself.
        Thread(target=_open, args=(encoder,)).start()
        connection = _start_server(settings, clock, progress)
    with Database(connection) as db:
        # Refused before anything is touched, schema included.
        tenant = choose_tenant(db, settings.tenant)
        asked = question or DEFAULT_QUESTION
        if _is_complete(db, tenant, encoder):
            with clock.step("story") as detail:
                detail.append(f"is in tenant {tenant} already, with its vectors")
        else:
            _prepare(db, tenant, encoder, clock, progress)
        try:
            result = _search(db, tenant, encoder, settings, asked, clock)
        except (EncoderMismatch, IndexMissing):
            # Somebody changed the schema or the vectors since the story was put there.
            _prepare(db, tenant, encoder, clock, progress)
            result = _search(db, tenant, encoder, settings, asked, clock)
    return DemoReport(tenant, tuple(clock.steps), result, _next(settings, tenant))


def _open(encoder: Encoder) -> None:
    # A model that cannot be opened is told where it is needed.
    with suppress(ModelError):
        encoder.encode([DEFAULT_QUESTION])


def choose_tenant(db: QueryRunner, wanted: str) -> str:
    """Give the tenant that the demo goes into: never one that holds anything else.

    A tenant that the demo was loaded into counts as its own only while nothing was added to it.

    Args:
        wanted: The only one to consider; empty for ``default``, then ``demo``.

    Raises:
        ConfigError: None of them is empty or holds the demo alone.
    """
    candidates = [wanted] if wanted else [DEFAULT_TENANT, DEMO_TENANT]
    for tenant in candidates:
        state = _tenant_state(db, tenant)
        if state["demo"] or not state["occupied"]:
            return tenant
    names = " and ".join(map(repr, candidates))
    raise ConfigError(
        f"Tenant {names} of this database {'holds' if wanted else 'hold'} other data, "
        "and the demo never mixes with it.",
        hint="Name an unused tenant: pathrag demo --tenant NAME",
    )


def _tenant_state(db: QueryRunner, tenant: str) -> Row:
    own = keys()
    (state,) = db.run(
        load("demo/tenant_state"),
        tenant=tenant,
        document=DOCUMENT,
        entities=list(own.entities),
        chunks=list(own.chunks),
        keys=list(own.relationships),
    )
    return state


def _next(settings: Settings, tenant: str) -> tuple[str, ...]:
    words = ["pathrag", "query", SECOND_QUESTION]
    where = []
    home = server.status(settings.home or None).home
    if settings.uri:
        where += ["--uri", settings.uri]
        if settings.username not in ("", "neo4j"):
            where += ["--username", settings.username]
        if settings.database:
            where += ["--database", settings.database]
    elif home != server.default_home() or read_settings().uri:
        where += ["--home", str(home)]
    if tenant != DEFAULT_TENANT:
        words += ["--tenant", tenant]
    commands = [[*words, *where]]
    if not settings.uri:
        commands.append(["pathrag", "server", "stop", *where])
    return tuple(map(command_line, commands))


def _start_server(settings: Settings, clock: _Clock, progress: Bar) -> Connection:
    home = settings.home or None
    if settings.lane:
        server.find_lane(settings.lane)
    # Before anything is fetched: a home of the other lane could not use it.
    lane = Home.at(home).check_lane(settings.lane or None)
    with clock.step("jars") as detail, progress("Fetching Neo4j", unit="bytes") as move:
        done = server.install(lane, move, verify=False)
        reused = len(done.jars) - done.fetched - done.reused
        detail.append(f"{done.fetched} fetched, {done.reused} copied, {reused} were there")
    with clock.step("server") as detail, progress("Starting Neo4j"):
        ran = server.status(home).state == "running"
        connection = server.start(home, lane, probe=probe_gds)
        detail.append(f"{'ran already' if ran else 'started'} at {connection.uri}")
    return connection


def _is_complete(db: QueryRunner, tenant: str, encoder: Encoder) -> bool:
    """Whether an earlier run did all that this one would: two statements in place of twenty."""
    if _tenant_state(db, tenant)["digest"] != _digest(encoder):
        return False
    return tuple(db.run(load("demo/contents"), tenant=tenant)[0].values()) == SIZE


def _prepare(db: Database, tenant: str, encoder: Encoder, clock: _Clock, progress: Bar) -> None:
    _migrate(db, clock)
    _load(db, tenant, clock, progress)
    _embed(db, tenant, encoder, clock, progress)
    db.run(load("demo/mark"), tenant=tenant, document=DOCUMENT, digest=_digest(encoder))


def _migrate(db: Database, clock: _Clock) -> None:
    with clock.step("migrate") as detail:
        before = status(db)
        if before.is_current:
            detail.append(f"schema is at version {before.version}")
        else:
            done = up(db)
            detail.append(f"{len(done.applied)} applied, schema at version {done.version}")


def _load(db: Database, tenant: str, clock: _Clock, progress: Bar) -> None:
    with clock.step("load") as detail, progress("Loading"):
        done = load_files(db, FILES, tenant=tenant)
        detail.append(
            f"{done.nodes} entities, {done.relationships} relationships, {done.chunks} chunks "
            f"into tenant {tenant}"
        )


def _digest(encoder: Encoder) -> str:
    """Hash what the prepared story depends on: its files, the migrations, the encoder."""
    digest = sha256(f"{encoder.fingerprint} {TEXT_TEMPLATE_VERSION}".encode())
    for path in (*FILES, *sorted(migrations_folder().glob("*.cypher"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _embed(db: Database, tenant: str, encoder: Encoder, clock: _Clock, progress: Bar) -> None:
    with clock.step("embed") as detail, progress("Embedding"):
        done = embed(db, encoder, tenant=tenant)
        detail.append(f"{done.embedded} texts, {done.unchanged} unchanged")


def _search(
    db: Database,
    tenant: str,
    encoder: Encoder,
    settings: Settings,
    question: str,
    clock: _Clock,
) -> SearchResult:
    with clock.step("search") as detail:
        # Only one that is named: `pathrag query` takes what was adapted to the tenant, too.
        named = load_reranker(settings.reranker, encoder) if settings.reranker else None
        rag = PathRAG(
            db, tenant=tenant, encoder=encoder, reranker=named, home=settings.home or None
        )
        result = rag.search(question)
        detail.append(f"{result.stats.candidates} paths considered")
    return result
