"""Files, records and placeholders, read and compared together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pathrag_gds.graph.database import Database
from pathrag_gds.migrate import chain, plan, schema
from pathrag_gds.migrate.chain import Chain
from pathrag_gds.migrate.definitions import Definition
from pathrag_gds.migrate.folder import MigrationFolder, migrations_folder, read_folders
from pathrag_gds.migrate.placeholders import resolve_placeholders
from pathrag_gds.migrate.plan import Entry

__all__ = ["LOCK_WAIT_S", "Situation", "Values", "folders", "read_situation", "silent"]

LOCK_WAIT_S = 30.0

Values = Mapping[str, object]


def silent(_: str) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Files and records at one moment.

    Attributes:
        values: Of every placeholder, by name.
        given: Names of the placeholders whose value was given.
        differences: A sentence for each given value that is not the recorded one.
    """

    folder: MigrationFolder
    chain: Chain
    entries: tuple[Entry, ...]
    values: Mapping[str, str]
    given: frozenset[str]
    differences: tuple[str, ...]

    def wanted(self) -> tuple[Definition, ...]:
        """Give what the applied files leave in the schema, with the values of their time."""
        return schema.wanted_definitions(
            (entry.file, {**self.values, **entry.record.placeholders})
            for entry in self.entries
            if entry.file is not None and entry.record is not None
        )


def folders(folder: Path | None, packaged: bool) -> list[Path]:
    """List the folders that take part, the packaged one first."""
    return ([migrations_folder()] if packaged else []) + ([folder] if folder is not None else [])


def read_situation(
    db: Database, placeholders: Values | None, folder: Path | None, packaged: bool
) -> Situation:
    """Read the files and the records, and compare them.

    Raises:
        InvalidMigration: A file or a placeholder breaks a rule.
    """
    local = read_folders(folders(folder, packaged))
    recorded = chain.read_chain(db)
    values, differences = resolve_placeholders(local, recorded, placeholders)
    return Situation(
        folder=local,
        chain=recorded,
        entries=plan.compare(local.migrations, recorded),
        values=values,
        given=frozenset(placeholders or ()),
        differences=differences,
    )
