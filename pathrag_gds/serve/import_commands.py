"""``pathrag import``: take over the index of another GraphRAG system."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pathrag_gds.config import DEFAULT_TENANT
from pathrag_gds.serve.command import Commands, command_line, print_json
from pathrag_gds.serve.options import (
    connection_options,
    output_options,
    read_connection,
    repeated,
)

if TYPE_CHECKING:
    from pathrag_gds.imports import ForeignIndex, ImportReport

__all__ = ["import_"]

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_SHOWN = 5


@click.group("import", cls=Commands)
def import_() -> None:
    """Take over the index of another GraphRAG system."""


@import_.command()
@click.argument("folder", type=FOLDER)
@connection_options
@output_options
def graphrag(folder: Path, as_json: bool, **options: Any) -> None:
    """Take over an index of Microsoft's GraphRAG.

    FOLDER holds its parquet files (or has them in "output"). Entities, relationships, text units,
    communities and reports are taken over; relationships that name an entity which there is not
    are listed, and none is made up.

    \b
    pathrag import graphrag ragtest/output --tenant carol
    """
    from pathrag_gds.imports.graphrag import read_graphrag

    _import(read_graphrag(folder), as_json, options)


@import_.command()
@click.argument("folder", type=FOLDER)
@connection_options
@output_options
def lightrag(folder: Path, as_json: bool, **options: Any) -> None:
    """Take over a working folder of LightRAG or nano-graphrag.

    FOLDER holds its GraphML and its JSON. Of nano-graphrag the communities and reports are taken
    over, too.

    \b
    pathrag import lightrag rag_storage --tenant mine
    """
    from pathrag_gds.imports.lightrag import read_lightrag

    _import(read_lightrag(folder), as_json, options)


def _import(index: ForeignIndex, as_json: bool, options: dict[str, Any]) -> None:
    from pathrag_gds.graph.connect import open_database
    from pathrag_gds.imports.write import import_index
    from pathrag_gds.serve.terminal import progress

    settings = read_connection(options)
    with open_database(settings) as db, progress("Importing") as move:
        report = import_index(db, index, tenant=settings.tenant or DEFAULT_TENANT, progress=move)
    if as_json:
        print_json(report.to_dict())
    else:
        _show(report)
        click.echo("Next: " + command_line(["pathrag", "embed", *repeated(options)]))
    if error := report.error():
        raise error


def _show(report: ImportReport) -> None:
    from pathrag_gds.serve.terminal import plain

    for warning in report.warnings:
        click.echo(f"Warning: {plain(warning)}", err=True)
    levels = " + ".join(map(str, report.levels))
    shown = f" ({levels} by level)" if len(report.levels) > 1 else ""
    click.echo(
        f"{report.entities:,} entities, {report.relationships:,} relationships, "
        f"{report.chunks:,} text units, {report.communities:,} communities{shown} and "
        f"{report.reports:,} reports into tenant {plain(report.tenant)} in {report.seconds:.1f} s."
    )
    if report.dangling:
        click.echo(
            f"{len(report.dangling):,} relationships were left out: {report.missing_ends:,} of "
            "their ends name no entity."
        )
        _some([f"{end.source} – {end.target}" for end in report.dangling])
    if report.parallel:
        click.echo(f"{report.parallel:,} pairs of entities have several relationships.")
    if report.duplicates:
        click.echo(f"{len(report.duplicates):,} names are those of several entities.")
        _some([" and ".join(ids) for ids in report.duplicates.values()])


def _some(texts: list[str]) -> None:
    from pathrag_gds.serve.terminal import plain

    for text in texts[:_SHOWN]:
        click.echo(f"  {plain(text)}")
    if len(texts) > _SHOWN:
        click.echo(f"  and {len(texts) - _SHOWN:,} more (--json lists all)")
