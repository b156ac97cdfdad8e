"""The query behind an answer: ``query --cypher`` and ``--save``, ``run`` and ``patterns``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pathrag_gds.errors import PathRAGError
from pathrag_gds.serve.command import command_line, print_json
from pathrag_gds.serve.options import (
    connection_options,
    output_options,
    read_connection,
    repeated,
)
from pathrag_gds.serve.terminal import plain

if TYPE_CHECKING:
    from pathrag_gds.types import Pattern, PatternRun, SavedPattern, SearchResult

__all__ = ["cypher_of", "paste_text", "pattern_options", "patterns", "run_pattern", "tell_saved"]

Command = TypeVar("Command", bound=Callable[..., Any])

# Line ends are kept: inside a name they are part of it.
_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def pattern_options(command: Command) -> Command:
    """Add ``--cypher``, ``--save`` and ``--replace`` to a search."""
    for option in (
        click.option("--replace", is_flag=True, help="With --save: replace what has the name."),
        click.option(
            "--save",
            metavar="NAME",
            help="Keep the query behind the first answer; see pathrag run.",
        ),
        click.option(
            "--cypher",
            is_flag=True,
            help="Print the query behind the answers instead, to paste into Neo4j Browser.",
        ),
    ):
        command = option(command)
    return command


def paste_text(pattern: Pattern) -> str:
    """Write a pattern for Neo4j Browser or cypher-shell: a comment, parameters, the statement.

    A ``:param`` line is one line; its value is Cypher, of which strings as JSON writes them are a
    part. Characters that a terminal would obey are written as Cypher's escapes, which mean the same
    in names and in strings.
    """
    lines = [f"// {plain(pattern.text)}"] if pattern.text else []
    lines += [f":param {name} => {_literal(value)}" for name, value in pattern.parameters.items()]
    return "\n".join([*lines, f"{_seen(pattern.cypher)};"])


def cypher_of(result: SearchResult) -> str:
    """Write the patterns that the answers of a result are from, to be pasted.

    Raises:
        PathRAGError: There is none.
    """
    from pathrag_gds.retrieve.pattern import answering

    found = answering(result)
    if not found:
        raise PathRAGError(
            "No pattern answers the question, so there is no query to print.",
            hint="See what was found, and what was cut: pathrag explain …",
        )
    return "\n\n".join(map(paste_text, found))


def tell_saved(saved: SavedPattern, options: Mapping[str, Any]) -> None:
    """Say on stderr what was saved, and how to run it again."""
    anchors = [word for chain in saved.pattern.chains for word in ("--anchor", chain.start)]
    again = command_line(["pathrag", "run", saved.name, *anchors, *repeated(options)])
    click.echo(f"Saved. Run it again with these anchors or with others: {plain(again)}", err=True)


@click.command("run")
@click.argument("name")
@click.option(
    "--anchor",
    "anchors",
    metavar="NAME_OR_ID",
    multiple=True,
    help="Start from this entity. Once for each chain of the pattern; without it, start from "
    "those that it was saved with.",
)
@connection_options
@output_options
def run_pattern(name: str, anchors: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Run the saved pattern NAME again.

    Prints every answer in the graph and their number. An anchor is an id, a name or an alias; a
    name that several entities have stands for all of them.

    \b
    pathrag query "Who are Bob's friends?" --save friends
    pathrag run friends --anchor Jane
    """
    from pathrag_gds.config import DEFAULT_TENANT
    from pathrag_gds.graph.connect import open_database
    from pathrag_gds.retrieve import saved

    settings = read_connection(options)
    with open_database(settings) as db:
        found = saved.run_pattern(db, settings.tenant or DEFAULT_TENANT, name, anchors)
    if as_json:
        print_json(found.to_dict())
        return
    _show_run(found)


@click.command()
@click.option("--delete", metavar="NAME", help="Forget this one instead.")
@connection_options
@output_options
def patterns(delete: str | None, as_json: bool, **options: Any) -> None:
    """List the saved patterns of the tenant.

    \b
    pathrag patterns
    pathrag patterns --delete friends
    """
    from pathrag_gds.config import DEFAULT_TENANT
    from pathrag_gds.graph.connect import open_database
    from pathrag_gds.retrieve.saved import delete_pattern, read_patterns

    settings = read_connection(options)
    tenant = settings.tenant or DEFAULT_TENANT
    with open_database(settings) as db:
        if delete is not None:
            delete_pattern(db, tenant, delete)
        found = read_patterns(db, tenant)
    if as_json:
        print_json([saved.to_dict() for saved in found])
    elif delete is not None:
        click.echo(f"Deleted: {plain(delete)}")
    else:
        _show_patterns(found)


def _show_run(found: PatternRun) -> None:
    from pathrag_gds.serve.terminal import console, show_table

    for group in found.anchors:
        told = ", ".join(a.name if a.name == a.id else f"{a.name} ({a.id})" for a in group)
        click.echo(f"From {plain(told)}")
    count = len(found.answers)
    click.echo(f"{count} {'answer' if count == 1 else 'answers'}")
    if found.answers:
        show_table(console(), ("name", "id"), [(name, id_) for id_, name in found.answers])


def _show_patterns(found: Sequence[SavedPattern]) -> None:
    from pathrag_gds.serve.terminal import console, show_table

    rows = [
        (
            saved.name,
            ", ".join(chain.start for chain in saved.pattern.chains),
            saved.pattern.text,
            saved.created,
        )
        for saved in found
    ]
    empty = 'none; save one with pathrag query "…" --save NAME'
    show_table(console(), ("name", "anchors", "pattern", "saved"), rows, empty=empty)


def _literal(value: Any) -> str:
    """Write a value as Cypher on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_literal(v)}" for key, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return _seen(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _seen(text: str) -> str:
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04X}", text)
