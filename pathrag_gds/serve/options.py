"""Options of the command line, as decorators that commands share.

The options of a search are made from the fields of
:class:`~pathrag_gds.config.SearchConfig` and the help from its docstring, so none can be forgotten.
"""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, Literal, TypeVar

import click

from pathrag_gds.answer.prompt import DEFAULT_BUDGET, DEFAULT_CHUNK_BUDGET, Order
from pathrag_gds.config import (
    DEFAULT_PRESET,
    PRESETS,
    SearchConfig,
    Settings,
    read_settings,
)
from pathrag_gds.serve.command import verbose_option
from pathrag_gds.telemetry import start as start_telemetry

__all__ = [
    "connection_options",
    "home_options",
    "model_options",
    "output_options",
    "prompt_options",
    "read_connection",
    "read_prompt",
    "read_search",
    "repeated",
    "search_options",
    "server_options",
]

# A longer list of values would push the help of an option out of the page; its text names them.
_LONGEST_CHOICE = 50

Command = TypeVar("Command", bound=Callable[..., Any])

SETTING_NAMES = tuple(
    f.name for f in fields(Settings) if f.name not in ("password", "presets", "source")
)


def home_options(command: Command) -> Command:
    """Add ``--home`` and ``--lane``: which embedded server is meant."""
    return _stack(
        command,
        click.option("--home", metavar="DIR", help="Folder of the embedded server."),
        click.option("--lane", metavar="LANE", help="Line of Neo4j: lts (default) or current."),
    )


def server_options(command: Command) -> Command:
    """Add the options that say which server is meant."""
    return _stack(
        command,
        click.option("--uri", metavar="URI", help="Server, such as bolt://localhost:7687."),
        click.option("--username", metavar="NAME", help="User of the server."),
        click.option("--ask-password", is_flag=True, help="Ask for the password."),
        click.option("--database", metavar="NAME", help="Database on the server."),
        home_options,
    )


def connection_options(command: Command) -> Command:
    """Add the options that say which server and which tenant are meant."""
    return _stack(
        command,
        server_options,
        click.option("--tenant", metavar="NAME", help="Tenant whose graph is meant."),
    )


def model_options(command: Command) -> Command:
    """Add ``--model`` and ``--reranker``."""
    return _stack(
        command,
        click.option("--model", metavar="NAME", help="Encoder, by name or folder."),
        click.option("--reranker", metavar="NAME", help="Reranker, by name or folder."),
    )


def output_options(command: Command) -> Command:
    """Add ``--json`` as ``as_json``, and ``--verbose``."""
    return _stack(
        command,
        verbose_option,
        click.option(
            "--json", "as_json", is_flag=True, help="Print JSON, and nothing else, on stdout."
        ),
    )


def search_options(command: Command) -> Command:
    """Add ``--preset`` and an option for every field of ``SearchConfig``."""
    described = _descriptions(SearchConfig)
    types = typing.get_type_hints(SearchConfig)
    return _stack(
        command,
        click.option(
            "--preset",
            metavar="NAME",
            help=f"Start from a named configuration ({', '.join(PRESETS)}, or one of pathrag.toml);"
            f" the options below change it.  [default: {DEFAULT_PRESET}]",
        ),
        *(_field_option(f, types[f.name], described.get(f.name, "")) for f in fields(SearchConfig)),
    )


def prompt_options(command: Command) -> Command:
    """Add ``--order``, ``--budget`` and ``--chunk-budget``: what a prompt holds."""
    return _stack(
        command,
        click.option(
            "--order",
            type=click.Choice(typing.get_args(Order)),
            default="ascending",
            show_default=True,
            help="Of the paths by reliability: the best one last, or first.",
        ),
        click.option(
            "--budget",
            metavar="TOKENS",
            type=click.IntRange(min=1),
            default=DEFAULT_BUDGET,
            show_default=True,
            help="At most, of instructions, question and paths. The best path is always in.",
        ),
        click.option(
            "--chunk-budget",
            metavar="TOKENS",
            type=click.IntRange(min=0),
            default=DEFAULT_CHUNK_BUDGET,
            show_default=True,
            help="At most, that texts add which the paths were read from; 0 for none.",
        ),
    )


def read_prompt(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give the options of :func:`prompt_options` as arguments of ``PathRAG.prompt_of``."""
    return {name: values[name] for name in ("order", "budget", "chunk_budget")}


def read_search(values: Mapping[str, Any]) -> SearchConfig:
    """Make the configuration that the options of :func:`search_options` describe.

    The preset is that of the option, of ``PATHRAG_PRESET`` or of the settings file, in this order.

    Raises:
        ConfigError: A value is out of range, there is no such preset, or the settings file is
            wrong.
    """
    names = {f.name for f in fields(SearchConfig)}
    given = {k: v for k, v in values.items() if k in names and v is not None and v != ()}
    return read_settings().search_config(values.get("preset"), **given)


def read_connection(values: Mapping[str, Any], *, embedded: bool = False) -> Settings:
    """Merge the options of :func:`connection_options` with environment and settings file.

    ``--home`` names the embedded server, so a server that environment or file name is set aside.

    Args:
        embedded: Do so without ``--home``, too, unless ``--uri`` is given.

    Raises:
        ConfigError: The settings file is wrong, options contradict each other, or the tenant is
            no tenant.
        MissingExtra: Telemetry is wanted, and its extra is not installed.
    """
    flags = {name: values.get(name) for name in SETTING_NAMES}
    if values.get("ask_password"):
        flags["password"] = click.prompt("Password", hide_input=True, err=True)
    settings = read_settings(flags)
    start_telemetry(settings.telemetry, settings.telemetry_text)
    if embedded and not flags["uri"]:
        return settings.embedded()
    return settings


def repeated(
    values: Mapping[str, Any],
    names: Iterable[str] = ("uri", "username", "database", "home", "tenant"),
) -> list[str]:
    """Give the words that name server and tenant in a command that goes on from this one.

    What environment or settings file say holds for the next command, too, and is left out.

    Args:
        values: The options of :func:`connection_options`.
        names: Which of them to repeat.
    """
    given = [(f"--{name}", values.get(name)) for name in names]
    words = [word for option, value in given if value for word in (option, str(value))]
    return words + ["--ask-password"] * bool(values.get("ask_password"))


def _stack(command: Command, *options: Callable[[Any], Any]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def _field_option(item: Field[Any], kind: Any, description: str) -> Callable[[Any], Any]:
    name = "--" + item.name.replace("_", "-")
    default = item.default if item.default is not MISSING else None
    settings: dict[str, Any] = {"default": None}
    if kind is bool:
        name = f"{name}/--no-{name[2:]}"
        default = None
    elif typing.get_origin(kind) is Literal:
        settings["type"] = click.Choice(typing.get_args(kind))
        if len("|".join(typing.get_args(kind))) > _LONGEST_CHOICE:
            settings["metavar"] = "NAME"
    elif typing.get_origin(kind) is tuple:
        settings |= {"multiple": True, "metavar": "NAME"}
        description += " Repeat the option for more."
        default = None
    elif typing.get_origin(kind) is Mapping:
        settings |= {"callback": _json_object, "metavar": "JSON"}
    else:
        (plain,) = {int, float} & {kind, *typing.get_args(kind)}
        settings["type"] = plain
    shown = f"  [default: {default}]" if default is not None else ""
    return click.option(name, item.name, help=description + shown, **settings)


def _json_object(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> dict[str, Any] | None:
    if value is None:
        return None
    try:
        parsed = json.loads(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not JSON: {error}", ctx, param) from error
    if not isinstance(parsed, dict):
        raise click.BadParameter(f'{value!r} is not an object like {{"age": 4}}.', ctx, param)
    return parsed


def _descriptions(owner: type) -> dict[str, str]:
    """Read what the docstring's section ``Attributes`` says of each field, for option help."""
    _, _, section = (owner.__doc__ or "").partition("Attributes:")
    entries = dict(re.findall(r"^ {8}(\w+): (.+(?:\n {12}.+)*)", section, re.MULTILINE))

    def quoted(match: re.Match[str]) -> str:
        return "--" + match[1].replace("_", "-") if match[1] in entries else match[1]

    return {
        name: " ".join(re.sub("``(.+?)``", quoted, text).split()) for name, text in entries.items()
    }
