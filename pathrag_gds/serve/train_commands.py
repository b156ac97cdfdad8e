"""``pathrag train``: train a path reranker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pathrag_gds.serve.command import INTERRUPTED, command_line, print_facts
from pathrag_gds.serve.options import connection_options, output_options

if TYPE_CHECKING:
    from pathrag_gds.models.training import Group, TokenisedGroups
    from pathrag_gds.models.training.measures import Figures
    from pathrag_gds.models.training.trainer import Outcome, Progress

__all__ = ["train"]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

# Seconds between two lines of progress where there is no terminal for a bar.
_SECONDS_PER_LINE = 60


@click.command()
@click.option("--data", multiple=True, type=FILE, help="Groups to learn from. Repeatable.")
@click.option(
    "--held-out",
    multiple=True,
    type=FILE,
    help="Groups that are never learnt, for figures and calibration. Repeatable. "
    "Without it every fiftieth question of the data.",
)
@click.option("--output", type=FOLDER, help="Folder of the trained model.")
@click.option(
    "--adapt",
    is_flag=True,
    help="Adapt the reranker to the graph of a tenant: ask it questions, learn from them, and "
    "use the result in its searches if it is better.",
)
@click.option(
    "--pairs",
    type=FILE,
    help="Learn from questions of your own, too, or without --adapt alone: lines of "
    '{"question": "…", "answers": ["…"]}; an optional "topics" names what it is about.',
)
@click.option("--remove", is_flag=True, help="With --adapt: use the shipped reranker again.")
@click.option(
    "--from",
    "base",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Model to start from: a folder of transformers, or of this package. "
    "Without it all-MiniLM-L6-v2; with --adapt the shipped reranker.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    help="Train so long; 10 by default with --adapt.",
)
@click.option("--steps", type=click.IntRange(min=1), help="Train so many batches.")
@click.option("--epochs", type=click.IntRange(min=1), help="See each group so often.")
@click.option("--resume", is_flag=True, help="Go on where an interrupted run stopped.")
@click.option("--seed", default=0, show_default=True, help="Of order and new weights.")
@click.option(
    "--learning-rate",
    type=click.FloatRange(min=0, min_open=True),
    help="At its highest; 0.0002 by default, and 0.00005 with --from a reranker.",
)
@click.option(
    "--listwise",
    type=click.FloatRange(min=0),
    help="Weight of the loss that lets the texts of a group compete.  [default: 1.0]",
)
@click.option(
    "--keep",
    type=click.Choice(["last", "best"]),
    default="last",
    show_default=True,
    help="Save the last weights, or the best of all evaluations.",
)
@click.option(
    "--blend",
    type=click.FloatRange(min=0, max=1, min_open=True),
    default=1.0,
    show_default=True,
    help="Share of what was learnt in the weights that are saved; the rest is what --from has.",
)
@click.option(
    "--precision",
    type=click.Choice(["auto", "float32", "bfloat16"]),
    default="auto",
    show_default=True,
    help="Of the products; auto takes what the processor is fastest in.",
)
@click.option(
    "--threads", default=0, show_default=True, type=click.IntRange(min=0), help="0: one per core."
)
@connection_options
@output_options
def train(adapt: bool, remove: bool, as_json: bool, **options: Any) -> None:
    """Train a path reranker, or adapt one to the graph of a tenant.

    With --adapt, or --pairs, nothing else is needed. Ctrl-C changes nothing then, and the same
    command goes on. With --data and --output give --minutes, --steps or --epochs; Ctrl-C keeps
    what was learnt, and --resume goes on.

    \b
    pathrag train --adapt
    pathrag train --adapt --tenant mine --pairs questions.jsonl
    pathrag train --data groups.jsonl.gz --output reranker --minutes 60
    """
    if not (adapt or remove or options["pairs"]):
        _refuse(_OF_ADAPTING, "goes with --adapt.")
        if not options["data"] or not options["output"]:
            raise click.UsageError("Give --adapt, or --data and --output.")
        others = (*_OF_ADAPTING, "pairs")
        _train(as_json=as_json, **{k: v for k, v in options.items() if k not in others})
        return
    _refuse(_OF_TRAINING, "does not go with --adapt or --pairs.")
    from pathrag_gds.serve.adapting import adapt_reranker, remove_reranker

    if remove:
        if not adapt or options["pairs"]:
            raise click.UsageError("--remove goes with --adapt, and without --pairs.")
        remove_reranker(options, as_json=as_json)
    else:
        adapt_reranker(options, generated=adapt, as_json=as_json)


# Options of one of the two things that the command does.
_OF_ADAPTING = ("uri", "username", "ask_password", "database", "home", "lane", "tenant")
_OF_TRAINING = (
    "data",
    "held_out",
    "output",
    "epochs",
    "resume",
    "learning_rate",
    "listwise",
    "keep",
    "blend",
    "precision",
    "threads",
)


def _refuse(names: tuple[str, ...], why: str) -> None:
    context = click.get_current_context()
    for param in context.command.params:
        given = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if given and param.name in names:
            raise click.UsageError(f"{param.opts[0]} {why}")


def _train(
    data: tuple[Path, ...],
    held_out: tuple[Path, ...],
    output: Path,
    base: Path | None,
    resume: bool,
    as_json: bool,
    **options: Any,
) -> None:
    from pathrag_gds.models.training.base import load_base
    from pathrag_gds.models.training.trainer import TrainingRecipe
    from pathrag_gds.models.training.trainer import train as run

    start = load_base(base, seed=options["seed"])
    given = {name: value for name, value in options.items() if value is not None}
    given.setdefault("learning_rate", start.learning_rate)
    recipe = TrainingRecipe(**given)
    learnt, watched = _read(data, held_out, start.tokenizer)
    click.echo(f"{len(learnt):,} groups to learn, {len(watched):,} held out.", err=True)
    with _progress() as move:
        outcome = run(start, learnt, output, recipe, held_out=watched, resume=resume, progress=move)
    if not outcome.finished:
        _say_how_to_resume(outcome)
    print_facts(_facts(outcome, output), as_json)


def _read(
    data: tuple[Path, ...], held_out: tuple[Path, ...], tokenizer: str
) -> tuple[TokenisedGroups, TokenisedGroups]:
    from tokenizers import Tokenizer

    from pathrag_gds.models.training import is_held_out, read_groups, tokenise

    reader = Tokenizer.from_str(tokenizer)

    def groups(files: tuple[Path, ...]) -> Iterator[Group]:
        for file in files:
            yield from read_groups(file)

    if held_out:
        return tokenise(groups(data), reader), tokenise(groups(held_out), reader)
    learnt = tokenise((group for group in groups(data) if not is_held_out(group)), reader)
    return learnt, tokenise((group for group in groups(data) if is_held_out(group)), reader)


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    from pathrag_gds.serve.terminal import console, progress

    with progress("Training", unit="share") as move:
        piped = not console(error=True).is_terminal
        told = time.monotonic()

        def moved(at: Progress) -> None:
            nonlocal told
            now = time.monotonic()
            move(round(at.share * 1000), 1000, _told(at))
            if at.figures or (piped and now - told >= _SECONDS_PER_LINE):
                click.echo(f"{at.share:.1%}  {_told(at)}{_measured(at.figures)}", err=True)
                told = now

        yield moved


def _told(at: Progress) -> str:
    minutes, seconds = divmod(round(at.remaining), 60)
    left = f"{minutes}:{seconds:02} left"
    return f"batch {at.step:,}  loss {at.loss:.4f}  {at.pairs_per_second:,.0f} pairs/s  {left}"


def _measured(figures: Figures | None) -> str:
    if figures is None:
        return ""
    named = {"hit": figures.hit, "prefix hit": figures.prefix_hit, "area": figures.area}
    return "".join(f"  {name} {value:.3f}" for name, value in named.items() if value is not None)


def _say_how_to_resume(outcome: Outcome) -> None:
    import sys

    words = ["pathrag", *sys.argv[1:]]
    again = command_line(words if "--resume" in words else [*words, "--resume"])
    click.echo(f"Interrupted after {outcome.step:,} batches. Go on with: {again}", err=True)
    click.get_current_context().exit(INTERRUPTED)


def _facts(outcome: Outcome, output: Path) -> dict[str, Any]:
    figures, calibration = outcome.figures, outcome.calibration
    return {
        "folder": str(output),
        "batches": outcome.step,
        "seconds": round(outcome.seconds, 1),
        "hit": figures and figures.to_dict()["hit"],
        "prefix_hit": figures and figures.to_dict()["prefix_hit"],
        "area": figures and figures.to_dict()["area"],
        "slope": calibration and round(calibration.slope, 4),
        "intercept": calibration and round(calibration.intercept, 4),
    }
