// project: put a tenant's entities and facts into the GDS catalog as an undirected, weighted graph
// mode: read
// param tenant: STRING
// param graph: STRING name in the catalog, not in use
// param structural: LIST<STRING> types that are bookkeeping
// param weight: STRING property of relationships; null where each counts 1
// param left_out: LIST<STRING> ids of entities that are left out with their relationships
// returns nodes: INTEGER
// returns relationships: INTEGER each fact counts once per direction, parallel ones each
// order: none
// cost: a pass over the tenant's entities and relationships
// needs: GDS
// note: entities come first and by id, because GDS numbers nodes as it meets them, and the same graph
//   must give the same communities
CALL () {
    MATCH (a:__Entity__ {tenant: $tenant})
    WHERE a.id IS NOT NULL AND NOT a.id IN $left_out
    WITH a ORDER BY a.id
    RETURN a, null AS b, null AS strength
    UNION ALL
    MATCH (a:__Entity__ {tenant: $tenant})-[r]->(b:__Entity__)
    WHERE a.id IS NOT NULL AND $tenant IN [b.tenant] AND a <> b AND NOT type(r) IN $structural
      AND NOT a.id IN $left_out AND NOT b.id IN $left_out
    RETURN a, b, {strength: coalesce(toFloatOrNull(r[$weight]), 1.0)} AS strength
}
WITH gds.graph.project($graph, a, b, {relationshipProperties: strength},
    {undirectedRelationshipTypes: ['*'], readConcurrency: 1}) AS made
RETURN made.nodeCount AS nodes, made.relationshipCount AS relationships
