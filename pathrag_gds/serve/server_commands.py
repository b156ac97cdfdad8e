"""``pathrag server``: the embedded server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pathrag_gds.serve.command import Commands, command_line, print_facts
from pathrag_gds.serve.options import home_options, output_options, read_connection, repeated

__all__ = ["server"]


@click.group(cls=Commands)
def server() -> None:
    """Run a real Neo4j with Graph Data Science, without Docker."""


@server.command()
@click.option("--lane", default="lts", metavar="LANE", help="lts (default) or current.")
@output_options
def install(lane: str, as_json: bool) -> None:
    """Fetch the server's jars that are missing or damaged."""
    from pathrag_gds.serve.terminal import progress
    from pathrag_gds.server import install as fetch

    with progress("Fetching Neo4j", unit="bytes") as move:
        done = fetch(lane, move)
    facts = {
        "lane": done.lane.name,
        "folder": str(done.folder),
        "jars": len(done.jars),
        "fetched": done.fetched,
        "reused": done.reused,
    }
    print_facts(facts, as_json)


@server.command()
@home_options
@click.option("--port", type=click.IntRange(1, 65535), help="Bolt port; a free one otherwise.")
@click.option("--heap", default="1g", show_default=True, help="Java heap, such as 4g.")
@click.option("--page-cache", default="256m", show_default=True, help="Memory for the store.")
@output_options
def start(
    home: str | None,
    lane: str | None,
    port: int | None,
    heap: str,
    page_cache: str,
    as_json: bool,
) -> None:
    """Start the server and wait until it answers.

    A server that runs already is left alone.
    """
    from pathrag_gds import server as embedded
    from pathrag_gds.graph.database import probe_gds
    from pathrag_gds.serve.terminal import progress

    settings = read_connection({"home": home, "lane": lane}, embedded=True)
    with progress("Fetching Neo4j", unit="bytes") as move:
        embedded.start(
            settings.home or None,
            settings.lane or None,
            probe=probe_gds,
            port=port,
            heap=heap,
            page_cache=page_cache,
            progress=move,
            notify=lambda sentence: click.echo(sentence, err=True),
        )
    print_facts(_server_facts(settings.home), as_json)


@server.command()
@home_options
@output_options
def status(home: str | None, lane: str | None, as_json: bool) -> None:
    """Show whether the server runs, and where."""
    settings = read_connection({"home": home, "lane": lane}, embedded=True)
    print_facts(_server_facts(settings.home), as_json)


@server.command()
@home_options
def stop(home: str | None, lane: str | None) -> None:
    """Stop the server and wait until it has ended."""
    from pathrag_gds import server as embedded

    settings = read_connection({"home": home, "lane": lane}, embedded=True)
    stopped = embedded.stop(settings.home or None)
    click.echo("Stopped." if stopped else "It was not running.")


@server.command()
@home_options
@click.option(
    "-n",
    "--lines",
    default=50,
    show_default=True,
    type=click.IntRange(min=1),
    help="How many of the last lines.",
)
def logs(home: str | None, lane: str | None, lines: int) -> None:
    """Print the last lines that the server printed."""
    from pathrag_gds import server as embedded

    settings = read_connection({"home": home, "lane": lane}, embedded=True)
    for line in embedded.logs(settings.home or None, lines=lines):
        click.echo(line)


@server.command()
@click.argument("file", type=click.Path(path_type=Path))
@home_options
@click.option("--overwrite", is_flag=True, help="Replace the file if it is there.")
def dump(file: Path, home: str | None, lane: str | None, overwrite: bool) -> None:
    """Write the database of a stopped server into FILE."""
    from pathrag_gds import server as embedded

    settings = read_connection({"home": home, "lane": lane}, embedded=True)
    written = embedded.dump(
        file, settings.home or None, lane=settings.lane or None, overwrite=overwrite
    )
    click.echo(f"Written to {written}.")


@server.command()
@click.argument("file", type=click.Path(path_type=Path))
@home_options
@click.option("--overwrite", is_flag=True, help="Replace the database if there is one.")
def restore(file: Path, home: str | None, lane: str | None, overwrite: bool) -> None:
    """Make the database of a stopped server from FILE."""
    from pathrag_gds import server as embedded

    settings = read_connection({"home": home, "lane": lane}, embedded=True)
    embedded.restore(file, settings.home or None, lane=settings.lane or None, overwrite=overwrite)
    start_it = command_line(["pathrag", "server", "start", *repeated({"home": home})])
    click.echo(f"Restored. Start it with: {start_it}")


def _server_facts(home: str) -> dict[str, Any]:
    from pathrag_gds import server as embedded

    found = embedded.status(home or None)
    return {
        "state": found.state,
        "home": str(found.home),
        "lane": found.lane,
        "pid": found.pid,
        "uri": found.connection.uri if found.connection else "",
        "password_file": str(Path(found.home) / "server.json") if found.connection else "",
    }
