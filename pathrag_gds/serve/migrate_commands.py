"""``pathrag migrate``: the schema of the database, versioned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pathrag_gds.errors import ConfigError
from pathrag_gds.serve.command import Commands, command_line, print_json
from pathrag_gds.serve.options import (
    connection_options,
    output_options,
    read_connection,
    repeated,
)

if TYPE_CHECKING:
    from pathrag_gds.migrate.definitions import Finding

__all__ = ["migrate"]

Command = TypeVar("Command", bound=Callable[..., Any])


def _folder_options(command: Command) -> Command:
    """Add where migrations lie, what their placeholders mean, and the connection and output."""
    for option in (
        output_options,
        connection_options,
        click.option(
            "--placeholder",
            "placeholders",
            multiple=True,
            metavar="NAME=VALUE",
            help="Value of ${nm:NAME}, such as vector_dimensions=768. Repeatable.",
        ),
        click.option(
            "--folder",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="A folder with further migrations.",
        ),
    ):
        command = option(command)
    return command


_dry_run = click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
_wait = click.option(
    "--wait-s", default=30.0, show_default=True, help="Wait so long for another runner."
)


@click.group(cls=Commands)
def migrate() -> None:
    """Bring the schema of the database up to date.

    The schema is constraints, indexes and projections.
    """


@migrate.command()
@click.option("--check", is_flag=True, help="Exit with 1 when something is pending or wrong.")
@_folder_options
def status(check: bool, as_json: bool, **options: Any) -> None:
    """Show what is applied, pending, or not as it should be."""
    from pathrag_gds.migrate import runner
    from pathrag_gds.migrate.results import Validation
    from pathrag_gds.serve.terminal import console, show_table

    again = _again(options)
    arguments = _arguments(options)
    with _open(options) as db:
        found = runner.status(db, **arguments)
    if as_json:
        print_json(found.to_dict())
    else:
        show_table(
            console(),
            ("version", "state", "description"),
            [(entry.version, entry.state, entry.description) for entry in found.entries],
        )
        _tell(found.findings, found.warnings)
        if found.lock:
            click.echo(f"Locked {found.lock}.")
        if found.is_current:
            click.echo(f"The schema is current, at version {found.version}.")
        else:
            _advise(again, needs_repair=Validation(found.outcome).needs_repair)
    if check and not found.is_current:
        raise click.exceptions.Exit(1)


@migrate.command()
@click.option("--target", metavar="VERSION", help="A version, latest (default), next or current.")
@click.option("--out-of-order", is_flag=True, help="Apply files older than the newest applied one.")
@_dry_run
@_wait
@_folder_options
def up(
    target: str | None,
    out_of_order: bool,
    dry_run: bool,
    wait_s: float,
    as_json: bool,
    **options: Any,
) -> None:
    """Apply what is pending, restore what is missing.

    Safe to repeat.
    """
    from pathrag_gds.migrate import runner

    arguments = _arguments(options)
    with _open(options) as db:
        done = runner.up(
            db,
            target=target,
            out_of_order=out_of_order,
            dry_run=dry_run,
            wait_s=wait_s,
            progress=_progress,
            **arguments,
        )
    if as_json:
        print_json(done.to_dict())
        return
    for step in done.steps if dry_run else ():
        click.echo(f"{step.action} {step.source}" + (f" ({step.reason})" if step.reason else ""))
        for statement in step.statements:
            click.echo(statement)
    _tell((), done.warnings)
    count = len(done.applied)
    if dry_run:
        click.echo(f"{count} would be applied; nothing was changed.")
    else:
        click.echo(f"{count} applied; the schema is at version {done.version or 'none'}.")


@migrate.command()
@_folder_options
def validate(as_json: bool, **options: Any) -> None:
    """Check that every file is applied, and unchanged.

    The indexes and constraints are compared with what the files say, too.

    Exits with 0 when it is, else with 1.
    """
    from pathrag_gds.migrate import runner

    again = _again(options)
    arguments = _arguments(options)
    with _open(options) as db:
        found = runner.validate(db, **arguments)
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(f"{found.outcome}")
        _tell(found.findings, found.warnings)
        if not found.is_valid:
            _advise(again, needs_repair=found.needs_repair)
    if not found.is_valid:
        raise click.exceptions.Exit(1)


@migrate.command()
@_dry_run
@_wait
@_folder_options
def repair(dry_run: bool, wait_s: float, as_json: bool, **options: Any) -> None:
    """Make the records agree with the files; run nothing."""
    from pathrag_gds.migrate import runner

    arguments = _arguments(options)
    with _open(options) as db:
        done = runner.repair(db, dry_run=dry_run, wait_s=wait_s, progress=_progress, **arguments)
    if as_json:
        print_json(done.to_dict())
        return
    for change in done.changes:
        click.echo(f"{change.action} {change.version}: {change.message}")
    _count(len(done.changes), "record changed", "records changed", dry_run)


@migrate.command()
@click.argument("version")
@_dry_run
@_wait
@_folder_options
def baseline(version: str, dry_run: bool, wait_s: float, as_json: bool, **options: Any) -> None:
    """Record all up to VERSION as applied, and run nothing.

    VERSION may be "latest".
    """
    from pathrag_gds.migrate import runner

    arguments = _arguments(options)
    with _open(options) as db:
        done = runner.baseline(
            db, version, dry_run=dry_run, wait_s=wait_s, progress=_progress, **arguments
        )
    if as_json:
        print_json(done.to_dict())
        return
    for name in done.recorded:
        click.echo(f"record {name}")
    _tell(done.findings, ())
    _count(len(done.recorded), "version recorded", "versions recorded", dry_run)


@migrate.command()
@_dry_run
@_wait
@click.option("--yes", is_flag=True, help="Do not ask.")
@_folder_options
def clean(dry_run: bool, wait_s: float, yes: bool, as_json: bool, **options: Any) -> None:
    """Forget what was applied; data and indexes stay."""
    from pathrag_gds.migrate import runner

    arguments = _arguments(options)
    if not (dry_run or yes):
        click.confirm("Forget which migrations were applied?", abort=True, err=True)
    with _open(options) as db:
        done = runner.clean(db, dry_run=dry_run, wait_s=wait_s, progress=_progress, **arguments)
    if as_json:
        print_json(done.to_dict())
        return
    _tell((), done.warnings)
    _count(done.records, "record deleted", "records deleted", dry_run)


@migrate.command()
@connection_options
@output_options
def unlock(as_json: bool, **options: Any) -> None:
    """Remove the lock of a runner that died."""
    from pathrag_gds.migrate import runner

    with _open(options) as db:
        done = runner.unlock(db)
    if as_json:
        print_json(done.to_dict())
    else:
        click.echo(f"Removed the lock held {done.removed}." if done.removed else "Not locked.")


def _open(options: dict[str, Any]) -> Any:
    from pathrag_gds.graph.connect import open_database

    return open_database(read_connection(options))


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Read what :func:`_folder_options` gave, as the runner takes it."""
    values: dict[str, object] = {}
    for given in options.pop("placeholders"):
        name, equals, value = given.partition("=")
        if not (name and equals):
            raise ConfigError(
                f"{given!r} is no placeholder.",
                hint="Write NAME=VALUE, such as --placeholder vector_dimensions=768.",
            )
        values[name] = value
    return {"placeholders": values or None, "folder": options.pop("folder")}


def _again(options: dict[str, Any]) -> list[str]:
    """Give the words by which a further command means the same server and the same files."""
    words = repeated(options, ("uri", "username", "database", "home"))
    if options["folder"]:
        words += ["--folder", str(options["folder"])]
    for given in options["placeholders"]:
        words += ["--placeholder", given]
    return words


def _advise(again: list[str], *, needs_repair: bool) -> None:
    action = ["repair", "--dry-run"] if needs_repair else ["up"]
    click.echo("Run: " + command_line(["pathrag", "migrate", *action, *again]))


def _progress(sentence: str) -> None:
    click.echo(sentence, err=True)


def _tell(findings: tuple[Finding, ...], warnings: tuple[str, ...]) -> None:
    for finding in findings:
        click.echo(
            f"{finding.name}: {finding.message}" + (f"\n  {finding.hint}" * bool(finding.hint))
        )
    for warning in warnings:
        click.echo(f"Warning: {warning}", err=True)


def _count(number: int, one: str, many: str, dry_run: bool) -> None:
    ending = "; this was a dry run, nothing was changed." if dry_run else "."
    click.echo(f"{number} {one if number == 1 else many}{ending}")
