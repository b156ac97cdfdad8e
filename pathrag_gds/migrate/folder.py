"""Folders of migration files: ours, and those that a user adds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from pathrag_gds.errors import InvalidMigration
from pathrag_gds.migrate.files import PHASES, Callback, Migration, parse, version_key

__all__ = ["MigrationFolder", "migrations_folder", "read_folders"]


@lru_cache(maxsize=1)
def migrations_folder() -> Path:
    """Give the folder of our migrations: in the package in a wheel, beside it in a checkout."""
    packaged = Path(str(files("pathrag_gds"))) / "migrations"
    return packaged if packaged.is_dir() else packaged.parent.parent / "migrations"


@dataclass(frozen=True, slots=True)
class MigrationFolder:
    """What lies in the folders: migrations by version, callbacks by phase and description."""

    migrations: tuple[Migration, ...]
    callbacks: tuple[Callback, ...]

    def of_phase(self, phase: str) -> tuple[Callback, ...]:
        """Give the callbacks of one phase, in order."""
        return tuple(c for c in self.callbacks if c.phase == phase)

    @property
    def files(self) -> tuple[Migration | Callback, ...]:
        """Give all files, migrations first."""
        return (*self.migrations, *self.callbacks)

    @property
    def placeholders(self) -> frozenset[str]:
        """Names that any file asks for."""
        return frozenset(name for file in self.files for name in file.placeholders)


def read_folders(folders: Iterable[Path]) -> MigrationFolder:
    """Read every ``.cypher`` file under the folders; hidden files are left out.

    Raises:
        InvalidMigration: A folder or file cannot be read, a file breaks a rule of :func:`parse`,
            or two files have one version.
    """
    migrations: dict[tuple[int, ...], Migration] = {}
    callbacks: list[Callback] = []
    for folder in folders:
        if not folder.is_dir():
            raise InvalidMigration(f"{folder} is not a folder of migrations.")
        for path in sorted(folder.rglob("*")):
            if path.suffix.lower() != ".cypher" or path.name.startswith(".") or path.is_dir():
                continue
            try:
                content = path.read_bytes()
            except OSError as error:
                raise InvalidMigration(f"{path} cannot be read: {error.strerror}.") from error
            file = parse(path, content)
            if isinstance(file, Callback):
                callbacks.append(file)
                continue
            key = version_key(file.version)
            if key in migrations:
                raise InvalidMigration(
                    f"{migrations[key].path} and {path} have the same version {file.version}.",
                    hint="Give one of them the next free number.",
                )
            migrations[key] = file
    return MigrationFolder(
        tuple(migrations[key] for key in sorted(migrations)),
        tuple(sorted(callbacks, key=lambda c: (PHASES.index(c.phase), c.description, c.name))),
    )
