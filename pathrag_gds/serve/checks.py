"""What the doctor makes of what it found: a state, words, and what to do."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pathrag_gds.graph.adapted import AdaptedReranker, ontology_fingerprint
from pathrag_gds.graph.database import Capabilities, QueryRunner, Row
from pathrag_gds.graph.queries import Branch, load
from pathrag_gds.graph.schema import STRUCTURAL_TYPES, IndexState, Ontology, VectorRecord
from pathrag_gds.models.encoder import Encoder
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION

__all__ = [
    "Check",
    "check_adapted",
    "check_gds",
    "check_indexes",
    "check_ontology",
    "check_tenants",
    "check_vectors",
    "located",
]

State = Literal["ok", "note", "todo", "failed"]

# Types that are asked about in one statement, and relationships of each that are looked at.
TYPES_AT_ONCE = 50
SAMPLE = 1000
TYPES_SHOWN = 5
# A command at the end of a line or before a comma; commas in quotes are part of it.
_COMMAND = re.compile(r"pathrag (?:'[^'\n]*'|[^,'()\n])*(?<!\.)(?=,|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        state: ``ok``; ``note``: worth knowing, and nothing needs doing; ``todo``: an answer is
            possible, but something is missing; ``failed``: no answer is possible.
        found: What is there, in words.
        todo: What to do; empty when all is well.
    """

    name: str
    state: State
    found: str
    todo: str = ""

    @property
    def is_well(self) -> bool:
        """Whether nothing needs doing."""
        return self.state in ("ok", "note")

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return asdict(self)


def check_gds(capabilities: Capabilities) -> Check:
    """Check for Graph Data Science, which a path search does without."""
    version = capabilities.gds_version
    if version:
        return Check("gds", "ok", version)
    return Check(
        "gds",
        "note",
        "not installed; path search works, what needs algorithms says so",
    )


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
            f"Run: pathrag embed --model {shlex.quote(record.encoder)}",
        )
    if encoder is not None and record.fingerprint != encoder.fingerprint:
        return Check(
            name,
            "failed",
            f"{told}; the encoder in use is {encoder.name} {encoder.fingerprint[:12]}",
            f"Use --model {shlex.quote(record.encoder)}, or run: "
            f"pathrag embed --model {shlex.quote(encoder.name)}",
        )
    if record.template != TEXT_TEMPLATE_VERSION:
        return Check(
            name,
            "todo",
            f"{told}; texts are now written as template {TEXT_TEMPLATE_VERSION}",
            "Run: pathrag embed",
        )
    return Check(name, "ok", told)


def check_tenants(rows: Iterable[Mapping[str, Any]], tenant: str = "") -> list[Check]:
    """Check the rows of ``doctor/tenants``: what each tenant holds and how much is embedded.

    What has no tenant is seen by no other command: alone in the database it is most likely meant
    to be asked, beside tenants it may be another program's.

    Args:
        tenant: Of which alone is told; empty for all.
    """
    rows = [row for row in rows if not tenant or row["tenant"] == tenant]
    if tenant and not rows:
        command = f"Run: pathrag load FILES --tenant {shlex.quote(tenant)}"
        return [Check(f"tenant {tenant}", "todo", "nothing is loaded", command)]
    seen = [row for row in rows if isinstance(row["tenant"], str)]
    checks = [_tenant(row) for row in seen]
    strays = [row for row in rows if not isinstance(row["tenant"], str)]
    if strays:
        entities, chunks = (sum(row[key] for row in strays) for key in ("entities", "chunks"))
        found = (
            f"{entities} entities and {chunks} chunks have no tenant: no other command sees them"
        )
        advice = (
            "To ask them, give each the properties tenant (such as 'default') and id, then run: "
            "pathrag embed"
        )
        checks.append(Check("without tenant", "note" if seen else "todo", found, advice))
    return checks or [
        Check("tenants", "todo", "the graph is empty", "Run: pathrag demo, or pathrag load FILES")
    ]


def _tenant(row: Mapping[str, Any]) -> Check:
    missing = row["entities"] - row["embedded_entities"] + row["chunks"] - row["embedded_chunks"]
    found = f"{row['entities']} entities, {row['chunks']} chunks"
    name = f"tenant {row['tenant']}"
    if missing:
        command = f"Run: pathrag embed --tenant {shlex.quote(row['tenant'])}"
        return Check(name, "todo", f"{found}; {missing} not embedded", command)
    return Check(name, "ok", f"{found}, all embedded")


def check_adapted(record: AdaptedReranker, ontology: Ontology, rerankers: Path) -> Check:
    """Check the reranker that was adapted to a tenant: is it here, and made for this graph?

    Args:
        ontology: Of the tenant, as it is now.
        rerankers: Folder of all adapted rerankers of this machine.
    """
    name = f"reranker of tenant {record.tenant}"
    command = f"Run: pathrag train --adapt --tenant {shlex.quote(record.tenant)}"
    folder = record.folder(rerankers)
    if folder is None:
        found = f"{record.told}; it is not on this machine, so searches use another"
        return Check(name, "todo", found, command)
    if record.template != TEXT_TEMPLATE_VERSION:
        found = f"{record.told}; texts are now written as template {TEXT_TEMPLATE_VERSION}"
        return Check(name, "todo", found, command)
    if record.ontology != ontology_fingerprint(ontology):
        found = f"{record.told}; the graph's types have changed since"
        return Check(name, "todo", found, command)
    return Check(name, "ok", f"{record.told}, in {folder}")


def check_ontology(db: QueryRunner, tenants: Iterable[str], tenant: str = "") -> Check:
    """Check that the relationship types between entities are recorded, as searches read records.

    A type counts as recorded where any tenant records it; a new one is looked for among its first
    ``SAMPLE`` relationships.

    Args:
        tenants: Those that hold entities.
        tenant: Whose types and records alone are looked at; empty for all.
    """
    records = {
        row["tenant"]: row["types"]
        for row in db.run(load("doctor/recorded_types"))
        if not tenant or row["tenant"] == tenant
    }
    recorded = sorted({type_ for types in records.values() for type_ in types})
    missed = _unrecorded_types(db, recorded, tenant)
    without = _tenants_without_records(db, sorted(set(tenants) - set(records)))
    if not (missed or without):
        told = f"{len(recorded)} relationship types recorded"
        return Check("ontology", "ok", told if recorded else "no relationships between entities")
    found = []
    if missed:
        types = sorted({row["type"] for row in missed})
        more = f" and {len(types) - TYPES_SHOWN} more" if len(types) > TYPES_SHOWN else ""
        found.append(
            f"not recorded, so searches may miss them: {', '.join(types[:TYPES_SHOWN])}{more}"
        )
    if without:
        found.append(f"nothing recorded for tenant {', '.join(without)}, so searches start slowly")
    stale = sorted({*without, *(row["tenant"] for row in missed)})
    commands = [f"Run: pathrag schema refresh --tenant {shlex.quote(t)}" for t in stale]
    return Check("ontology", "todo", "; ".join(found), "\n".join(commands))


def _unrecorded_types(db: QueryRunner, recorded: Sequence[str], tenant: str) -> list[Row]:
    known = [*recorded, *STRUCTURAL_TYPES]
    others = [row["type"] for row in db.run(load("doctor/other_types"), known=known)]
    found: list[Row] = []
    for start in range(0, len(others), TYPES_AT_ONCE):
        branches = [Branch((type_,)) for type_ in others[start : start + TYPES_AT_ONCE]]
        query = load("doctor/between_entities").render(branches={"type": branches})
        found += db.run(query, sample=SAMPLE, tenant=tenant or None)
    return [row for row in found if isinstance(row["tenant"], str)]


def _tenants_without_records(db: QueryRunner, tenants: list[str]) -> list[str]:
    if not tenants:
        return []
    query = load("doctor/related_tenants")
    rows = db.run(query, tenants=tenants, structural=list(STRUCTURAL_TYPES))
    return [row["tenant"] for row in rows]


def located(todo: str, flags: Sequence[str]) -> str:
    """Make the commands of an advice name the same server as the command that gives it."""
    if not flags:
        return todo

    def lengthened(match: re.Match[str]) -> str:
        # The jars are those of every home; starting takes no address.
        if match[0].startswith(("pathrag server", "pathrag doctor")):
            return match[0]
        return " ".join([match[0], *map(shlex.quote, flags)])

    return _COMMAND.sub(lengthened, todo)


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
