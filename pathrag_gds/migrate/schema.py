"""The schema on the database: compared, waited for, and made again where it was dropped."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence

from pathrag_gds.errors import ApplyFailed, DimensionMismatch, IndexMissing, MigrationError
from pathrag_gds.graph.database import Database, Row
from pathrag_gds.graph.queries import Query, load
from pathrag_gds.migrate.definitions import (
    Definition,
    Finding,
    compare,
    dropped_name,
    existing,
    read_definition,
)
from pathrag_gds.migrate.files import Migration, visible
from pathrag_gds.migrate.lock import Progress
from pathrag_gds.migrate.placeholders import filled
from pathrag_gds.migrate.results import Step

__all__ = [
    "await_indexes",
    "dropped_names",
    "enterprise_feature",
    "findings",
    "read_schema",
    "refuse_conflicts",
    "refuse_enterprise",
    "restore",
    "wanted_definitions",
]

INDEX_TIMEOUT_S = 3600.0
STATEMENT_TIMEOUT_S = 3600.0

_ENTERPRISE = (
    (re.compile(r"\bIS\s+(?:NODE\s+|RELATIONSHIP\s+|REL\s+)?KEY\b", re.I), "a key constraint"),
    (re.compile(r"\bIS\s+NOT\s+NULL\b", re.I), "a property existence constraint"),
    (re.compile(r"\bIS\s*(?:::|TYPED\b)", re.I), "a property type constraint"),
)


def enterprise_feature(statement: str) -> str:
    """Say what in a schema statement Community does not have, or give an empty text."""
    text = visible(statement)
    if re.match(r"\s*(?:CYPHER\s+\S+\s+)?CREATE\s+CONSTRAINT\b", text, re.I):
        for pattern, feature in _ENTERPRISE:
            if pattern.search(text):
                return feature
    return ""


def refuse_enterprise(db: Database, files: Iterable[Migration]) -> None:
    """Refuse files that need Enterprise Edition on a Community server, before anything is run.

    Raises:
        ApplyFailed: The first such statement.
    """
    for file in files:
        for number, statement in enumerate(file.statements, start=1):
            feature = enterprise_feature(statement)
            if feature and db.capabilities.edition.lower() == "community":
                raise ApplyFailed(
                    f"{file.path}: statement {number} makes {feature}, which needs Neo4j "
                    f"Enterprise; this server is Community {db.capabilities.version}.",
                    version=file.version,
                    statement=number,
                    hint="Take the statement out, or run the migrations on Enterprise or Aura. "
                    "Nothing was applied.",
                )


def wanted_definitions(
    files: Iterable[tuple[Migration, Mapping[str, str]]],
) -> tuple[Definition, ...]:
    """Give what the files, run one after the other, leave in the schema.

    Args:
        files: Each with the values of its placeholders.
    """
    wanted: list[Definition] = []
    for file, values in files:
        if file.kind != "schema":
            continue
        for statement in filled(file, values):
            definition = read_definition(statement)
            if definition is not None:
                wanted = [w for w in wanted if not w.name or w.name != definition.name]
                wanted.append(definition)
            dropped = dropped_name(statement)
            wanted = [w for w in wanted if not dropped or w.name != dropped]
    return tuple(wanted)


def read_schema(db: Database) -> tuple[Definition, ...]:
    """Read the indexes and constraints of the database."""
    return existing(db.run(load("migrate/show_indexes")), db.run(load("migrate/show_constraints")))


def findings(db: Database, wanted: Sequence[Definition]) -> tuple[Finding, ...]:
    """List how the schema differs from what applied migrations and ``pathrag embed`` left.

    Args:
        wanted: What the migrations ask for. Where other vectors are in force, their index is asked
            for instead: ``pathrag embed --model`` makes it, maybe under another name and with other
            dimensions, and drops the one that it replaces.
    """
    return compare(_in_force(db, wanted), read_schema(db))


def _in_force(db: Database, wanted: Sequence[Definition]) -> tuple[Definition, ...]:
    live = {row["role"]: row for row in db.run(load("migrate/live_vector_indexes"))}
    replaced = {
        f"{role}_embedding": live[role]
        for role in ("entity", "chunk", "community")
        if role in live and live[role]["name"] in (f"{role}_embedding", f"{role}_embedding_alt")
    }
    return tuple(
        _moved(one, replaced[one.name]) if one.type == "VECTOR" and one.name in replaced else one
        for one in wanted
    )


def _moved(one: Definition, live: Row) -> Definition:
    name, dimension = live["name"], str(live["dimension"])
    if name == one.name and one.settings.get("vector.dimensions") == dimension:
        return one
    similarity = one.settings.get("vector.similarity_function", "cosine")
    text = load(f"ingest/create_{name}").text
    text = text.replace("$dimension", dimension).replace("$similarity", f"'{similarity}'")
    moved = read_definition(text)
    assert moved is not None
    return moved


def dropped_names(file: Migration, values: Mapping[str, str]) -> frozenset[str]:
    """Give the names of the indexes and constraints that a file drops."""
    return frozenset(filter(None, map(dropped_name, filled(file, values))))


def refuse_conflicts(
    db: Database,
    wanted: Sequence[Definition],
    version: str,
    dropped: frozenset[str] = frozenset(),
) -> None:
    """Refuse what exists already in another form, which IF NOT EXISTS would pass over in silence.

    Args:
        dropped: Names that will be gone by the time.

    Raises:
        DimensionMismatch: A vector index has other dimensions.
        MigrationError: A name is taken, or a setting is another.
    """
    found = tuple(f for f in read_schema(db) if f.name not in dropped)
    for finding in compare(wanted, found):
        if finding.problem in ("different", "other_name", "failed"):
            raise _as_error(finding, version)


def _as_error(finding: Finding, version: str = "") -> DimensionMismatch | MigrationError:
    message = f"Migration {version}: {finding.message}" if version else finding.message
    if finding.setting == "vector.dimensions" and finding.found.isdigit():
        return DimensionMismatch(
            message, expected=int(finding.found), found=int(finding.wanted), hint=finding.hint
        )
    return MigrationError(message, hint=finding.hint)


def await_indexes(
    db: Database, wanted: Sequence[Definition], progress: Progress, *,
    timeout_s: float = INDEX_TIMEOUT_S,
) -> None:  # fmt: skip
    """Wait until the wanted indexes are online, reporting how far they are.

    Raises:
        IndexMissing: One failed, or is not ready after ``timeout_s``.
    """
    deadline = time.monotonic() + timeout_s
    pause = 0.02
    told: dict[str, str] = {}
    while True:
        waiting = []
        for finding in compare(wanted, read_schema(db)):
            if finding.problem == "failed":
                raise IndexMissing(finding.message, hint=finding.hint)
            if finding.problem == "populating":
                waiting.append(finding)
        if not waiting:
            return
        if time.monotonic() >= deadline:
            raise IndexMissing(waiting[0].message, hint=waiting[0].hint)
        for finding in waiting:
            if pause >= 1.0 and told.get(finding.name) != finding.message:
                told[finding.name] = finding.message
                progress(finding.message)
        time.sleep(pause)
        pause = min(1.0, pause * 2)


def restore(
    db: Database, wanted: Sequence[Definition], progress: Progress
) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """Make again what applied migrations made and somebody dropped.

    Returns:
        A step per statement, and a warning for everything that differs otherwise.

    Raises:
        DimensionMismatch: A vector index has other dimensions than its migration asks for.
    """
    steps = []
    warnings = []
    for finding in findings(db, wanted):
        if finding.setting == "vector.dimensions":
            raise _as_error(finding)
        if finding.problem != "missing":
            if finding.problem != "populating":
                warnings.append(f"{finding.message} {finding.hint}".strip())
            continue
        progress(f"Restoring {finding.name or 'an unnamed index'}.")
        started = time.monotonic()
        db.run(
            Query(
                f"migrate/restore {finding.name}",
                finding.statement,
                "schema",
                timeout_s=STATEMENT_TIMEOUT_S,
            )
        )
        steps.append(
            Step(
                "",
                finding.name,
                "restore",
                (finding.statement,),
                round((time.monotonic() - started) * 1000),
            )
        )
    if steps:
        await_indexes(db, _in_force(db, wanted), progress)
    return tuple(steps), tuple(warnings)
