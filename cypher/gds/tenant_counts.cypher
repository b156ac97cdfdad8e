// tenant_counts: how large the graph of a tenant is
// mode: read
// param tenant: STRING
// param structural: LIST<STRING> types that are bookkeeping
// returns nodes: INTEGER
// returns relationships: INTEGER each once
// order: none
// cost: a pass over the tenant's entities and relationships
CALL () {
    MATCH (a:__Entity__ {tenant: $tenant})
    WHERE a.id IS NOT NULL
    RETURN count(a) AS nodes
}
CALL () {
    MATCH (a:__Entity__ {tenant: $tenant})-[r]->(b:__Entity__)
    WHERE a.id IS NOT NULL AND $tenant IN [b.tenant] AND NOT type(r) IN $structural
    RETURN count(r) AS relationships
}
RETURN nodes, relationships
