"""``pathrag train --adapt``: what it shows while it adapts a reranker, and when it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from pathrag_gds.config import DEFAULT_TENANT
from pathrag_gds.serve.command import INTERRUPTED, command_line, print_json
from pathrag_gds.serve.options import read_connection, repeated

if TYPE_CHECKING:
    from pathrag_gds.adapt import Adapted, AdaptProgress, Hits, Unused

__all__ = ["adapt_reranker", "remove_reranker"]

_MINUTES = 10.0
_STAGES = {
    "read": "Reading the graph",
    "questions": "Asking questions",
    "train": "Training",
    "export": "Writing the model",
    "check": "Checking",
}


def adapt_reranker(options: Mapping[str, Any], *, generated: bool, as_json: bool) -> None:
    """Adapt the reranker of the tenant that the options name, and say what came of it."""
    from pathrag_gds.adapt import adapt
    from pathrag_gds.graph.connect import open_database

    settings = read_connection(options)
    with open_database(settings) as db, _progress() as moved:
        adapted = adapt(
            db,
            settings.tenant or DEFAULT_TENANT,
            base=options["base"],
            home=settings.home or None,
            generated=generated,
            pairs=options["pairs"],
            minutes=options["minutes"] or _MINUTES,
            steps=options["steps"],
            seed=options["seed"],
            progress=moved,
        )
    if adapted.outcome == "interrupted":
        again = command_line(["pathrag", *_words()])
        click.echo(f"Interrupted; nothing was changed. Go on with: {again}", err=True)
        click.get_current_context().exit(INTERRUPTED)
    if as_json:
        print_json(adapted.to_dict())
    else:
        _show(adapted, options)


def remove_reranker(options: Mapping[str, Any], *, as_json: bool) -> None:
    """Remove the reranker that was adapted to the tenant that the options name."""
    from pathrag_gds.adapt import remove, rerankers_folder
    from pathrag_gds.graph.connect import open_database

    settings = read_connection(options)
    tenant = settings.tenant or DEFAULT_TENANT
    with open_database(settings) as db:
        removed = remove(db, tenant, rerankers_folder(settings.home or None))
    if as_json:
        print_json({"tenant": tenant, "removed": removed.fingerprint if removed else None})
    elif removed is None:
        click.echo(f"No reranker is adapted to tenant {tenant}.")
    else:
        click.echo(f"Removed: {removed.told}. Searches use the shipped reranker again.")


def _words() -> list[str]:
    import sys

    return sys.argv[1:]


@contextmanager
def _progress() -> Iterator[Callable[[AdaptProgress], None]]:
    from pathrag_gds.serve.terminal import console, progress

    with progress("Adapting") as move:
        piped = not console(error=True).is_terminal
        stage = ""

        def moved(at: AdaptProgress) -> None:
            nonlocal stage
            told = _STAGES[at.stage]
            if piped and at.stage != stage:
                click.echo(f"{told} …", err=True)
            stage = at.stage
            move(at.done, at.total, f"{told} {at.detail}".rstrip())

        yield moved


def _show(adapted: Adapted, options: Mapping[str, Any]) -> None:
    assert adapted.before is not None
    assert adapted.after is not None
    before, after = adapted.before, adapted.after
    click.echo(f"Right text first, {before.questions} held-out questions:")
    rows = (
        ("all", before.hit, after.hit),
        ("chains", before.chains, after.chains),
        ("paths", before.paths, after.paths),
        ("made-up worlds", before.general, after.general),
    )
    for name, old, new in rows:
        if old is not None and new is not None:
            click.echo(f"  {name:<14}  {old:.3f} before, {new:.3f} after")
    if adapted.unused is not None and adapted.unused.total:
        click.echo(_unused(adapted.unused))
    if adapted.record is None:
        click.echo(_not_better(before, after, adapted.replaced))
        return
    click.echo(f"Installed for tenant {adapted.tenant}: {adapted.folder}")
    click.echo("Next: " + command_line(["pathrag", "query", "…", *repeated(options)]))


def _not_better(before: Hits, after: Hits, used: str) -> str:
    counts = f"{after.right} right instead of {before.right} of {before.questions}"
    if after.hit > before.hit:
        return (
            f"That is not surely better, so {used} stays in use: {counts}, and so small a gain can "
            "be chance."
        )
    return f"That is no better, so {used} stays in use: {counts}."


def _unused(unused: Unused) -> str:
    parts = (
        (unused.no_topic, "name nothing that the graph has"),
        (unused.no_answer, "have answers that the graph lacks"),
        (unused.no_chain, "have answers that no chain of up to three relations leads to"),
        (unused.unclear, "have answers that several chains lead to"),
    )
    told = "; ".join(f"{count} {why}" for count, why in parts if count)
    return f"Not used, {unused.total} of your questions: {told}."
