// project: put a tenant's entities and facts into the GDS catalog as an undirected graph
// mode: read
// param tenant: STRING
// param graph: STRING name in the catalog, not in use
// param structural: LIST<STRING> types that are bookkeeping
// returns nodes: INTEGER
// returns relationships: INTEGER each fact counts once per direction, parallel ones each
// order: none
// cost: a pass over the tenant's entities and relationships
// needs: GDS
// note: entities come first and by id, because GDS numbers nodes as it meets them and sums in that order
CALL () {
    MATCH (a:__Entity__ {tenant: $tenant})
    WHERE a.id IS NOT NULL
    WITH a ORDER BY a.id
    RETURN a, null AS b
    UNION ALL
    MATCH (a:__Entity__ {tenant: $tenant})-[r]->(b:__Entity__)
    WHERE a.id IS NOT NULL AND $tenant IN [b.tenant] AND NOT type(r) IN $structural
    RETURN a, b
}
WITH gds.graph.project($graph, a, b, {},
    {undirectedRelationshipTypes: ['*'], readConcurrency: 1}) AS made
RETURN made.nodeCount AS nodes, made.relationshipCount AS relationships
