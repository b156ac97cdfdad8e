// project_tenant: put a tenant's entities and facts into the catalog, as the migrations do
// mode: read
// param tenant: STRING
// param graph: STRING name in the catalog, not in use
// param mark: STRING kept as the job id of the projection
// param structural: LIST<STRING> types that are bookkeeping
// returns nodes: INTEGER null where the tenant has none
// returns relationships: INTEGER each counts once per direction, parallel ones each
// order: none
// cost: a pass over the tenant's entities and relationships
// needs: GDS
// note: entities come first and by id, because GDS numbers nodes as it meets them and sums in that order;
//   all types become one, because GDS keeps room for each node once per type
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
    {undirectedRelationshipTypes: ['*'], readConcurrency: 1, jobId: $mark}) AS made
RETURN made.nodeCount AS nodes, made.relationshipCount AS relationships
