"""Which reranker was adapted to a tenant: a record in the graph, made for one ontology.

The model itself lies in a folder on the machine that adapted it, named by its fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pathrag_gds.graph.database import QueryRunner
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import Ontology
from pathrag_gds.models.path_reranker import RECORD_FILE

__all__ = [
    "AdaptedReranker",
    "adapted_reranker",
    "all_adapted_rerankers",
    "forget_adapted",
    "ontology_fingerprint",
    "record_adapted",
]

_FINGERPRINT_DIGITS = 16


@dataclass(frozen=True, slots=True)
class AdaptedReranker:
    """The record of a reranker that was adapted to a tenant.

    Attributes:
        fingerprint: Of the reranker; its folder has this name.
        name: For people.
        ontology: Fingerprint of the ontology that it was adapted to.
        template: Version of the path text that it was trained on.
        created: Date, ``YYYY-MM-DD``.
        questions: Held-out questions that the figures are of.
        before: Share of them with a right text first, by the reranker that it replaced, 0 to 1.
        after: The same by this one.
    """

    tenant: str
    fingerprint: str
    name: str
    ontology: str
    template: str
    created: str
    questions: int = 0
    before: float = 0.0
    after: float = 0.0

    def folder(self, rerankers: Path) -> Path | None:
        """Give the folder of the model; None where it is not on this machine.

        Args:
            rerankers: Folder of all adapted rerankers.
        """
        # The fingerprint is a text from the database: it must not lead out of the folder.
        found = rerankers / self.fingerprint
        return found if self.fingerprint.isalnum() and (found / RECORD_FILE).is_file() else None

    @property
    def told(self) -> str:
        """Say in one line what it is and what it did."""
        text = f"{self.name} {self.fingerprint[:12]}, adapted {self.created}"
        if self.questions:
            text += (
                f", right first on {self.after:.3f} of {self.questions} held-out questions "
                f"(before {self.before:.3f})"
            )
        return text


def ontology_fingerprint(ontology: Ontology) -> str:
    """Hash the relationship types with the labels at their ends: 16 hexadecimal digits.

    Counts, degrees and wordings are no part of it, so a graph that only grows keeps it. An empty
    ontology has one, too.
    """
    types = sorted([t.name, sorted(t.domains), sorted(t.ranges)] for t in ontology.relation_types)
    text = json.dumps(types, ensure_ascii=False, separators=(",", ":"))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:_FINGERPRINT_DIGITS]


def adapted_reranker(db: QueryRunner, tenant: str) -> AdaptedReranker | None:
    """Read which reranker was adapted to a tenant; None where none was."""
    rows = db.run(load("adapt/read_reranker"), tenant=tenant)
    return _of(rows[0]["record"]) if rows else None


def all_adapted_rerankers(db: QueryRunner) -> tuple[AdaptedReranker, ...]:
    """Read which rerankers were adapted, by tenant in ascending order."""
    return tuple(_of(row["record"]) for row in db.run(load("adapt/all_rerankers")))


def record_adapted(db: QueryRunner, record: AdaptedReranker) -> None:
    """Note that a reranker was adapted to its tenant, in place of the one before."""
    values = asdict(record)
    db.run(load("adapt/write_reranker"), tenant=values.pop("tenant"), record=values)


def forget_adapted(db: QueryRunner, tenant: str) -> None:
    """Delete the record of a tenant; nothing happens where there is none."""
    db.run(load("adapt/delete_reranker"), tenant=tenant)


def _of(row: Mapping[str, Any]) -> AdaptedReranker:
    texts = ("tenant", "fingerprint", "name", "ontology", "template", "created")
    return AdaptedReranker(
        **{name: str(row[name] or "") for name in texts},
        questions=int(row["questions"] or 0),
        before=float(row["before"] or 0),
        after=float(row["after"] or 0),
    )
