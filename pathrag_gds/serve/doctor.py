"""Look at everything that an answer needs, and say what to do about what is missing."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pathrag_gds.config import Settings
from pathrag_gds.errors import PathRAGError
from pathrag_gds.graph.adapted import all_adapted_rerankers
from pathrag_gds.graph.connect import resolve
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import index_states, read_ontology, vector_record
from pathrag_gds.models.encoder import Encoder, load_encoder
from pathrag_gds.serve.checks import (
    Check,
    check_adapted,
    check_gds,
    check_indexes,
    check_ontology,
    check_tenants,
    check_vectors,
    located,
)

__all__ = ["examine"]

# What migrations make and a search reads; the vector indexes are looked up by their record.
SEARCH_INDEXES = ("chunk_text", "entity_name_key", "entity_names", "entity_text")


def examine(settings: Settings, *, flags: Sequence[str] = ()) -> tuple[Check, ...]:
    """Check Java, jars, server, GDS, migrations, models, indexes, vectors, tenants and ontology.

    What cannot be looked at because something before it failed is left out. Nothing is changed.
    Where the settings name a tenant, nothing is told of others.

    Args:
        flags: Words that name the server, repeated in the commands that are advised.
    """
    return tuple(replace(check, todo=located(check.todo, flags)) for check in _examined(settings))


def _examined(settings: Settings) -> list[Check]:
    checks: list[Check] = []
    if not settings.uri:
        checks += [_guarded("java", _java, settings), _guarded("jars", _jars, settings)]
        checks.append(_guarded("server", _server, settings))
    encoder, model = _model(settings)
    try:
        with Database(resolve(settings)) as db:
            db.verify()
            checks.append(_guarded("neo4j", _neo4j, db))
            checks.append(_guarded("gds", lambda: check_gds(db.capabilities)))
            if db.capabilities.gds_version:
                checks.append(_guarded("projections", _projections, db, settings.tenant))
            checks += _group("migrations", _migrations, db)
            checks += [model, _guarded("reranker", _reranker, settings, encoder)]
            checks += _group("indexes", _indexes, db, encoder)
            checks += _group("tenants", _tenants, db, settings.tenant)
            checks += _group("rerankers", _adapted, db, settings)
    except PathRAGError as error:
        if not any(check.state == "failed" for check in checks if check.name == "server"):
            checks.append(Check("neo4j", "failed", error.message, error.hint))
        checks.append(model)
    return checks


def _guarded(name: str, look: Callable[..., Check], *arguments: Any) -> Check:
    try:
        return look(*arguments)
    except PathRAGError as error:
        return Check(name, "failed", error.message, error.hint)


def _group(name: str, look: Callable[..., list[Check]], *arguments: Any) -> list[Check]:
    try:
        return look(*arguments)
    except PathRAGError as error:
        return [Check(name, "failed", error.message, error.hint)]


def _java(settings: Settings) -> Check:
    from pathrag_gds.server.artifacts import find_lane
    from pathrag_gds.server.java import find_java

    return Check("java", "ok", str(find_java(find_lane(_lane(settings)))))


def _jars(settings: Settings) -> Check:
    from pathrag_gds.server import default_cache
    from pathrag_gds.server.artifacts import locked

    lane = _lane(settings)
    folder, artifacts = default_cache(), locked(lane)
    missing = 0
    for artifact in artifacts:
        jar = folder / artifact.path
        missing += not jar.is_file() or jar.stat().st_size != artifact.size
    found = f"{len(artifacts) - missing} of {len(artifacts)} for lane {lane} in {folder}"
    if missing:
        return Check("jars", "todo", found, f"Run: pathrag server install --lane {lane}")
    return Check("jars", "ok", found)


def _lane(settings: Settings) -> str:
    from pathrag_gds.server import DEFAULT_LANE, status

    return settings.lane or status(settings.home or None).lane or DEFAULT_LANE


def _server(settings: Settings) -> Check:
    from pathrag_gds.server import default_home, status

    found = status(settings.home or None)
    home = "" if found.home == default_home() else f" --home {shlex.quote(str(found.home))}"
    told = f"{found.state}, home {found.home}" + (f", lane {found.lane}" if found.lane else "")
    if found.state == "running":
        return Check("server", "ok", f"{told}, pid {found.pid}")
    if found.state == "starting":
        return Check("server", "failed", told, "Wait a moment, then run: pathrag doctor" + home)
    return Check("server", "failed", told, f"Run: pathrag server start{home}")


def _model(settings: Settings) -> tuple[Encoder | None, Check]:
    """Load the encoder in use; None with a failed check where that cannot be done."""
    try:
        encoder = load_encoder(settings.model or None)
        found = f"{encoder.name}, dimension {encoder.dimension}, {encoder.fingerprint[:12]}"
    except PathRAGError as error:
        return None, Check("model", "failed", error.message, error.hint)
    return encoder, Check("model", "ok", found)


def _reranker(settings: Settings, encoder: Encoder | None) -> Check:
    """Say which reranker searches use where none was adapted to the tenant."""
    from pathrag_gds.models.path_reranker import PathReranker
    from pathrag_gds.models.reranker import load_reranker

    if encoder is None:
        return Check("reranker", "failed", "there is no encoder for it", "See the model above.")
    loaded = load_reranker(settings.reranker or None, encoder)
    told = f"{loaded.name}, {loaded.fingerprint[:12]}"
    if isinstance(loaded.reranker, PathReranker):
        record = loaded.reranker.record
        told += f", version {record.version}" + f" of {record.created}" * bool(record.created)
    origin = settings.reranker and "named, so that adapted ones are not used"
    return Check("reranker", "ok", f"{told}; {origin or 'shipped'}")


def _adapted(db: Database, settings: Settings) -> list[Check]:
    from pathrag_gds.server.home import Home

    folder = Home.at(settings.home or None).rerankers
    return [
        check_adapted(record, read_ontology(db, record.tenant), folder)
        for record in all_adapted_rerankers(db)
        if settings.tenant in ("", record.tenant)
    ]


def _neo4j(db: Database) -> Check:
    server = db.capabilities
    found = f"{server.version} {server.edition} at {db.connection.uri}"
    return Check("neo4j", "ok", found)


def _projections(db: Database, tenant: str) -> Check:
    from pathrag_gds.graph.gds_client import PROJECTION_PREFIX, GdsClient

    own = PROJECTION_PREFIX + tenant
    with GdsClient(db.connection) as gds:
        found = [p for p in gds.projections() if not tenant or p.name == own]
    told = "; ".join(f"{p.name} {p.nodes} nodes, {p.bytes // 2**20} MiB" for p in found)
    return Check(
        "projections", "ok", told or "none; pathrag migrate up makes them, search needs none"
    )


def _migrations(db: Database) -> list[Check]:
    from pathrag_gds.migrate import runner

    found = runner.status(db)
    pending = sum(entry.state == "pending" for entry in found.entries)
    told = f"version {found.version or 'none'} of {found.entries[-1].version}, {found.outcome}"
    if found.is_current:
        return [Check("migrations", "ok", told)]
    command = "pathrag migrate up"
    if pending < sum(entry.state != "applied" for entry in found.entries):
        command = "pathrag migrate validate"
    checks = [Check("migrations", "todo" if found.version else "failed", told, f"Run: {command}")]
    for finding in found.findings:
        checks.append(Check(f"schema {finding.name}", "todo", finding.message, finding.hint))
    return checks


def _indexes(db: Database, encoder: Encoder | None) -> list[Check]:
    states = index_states(db)
    return [
        *check_indexes(states, SEARCH_INDEXES),
        check_vectors(vector_record(db, "entity"), states, "entity", encoder),
        check_vectors(vector_record(db, "chunk"), states, "chunk", encoder),
    ]


def _tenants(db: Database, tenant: str) -> list[Check]:
    entity, chunk = vector_record(db, "entity"), vector_record(db, "chunk")
    rows = db.run(
        load("doctor/tenants"),
        entity_hash=entity.hash_property if entity else "text_hash",
        chunk_hash=chunk.hash_property if chunk else "text_hash",
    )
    checks = check_tenants(rows, tenant)
    tenants = [row["tenant"] for row in rows if isinstance(row["tenant"], str)]
    if tenant:
        tenants = [name for name in tenants if name == tenant]
    if tenants:
        checks.append(_guarded("ontology", check_ontology, db, tenants, tenant))
    return checks
