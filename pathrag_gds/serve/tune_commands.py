"""``pathrag tune``: find configurations that answer well for what they read."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pathrag_gds.config import (
    DEFAULT_PRESET,
    DEFAULT_TENANT,
    SETTINGS_FILE,
    SearchConfig,
)
from pathrag_gds.errors import ConfigError
from pathrag_gds.serve.command import print_json, write_output
from pathrag_gds.serve.eval_commands import (
    TOP_K,
    Bench,
    conditions_of,
    open_bench,
    require_questions,
    setting_of,
)
from pathrag_gds.serve.options import (
    connection_options,
    model_options,
    output_options,
    read_connection,
    read_search,
    search_options,
)
from pathrag_gds.serve.settings_file import preset_table, show_presets, write_presets

if TYPE_CHECKING:
    from rich.console import Console

    from pathrag_gds.config import Settings
    from pathrag_gds.evaluation.tune import Aim, Pool, Tuning
    from pathrag_gds.models.reranker import Reranker

__all__ = ["tune"]

LANDMARKS = ("fast", DEFAULT_PRESET, "thorough")
REPORT, PICTURE = "report.json", "curve.svg"
_QUESTION_FILES = (".json", ".jsonl")


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="DATASET|FILE...")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="PATHRAG_DATA",
    help="Folder of the data sets that are not ours; PATHRAG_DATA by default.",
)
@click.option("--buckets", default="", help="Part of the training split, such as 5-6.")
@click.option(
    "--limit",
    type=click.IntRange(min=2),
    default=100,
    show_default=True,
    help="Questions of each set at most: the first by MD5 of the question.",
)
@click.option(
    "--holdout",
    type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
    default=0.3,
    show_default=True,
    help="Share of the questions that nothing is chosen by.",
)
@click.option(
    "--metric",
    type=click.Choice(["hit@1", "mrr", "f1"]),
    default="hit@1",
    show_default=True,
    help="What is good.",
)
@click.option(
    "--cost",
    type=click.Choice(["texts", "latency"]),
    default="texts",
    show_default=True,
    help="What is dear: texts read per question (mean), or milliseconds (half take less).",
)
@click.option(
    "--aim",
    "aims",
    multiple=True,
    metavar="NAME=COST",
    help="A preset to find, and what it may cost; any: whatever it costs. Repeatable.  "
    "[default: fast=40 balanced=120 thorough=any; of latency fast=250 balanced=600 thorough=any]",
)
@click.option(
    "--vary",
    multiple=True,
    metavar="FIELD=V,V…",
    help="Vary this option, over these values, and no other than those named so. Repeatable.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=0),
    default=27,
    show_default=True,
    help="Configurations to draw, beside the presets; 0 compares these.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    metavar="SEARCHES",
    help="Searches at most, all together; fewer trials are drawn if need be.",
)
@click.option("--seed", default=0, show_default=True, help="Of what is drawn, and of the order.")
@click.option(
    "--output",
    default="tune",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the results; a run that was interrupted there goes on.",
)
@click.option("--no-resume", is_flag=True, help="Begin anew whatever the folder holds.")
@click.option(
    "--write", is_flag=True, help=f"Put the presets that were found into {SETTINGS_FILE}."
)
@search_options
@model_options
@connection_options
@output_options
def tune(
    sources: tuple[str, ...],
    limit: int,
    trials: int,
    output: Path,
    no_resume: bool,
    write: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Find presets on questions with known answers.

    DATASET is one of pathrag eval; only its training split is asked. FILE holds questions of your
    own about the tenant's graph: JSON Lines of {"question": "Who owns Bob?", "answers": ["Jane"]},
    or a list as the demo's questions.json. Configurations are drawn by chance, asked a few
    questions, and the promising ones more. What is best within each --aim is asked the questions
    that were held out, and printed as lines for pathrag.toml.

    Every search is kept in the output folder, so a run goes on where Ctrl-C stopped it, and each
    run leaves report.json and curve.svg there. Options of a search hold in all trials, but for
    those that are varied.

    \b
    pathrag tune questions.jsonl --tenant mine
    pathrag tune metaqa-1h metaqa-2h --limit 60 --metric f1 --aim fast=25 --write
    """
    from pathrag_gds.evaluation.tune import AIMS, SPACE, Trial, Tuning, draw
    from pathrag_gds.evaluation.tune_curve import curve_svg
    from pathrag_gds.serve.terminal import console, progress

    if len(set(sources)) < len(sources):
        raise click.UsageError("A DATASET or FILE is named twice.")
    aims = _aims(options["aims"]) or AIMS[options["cost"]]
    space = _space(options["vary"]) or dict(SPACE)
    settings = read_connection(options)
    landmarks = _landmarks(options)
    seed = options["seed"]
    drawn = draw(
        space,
        landmarks[DEFAULT_PRESET],
        trials,
        seed=seed,
        known=[Trial(name, config).key for name, config in landmarks.items()],
    )
    with (
        open_bench(settings) as bench,
        progress("Tuning") as move,
        _pools(bench, sources, limit, settings, options, move) as pools,
    ):
        tuning = Tuning(
            pools,
            landmarks,
            drawn,
            metric=options["metric"],
            cost=options["cost"],
            aims=aims,
            holdout=options["holdout"],
            budget=options["budget"],
            seed=seed,
        )
        click.echo(_announce(tuning), err=True)
        try:
            tuning.run(output, resume=not no_resume, progress=move)
        finally:
            # Whatever ended it, what is there is told.
            report = tuning.report()
            if report["trials"]:
                write_output(output / REPORT, json.dumps(report, indent=2) + "\n")
                write_output(output / PICTURE, curve_svg(report))
                click.echo(f"What was found is in {output}.", err=True)
    found = _found(tuning, report, landmarks)
    tables = {name: preset_table(name, config, space) for name, config in found.items()}
    if write and found:
        tables = write_presets(Path(SETTINGS_FILE), found, space)
    if as_json:
        print_json({**report, "presets": tables})
    else:
        _show(console(), report, tables)
    if write:
        told = f"{', '.join(found)} written to {SETTINGS_FILE}." if found else "Nothing to write."
        click.echo(told, err=True)


def _aims(given: Sequence[str]) -> tuple[Aim, ...]:
    from pathrag_gds.evaluation.tune import Aim

    found: dict[str, Aim] = {}
    for text in given:
        name, _, most = text.partition("=")
        try:
            bound = None if most == "any" else float(most)
        except ValueError:
            bound = -1.0
        if not name or (bound is not None and not bound > 0):
            raise click.UsageError(f"--aim {text}: it looks like fast=40, or thorough=any.")
        found[name] = Aim(name, bound)
    return tuple(found.values())


def _space(given: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Read what is to be varied; values are checked when they are drawn."""
    types = typing.get_type_hints(SearchConfig)
    found: dict[str, tuple[Any, ...]] = {}
    for text in given:
        name, _, values = text.partition("=")
        name = name.strip().removeprefix("--").replace("-", "_")
        kind = types.get(name)
        if kind is None:
            known = ", ".join(item.name for item in fields(SearchConfig))
            raise ConfigError(
                f"--vary {text}: there is no option {name!r}.", hint=f"Known: {known}"
            )
        try:
            found[name] = tuple(_value(kind, value.strip()) for value in values.split(","))
        except ValueError:
            raise ConfigError(
                f"--vary {text}: the values do not fit.", hint="It looks like beam_width=10,30,60."
            ) from None
    return found


def _value(kind: Any, text: str) -> Any:
    if kind is bool and text in ("true", "false"):
        return text == "true"
    if typing.get_origin(kind) is typing.Literal:
        return text
    for number in (int, float):
        if number in (kind, *typing.get_args(kind)):
            return number(text)
    raise ValueError(text)


def _landmarks(options: Mapping[str, Any]) -> dict[str, SearchConfig]:
    """Give the presets as the user has them, with the options that hold in all trials."""
    given = {**options, "top_k": options["top_k"] or TOP_K}
    names = dict.fromkeys((*LANDMARKS, *([options["preset"]] if options["preset"] else ())))
    return {name: read_search({**given, "preset": name}) for name in names}


@contextmanager
def _pools(
    bench: Bench,
    sources: Sequence[str],
    limit: int,
    settings: Settings,
    options: Mapping[str, Any],
    move: Any,
) -> Iterator[list[Pool]]:
    from contextlib import ExitStack

    from pathrag_gds.evaluation.datasets import DATASETS, PARTS, open_dataset

    with ExitStack() as stack:
        pools = []
        for source in (part for name in sources for part in PARTS.get(name, (name,))):
            path = Path(source)
            if source not in DATASETS and (path.is_file() or path.suffix in _QUESTION_FILES):
                pools.append(_own_pool(bench, path, limit, settings))
                continue
            dataset = stack.enter_context(open_dataset(source, data=options["data"]))
            pools.append(_pool(bench, dataset, limit, options, move))
        yield pools


def _pool(bench: Bench, dataset: Any, limit: int, options: Mapping[str, Any], move: Any) -> Pool:
    """Take questions of the training split, and the graph of a data set."""
    from pathrag_gds.evaluation.questions import parse_buckets, select, show_buckets
    from pathrag_gds.evaluation.tune import Pool

    if not dataset.inputs:
        raise ConfigError(f"{dataset.name} has no graph to search, so there is nothing to tune.")
    if not dataset.training:
        raise ConfigError(
            f"Figures are reported on all questions of {dataset.name}, so none is left to tune by.",
            hint="Name another set, or a file of questions of your own.",
        )
    buckets = parse_buckets(options["buckets"]) if options["buckets"] else set(dataset.training)
    if beyond := buckets - set(dataset.training):
        raise ConfigError(
            f"Figures are reported on buckets {show_buckets(beyond)} of {dataset.name}: "
            "what is tuned by them says nothing.",
            hint=f"Those of the training split: --buckets {show_buckets(dataset.training)}",
        )
    group = dataset.main
    questions = [q for q in dataset.questions if q.answers]
    chosen = select(questions, buckets=buckets, group=group, limit=limit)
    require_questions(dataset, chosen, group)
    config = SearchConfig()
    (condition,) = conditions_of(dataset, ())
    setting = setting_of(bench, dataset, condition, config, options["seed"], move)
    assert setting.ask_with is not None
    # Without the cache: a trial pays for every text that it reads, as a first question does.
    reranker = _uncached(setting.reranker)
    asks = setting.ask_with(reranker)
    setting = replace(setting, reranker=reranker, ask_with=lambda _: asks)
    return Pool(setting, tuple(chosen), dataset.graph_digest)


def _own_pool(bench: Bench, path: Path, limit: int, settings: Settings) -> Pool:
    """Take questions of the user's own, and the graph of the tenant."""
    import hashlib

    from pathrag_gds.evaluation.own import read_own
    from pathrag_gds.evaluation.questions import BUCKETS, select
    from pathrag_gds.evaluation.systems import Setting
    from pathrag_gds.evaluation.tune import Pool
    from pathrag_gds.pathrag import PathRAG
    from pathrag_gds.retrieve.context import read_context
    from pathrag_gds.server.home import Home

    dataset, by_name = read_own(path)
    tenant = settings.tenant or DEFAULT_TENANT
    database = bench.database()
    context = read_context(
        database,
        tenant,
        encoder=bench.encoder,
        reranker=bench.reranker,
        # Who names a reranker gets it, whatever was adapted.
        adapted=None if settings.reranker else Home.at(settings.home or None).rerankers,
    )
    for warning in context.warnings:
        click.echo(f"Warning: {warning}", err=True)
    reranker = _uncached(context.reranker)
    rag = PathRAG(database, tenant=tenant, encoder=bench.encoder, reranker=reranker)
    setting = Setting(
        dataset,
        "file",
        SearchConfig(),
        bench.encoder,
        reranker,
        tenant=tenant,
        database=database,
        ask_with=lambda _: rag,
    )
    told = json.dumps(context.ontology.to_dict(), sort_keys=True)
    chosen = select(dataset.questions, buckets=range(BUCKETS), limit=limit)
    return Pool(
        setting, tuple(chosen), hashlib.sha256(told.encode()).hexdigest()[:16], by_name=by_name
    )


def _uncached(reranker: Reranker) -> Reranker:
    from pathrag_gds.models.reranker import CachedReranker

    return reranker.reranker if isinstance(reranker, CachedReranker) else reranker


def _announce(tuning: Tuning) -> str:
    plan = tuning.plan
    drawn = plan.rungs[0][0]
    rungs = ", ".join(f"{count} asked {questions}" for count, questions in plan.rungs)
    return (
        f"{plan.landmarks} presets and {drawn} configurations ({rungs}), then {plan.held_out} "
        f"held-out questions: {plan.searches:,} searches at most."
    )


def _found(
    tuning: Tuning, report: Mapping[str, Any], landmarks: Mapping[str, SearchConfig]
) -> dict[str, SearchConfig]:
    """Give the presets that are worth having: not those there are, nor surely worse ones."""
    choices = {choice["preset"]: choice for choice in report["choices"]}
    found: dict[str, SearchConfig] = {}
    for aim, trial in tuning.best():
        difference = choices[aim.name]["difference"]
        if trial is None or trial.config == landmarks.get(aim.name):
            continue
        if difference is not None and difference["high"] < 0:
            continue
        found[aim.name] = trial.config
    return found


def _show(out: Console, report: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]) -> None:
    from pathrag_gds.serve.terminal import show_table

    by_name = {trial["name"]: trial for trial in report["trials"]}
    chosen = [choice["trial"] for choice in report["choices"] if choice["trial"]]
    shown = [t for t in report["trials"] if t["landmark"] or t["front"] or t["name"] in chosen]
    show_table(
        out,
        ["", report["metric"], "n", "held out", "95 % interval", "n", "texts", "p95", "p50 ms"],
        [_line(trial) for trial in shown],
    )
    for choice in report["choices"]:
        bound = "any cost" if choice["most"] is None else f"{choice['most']:g} {report['cost']}"
        if choice["trial"] is None:
            out.print(f"{choice['preset']} ({bound}): nothing that was tried costs so little.")
            continue
        line = f"{choice['preset']} ({bound}): {choice['trial']}"
        difference = choice["difference"]
        if difference and choice["trial"] != choice["against"]:
            line += (
                f", on {difference['n']} held-out questions {difference['difference']:+.3f} "
                f"({difference['low']:+.3f} to {difference['high']:+.3f}) beside the preset "
                f"{choice['against']}"
            )
            if difference["high"] < 0:
                line += ": worse, and not advised"
        elif choice["trial"] in by_name and by_name[choice["trial"]]["landmark"]:
            line += ", a preset there is"
        out.print(line, soft_wrap=True)
    if report["unanswered"]:
        out.print(
            f"{len(report['unanswered'])} questions were answered by no configuration; are their "
            f"answers right? {', '.join(report['unanswered'][:5])}",
            soft_wrap=True,
        )
    if tables:
        out.print(f"\nFor {SETTINGS_FILE} (--write puts them there):\n")
        click.echo(show_presets(tables))


def _line(trial: Mapping[str, Any]) -> list[object]:
    tuning, held = trial["tuning"], trial["held_out"]
    return [
        trial["name"],
        f"{tuning['quality']:.3f}",
        tuning["n"],
        f"{held['quality']:.3f}" if held else "–",
        f"{held['low']:.3f} to {held['high']:.3f}" if held else "–",
        held["n"] if held else "–",
        f"{tuning['texts']['mean']:.0f}",
        f"{tuning['texts']['p95']:.0f}",
        f"{tuning['millis']['p50']:.0f}",
    ]
