"""``pathrag communities``: find the communities of a graph, and what is told about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pathrag_gds.config import DEFAULT_TENANT
from pathrag_gds.serve.command import Commands, print_json
from pathrag_gds.serve.options import connection_options, output_options, read_connection

if TYPE_CHECKING:
    from pathrag_gds.communities.detect import Detection

__all__ = ["communities"]


@click.group(cls=Commands)
def communities() -> None:
    """Find the communities of a graph."""


@communities.command()
@click.option(
    "--algorithm",
    type=click.Choice(["louvain", "leiden"]),
    default="louvain",
    show_default=True,
    help="Leiden's communities hang together; Louvain's may not, which is counted.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Of Leiden's random choices.  [default: 0]"
)
@click.option(
    "--gamma",
    type=click.FloatRange(min=0, min_open=True),
    help="Of Leiden: larger gives smaller communities.  [default: 1]",
)
@click.option(
    "--weight-property",
    metavar="NAME",
    default="",
    help="Property of relationships that says how much one counts; without it each counts 1.",
)
@click.option(
    "--min-size",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Entities that a community has at least.",
)
@connection_options
@output_options
def detect(
    algorithm: Any,
    seed: int | None,
    gamma: float | None,
    weight_property: str,
    min_size: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Find communities, in the place of those that the tenant has.

    Needs Graph Data Science. The same graph gives the same communities. Until the new ones are
    complete the old ones stay in force; after Ctrl-C they do, too.

    \b
    pathrag communities detect
    pathrag communities detect --algorithm leiden --gamma 1.5 --seed 7
    """
    if algorithm == "louvain" and (seed is not None or gamma is not None):
        name = "--seed" if seed is not None else "--gamma"
        raise click.UsageError(f"{name} goes with --algorithm leiden.")
    from pathrag_gds.communities.detect import detect_communities
    from pathrag_gds.graph.connect import open_database
    from pathrag_gds.serve.terminal import progress

    settings = read_connection(options)
    with open_database(settings) as db, progress("Communities") as move:
        found = detect_communities(
            db,
            tenant=settings.tenant or DEFAULT_TENANT,
            algorithm=algorithm,
            seed=seed,
            gamma=gamma,
            weight_property=weight_property,
            min_size=min_size,
            progress=lambda done, total, what: move(done, total, f"{done:,} {what}"),
        )
    if as_json:
        print_json(found.to_dict())
    else:
        _show_detection(found)


def _show_detection(found: Detection) -> None:
    from pathrag_gds.serve.terminal import console, plain, show_table

    out = console()
    click.echo(
        f"{found.algorithm.capitalize()} on {found.entities:,} entities and "
        f"{found.relationships:,} relationships of tenant {plain(found.tenant)}: "
        f"{found.communities:,} communities in {found.seconds:.1f} s."
    )
    show_table(
        out,
        [
            "level",
            "communities",
            "entities",
            "smallest",
            "median",
            "largest",
            "modularity",
            "disconnected",
        ],
        [
            (
                level.level,
                level.communities,
                level.entities,
                level.smallest,
                f"{level.median:g}",
                level.largest,
                f"{level.modularity:.3f}",
                level.disconnected,
            )
            for level in found.levels
        ],
        empty=f"no group of entities has {found.min_size} of them",
    )
    if found.unplaced:
        click.echo(
            f"{found.unplaced:,} entities are in no community: their groups have fewer than "
            f"{found.min_size} (--min-size)."
        )
    if found.carried:
        click.echo(f"{found.carried:,} reports were taken over.")
