"""Every pattern of every statement under cypher/ keeps to the tenant that it is asked for."""

from __future__ import annotations

import re

import pytest

from pathrag_gds.graph.queries import all_queries, load

TENANT_LABELS = frozenset(
    {
        "Chunk",
        "Document",
        "__CommunityRun__",
        "__Community__",
        "__EntityType__",
        "__Entity__",
        "__Load__",
        "__Pattern__",
        "__RelationType__",
        "__Reranker__",
    }
)
# Patterns that reach another tenant on purpose, or cannot although they do not say so.
_ALL = "it is about all tenants"
_OWN = "only a load makes such links, and only within a tenant"
ALLOWED = {
    "adapt/all_rerankers": {"(r:__Reranker__)": _ALL},
    "demo/tenant_state": {"(:__Entity__)": "a relationship of the tenant's entity is looked at"},
    "doctor/between_entities": {"(a)": _ALL, "(b)": _ALL},
    "doctor/recorded_types": {"(t:__RelationType__)": _ALL},
    "doctor/related_tenants": {
        "(a:__Entity__ {tenant: tenant})": "a row for each tenant",
        "(b:__Entity__)": "kept to the tenant of its row",
    },
    "doctor/tenants": {"(e:__Entity__)": _ALL, "(c:Chunk)": _ALL},
    "ingest/chain_chunks": {"(:Chunk)": _OWN, "(c:Chunk)": _OWN},
    "ingest/drop_chunk_vectors": {"(n:Chunk)": "a set of vectors belongs to no tenant"},
    "ingest/drop_community_vectors": {"(n:__Community__)": "a set of vectors belongs to no tenant"},
    "ingest/drop_entity_vectors": {"(n:__Entity__)": "a set of vectors belongs to no tenant"},
    "ingest/link_chunks": {"(c:Chunk)": _OWN},
    "ingest/merge_chunks": {"(d:Document)": _OWN},
    "ingest/tenants": {"(e:__Entity__)": _ALL, "(c:Chunk)": _ALL},
    "retrieve/between": {"()": "where the hop before ended"},
    "schema/all_entities": {"(e:__Entity__)": "counts all, to know how crowded an index is"},
}
# Schema statements are about all tenants: an index has no tenant.
NAMES = tuple(query.name for query in all_queries() if query.mode != "schema")

_COMMENT = re.compile(r"//[^\n]*")
_CLAUSE = re.compile(
    r"\b(MATCH|MERGE|CREATE|WITH|UNWIND|CALL|RETURN|SET|REMOVE|DELETE|DETACH|FOREACH|UNION)\b"
)
_NODE = re.compile(r"(?<!\w)\(\s*(\w*)\s*(?::\s*([\w:|&]+)\s*)?(\{[^{}]*\})?\s*\)")
_INDEX = re.compile(r"\bCALL\s+db\.index\.\w+\.query\w+\(.*?(?=\bRETURN\b|\Z)", re.S)


def unscoped(text: str) -> list[str]:
    """Give the node patterns of a statement that nodes of another tenant could match.

    A pattern is scoped by ``{tenant: $tenant}``, by ``x.tenant = $tenant`` in the WHERE of its own
    clause, or because its variable is bound before. At the far end of a relationship it must be
    ``$tenant IN [x.tenant]``: an equality there lets the planner start at the wrong end (design
    §4). What an index gives must be filtered before it is returned.
    """
    text = _COMMENT.sub("", text)
    found = [
        call[0].strip() for call in _INDEX.finditer(text) if ".tenant = $tenant" not in call[0]
    ]
    bound: set[str] = set()
    starts = [match.start() for match in _CLAUSE.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        clause = text[start:end]
        if not clause.startswith(("MATCH", "MERGE")):
            bound |= set(re.findall(r"\bAS\s+(\w+)", clause))
            continue
        for node in _NODE.finditer(clause):
            name, labels, properties = node.group(1), node.group(2) or "", node.group(3) or ""
            far = clause[: node.start()].rstrip()[-1] in "->}"
            if not set(re.split(r"[:|&]", labels)) & TENANT_LABELS:
                # No label: anything at all, unless it is known from before.
                if labels or name in bound or (far and not name):
                    continue
            elif name in bound and not properties and not far:
                continue
            within = rf"\$tenant\s+IN\s+\[{name}\.tenant\]"
            equal = rf"\b{name}\.tenant\s*=\s*\$tenant\b"
            scoped = re.search(within, clause) or (
                not far
                and (re.search(r"\btenant:\s*\$tenant\b", properties) or re.search(equal, clause))
            )
            if not scoped:
                found.append(node[0])
        bound |= {node.group(1) for node in _NODE.finditer(clause)} - {""}
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_keeps_to_the_tenant(name: str) -> None:
    assert sorted(set(unscoped(load(name).text))) == sorted(ALLOWED.get(name, {}))


SCOPED = (
    "MATCH (e:__Entity__ {tenant: $tenant, id: $id}) RETURN e",
    "MATCH (e:__Entity__) WHERE e.tenant = $tenant AND e.id > '' RETURN e",
    "MATCH (a:Chunk {tenant: $tenant})-[r]->(b:Chunk) WHERE $tenant IN [b.tenant] RETURN r",
    "MATCH (a:Chunk {tenant: $tenant}) MATCH (a)-[r:R]->(b:Chunk) "
    "WHERE $tenant IN [b.tenant] RETURN b",
    "CALL db.index.vector.queryNodes('x', 1, []) YIELD node WITH node AS e "
    "WHERE e.tenant = $tenant RETURN e",
    "MATCH (v:__VectorIndex__) RETURN v",
)
UNSCOPED = {
    "MATCH (e:__Entity__) RETURN e, $tenant AS t": ["(e:__Entity__)"],
    "MATCH (e:__Entity__ {tenant: $tenant}) MATCH (c:Chunk) RETURN c": ["(c:Chunk)"],
    "MATCH (e:__Entity__ {tenant: $tenant}) MATCH (c:Chunk) WHERE e.tenant = $tenant RETURN c": [
        "(c:Chunk)"
    ],
    "MATCH (a:Chunk {tenant: $tenant})-->(b:Chunk) RETURN b": ["(b:Chunk)"],
    "MATCH (a:Chunk {tenant: $tenant})-->(b:Chunk) WHERE b.tenant = $tenant RETURN b": [
        "(b:Chunk)"
    ],
    "MATCH (a:Chunk {tenant: $tenant})-->(b:Chunk {tenant: $tenant}) RETURN b": [
        "(b:Chunk {tenant: $tenant})"
    ],
    "MATCH (a:Chunk)-->(b:Chunk) WHERE $tenant IN [b.tenant] RETURN a": ["(a:Chunk)"],
    "MATCH (a:__Entity__ {tenant: $tenant}), (b:Person:__Entity__) RETURN b": [
        "(b:Person:__Entity__)"
    ],
    "MATCH (n) WHERE n.id = $tenant RETURN n": ["(n)"],
    "MATCH (a:Chunk {tenant: $tenant})-->(b) RETURN b": ["(b)"],
    "RETURN EXISTS { MATCH (c:Chunk) WHERE c.id = $tenant } AS x": ["(c:Chunk)"],
    "CALL db.index.vector.queryNodes('x', 1, []) YIELD node RETURN node, $tenant": [
        "CALL db.index.vector.queryNodes('x', 1, []) YIELD node"
    ],
}


@pytest.mark.parametrize("text", SCOPED)
def test_a_scoped_statement_passes(text: str) -> None:
    assert unscoped(text) == []


@pytest.mark.parametrize("text", UNSCOPED)
def test_an_unscoped_pattern_is_found(text: str) -> None:
    assert unscoped(text) == UNSCOPED[text]


def test_list_names_files_that_are_there() -> None:
    assert set(ALLOWED) <= set(NAMES)
