"""Write the database of a stopped home into one file, and make a database from such a file."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from pathrag_gds.errors import EmbeddedServerError
from pathrag_gds.server.artifacts import find_lane
from pathrag_gds.server.files import make_folder, refused
from pathrag_gds.server.home import Home
from pathrag_gds.server.install import Progress, install
from pathrag_gds.server.java import find_java
from pathrag_gds.server.jvm import Process, admin
from pathrag_gds.server.process import alone, lay_out, set_password, settle_record

__all__ = ["dump", "restore"]

_WAIT_S = 120.0
_PAGE_CACHE = "64m"


def dump(
    file: Path | str,
    home: Path | str | None = None,
    *,
    lane: str | None = None,
    overwrite: bool = False,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write the database of a home into a file; the server must be stopped.

    The file is Neo4j's own dump format: ``neo4j-admin database load`` reads it too. Users and
    passwords are not in it.

    Args:
        lane: Only needed when ``server.json`` of the home is lost.
        overwrite: Replace the file if it is there.
        progress: Called while jars are fetched.

    Returns:
        The file, absolute.

    Raises:
        EmbeddedServerError: The server runs, the home has no database, or the tool fails. The
            file is then as it was.
    """
    place, target = Home.at(home), Path(file).expanduser().absolute()
    if target.is_dir():
        raise EmbeddedServerError(f"{target} is a folder.", hint="Name a file in it.")
    if target.exists() and not overwrite:
        raise EmbeddedServerError(
            f"{target} is already there.", hint="Name another file, or add --overwrite."
        )
    if not place.store.is_dir():
        raise EmbeddedServerError(
            f"{place.path} has no database to dump.",
            hint="Name its home with --home, or make one with: pathrag server start",
        )
    with alone(place, _WAIT_S):
        _must_be_stopped(place)
        installation = install(_lane_of(place, lane), progress, cache=cache)
        java = find_java(installation.lane)
        make_folder(target.parent, hint="Name a file in a folder that you can write in.")
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".dump-") as draft:
            admin(
                place,
                installation,
                java,
                ["database", "dump", "neo4j", f"--to-path={draft}"],
                doing=f"Dumping {place.path}",
                hint="If it speaks of recovery, the server was killed: run pathrag server start, "
                "then pathrag server stop, and dump again.",
            )
            os.replace(Path(draft) / "neo4j.dump", target)
    return target


def restore(
    file: Path | str,
    home: Path | str | None = None,
    *,
    lane: str | None = None,
    overwrite: bool = False,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> None:
    """Make the database of a home from a dump; the server must be stopped.

    A home that does not exist is made. The old database stays until the new one is complete.

    Args:
        lane: As for ``start``.
        overwrite: Replace the database if the home has one.
        progress: Called while jars are fetched.

    Raises:
        ConfigError: There is no such lane.
        EmbeddedServerError: The file is missing or no dump, the server runs, or the home has a
            database and ``overwrite`` is not set.
    """
    place, source = Home.at(home), Path(file).expanduser().absolute()
    if lane:
        find_lane(lane)
    if not source.is_file():
        raise EmbeddedServerError(
            f"There is no file {source}.", hint="Make one with: pathrag server dump FILE"
        )
    place.make()
    with alone(place, _WAIT_S):
        _must_be_stopped(place)
        if place.store.exists() and not overwrite:
            raise EmbeddedServerError(
                f"{place.path} already has a database.",
                hint="Add --overwrite to replace it, or name another --home.",
            )
        chosen = place.check_lane(lane)
        installation = install(chosen, progress, cache=cache)
        java = find_java(installation.lane)
        record = settle_record(place, place.read(), chosen, None, lambda sentence: None)
        lay_out(place, record, installation, _PAGE_CACHE)
        set_password(place, record, installation, java)
        aside = Home(place.restoring)
        shutil.rmtree(aside.path, ignore_errors=True)
        try:
            aside.make()
            aside.write_conf(record.port, _PAGE_CACHE)
            # The tool wants the name of the database as the name of the file.
            (aside.path / "import" / "neo4j.dump").symlink_to(source)
            admin(
                aside,
                installation,
                java,
                ["database", "load", "neo4j", f"--from-path={aside.path / 'import'}"],
                doing=f"Loading {source}",
                hint="Check that the file is a whole dump, of this lane or an older one.",
            )
            _swap(place, aside)
        except OSError as error:
            raise refused("write in", place.path, error, hint="Check space and rights.") from error
        finally:
            # An exchange that was cut off half-way is noticed by the next start.
            if not any(aside.path.glob("old-*")):
                shutil.rmtree(aside.path, ignore_errors=True)


def _lane_of(place: Home, lane: str | None) -> str:
    """Give the lane whose tool reads the store; the data outlive a lost password."""
    try:
        place.read()
    except EmbeddedServerError:
        if lane:
            return lane
        raise
    return place.check_lane(lane)


def _must_be_stopped(place: Home) -> None:
    process = Process.read(place)
    if process and process.alive():
        raise EmbeddedServerError(
            f"The server of {place.path} runs (pid {process.pid}); its files are in use.",
            hint=f"Run: pathrag server stop --home {place.path}",
        )


def _swap(place: Home, aside: Home) -> None:
    """Put the loaded database in place; the old one ends in the folder that is then removed."""
    for kind in ("transactions", "databases"):
        present = place.path / "data" / kind / "neo4j"
        present.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            os.replace(present, aside.path / f"old-{kind}")
        os.replace(aside.path / "data" / kind / "neo4j", present)
    # From here on a cut-off is harmless: what is left is rubbish, and no longer named so.
    rubbish = Path(tempfile.mkdtemp(dir=place.path / "run"))
    os.replace(aside.path, rubbish / "restored")
    shutil.rmtree(rubbish, ignore_errors=True)
