"""Patterns that are kept in the database, one tenant's apart from another's, and run again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from math import prod
from typing import Any

from pathrag_gds.config import check_tenant
from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import Database, QueryRunner, Row
from pathrag_gds.graph.queries import Query, load
from pathrag_gds.retrieve.link import phrase_query
from pathrag_gds.retrieve.pattern import pattern_query, started_from
from pathrag_gds.text import fold
from pathrag_gds.types import Anchor, Chain, Pattern, PatternRun, SavedPattern, Step

__all__ = [
    "check_reads_only",
    "delete_pattern",
    "find_anchors",
    "read_pattern",
    "read_patterns",
    "run_pattern",
    "save_pattern",
]

MAX_NAME = 200
# Combinations of entities that ambiguous names allow; each is one statement.
MAX_RUNS = 100
# Rows asked of the full-text index, which holds all tenants.
_OVER = 10_000
# A query that finds nothing, for names without a word: an empty one is an error.
_NOTHING = '-"x" +"x"'


def check_reads_only(db: Database, query: Query, parameters: Mapping[str, Any]) -> None:
    """Ask the server whether a statement only reads; it is planned, not run.

    Raises:
        ConfigError: It would write, or change the schema.
        DatabaseError: The server cannot plan it.
    """
    kind = db.explain(query, **parameters)["query_type"]
    if kind != "r":
        raise ConfigError(f"{query.name} does not only read: the server calls it {kind!r}.")


def save_pattern(
    db: QueryRunner, name: str, pattern: Pattern, *, replace: bool = False
) -> SavedPattern:
    """Keep a pattern in the tenant that it is about.

    Args:
        name: Unique in the tenant; at most 200 characters.
        replace: Whatever has the name gives way.

    Raises:
        ConfigError: The name is taken or is none, or a parameter is no JSON value.
        DatabaseError: The server refused or failed the statement.
    """
    tenant = check_tenant(pattern.parameters["tenant"])
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise ConfigError(
            f"{name!r} is no name for a pattern.",
            hint=f"Take 1 to {MAX_NAME} letters, digits and signs.",
        )
    created = datetime.now(UTC).isoformat(timespec="seconds")
    record = {
        "text": pattern.text,
        "cypher": pattern.cypher,
        "chains": json.dumps([_chain_record(chain) for chain in pattern.chains]),
        "parameters": _as_json(pattern.parameters),
        "created": created,
    }
    rows = db.run(load("patterns/save"), tenant=tenant, name=name, record=record, replace=replace)
    if not rows:
        raise ConfigError(
            f"Tenant {tenant} has a pattern {name!r} already.",
            hint="Replace it with --replace, or take another name.",
        )
    return SavedPattern(name, tenant, pattern, created)


def read_patterns(db: QueryRunner, tenant: str) -> tuple[SavedPattern, ...]:
    """Read the patterns of a tenant, by name."""
    rows = db.run(load("patterns/read"), tenant=tenant, name=None)
    return tuple(_saved(tenant, row) for row in rows)


def read_pattern(db: QueryRunner, tenant: str, name: str) -> SavedPattern:
    """Read one pattern.

    Raises:
        ConfigError: The tenant has none of that name.
    """
    rows = db.run(load("patterns/read"), tenant=tenant, name=name)
    if not rows:
        raise _unknown(tenant, name)
    return _saved(tenant, rows[0])


def delete_pattern(db: QueryRunner, tenant: str, name: str) -> None:
    """Forget a pattern.

    Raises:
        ConfigError: The tenant has none of that name.
    """
    if not db.run(load("patterns/delete"), tenant=tenant, name=name):
        raise _unknown(tenant, name)


def run_pattern(db: Database, tenant: str, name: str, anchors: Sequence[str] = ()) -> PatternRun:
    """Ask a saved pattern again, of other anchors.

    Args:
        anchors: One for each chain, as id, name or alias; all entities of an ambiguous name are
            taken. Empty: those that it was saved with.

    Raises:
        ConfigError: The tenant has no such pattern or no such entity, or the pattern has another
            number of anchors; names are so ambiguous that there are more than a hundred
            combinations; or what is saved does not only read.
        DatabaseError: The server refused or failed a statement.
    """
    saved = read_pattern(db, tenant, name)
    chains = saved.pattern.chains
    if anchors and len(anchors) != len(chains):
        raise ConfigError(
            f"Pattern {name!r} starts from {len(chains)} "
            f"{'anchor' if len(chains) == 1 else 'anchors'}, not from {len(anchors)}.",
            hint="It was saved with: " + ", ".join(chain.start for chain in chains),
        )
    groups = find_anchors(db, tenant, anchors or [chain.start for chain in chains])
    runs = prod(map(len, groups))
    if runs > MAX_RUNS:
        raise ConfigError(
            f"The names stand for {runs} combinations of entities, more than {MAX_RUNS}.",
            hint="Give ids instead of names.",
        )
    check_reads_only(db, _query(saved, saved.pattern), saved.pattern.parameters)
    answers: dict[str, str] = {}
    for starts in product(*groups):
        pattern = started_from(saved.pattern, [anchor.id for anchor in starts])
        for row in db.run(_query(saved, pattern), **pattern.parameters):
            answers[row["id"]] = row["id"] if row["name"] in (None, "") else str(row["name"])
    return PatternRun(saved, groups, tuple(sorted(answers.items())))


def find_anchors(
    db: QueryRunner, tenant: str, mentions: Sequence[str]
) -> tuple[tuple[Anchor, ...], ...]:
    """Find the entities that ids or names mean, in one statement.

    Returns:
        For each mention the entity of that id, else all that have it as name or alias, whatever
        its case and accents; by id.

    Raises:
        ConfigError: Nothing is called so.
    """
    keys = [fold(mention) for mention in mentions]
    rows = db.run(
        load("patterns/anchors"),
        tenant=tenant,
        mentions=[
            {"id": mention, "key": key, "phrase": phrase_query("aliases", [key]) or _NOTHING}
            for mention, key in zip(mentions, keys, strict=True)
        ],
        over=_OVER,
    )
    groups: list[list[Anchor]] = [[] for _ in mentions]
    for row in rows:
        index = row["mention"]
        named = row["id"] if row["name"] in (None, "") else str(row["name"])
        groups[index].append(Anchor(row["id"], named, mentions[index], 1.0))
    for mention, group in zip(mentions, groups, strict=True):
        if not group:
            raise ConfigError(
                f"Tenant {tenant} has no entity called {mention!r}.",
                hint="Give the name, an alias or the id of one.",
            )
    return tuple(map(tuple, groups))


def _unknown(tenant: str, name: str) -> ConfigError:
    return ConfigError(
        f"Tenant {tenant} has no pattern {name!r}.", hint="List them: pathrag patterns"
    )


def _query(saved: SavedPattern, pattern: Pattern) -> Query:
    return dataclasses.replace(pattern_query(pattern), name=f"pattern {saved.name!r}")


def _saved(tenant: str, row: Row) -> SavedPattern:
    chains = tuple(
        Chain(chain["start"], tuple(Step(**step) for step in chain["steps"]))
        for chain in json.loads(row["chains"])
    )
    pattern = Pattern(chains, row["text"], row["cypher"], json.loads(row["parameters"]))
    return SavedPattern(row["name"], tenant, pattern, row["created"])


def _chain_record(chain: Chain) -> dict[str, Any]:
    return {
        "start": chain.start,
        "steps": [
            {"type": s.type, "forward": s.forward, "label": s.label, "id": s.id}
            for s in chain.steps
        ],
    }


def _as_json(parameters: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(parameters), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"The pattern cannot be saved: a value of its filter is no JSON value ({error})."
        ) from None
