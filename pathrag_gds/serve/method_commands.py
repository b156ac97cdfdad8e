"""``--method`` of ``pathrag query``: what goes with it, and what methods other than paths print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pathrag_gds.serve.command import print_json
from pathrag_gds.serve.options import read_connection, read_search

if TYPE_CHECKING:
    from pathrag_gds.answer.methods import FusionOptions

__all__ = [
    "ask_method_options",
    "method_options",
    "query_by_method",
    "read_fusion",
    "refuse_method_options",
]

Command = TypeVar("Command", bound=Callable[..., Any])

# What goes with which methods; each option is None or empty unless given.
_OWN: Mapping[str, tuple[str, ...]] = {
    "communities": ("community", "hybrid"),
    "hops": ("community", "hybrid"),
    "scorer": ("community", "hybrid"),
    "reach": ("hybrid", "vector"),
    "ranking_weight": ("hybrid",),
    "k": ("hybrid",),
}


def method_options(command: Command) -> Command:
    """Add ``--method``, and what goes with the methods other than ``path``."""
    options = (
        click.option(
            "--method",
            type=click.Choice(["path", "community", "hybrid", "vector"]),
            default="path",
            show_default=True,
            help="Paths; reports on communities; what is nearest by vector; or all of them fused.",
        ),
        click.option(
            "--communities",
            type=click.IntRange(min=1),
            help="With --method community or hybrid: how many at most.  [default: 3]",
        ),
        click.option(
            "--hops",
            type=click.IntRange(min=0, max=3),
            help="With --method community or hybrid: how far from their key entities.  "
            "[default: 1]",
        ),
        click.option(
            "--scorer",
            type=click.Choice(["auto", "cosine", "overlap"]),
            help="With --method community or hybrid: compare vectors, or words; auto: vectors "
            "where there are.  [default: auto]",
        ),
        click.option(
            "--reach",
            type=click.IntRange(min=1),
            help="With --method hybrid or vector: paths, entities and texts of each ranking at "
            "most.  [default: 50]",
        ),
        click.option(
            "--ranking-weight",
            "ranking_weight",
            multiple=True,
            metavar="NAME=NUMBER",
            callback=_weights,
            help="With --method hybrid: how much a ranking counts, 0 leaves it out; of path "
            "[default: 2], community [1], vector [1] and text [0.5]. Repeat the option for more.",
        ),
        click.option(
            "--fusion-k",
            "k",
            type=click.FloatRange(min=0),
            help="With --method hybrid: a place counts weight / (k + rank).  [default: 5]",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def ask_method_options(command: Command) -> Command:
    """Add ``--method`` of ``pathrag ask``, and what goes with the methods other than ``path``."""
    options = (
        click.option(
            "--method",
            type=click.Choice(["path", "community", "hybrid", "global", "auto"]),
            default="path",
            show_default=True,
            help="What the model reads: paths; the best reports on communities and their texts; "
            "paths and texts; many reports, part by part; or what fits the question.",
        ),
        click.option(
            "--communities",
            type=click.IntRange(min=1),
            help="With --method community, hybrid, global or auto: reports at most.  [default: 3; "
            "of global: 32]",
        ),
        click.option(
            "--scorer",
            type=click.Choice(["auto", "cosine", "overlap"]),
            help="With the same: how reports are compared with the question.  [default: auto]",
        ),
        click.option(
            "--concurrency",
            type=click.IntRange(min=1),
            help="With --method global or auto: requests to the model at a time.  [default: 4]",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _weights(ctx: click.Context, param: click.Parameter, values: Iterable[str]) -> dict[str, float]:
    weights = {}
    for value in values:
        name, separator, number = value.partition("=")
        try:
            weights[name.strip()] = float(number)
        except ValueError:
            separator = ""
        if not separator:
            raise click.BadParameter(f"{value!r} is not like path=2.", ctx, param)
    return weights


_OF_ASK: Mapping[str, tuple[str, ...]] = {
    "communities": ("community", "hybrid", "global", "auto"),
    "scorer": ("community", "hybrid", "global", "auto"),
    "concurrency": ("global", "auto"),
}


def refuse_method_options(options: Mapping[str, Any], *, ask: bool = False) -> None:
    """Refuse an option of another method than the one that is asked for.

    Args:
        ask: Of ``pathrag ask``, not of ``pathrag query``.

    Raises:
        UsageError: An option is given that does not go with the method.
    """
    method = options["method"]
    for name, methods in (_OF_ASK if ask else _OWN).items():
        if options.get(name) not in (None, {}) and method not in methods:
            flag = "fusion-k" if name == "k" else name.replace("_", "-")
            raise click.UsageError(f"--{flag} goes with --method {' or '.join(methods)}.")


def read_fusion(options: Mapping[str, Any]) -> FusionOptions:
    """Make the options that the methods other than ``path`` have.

    Raises:
        ConfigError: A value is out of range, or a weight is for no ranking.
    """
    from pathrag_gds.answer.methods import FusionOptions

    given = {
        name: options[name]
        for name in ("communities", "hops", "scorer", "reach", "k")
        if options.get(name) is not None
    }
    return FusionOptions(weights=options.get("ranking_weight") or {}, **given)


def query_by_method(question: str, as_json: bool, options: Mapping[str, Any]) -> None:
    """Print what a method other than ``path`` finds."""
    from pathrag_gds import PathRAG
    from pathrag_gds.communities.search import CommunityResult
    from pathrag_gds.serve.community_results import show_community_result
    from pathrag_gds.serve.fused_results import show_fused_result
    from pathrag_gds.serve.terminal import console

    config = read_search(options)
    fusion = read_fusion(options)
    with PathRAG.from_settings(read_connection(options)) as rag:
        result = rag.query(question, method=options["method"], config=config, fusion=fusion)
    for warning in result.warnings:
        click.echo(f"Warning: {warning}", err=True)
    if as_json:
        print_json(result.to_dict())
    elif isinstance(result, CommunityResult):
        show_community_result(console(), result)
    else:
        show_fused_result(console(), result)
