"""Look at everything that an answer needs, and say what to do about what is missing."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pathrag_gds.config import Settings
from pathrag_gds.errors import PathRAGError
from pathrag_gds.graph.connect import resolve
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import IndexState, VectorRecord, index_states, vector_record
from pathrag_gds.models.encoder import Encoder, load_encoder
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION

__all__ = ["Check", "check_indexes", "check_tenants", "check_vectors", "examine"]

State = Literal["ok", "todo", "failed"]

# What migrations make and a search reads; the vector indexes are looked up by their record.
SEARCH_INDEXES = ("chunk_text", "entity_name_key", "entity_text")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        state: ``ok``; ``todo``: an answer is possible, but something is missing; ``failed``:
            no answer is possible.
        found: What is there, in words.
        todo: What to do; empty when all is well.
    """

    name: str
    state: State
    found: str
    todo: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return asdict(self)


def examine(settings: Settings) -> tuple[Check, ...]:
    """Check Java, jars, server, GDS, migrations, model, indexes, vectors and tenants, in order.

    What cannot be looked at because something before it failed is left out. Nothing is changed.
    """
    checks: list[Check] = []
    if not settings.uri:
        checks += [_guarded("java", _java, settings), _guarded("jars", _jars, settings)]
        checks.append(_guarded("server", _server, settings))
    encoder = load_encoder(settings.model or None)
    model = _guarded("model", _model, encoder)
    try:
        with Database(resolve(settings)) as db:
            db.verify()
            checks.append(_guarded("neo4j", _neo4j, db))
            checks.append(_guarded("gds", _gds, db))
            if db.capabilities.gds_version:
                checks.append(_guarded("projections", _projections, db))
            checks += _group("migrations", _migrations, db)
            checks.append(model)
            checks += _group("indexes", _indexes, db, encoder if model.state == "ok" else None)
            checks += _group("tenants", _tenants, db)
    except PathRAGError as error:
        if not any(check.state == "failed" for check in checks if check.name == "server"):
            checks.append(Check("neo4j", "failed", error.message, error.hint))
        checks.append(model)
    return tuple(checks)


def check_indexes(states: Iterable[IndexState], names: Iterable[str]) -> list[Check]:
    """Check that each named index is there and online."""
    by_name = {state.name: state for state in states}
    return [_index(f"index {name}", name, by_name.get(name)) for name in names]


def check_vectors(
    record: VectorRecord | None, states: Iterable[IndexState], role: str, encoder: Encoder | None
) -> Check:
    """Check a vector index against its record, and the record against the encoder in use."""
    name = f"vectors of {'entities' if role == 'entity' else 'chunks'}"
    if record is None:
        return Check(name, "todo", "nothing is embedded yet", "Run: pathrag embed")
    state = next((s for s in states if s.name == record.index), None)
    found = _index(name, record.index, state)
    if found.state != "ok" or state is None:
        return found
    dimension = state.options.get("vector.dimensions")
    told = (
        f"{record.index} {state.state}, dimension {dimension}, "
        f"{record.encoder} {record.fingerprint[:12]}, template {record.template}"
    )
    if dimension != record.dimension:
        return Check(
            name,
            "failed",
            f"{told}; the vectors have dimension {record.dimension}",
            f"Run: pathrag embed --model {record.encoder}",
        )
    if encoder is not None and record.fingerprint != encoder.fingerprint:
        return Check(
            name,
            "failed",
            f"{told}; the encoder in use is {encoder.name} {encoder.fingerprint[:12]}",
            f"Use --model {record.encoder}, or run: pathrag embed --model {encoder.name}",
        )
    if record.template != TEXT_TEMPLATE_VERSION:
        return Check(
            name,
            "todo",
            f"{told}; texts are now written as template {TEXT_TEMPLATE_VERSION}",
            "Run: pathrag embed",
        )
    return Check(name, "ok", told)


def check_tenants(rows: Iterable[Mapping[str, Any]]) -> list[Check]:
    """Check the rows of ``doctor/tenants``: what each tenant holds and how much is embedded."""
    checks = []
    for row in rows:
        missing = (
            row["entities"] - row["embedded_entities"] + row["chunks"] - row["embedded_chunks"]
        )
        found = f"{row['entities']} entities, {row['chunks']} chunks"
        name = f"tenant {row['tenant']}"
        if missing:
            command = f"Run: pathrag embed --tenant {shlex.quote(row['tenant'])}"
            checks.append(Check(name, "todo", f"{found}; {missing} not embedded", command))
        else:
            checks.append(Check(name, "ok", f"{found}, all embedded"))
    return checks or [
        Check("tenants", "todo", "the graph is empty", "Run: pathrag demo, or pathrag load FILES")
    ]


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
    home = "" if found.home == default_home() else f" --home {found.home}"
    told = f"{found.state}, home {found.home}" + (f", lane {found.lane}" if found.lane else "")
    if found.state == "running":
        return Check("server", "ok", f"{told}, pid {found.pid}")
    if found.state == "starting":
        return Check("server", "failed", told, "Wait a moment, then run: pathrag doctor" + home)
    return Check("server", "failed", told, f"Run: pathrag server start{home}")


def _model(encoder: Encoder) -> Check:
    found = f"{encoder.name}, dimension {encoder.dimension}, {encoder.fingerprint[:12]}"
    return Check("model", "ok", found)


def _neo4j(db: Database) -> Check:
    server = db.capabilities
    found = f"{server.version} {server.edition} at {db.connection.uri}"
    return Check("neo4j", "ok", found)


def _gds(db: Database) -> Check:
    version = db.capabilities.gds_version
    if version:
        return Check("gds", "ok", version)
    return Check(
        "gds",
        "todo",
        "not installed; search works, algorithms do not",
        "Install the Graph Data Science plugin on the server, or run: pathrag server start",
    )


def _projections(db: Database) -> Check:
    from pathrag_gds.graph.gds_client import GdsClient

    with GdsClient(db.connection) as gds:
        found = gds.projections()
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


def _index(label: str, name: str, state: IndexState | None) -> Check:
    if state is None:
        return Check(label, "failed", f"{name} does not exist", "Run: pathrag migrate up")
    if state.state == "POPULATING":
        found = f"{name} POPULATING, {state.percent:.0f} %"
        return Check(label, "todo", found, "Wait until it is ONLINE.")
    if state.state != "ONLINE":
        command = "Drop it on the server, then run: pathrag migrate up"
        return Check(label, "failed", f"{name} {state.state}", command)
    return Check(label, "ok", f"{name} ONLINE, {state.type.lower()}")


def _tenants(db: Database) -> list[Check]:
    entity, chunk = vector_record(db, "entity"), vector_record(db, "chunk")
    rows = db.run(
        load("doctor/tenants"),
        entity_hash=entity.hash_property if entity else "text_hash",
        chunk_hash=chunk.hash_property if chunk else "text_hash",
    )
    return check_tenants(rows)
