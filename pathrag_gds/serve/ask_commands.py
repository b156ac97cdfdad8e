"""``pathrag ask``: an answer that a language model writes from paths alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from pathrag_gds.answer.overview import DEFAULT_CONCURRENCY
from pathrag_gds.serve.command import print_json
from pathrag_gds.serve.method_commands import (
    ask_method_options,
    read_fusion,
    refuse_method_options,
)
from pathrag_gds.serve.options import (
    connection_options,
    model_options,
    output_options,
    prompt_options,
    read_connection,
    read_prompt,
    read_search,
    search_options,
)
from pathrag_gds.serve.terminal import plain

__all__ = ["ask"]


@click.command()
@click.argument("question")
@click.option("--show-prompt", is_flag=True, help="Print what the model is asked, on stderr.")
@click.option(
    "--stream/--no-stream",
    default=True,
    show_default=True,
    help="Print the answer as it is written, or when all of it is there.",
)
@click.option(
    "--llm-base-url",
    metavar="URL",
    help="Endpoint of the language model, such as http://localhost:11434/v1.",
)
@click.option("--llm-model", metavar="NAME", help="Name of the language model there.")
@ask_method_options
@prompt_options
@search_options
@model_options
@connection_options
@output_options
def ask(question: str, show_prompt: bool, stream: bool, as_json: bool, **options: Any) -> None:
    """Let a language model answer QUESTION from its paths.

    Prints the answer, then the paths that it cites, then what of it cites none. Where no path
    passes --min-score, the answer is that the graph does not say, and no model is asked.

    The model is that of PATHRAG_LLM_BASE_URL and PATHRAG_LLM_MODEL, with the key
    PATHRAG_LLM_API_KEY: any endpoint that speaks OpenAI's chat completions, such as that of Ollama
    or vLLM. Without them OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY are read. Nothing is sent
    anywhere unless they name an endpoint.

    With --method global the model reads many reports on communities, some at a time, for points
    that help, and makes the answer of the most important. With --method auto a question about a
    whole is answered so, one that paths answer from paths, and any other from paths and texts; why
    is printed.

    \b
    pathrag ask "Who are Bob's friends?"
    pathrag ask "…" --show-prompt --top-k 10
    pathrag ask "What are the main themes of the story?" --method auto
    """
    refuse_method_options(options, ask=True)
    if options["method"] != "path":
        if show_prompt:
            raise click.UsageError("--show-prompt goes with --method path.")
        _ask_by(question, stream, as_json, options)
        return
    from pathrag_gds import PathRAG
    from pathrag_gds.answer.generate import generate_answer
    from pathrag_gds.models.llm import ChatClient

    config = read_search(options)
    settings = read_connection(options)
    # First, so that nobody waits for a search whose answer nobody can write.
    llm = ChatClient(settings.endpoint())
    with PathRAG.from_settings(settings) as rag:
        result = rag.search(question, config=config)
        prompt = rag.prompt_of(result, **read_prompt(options))
    if show_prompt and not as_json:
        click.echo(prompt.text, err=True)
        click.echo(err=True)
    printer = _Printer()
    try:
        answer = generate_answer(
            result, prompt, llm, on_text=None if as_json else printer.print, stream=stream
        )
    finally:
        printer.end()
    for warning in answer.warnings:
        click.echo(f"Warning: {plain(warning)}", err=True)
    if as_json:
        print_json(answer.to_dict() | ({"prompt": prompt.to_dict()} if show_prompt else {}))
        return
    from pathrag_gds.serve.results import show_citations
    from pathrag_gds.serve.terminal import console

    show_citations(console(), answer)


def _ask_by(question: str, stream: bool, as_json: bool, options: Mapping[str, Any]) -> None:
    """Answer by a method other than paths alone."""
    from pathrag_gds import PathRAG
    from pathrag_gds.answer.generate import GeneratedAnswer
    from pathrag_gds.models.llm import ChatClient

    settings = read_connection(options)
    llm = ChatClient(settings.endpoint())
    printer = _Printer()
    try:
        with PathRAG.from_settings(settings) as rag:
            answer = rag.ask_by(
                question,
                method=options["method"],
                config=read_search(options),
                fusion=read_fusion(options),
                reports=options["communities"],
                concurrency=options["concurrency"] or DEFAULT_CONCURRENCY,
                llm=llm,
                on_text=None if as_json else printer.print,
                stream=stream,
                **read_prompt(options),
            )
    finally:
        printer.end()
    for warning in answer.warnings:
        click.echo(f"Warning: {plain(warning)}", err=True)
    if as_json:
        print_json(answer.to_dict())
        return
    from pathrag_gds.serve.results import show_citations
    from pathrag_gds.serve.sourced_results import show_sourced
    from pathrag_gds.serve.terminal import console

    if isinstance(answer, GeneratedAnswer):
        show_citations(console(), answer)
        if answer.reason:
            click.echo(f"By {plain(answer.reason)}.")
    else:
        show_sourced(console(), answer)


class _Printer:
    """Prints pieces of a text as they come; what could move the cursor is made visible."""

    def __init__(self) -> None:
        self._within_line = False

    def print(self, piece: str) -> None:
        lines = piece.replace("\t", " ").replace("\r\n", "\n").split("\n")
        click.echo("\n".join(map(plain, lines)), nl=False)
        if piece:
            self._within_line = not piece.endswith("\n")

    def end(self) -> None:
        """End the line that is begun."""
        if self._within_line:
            click.echo()
            self._within_line = False
