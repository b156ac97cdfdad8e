"""The command line interface: parse, call, print.

What a command needs is imported inside it, so that ``pathrag --help`` stays quick. Commands that
belong to one topic are in ``pathrag_gds/serve/*_commands.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pathrag_gds.config import DEFAULT_TENANT
from pathrag_gds.serve.ask_commands import ask
from pathrag_gds.serve.command import (
    Commands,
    check_output,
    print_json,
    run,
    verbose_option,
    write_output,
)
from pathrag_gds.serve.community_commands import communities
from pathrag_gds.serve.eval_commands import evaluate
from pathrag_gds.serve.import_commands import import_
from pathrag_gds.serve.load_commands import embed, load
from pathrag_gds.serve.method_commands import (
    method_options,
    query_by_method,
    refuse_method_options,
)
from pathrag_gds.serve.migrate_commands import migrate
from pathrag_gds.serve.options import (
    connection_options,
    model_options,
    output_options,
    prompt_options,
    read_connection,
    read_prompt,
    read_search,
    repeated,
    search_options,
)
from pathrag_gds.serve.pattern_commands import (
    cypher_of,
    pattern_options,
    patterns,
    run_pattern,
    tell_saved,
)
from pathrag_gds.serve.server_commands import server
from pathrag_gds.serve.terminal import plain
from pathrag_gds.serve.train_commands import train
from pathrag_gds.serve.tune_commands import tune
from pathrag_gds.version import __version__

if TYPE_CHECKING:
    from pathrag_gds import PathRAG
    from pathrag_gds.types import SearchResult


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", prog_name="pathrag")
@verbose_option
def cli() -> None:
    """Answer questions from a knowledge graph in Neo4j with ranked relational paths.

    \b
    Start here:
      pathrag demo
    With a graph of your own:
      pathrag server start
      pathrag migrate up
      pathrag load nodes.csv relationships.csv
      pathrag embed
      pathrag query "…"

    The password is read from NEO4J_PASSWORD, from pathrag.toml, or asked for with --ask-password.
    """


for command in (
    ask,
    communities,
    load,
    embed,
    import_,
    migrate,
    patterns,
    run_pattern,
    server,
    evaluate,
    train,
    tune,
):
    cli.add_command(command)


@cli.command()
@click.argument("question")
@pattern_options
@method_options
@search_options
@model_options
@connection_options
@output_options
def query(
    question: str,
    cypher: bool,
    save: str | None,
    replace: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the paths, or the communities, that answer QUESTION.

    With --method community the reports on communities are compared with the question; the key
    entities of the best, what is around them and the texts that they were read from follow. With
    --method vector entities and texts are printed that are nearest by vector. Of the options of a
    search only --top-k counts for both. With --method hybrid paths, communities, vectors and words
    each rank entities and texts, and the rankings are fused; answers are those of the paths.

    \b
    pathrag query "Who are Bob's friends?"
    pathrag query "…" --beam-width 60 --node-filter '{"age": {"$gt": 3}}' --json
    pathrag query "…" --cypher
    pathrag query "What is Scrooge's family like?" --method community
    pathrag query "…" --method hybrid --ranking-weight text=0.5
    """
    if replace and save is None:
        raise click.UsageError("--replace needs --save NAME.")
    refuse_method_options(options)
    if options["method"] != "path":
        if cypher or save is not None:
            raise click.UsageError("--cypher and --save go with --method path.")
        query_by_method(question, as_json, options)
        return
    with _rag(options) as rag:
        result = rag.search(question, config=read_search(options))
        saved = rag.save_pattern(result, save, replace=replace) if save is not None else None
    _warn(result)
    if as_json:
        print_json(result.to_dict())
    elif cypher:
        click.echo(cypher_of(result))
    else:
        from pathrag_gds.serve.results import show_result
        from pathrag_gds.serve.terminal import console

        show_result(console(), result)
    if saved:
        tell_saved(saved, options)


@cli.command()
@click.argument("question")
@click.option(
    "--rows",
    default=5,
    show_default=True,
    type=click.IntRange(min=0),
    help="Seeds, and paths kept and cut, shown per depth; 0 for all.",
)
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it there as a page for a browser, with the paths as a graph.",
)
@search_options
@model_options
@connection_options
@output_options
def explain(question: str, rows: int, html: Path | None, as_json: bool, **options: Any) -> None:
    """Print how QUESTION is searched, and what is cut.

    Shows the anchors and the seeds, and at each depth which paths were kept, which were cut and
    why. With --html the same goes into one file that needs no network and no script, with the
    paths drawn as a graph.

    \b
    pathrag explain "Who are Bob's friends?"
    pathrag explain "…" --html why.html
    """
    if html:
        # First, so that nobody waits for a search whose page cannot be stored.
        check_output(html)
    with _rag(options) as rag:
        explanation = rag.explain(question, config=read_search(options))
    _warn(explanation.result)
    if html:
        from pathrag_gds.serve.explain_html import explanation_html

        write_output(html, explanation_html(explanation, rows=rows))
    if as_json:
        print_json(explanation.to_dict())
        return
    if html:
        click.echo(f"Written to {plain(html)}.")
        return
    from pathrag_gds.serve.results import show_explanation
    from pathrag_gds.serve.terminal import console

    show_explanation(console(), explanation, rows=rows)


@cli.command()
@click.argument("question")
@prompt_options
@search_options
@model_options
@connection_options
@output_options
def prompt(question: str, as_json: bool, **options: Any) -> None:
    """Print a prompt to answer QUESTION from its paths.

    It is for a language model; nothing is sent anywhere. The prompt goes to stdout; what it takes
    in tokens, as the encoder counts them, and what is left out go to stderr.

    \b
    pathrag prompt "Who are Bob's friends?" --budget 1000 --chunk-budget 0
    """
    with _rag(options) as rag:
        result = rag.search(question, config=read_search(options))
        written = rag.prompt_of(result, **read_prompt(options))
    _warn(result)
    if as_json:
        print_json(written.to_dict())
        return
    from pathrag_gds.serve.results import prompt_summary

    click.echo(written.text)
    click.echo(prompt_summary(written), err=True)


@cli.command()
@click.argument("question", required=False)
@connection_options
@output_options
def demo(question: str | None, as_json: bool, **options: Any) -> None:
    """Ask the Adventures of Bob the Cat, from nothing.

    Starts the embedded server, migrates, loads the story, embeds it, and asks QUESTION. NEO4J_URI
    is not looked at: another server is used only when --uri names it. Data of yours are never
    touched: where tenant "default" holds some, the story goes into tenant "demo".
    """
    from pathrag_gds.serve.demo import run_demo
    from pathrag_gds.serve.results import show_demo
    from pathrag_gds.serve.terminal import console, progress

    settings = read_connection(options, embedded=True)
    report = run_demo(settings, question, progress=progress)
    if as_json:
        print_json(report.to_dict())
    else:
        show_demo(console(), report)


@cli.command()
@connection_options
@output_options
def doctor(as_json: bool, **options: Any) -> None:
    """Check what an answer needs; say what to do.

    Looks at all tenants, or at the one that is named, and then tells nothing of others.

    Exits with 0 when all is well and with 1 when something needs doing: "todo" where an answer is
    possible, "failed" where none is. A "note" needs nothing, such as a server without Graph Data
    Science, where path search works.
    """
    from pathrag_gds.serve.doctor import examine
    from pathrag_gds.serve.results import show_checks
    from pathrag_gds.serve.terminal import console

    flags = repeated(options, ("uri", "username", "database", "home"))
    checks = examine(read_connection(options), flags=flags)
    healthy = all(check.is_well for check in checks)
    if as_json:
        print_json({"healthy": healthy, "checks": [check.to_dict() for check in checks]})
    else:
        show_checks(console(), checks)
    if not healthy:
        raise click.exceptions.Exit(1)


@cli.group(cls=Commands)
def schema() -> None:
    """Show what types of entities and relationships the graph has."""


@schema.command()
@connection_options
@output_options
def show(as_json: bool, **options: Any) -> None:
    """Print the types of the tenant, their ends and counts."""
    _schema(options, as_json, refresh=False)


@schema.command()
@connection_options
@output_options
def refresh(as_json: bool, **options: Any) -> None:
    """Read the ontology from the graph again and keep it."""
    _schema(options, as_json, refresh=True)


def _schema(options: dict[str, Any], as_json: bool, *, refresh: bool) -> None:
    from pathrag_gds.graph.connect import open_database
    from pathrag_gds.graph.schema import read_ontology, refresh_ontology
    from pathrag_gds.serve.results import show_ontology
    from pathrag_gds.serve.terminal import console

    settings = read_connection(options)
    with open_database(settings) as db:
        read = refresh_ontology if refresh else read_ontology
        ontology = read(db, settings.tenant or DEFAULT_TENANT)
    if as_json:
        print_json(ontology.to_dict())
    else:
        show_ontology(console(), ontology)


def _rag(options: dict[str, Any]) -> PathRAG:
    from pathrag_gds import PathRAG

    read_search(options)
    return PathRAG.from_settings(read_connection(options))


def _warn(result: SearchResult) -> None:
    for warning in result.warnings:
        click.echo(f"Warning: {warning}", err=True)


def main() -> None:
    """Run the command line interface."""
    run(cli)


if __name__ == "__main__":
    main()
