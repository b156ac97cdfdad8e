"""Put a data set's graph into a tenant of its own, once.

A node ``Document`` of the tenant notes what was loaded, and by which encoder it was embedded. A
graph that changed since is deleted and loaded anew; a load that was interrupted goes on.
"""

from __future__ import annotations

from collections.abc import Callable

from pathrag_gds.errors import ConfigError, PartialError
from pathrag_gds.evaluation.datasets.dataset import Dataset
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import load
from pathrag_gds.ingest.embed import EmbedProgress, embed
from pathrag_gds.ingest.load import load_files
from pathrag_gds.ingest.report import LoadProgress
from pathrag_gds.models.encoder import Encoder
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION

__all__ = ["prepare", "tenant_of"]

DOCUMENT = "pathrag eval"

Progress = Callable[[int, int, str], None]
"""Called with done, total and what is being done."""


def tenant_of(dataset: Dataset) -> str:
    """Give the tenant of a data set; sets that share a graph share it."""
    return f"eval_{dataset.graph_name}"


def prepare(
    db: Database, dataset: Dataset, encoder: Encoder, progress: Progress | None = None
) -> str:
    """Load and embed the graph of a data set unless it is there, and give its tenant.

    Raises:
        ConfigError: The tenant holds data that no evaluation put there.
        PartialError: After the load the tenant does not hold what the files do.
        DatabaseError: The server failed.
    """
    report = progress or (lambda done, total, what: None)
    tenant = tenant_of(dataset)
    content = f"{dataset.graph_digest} {encoder.fingerprint} {TEXT_TEMPLATE_VERSION}"
    (noted,) = db.run(load("evaluation/read_mark"), tenant=tenant, document=DOCUMENT)
    digest = noted["digest"]
    if digest is None and noted["occupied"]:
        raise ConfigError(
            f"Tenant {tenant!r} holds data that pathrag eval did not put there.",
            hint="Use a database of its own: pathrag server start --home DIR",
        )
    whole = _is_whole(db, dataset, tenant)
    if whole and digest == f"complete {content}":
        return tenant
    stage, of_graph = (digest or f"loading {content}").split(" ")[:2]
    if of_graph != dataset.graph_digest or (stage == "complete" and not whole):
        _clear(db, tenant)
    _mark(db, tenant, f"loading {content}")

    def loaded(at: LoadProgress) -> None:
        report(at.bytes_done, at.bytes_total, f"loading {dataset.graph_name}: {at.stage}")

    def embedded(at: EmbedProgress) -> None:
        report(at.done, at.total, f"embedding {dataset.graph_name}: {at.role} texts")

    if not _is_whole(db, dataset, tenant):
        load_files(db, dataset.inputs, tenant=tenant, progress=loaded)
    embed(db, encoder, tenant=tenant, progress=embedded)
    if not _is_whole(db, dataset, tenant):
        raise PartialError(
            f"Tenant {tenant!r} does not hold what the files of {dataset.name} do.",
            hint="Something else writes there: use another database, pathrag server start "
            "--home DIR",
        )
    _mark(db, tenant, f"complete {content}")
    return tenant


def _is_whole(db: Database, dataset: Dataset, tenant: str) -> bool:
    (held,) = db.run(load("demo/contents"), tenant=tenant)
    graph = dataset.graph
    expected = (len(graph.names), len(graph.edges), len(graph.chunks))
    return (held["entities"], held["relationships"], held["chunks"]) == expected


def _clear(db: Database, tenant: str) -> None:
    for kind in ("entities", "chunks", "documents"):
        db.run(load(f"evaluation/clear_{kind}"), tenant=tenant)


def _mark(db: Database, tenant: str, digest: str) -> None:
    db.run(load("evaluation/write_mark"), tenant=tenant, document=DOCUMENT, digest=digest)
