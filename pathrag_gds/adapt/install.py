"""Put an adapted reranker beside the data: a folder in the home, and a record in the graph."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from pathrag_gds.errors import ModelError
from pathrag_gds.graph.adapted import (
    AdaptedReranker,
    adapted_reranker,
    all_adapted_rerankers,
    forget_adapted,
    record_adapted,
)
from pathrag_gds.graph.database import QueryRunner
from pathrag_gds.models.path_reranker import PathReranker
from pathrag_gds.server.home import Home

__all__ = ["install", "remove", "rerankers_folder"]


def rerankers_folder(home: Path | str | None = None) -> Path:
    """Give the folder that adapted rerankers lie in; it need not exist.

    Args:
        home: Of the embedded server; None is the default one. A graph on another server has its
            rerankers in it, too: they belong to the machine that searches.
    """
    return Home.at(home).rerankers


def install(
    db: QueryRunner,
    source: Path,
    folder: Path,
    make_record: Callable[[str], AdaptedReranker],
) -> tuple[AdaptedReranker, Path]:
    """Move a complete reranker to its place, and make the searches of its tenant use it.

    The folder takes its place by one renaming, and the record is written when it is there, so an
    interruption leaves the old state or the new one. What the tenant used before is deleted.

    Args:
        source: Folder of the reranker, on the same file system as ``folder``.
        folder: Of all adapted rerankers.
        make_record: Given the fingerprint, gives what to write into the graph.

    Returns:
        The record and the reranker's folder.

    Raises:
        ModelError: ``source`` is no reranker, or the system refuses to move it.
        DatabaseError: The record cannot be written.
    """
    fingerprint = PathReranker(source).fingerprint
    target = folder / fingerprint
    record = make_record(fingerprint)
    before = adapted_reranker(db, record.tenant)
    try:
        if target.exists():
            shutil.rmtree(source)
        else:
            os.rename(source, target)
    except OSError as error:
        raise ModelError(
            f"The reranker cannot be moved to {target}: {error.strerror or error}."
        ) from error
    record_adapted(db, record)
    if before is not None:
        _delete_unused(db, before, folder)
    return record, target


def remove(db: QueryRunner, tenant: str, folder: Path) -> AdaptedReranker | None:
    """Make the searches of a tenant use the shipped reranker again; give what was removed.

    Args:
        folder: Of all adapted rerankers.
    """
    before = adapted_reranker(db, tenant)
    if before is not None:
        forget_adapted(db, tenant)
        _delete_unused(db, before, folder)
    return before


def _delete_unused(db: QueryRunner, record: AdaptedReranker, folder: Path) -> None:
    used = {other.fingerprint for other in all_adapted_rerankers(db)}
    path = record.folder(folder)
    if path is not None and record.fingerprint not in used:
        shutil.rmtree(path, ignore_errors=True)
