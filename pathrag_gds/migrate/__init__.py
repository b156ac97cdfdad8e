"""Schema migrations in the format of neo4j-migrations."""

from pathrag_gds.migrate.runner import (
    baseline,
    clean,
    migrations_folder,
    repair,
    status,
    unlock,
    up,
    validate,
)

__all__ = [
    "baseline",
    "clean",
    "migrations_folder",
    "repair",
    "status",
    "unlock",
    "up",
    "validate",
]
