// community_edges: the relationships between entities of a community
// mode: read
// param tenant: STRING
// param community: STRING
// param structural: LIST<STRING> types that are bookkeeping
// returns tail: STRING id of the start node
// returns id: STRING id of the end node
// returns forward: BOOLEAN always true
// returns type: STRING
// returns key: STRING null where another tool wrote it
// returns relationship: MAP properties of the relationship
// order: none
// cost: the relationships that leave its entities, and the communities of each end
// needs: constraint community_id_unique
MATCH (c:__Community__ {tenant: $tenant, id: $community})<-[:IN_COMMUNITY]-(a:__Entity__)
WHERE $tenant IN [a.tenant]
MATCH (a)-[r]->(b:__Entity__)
WHERE $tenant IN [b.tenant] AND NOT type(r) IN $structural AND EXISTS { (b)-[:IN_COMMUNITY]->(c) }
RETURN a.id AS tail, b.id AS id, true AS forward, type(r) AS type, r.key AS key,
       properties(r) AS relationship
