"""What all commands share: how they fail, how they log, how they print facts."""

from __future__ import annotations

import errno
import json
import logging
import shlex
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from pathrag_gds.errors import ConfigError, PathRAGError

__all__ = [
    "Commands",
    "check_output",
    "command_line",
    "print_facts",
    "print_json",
    "run",
    "verbose_option",
    "write_output",
]

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM
Command = TypeVar("Command", bound=Callable[..., Any])
LOG = logging.getLogger("pathrag_gds")


class Commands(click.Group):
    """A group whose commands end in one message and an exit code, whatever goes wrong."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and turn what it raises into what the user sees."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            interrupt = _interrupt_behind(error)
            if interrupt is not None:
                LOG.debug("The command was interrupted.", exc_info=True)
                click.echo("Interrupted.", err=True)
                ctx.exit(_code_of(interrupt))
            if isinstance(error, PathRAGError):
                _report(error.message, error.hint)
                ctx.exit(error.exit_code)
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise
            hint = "This was not foreseen. Run it again as pathrag -vv … to see where it failed."
            _report(f"{type(error).__name__}: {error}", hint)
            ctx.exit(PathRAGError.exit_code)


class _Terminated(KeyboardInterrupt):
    """SIGTERM came: everything ends as at Ctrl-C, with another exit code."""


def _interrupt_behind(error: BaseException) -> KeyboardInterrupt | None:
    """Give the interrupt that an error came of; None where there was none.

    What an interrupt breaks into may fail while it is put in order, and then its own error comes
    out: the driver of Neo4j, say, cannot enlarge the buffer that the broken read still holds.
    """
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        if isinstance(one, KeyboardInterrupt):
            return one
        seen.add(id(one))
        waiting += [one.__context__, one.__cause__]
    return None


def _code_of(interrupt: KeyboardInterrupt) -> int:
    return TERMINATED if isinstance(interrupt, _Terminated) else INTERRUPTED


def _report(message: str, hint: str) -> None:
    LOG.debug("The command failed.", exc_info=True)
    click.echo(f"Error: {message}", err=True)
    if hint:
        click.echo(hint, err=True)


def _set_verbosity(_: click.Context, __: click.Parameter, count: int) -> None:
    if count:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        LOG.handlers[:] = [handler]
        LOG.setLevel(logging.INFO if count == 1 else logging.DEBUG)


def verbose_option(command: Command) -> Command:
    """Add ``-v`` and ``-vv``: log to stderr."""
    return click.option(
        "-v",
        "--verbose",
        count=True,
        expose_value=False,
        callback=_set_verbosity,
        help="Log statements and their times to stderr; -vv: tracebacks, too.",
    )(command)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_facts(facts: dict[str, Any], as_json: bool) -> None:
    """Print named facts, one a line or as JSON; lines leave out what is empty."""
    if as_json:
        print_json(facts)
        return
    from pathrag_gds.serve.terminal import plain

    width = max(map(len, facts))
    for name, value in facts.items():
        if value not in ("", None):
            click.echo(f"{name:<{width}}  {plain(value)}")


def check_output(file: Path) -> None:
    """See to it that a file can be written, before the work that it is for.

    Raises:
        ConfigError: Its folder is not there, or something that is not a file has its name.
    """
    folder = file.resolve().parent
    if not folder.is_dir():
        raise ConfigError(
            f"{file} cannot be written: there is no folder {folder}.",
            hint="Make the folder, or name another file.",
        )
    # A device or a pipe would be replaced by a file of its name.
    if file.exists() and not file.is_file():
        raise ConfigError(f"{file} is not a file.", hint="Name another file.")


def write_output(file: Path, text: str) -> None:
    """Write a text as UTF-8; the file appears, or changes, whole or not at all.

    Raises:
        ConfigError: It cannot be written.
    """
    from pathrag_gds.models.files import write_whole

    check_output(file)
    try:
        # Where the name is a link, what it leads to is written.
        write_whole(file.resolve(), text.encode())
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be written: {error.strerror}.", hint="Name another file."
        ) from None


def command_line(words: Iterable[str]) -> str:
    """Write a command so that a shell reads these words, to be copied from a message."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    plain = shlex.quote(word)
    # Double quotes read better around an apostrophe, and hold where nothing else is special.
    return f'"{word}"' if "'" in word and not set('"$`\\!') & set(word) else plain


def run(group: click.Group) -> None:
    """Run the command line of this process; SIGTERM is treated like Ctrl-C, but for the code."""
    signal.signal(signal.SIGTERM, _terminate)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        group(prog_name="pathrag")
    except KeyboardInterrupt as interrupt:
        sys.exit(_code_of(interrupt))


def _terminate(*_: object) -> None:
    raise _Terminated
