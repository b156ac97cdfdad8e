"""``pathrag load`` and ``pathrag embed``: fill the graph."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pathrag_gds.config import DEFAULT_TENANT
from pathrag_gds.serve.command import command_line, print_json
from pathrag_gds.serve.options import (
    connection_options,
    output_options,
    read_connection,
    repeated,
)

if TYPE_CHECKING:
    from pathrag_gds.ingest.inputs import Input, Kind

__all__ = ["embed", "load"]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("files", nargs=-1, type=FILE)
@click.option("--nodes", multiple=True, type=FILE, help="CSV with a column id:ID.")
@click.option(
    "--relationships", multiple=True, type=FILE, help="CSV with :START_ID, :END_ID and :TYPE."
)
@click.option("--triples", multiple=True, type=FILE, help="Head, relation, tail between tabs.")
@click.option("--chunks", multiple=True, type=FILE, help="JSON Lines with id and text.")
@click.option("--delimiter", default="", help="Between the cells of CSV; seen from the file.")
@click.option("--array-delimiter", default=";", show_default=True, help="Between values of a list.")
@click.option("--label", "labels", multiple=True, help="Given to every node. Repeatable.")
@click.option("--rel-type", default="", help="Type of relationships whose row has none.")
@click.option("--name-property", "names", multiple=True, help="Property that holds the name.")
@click.option("--entities", type=FILE, help="For triples of codes: code and name between a tab.")
@click.option("--relations", type=FILE, help="The same for the relations of triples.")
@click.option(
    "--on-error",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="What to do with a row that is wrong: stop at it, or skip it and keep it in a file.",
)
@click.option("--create-missing", is_flag=True, help="Make ends that no row defines.")
@click.option(
    "--reject-folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where skipped rows are kept; the current folder by default.",
)
@click.option(
    "--batch-size",
    default=5000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Rows that are written together.",
)
@click.option("--no-resume", is_flag=True, help="Do not go on where an interrupted load stopped.")
@click.option(
    "--to-import-csv",
    "import_folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Load nothing; write the files of neo4j-admin import there. Stops at a wrong row.",
)
@connection_options
@output_options
def load(
    files: tuple[Path, ...],
    import_folder: Path | None,
    on_error: str,
    create_missing: bool,
    reject_folder: Path | None,
    batch_size: int,
    no_resume: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Load nodes, relationships and chunks from FILES.

    What a file is, is seen from its header or its first line; the options that name a kind say it
    instead. Loading again changes nothing that is already there; an interrupted load goes on.

    \b
    pathrag load nodes.csv relationships.csv
    pathrag load kb.txt --chunks chunks.jsonl
    """
    from pathrag_gds.graph.connect import open_database
    from pathrag_gds.ingest.load import LoadProgress, load_files
    from pathrag_gds.serve.terminal import progress

    inputs = [_input(path, "auto", options) for path in files]
    for kind in ("nodes", "relationships", "triples", "chunks"):
        inputs += [_input(path, kind, options) for path in options[kind]]
    settings = read_connection(options)
    tenant = settings.tenant or DEFAULT_TENANT
    if import_folder is not None:
        _refuse_options_of_a_load()
        _write_import_files(inputs, import_folder, tenant, create_missing, as_json)
        return
    with open_database(settings) as db, progress("Loading", unit="bytes") as move:

        def moved(at: LoadProgress) -> None:
            name = at.path.name if at.path else ""
            move(at.bytes_done, at.bytes_total, f"{at.stage} {name} {at.rows or ''}")

        report = load_files(
            db,
            inputs,
            tenant=tenant,
            batch_size=batch_size,
            on_error="skip" if on_error == "skip" else "stop",
            create_missing=create_missing,
            reject_folder=reject_folder,
            resume=not no_resume,
            progress=moved,
        )
    for warning in report.warnings:
        click.echo(f"Warning: {warning}", err=True)
    if as_json:
        print_json(report.to_dict())
    else:
        resumed = f"; {report.resumed} were in already" if report.resumed else ""
        click.echo(
            f"{report.nodes} nodes, {report.relationships} relationships and {report.chunks} "
            f"chunks into tenant {tenant} in {report.seconds:.1f} s "
            f"({report.rows_per_s:,.0f} rows/s){resumed}."
        )
        click.echo("Next: " + command_line(["pathrag", "embed", *repeated(options)]))
    if error := report.partial_error():
        raise error


def _refuse_options_of_a_load() -> None:
    ctx = click.get_current_context()
    names = {"on_error", "batch_size", "reject_folder", "no_resume"}
    given = [
        param.opts[0]
        for param in ctx.command.params
        if param.name in names
        and ctx.get_parameter_source(param.name) is not ParameterSource.DEFAULT
    ]
    if given:
        raise click.UsageError(
            f"--to-import-csv stops at the first wrong row and loads nothing: leave out "
            f"{' and '.join(given)}."
        )


def _write_import_files(
    inputs: list[Input], folder: Path, tenant: str, create_missing: bool, as_json: bool
) -> None:
    from pathrag_gds.ingest.import_csv import to_import_csv
    from pathrag_gds.serve.terminal import progress

    with progress("Reading") as move:

        def moved(path: Path, rows: int) -> None:
            move(rows, None, f"{path.name} {rows:,} rows")

        written = to_import_csv(
            inputs, folder, tenant=tenant, create_missing=create_missing, progress=moved
        )
    if as_json:
        print_json(
            {
                "nodes": written.nodes,
                "relationships": written.relationships,
                "arguments": list(written.arguments),
            }
        )
        return
    click.echo(f"{written.nodes} nodes and {written.relationships} relationships in {folder}.")
    click.echo("Next, with the server stopped:")
    command = ["neo4j-admin", "database", "import", "full", "neo4j", *written.arguments]
    click.echo("  " + shlex.join(command))


def _input(path: Path, kind: Kind, options: dict[str, Any]) -> Input:
    from pathrag_gds.ingest.inputs import Input

    given = {"name_properties": options["names"]} if options["names"] else {}
    return Input(
        path,
        kind=kind,
        delimiter=options["delimiter"].replace("\\t", "\t"),
        array_delimiter=options["array_delimiter"],
        labels=options["labels"],
        rel_type=options["rel_type"],
        entities=options["entities"],
        relations=options["relations"],
        **given,
    )


@click.command()
@click.option("--model", metavar="NAME", help="Switch to this encoder: a name or a folder.")
@connection_options
@output_options
def embed(as_json: bool, **options: Any) -> None:
    """Embed entities, chunks and reports whose text changed.

    Every tenant is embedded unless --tenant names one. With --model another encoder's vectors are
    built beside those in force, and switched to when they are complete.
    """
    from pathrag_gds.graph.connect import open_database
    from pathrag_gds.ingest.embed import EmbedProgress
    from pathrag_gds.ingest.embed import embed as embed_texts
    from pathrag_gds.models.encoder import load_encoder
    from pathrag_gds.serve.terminal import progress

    settings = read_connection(options)
    encoder = load_encoder(settings.model or None)
    with open_database(settings) as db, progress("Embedding") as move:

        def moved(at: EmbedProgress) -> None:
            move(at.done, at.total, f"{at.role} texts of {at.tenant}")

        report = embed_texts(
            db,
            encoder,
            tenant=settings.tenant or None,
            switch=bool(options["model"]),
            progress=moved,
        )
    if as_json:
        print_json(report.to_dict())
        return
    switched = f" {report.encoder} is now in force." if report.switched else ""
    reports = f" and {report.communities} reports" if report.communities else ""
    click.echo(
        f"{report.entities} entities and {report.chunks} chunks{reports} in {report.seconds:.1f} s "
        f"({report.texts_per_s:,.0f} texts/s); {report.unchanged} unchanged, "
        f"{report.empty} without text.{switched}"
    )
    click.echo(" ".join(['Next: pathrag query "…"', *map(shlex.quote, repeated(options))]))
