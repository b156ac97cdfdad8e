"""``pathrag communities``: find the communities of a graph, and report on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pathrag_gds.config import DEFAULT_TENANT
from pathrag_gds.serve.command import Commands, command_line, print_facts, print_json
from pathrag_gds.serve.options import (
    connection_options,
    output_options,
    read_connection,
    repeated,
)

if TYPE_CHECKING:
    from pathrag_gds.communities.detect import Detection
    from pathrag_gds.communities.report import ReportPlan, ReportSummary
    from pathrag_gds.communities.status import CommunityStatus
    from pathrag_gds.config import Settings
    from pathrag_gds.models.llm import LLM

__all__ = ["communities"]

_SHOWN = 5


@click.group(cls=Commands)
def communities() -> None:
    """Find the communities of a graph, and report on them."""


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
        return
    _show_detection(found)
    if found.communities:
        click.echo(
            "Next: " + command_line(["pathrag", "communities", "report", *repeated(options)])
        )


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


@communities.command()
@click.option("--extractive", is_flag=True, help="Ask no language model: put extracts together.")
@click.option("--yes", is_flag=True, help="Do not ask whether what it costs is fine.")
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Requests to the language model at a time.",
)
@click.option(
    "--budget",
    metavar="TOKENS",
    type=click.IntRange(min=500),
    default=4000,
    show_default=True,
    help="Of a prompt, at most.",
)
@click.option("--lenient", is_flag=True, help="Mend answers that are not as demanded; say how.")
@click.option("--llm-base-url", metavar="URL", help="Endpoint of the language model.")
@click.option("--llm-model", metavar="NAME", help="Name of the language model there.")
@click.option("--model", metavar="NAME", help="Encoder, by name or folder.")
@connection_options
@output_options
def report(
    extractive: bool,
    yes: bool,
    concurrency: int,
    budget: int,
    lenient: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Report on each community that has no report, or has changed since.

    The reports are written by the language model of pathrag ask. Before it is asked, the command
    says how many tokens that takes, and asks whether to go on. Where none is configured, and with
    --extractive, each report is an extract of the graph and says so. The finest level comes first;
    what is written stays, and the same command goes on. Communities that could not be reported on
    are listed, and the exit code is 8.

    \b
    pathrag communities report --extractive
    pathrag communities report --yes --concurrency 8
    """
    from pathrag_gds.communities.report import plan_reports, report_communities
    from pathrag_gds.graph.connect import open_database
    from pathrag_gds.ingest.embed import embed
    from pathrag_gds.models.encoder import load_encoder
    from pathrag_gds.serve.terminal import progress

    settings = read_connection(options)
    tenant = settings.tenant or DEFAULT_TENANT
    llm = None if extractive else _llm(settings)
    encoder = load_encoder(settings.model or None)
    count = encoder.count_tokens if llm else None
    with open_database(settings) as db:
        if llm:
            plan = plan_reports(
                db, tenant=tenant, with_model=True, count_tokens=count, budget=budget
            )
            _confirm(plan, llm.name, yes=yes)
        with progress("Reports") as move:
            done = report_communities(
                db,
                tenant=tenant,
                llm=llm,
                count_tokens=count,
                budget=budget,
                concurrency=concurrency,
                lenient=lenient,
                progress=move,
            )
        embed(db, encoder, tenant=tenant, roles=("community",))
    if as_json:
        print_json(done.to_dict())
    else:
        _show_reports(done)
    if error := done.error():
        raise error


@communities.command()
@connection_options
@output_options
def status(as_json: bool, **options: Any) -> None:
    """Say how far the graph has moved from its communities.

    Says which entities are new, how many are gone, how many would be in another community of the
    coarsest level if communities were detected now, and which reports are missing or out of date.
    Lists the pairs of reports that state different values of the same property of an entity, as
    far as that can be seen without a language model. Writes nothing.
    """
    from pathrag_gds.communities.status import community_status
    from pathrag_gds.graph.connect import open_database

    settings = read_connection(options)
    with open_database(settings) as db:
        found = community_status(db, tenant=settings.tenant or DEFAULT_TENANT)
    for warning in found.warnings:
        click.echo(f"Warning: {warning}", err=True)
    if as_json:
        print_json(found.to_dict())
    else:
        _show_status(found, options)


def _llm(settings: Settings) -> LLM | None:
    """Give the language model that is configured; None, and say so, where none is."""
    if not (settings.llm_base_url or settings.llm_model):
        click.echo("No language model is configured: the reports are extracts.", err=True)
        return None
    from pathrag_gds.models.llm import ChatClient

    return ChatClient(settings.endpoint())


def _confirm(plan: ReportPlan, model: str, *, yes: bool) -> None:
    """Say what the reports cost, and ask whether to go on."""
    from pathrag_gds.serve.terminal import plain

    click.echo(
        f"{len(plan.wanted):,} of {plan.communities:,} communities need a report of "
        f"{plain(model)}: about {plan.prompt_tokens:,} tokens to send and "
        f"{plan.answer_tokens:,} to get.",
        err=True,
    )
    if plan.wanted and not yes:
        click.confirm("Go on (--yes)?", abort=True, err=True)


def _show_reports(done: ReportSummary) -> None:
    from pathrag_gds.serve.terminal import plain

    who = f"by {plain(done.model)}" if done.model else "put together from the graph"
    cost = f", {done.prompt_tokens:,} tokens sent, {done.answer_tokens:,} got" if done.model else ""
    click.echo(
        f"{done.written:,} reports {who}, {done.unchanged:,} unchanged, in "
        f"{done.seconds:.1f} s{cost}."
    )
    if done.gone:
        click.echo(f"{done.gone:,} communities have no entity any more: detect them again.")
    for ids, what in (
        (done.fallback, "gave no JSON, so that the text of the answer is the summary"),
        (done.repaired, "gave an answer that had to be mended"),
    ):
        if ids:
            shown = ", ".join(ids[:10]) + (", …" if len(ids) > 10 else "")
            click.echo(f"Warning: {len(ids):,} communities {what}: {shown}.", err=True)


def _show_status(found: CommunityStatus, options: dict[str, Any]) -> None:
    def some(ids: tuple[str, ...]) -> str:
        shown = ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
        return f"{len(ids):,}" + (f": {shown}" if ids else "")

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    print_facts(
        {
            "communities": f"{found.communities:,} on {found.levels} levels",
            "found by": f"{found.source}, run {found.run}",
            "in force since": found.built,
            "entities": f"{found.entities_now:,} now, {found.entities_then:,} then",
            "new": some(found.new),
            "gone": f"{found.gone:,}",
            "moved": "" if found.moved is None else f"{found.moved:,}",
            "modularity then": number(found.modularity_then),
            "of the same now": number(found.modularity_kept),
            "detected now": number(found.modularity_now),
            "without report": some(found.unreported),
            "report outdated": some(found.outdated),
        },
        as_json=False,
    )
    _show_contradictions(found)
    again = found.new or found.gone or found.moved
    if again or found.unreported or found.outdated:
        words = ["pathrag", "communities", "detect" if again else "report", *repeated(options)]
        click.echo("Next: " + command_line(words))
    else:
        click.echo("Communities and reports are up to date.")


def _show_contradictions(found: CommunityStatus) -> None:
    from pathrag_gds.serve.terminal import console, show_table

    pairs = found.contradictions
    if not pairs:
        return
    click.echo(f"Reports that contradict each other (pairs: {len(pairs):,}):")
    show_table(
        console(),
        ["entity", "property", "community", "says", "community", "says", "graph"],
        [
            (
                pair.name,
                pair.property,
                pair.first.community_id,
                pair.first.value,
                pair.second.community_id,
                pair.second.value,
                pair.graph or "",
            )
            for pair in pairs
        ],
    )
