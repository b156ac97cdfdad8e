"""``pathrag eval``: measure the search on question sets with known answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pathrag_gds.serve.command import command_line, print_json
from pathrag_gds.serve.options import (
    model_options,
    output_options,
    read_connection,
    read_search,
    search_options,
    server_options,
)

if TYPE_CHECKING:
    from rich.console import Console

    from pathrag_gds.config import SearchConfig, Settings
    from pathrag_gds.evaluation.datasets import Dataset
    from pathrag_gds.evaluation.systems import Setting
    from pathrag_gds.graph.database import Database
    from pathrag_gds.models.encoder import Encoder
    from pathrag_gds.models.reranker import Reranker

__all__ = [
    "TOP_K",
    "Bench",
    "conditions_of",
    "evaluate",
    "open_bench",
    "require_questions",
    "setting_of",
]

# Enough paths for answers beyond the first five; which path comes first does not depend on it.
TOP_K = 50
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(name="eval")
@click.argument("datasets", nargs=-1, metavar="[DATASET]...")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="PATHRAG_DATA",
    help="Folder of the data sets that are not ours; PATHRAG_DATA by default.",
)
@click.option("--questions", type=FILE, help="Another file of the set's format to ask from.")
@click.option("--buckets", default="", help="The split, such as 3-4; the reporting one by default.")
@click.option(
    "--group",
    default=None,
    help="Part of the set, such as simple; its main one by default, or all.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Ask at most so many: the first by MD5 of the question.",
)
@click.option(
    "--condition",
    "conditions",
    multiple=True,
    type=click.Choice(["plain", "file", "given", "all"]),
    help="plain: nothing shows the topic. file: as the file has it. given: its id is told. "
    "Repeatable; the hardest that the set has by default.",
)
@click.option(
    "--opponent", "opponents", multiple=True, metavar="NAME", help="Ask it too. Repeatable."
)
@click.option(
    "--delete-gold",
    is_flag=True,
    help="Ask again with the gold relationships hidden: is it said that they are not there?",
)
@click.option(
    "--output",
    default="eval",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the results; a run that was interrupted there goes on.",
)
@click.option("--no-resume", is_flag=True, help="Begin anew whatever the folder holds.")
@click.option("--seed", default=0, show_default=True, help="Of whatever is random.")
@click.option(
    "--compare",
    "compared",
    nargs=2,
    type=FILE,
    metavar="A B",
    help="Ask nothing; compare two results files (.jsonl), question by question.",
)
@search_options
@model_options
@server_options
@output_options
def evaluate(
    datasets: tuple[str, ...],
    compared: tuple[Path, Path] | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure the search on DATASETs with known answers.

    Sets: bob, story2, pathquestion-2h, pathquestion-3h, metaqa-1h, metaqa-2h, metaqa-3h,
    webqsp-paths, wc2014-p2, wc2014-c, musique, twowiki; probes: questions of many shapes, all of
    probes-movies, probes-northwind, probes-bob and probes-story2; probes-held-out: more of them,
    on which no rule was mended. Each is loaded into a tenant of its own, eval_SET. A row per
    question goes to the output folder as it is answered, then a summary. --top-k is 50 unless
    given, so that there are answers beyond the first five to count.

    \b
    pathrag eval bob
    pathrag eval metaqa-1h metaqa-2h --limit 300 --opponent cosine
    pathrag eval --compare eval/bob.file.path.jsonl OTHER.jsonl
    """
    from pathrag_gds.serve.terminal import console

    if compared:
        if datasets:
            raise click.UsageError("--compare takes two files and no DATASET.")
        _compare(compared, seed, as_json)
        return
    if not datasets:
        raise click.UsageError("Name a DATASET, or two files with --compare.")
    if options["questions"] and len(datasets) > 1:
        raise click.UsageError("--questions is of one DATASET.")
    config = read_search({**options, "top_k": options["top_k"] or TOP_K})
    with open_bench(read_connection(options)) as bench:
        summaries = [
            summary for name in datasets for summary in _run_set(bench, name, config, seed, options)
        ]
    if as_json:
        print_json(summaries)
    else:
        _show(console(), summaries, options["output"])


@dataclass(slots=True)
class Bench:
    """Models and the database, each opened when it is first needed."""

    settings: Settings
    encoder: Encoder
    reranker: Reranker
    opened: list[Database] = field(default_factory=list)

    def database(self) -> Database:
        """Connect once; the schema must be there."""
        from pathrag_gds.graph.connect import open_database

        if not self.opened:
            self.opened.append(open_database(self.settings))
        return self.opened[0]


@contextmanager
def open_bench(settings: Settings) -> Iterator[Bench]:
    """Load the models; what was connected is closed at the end."""
    from pathrag_gds.models.encoder import load_encoder
    from pathrag_gds.models.reranker import load_reranker

    encoder = load_encoder(settings.model or None)
    bench = Bench(settings, encoder, load_reranker(settings.reranker or None, encoder))
    try:
        yield bench
    finally:
        for database in bench.opened:
            database.close()


def _run_set(
    bench: Bench, name: str, config: SearchConfig, seed: int, options: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Run a set, or all parts of one that has parts, and these as one besides."""
    from pathrag_gds.evaluation.datasets import PARTS
    from pathrag_gds.evaluation.run import combine, write_summary

    names = PARTS.get(name, (name,))
    if options["questions"] and name in PARTS:
        raise click.UsageError(f"--questions is of one part: {', '.join(names)}.")
    found = [
        summary for part in names for summary in _run_dataset(bench, part, config, seed, options)
    ]
    if name not in PARTS:
        return found
    whole = combine(name, found, options["output"])
    for summary in whole:
        write_summary(options["output"], summary)
    return found + whole


def _run_dataset(
    bench: Bench, name: str, config: SearchConfig, seed: int, options: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    from pathrag_gds.evaluation.datasets import open_dataset
    from pathrag_gds.evaluation.questions import parse_buckets
    from pathrag_gds.evaluation.run import (
        METHOD,
        Selection,
        run_system,
        run_without_gold,
        write_summary,
    )
    from pathrag_gds.evaluation.systems import Opponent, find_opponent
    from pathrag_gds.serve.terminal import progress

    factories = {opponent: find_opponent(opponent) for opponent in options["opponents"]}
    command = command_line(["pathrag", *sys.argv[1:]])
    with (
        open_dataset(name, data=options["data"], questions=options["questions"]) as dataset,
        progress("Evaluating") as move,
    ):
        group = dataset.main if options["group"] is None else options["group"]
        selection = Selection.of(
            dataset.questions,
            buckets=parse_buckets(options["buckets"]) if options["buckets"] else dataset.report,
            group="" if group == "all" else group,
            limit=options["limit"],
        )
        require_questions(dataset, selection.questions, group)

        def ours(setting: Setting) -> Opponent:
            return setting.system(setting.reranker, METHOD)

        for condition in conditions_of(dataset, options["conditions"]):
            setting = setting_of(bench, dataset, condition, config, seed, move)
            for method, factory in {METHOD: ours, **factories}.items():
                summary = run_system(
                    setting,
                    selection,
                    factory(setting),
                    options["output"],
                    method=method,
                    resume=not options["no_resume"],
                    command=command,
                    progress=move,
                )
                if options["delete_gold"] and method == METHOD and dataset.inputs:
                    summary["gold_hidden"] = run_without_gold(
                        setting,
                        selection,
                        ours,
                        options["output"],
                        method=method,
                        resume=not options["no_resume"],
                        progress=move,
                    )
                write_summary(options["output"], summary)
                yield summary


def require_questions(dataset: Dataset, chosen: Sequence[object], group: str) -> None:
    """Refuse a split and a group without questions."""
    from pathrag_gds.errors import ConfigError

    if not chosen:
        groups = sorted({name for question in dataset.questions for name in question.groups})
        raise ConfigError(
            f"{dataset.name} has no question in this split"
            + (f" and group {group!r}." if group else "."),
            hint=f"Choose others: --buckets 0-9. Groups: {', '.join(groups) or 'none'}.",
        )


def conditions_of(dataset: Dataset, given: Sequence[str]) -> Sequence[Any]:
    """Give the conditions that are meant: the set's usual one where none is given."""
    from pathrag_gds.errors import ConfigError

    if not given:
        return dataset.conditions[:1]
    if "all" in given:
        return dataset.conditions
    for condition in given:
        if condition not in dataset.conditions:
            raise ConfigError(
                f"{dataset.name} cannot be asked in the condition {condition!r}.",
                hint="It can in: " + ", ".join(dataset.conditions),
            )
    return tuple(dict.fromkeys(given))


def setting_of(
    bench: Bench,
    dataset: Dataset,
    condition: Any,
    config: SearchConfig,
    seed: int,
    move: Any,
) -> Setting:
    """Set a data set up; its graph is loaded into its tenant unless it is there."""
    from pathrag_gds.evaluation.systems import Setting
    from pathrag_gds.evaluation.tenant import prepare
    from pathrag_gds.pathrag import PathRAG

    setting = Setting(dataset, condition, config, bench.encoder, bench.reranker, seed=seed)
    if not dataset.inputs:
        return setting
    from dataclasses import replace

    database = bench.database()
    tenant = prepare(database, dataset, bench.encoder, move)

    def ask_with(reranker: Reranker) -> PathRAG:
        return PathRAG(database, tenant=tenant, encoder=bench.encoder, reranker=reranker)

    return replace(setting, tenant=tenant, database=database, ask_with=ask_with)


def _show(out: Console, summaries: Sequence[Mapping[str, Any]], folder: Path) -> None:
    from pathrag_gds.serve.terminal import show_table

    columns = (
        *("hit@1", "hit@5", "mrr", "f1", "path_recall@5", "passage_recall@5"),
        *("all_passages@8", "right_path@1"),
        *("right", "confident_wrong"),
    )
    used = [c for c in columns if any(c in s["metrics"] for s in summaries)]
    show_table(
        out,
        [
            "dataset",
            "split",
            "condition",
            "method",
            "n",
            "ceiling",
            *used,
            "texts",
            "tokens",
            "p50 ms",
        ],
        [
            [
                s["dataset"] + (f" ({s['group']})" if s["group"] else ""),
                s["split"],
                s["condition"],
                s["method"],
                s["n"],
                _number(s["ceiling"]),
                *(_number(s["metrics"].get(column)) for column in used),
                f"{s['cost']['texts_scored']['mean']:.0f}",
                f"{s['cost']['context_tokens']['mean']:.0f}"
                if s["cost"]["context_tokens"]
                else "–",
                f"{s['millis']['wall']['p50']:.0f}" if "wall" in s["millis"] else "–",
            ]
            for s in summaries
        ],
    )
    _show_shapes(out, summaries)
    for s in summaries:
        name = f"{s['dataset']}, {s['condition']}, {s['method']}"
        if s["lost"]:
            causes = ", ".join(f"{cause} {count}" for cause, count in s["lost"].items())
            out.print(f"{name}: lost by {causes}")
        if hidden := s.get("gold_hidden"):
            out.print(
                f"{name}: with the gold hidden {_number(hidden['not_in_graph'])} of "
                f"{hidden['n']} are said not to be in the graph, "
                f"{_number(hidden['lost'])} of them with the gold there"
            )
    out.print(f"Rows and summaries are in {folder}.")


def _show_shapes(out: Console, summaries: Sequence[Mapping[str, Any]]) -> None:
    """Show the kinds of questions of several shapes, of the whole where there are parts."""
    from pathrag_gds.serve.terminal import show_table

    probed = [s for s in summaries if "right" in s["metrics"]]
    whole = [s for s in probed if "parts" in s] or probed
    if not whole:
        return
    show_table(
        out,
        ["dataset", "method", "kind", "n", "right", "confident wrong", "outcomes"],
        [
            [
                s["dataset"],
                s["method"],
                kind,
                group["n"],
                _number(group["metrics"]["right"]),
                round(group["metrics"]["confident_wrong"] * group["n"]),
                ", ".join(f"{name} {count}" for name, count in group["outcomes"].items()),
            ]
            for s in whole
            for kind, group in s["groups"].items()
            if "right" in group["metrics"]
        ],
    )


def _compare(files: tuple[Path, Path], seed: int, as_json: bool) -> None:
    from pathrag_gds.evaluation.run import compare
    from pathrag_gds.serve.terminal import console, show_table

    told = compare(*files, seed=seed)
    if as_json:
        print_json(told)
        return
    show_table(
        console(),
        ["metric", "first", "second", "difference", "95 % interval"],
        [
            [
                name,
                _number(m["first"]),
                _number(m["second"]),
                f"{m['difference']:+.3f}",
                f"{m['low']:+.3f} to {m['high']:+.3f}",
            ]
            for name, m in told["metrics"].items()
        ],
    )
    click.echo(f"Over the {told['n']} questions of both.")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
