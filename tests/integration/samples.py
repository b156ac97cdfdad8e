"""Values and slot texts by which every statement under cypher/ can be planned."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pathrag_gds.graph.queries import Branch, Param, Query, load
from pathrag_gds.retrieve.pattern import answers_request, pattern_of, pattern_query
from pathrag_gds.types import Chain, Step

__all__ = ["VECTOR", "parameters_of", "rendered", "value_of"]

VECTOR = [0.5] + [0.0] * 383

# Where the declared type is not enough: names that must exist for the statement to be planned.
_VALUES: Mapping[str, Any] = {
    "vector_index": "entity_embedding",
    "vector_property": "embedding",
    "property": "embedding",
    "hash_property": "text_hash",
    "similarity": "cosine",
    "dimension": 384,
}
_OF_TYPE: Mapping[str, Any] = {
    "STRING": "x",
    "INTEGER": 1,
    "FLOAT": 0.5,
    "BOOLEAN": True,
    "MAP": {},
    "ANY": "x",
    "LIST": [],
    "LIST<STRING>": ["x"],
    "LIST<INTEGER>": [1],
    "LIST<FLOAT>": VECTOR,
    "LIST<MAP>": [{}],
    "LIST<LIST<STRING>>": [["x"]],
    "LIST<LIST<FLOAT>>": [VECTOR],
    "LIST<LIST<INTEGER>>": [[1, 2]],
    "LIST<LIST<LIST<INTEGER>>>": [[[1], [2]]],
}
_SLOTS: Mapping[str, str] = {
    "property": "`embedding`",
    "hash_property": "`text_hash`",
    "index": "`entity_embedding`",
    "filter": "",
    "scope": "",
    "limit": "$cap",
    "types": "",
    "depth": "3",
    "facts": "AND NOT type(r) IN $structural",
    "shown": ".*, embedding: null",
    "found": "MATCH (node:__Entity__ {tenant: $tenant}) WHERE node.id IN $topics "
    "WITH node, 1.0 AS score",
}

# Two chains of the demo that meet; how they are written is for their own module to know.
_CHAINS = (
    Chain("bob", (Step("involve", False, "event"), Step("takes_place", True))),
    Chain("martha", (Step("involve", False), Step("takes_place", True, id="village"))),
)


def _pattern_queries() -> dict[str, Query]:
    pattern = pattern_of(_CHAINS, "", tenant="x", revisit="none", named=["x"])
    request = answers_request([pattern], tenant="x", revisit="none", limit=1, examples=1)
    return {"retrieve/pattern": pattern_query(pattern), "retrieve/answers": request.query}


def value_of(param: Param) -> Any:
    """Give a value of the declared type, or the one that the name stands for."""
    if param.name in _VALUES:
        return _VALUES[param.name]
    match = re.match(r"[A-Z]+(?:<[A-Z<>]+>)?", param.type)
    assert match, f"param {param.name}: {param.type!r} does not begin with a type"
    assert match[0] in _OF_TYPE, f"param {param.name}: no sample of type {match[0]}"
    return _OF_TYPE[match[0]]


def parameters_of(query: Query) -> dict[str, Any]:
    """Give a value for every parameter."""
    return {param.name: value_of(param) for param in query.params}


def rendered(name: str) -> Query:
    """Give a statement without slots or branches left."""
    if name in (made := _pattern_queries()):
        return made[name]
    query = load(name)
    if not query.slots and not query.has_branches:
        return query
    missing = set(query.slots) - set(_SLOTS)
    assert not missing, f"{name}: no sample text for the slots {sorted(missing)}"
    names = re.findall(r"(?m)^\s*// branch (\w+)", query.text)
    copies: tuple[Branch, ...] = (Branch(),)
    if "${type}" in query.text:
        copies = (Branch(("involve", "takes_place"), "both"), Branch((), "out"), Branch((), "in"))
    return query.render(
        {slot: _SLOTS[slot] for slot in query.slots}, {branch: copies for branch in names}
    )
