"""Values that are put into the text of migrations: ``${nm:vector_dimensions}`` and the like."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pathrag_gds.errors import InvalidMigration
from pathrag_gds.migrate.chain import Chain
from pathrag_gds.migrate.files import PLACEHOLDER, Callback, Migration
from pathrag_gds.migrate.folder import MigrationFolder

__all__ = [
    "DEFAULT_PLACEHOLDERS",
    "check_placeholder",
    "fill",
    "filled",
    "resolve_placeholders",
    "values_of",
]

DEFAULT_PLACEHOLDERS: Mapping[str, str] = {
    "fulltext_analyzer": "standard-no-stop-words",
    "vector_dimensions": "384",
    "vector_similarity": "cosine",
}
MAX_DIMENSIONS = 4096


def check_placeholder(name: str, value: str) -> str:
    """Give the value back, or refuse it: it goes into the text of a statement.

    Raises:
        InvalidMigration: ``vector_dimensions`` is not a whole number from 1 to 4096,
            ``vector_similarity`` neither cosine nor euclidean, ``fulltext_analyzer`` no analyzer's
            name, or any other value neither an identifier nor a whole number.
    """
    if name == "vector_dimensions":
        valid = bool(re.fullmatch(r"[1-9][0-9]{0,3}", value)) and int(value) <= MAX_DIMENSIONS
        rule = f"a whole number from 1 to {MAX_DIMENSIONS}"
    elif name == "vector_similarity":
        valid = value in ("cosine", "euclidean")
        rule = "cosine or euclidean"
    elif name == "fulltext_analyzer":
        valid = bool(re.fullmatch(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*", value))
        rule = "the name of an analyzer, such as standard-no-stop-words"
    else:
        valid = bool(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+", value))
        rule = "an identifier or a whole number"
    if not valid:
        raise InvalidMigration(
            f"Placeholder {name} must be {rule}, not {value!r}.",
            hint=f"Give it with: --placeholder {name}=VALUE",
        )
    return value


def fill(statement: str, values: Mapping[str, str]) -> str:
    """Put the values of the placeholders into a statement; every value must be there."""
    return PLACEHOLDER.sub(lambda match: values[match.group(1)], statement)


def filled(file: Migration | Callback, values: Mapping[str, str]) -> tuple[str, ...]:
    """Give the statements of a file with the placeholders filled in."""
    return tuple(fill(statement, values) for statement in file.statements)


def resolve_placeholders(
    folder: MigrationFolder, chain: Chain, given: Mapping[str, object] | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Find the value of every placeholder: as given, else as recorded, else the default.

    Returns:
        The values by name, and one sentence for each given value that is not the recorded one.

    Raises:
        InvalidMigration: A value is not allowed, a name is used by no file, or a file asks for a
            name that has no value.
    """
    chosen = {name: check_placeholder(name, str(value)) for name, value in (given or {}).items()}
    wanted = folder.placeholders
    unknown = sorted(set(chosen) - wanted - set(DEFAULT_PLACEHOLDERS))
    if unknown:
        raise InvalidMigration(
            f"No migration has a placeholder {unknown[0]!r}.",
            hint="Known: " + ", ".join(sorted(wanted | set(DEFAULT_PLACEHOLDERS))),
        )
    recorded: dict[str, str] = {}
    differences = []
    for applied in chain.records:
        for name, value in sorted(applied.placeholders.items()):
            recorded.setdefault(name, check_placeholder(name, value))
            if name in chosen and chosen[name] != value:
                differences.append(
                    f"Version {applied.version} was applied with {name} {value}, "
                    f"not {chosen[name]}."
                )
    values = {**DEFAULT_PLACEHOLDERS, **recorded, **chosen}
    for file in folder.files:
        for name in file.placeholders:
            if name not in values:
                raise InvalidMigration(
                    f"{file.path} asks for placeholder {name!r}, which has no value.",
                    hint=f"Give it with: --placeholder {name}=VALUE",
                )
    return {name: values[name] for name in sorted(values)}, tuple(differences)


def values_of(file: Migration, values: Mapping[str, str]) -> dict[str, str]:
    """Give the values that a file's text is filled with."""
    return {name: values[name] for name in file.placeholders}
