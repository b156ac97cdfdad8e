// leaving: the relationships of some types that leave some entities
// mode: read
// param tenant: STRING
// param ids: LIST<STRING> distinct ids of entities
// param types: LIST<STRING> types that are wanted, no bookkeeping among them
// param most: INTEGER relationships of one entity at most
// returns tail: STRING id of the start node
// returns id: STRING id of the end node
// returns forward: BOOLEAN always true
// returns type: STRING
// returns key: STRING null where another tool wrote it
// returns relationship: MAP properties of the relationship
// order: none
// cost: one index seek per id and the relationships that leave it; LIMIT is lazy
// needs: constraint entity_id_unique; Neo4j 5.23
UNWIND $ids AS tail
MATCH (a:__Entity__ {tenant: $tenant, id: tail})
CALL (a) {
    MATCH (a)-[r]->(b:__Entity__)
    WHERE $tenant IN [b.tenant] AND type(r) IN $types
    RETURN r, b LIMIT $most
}
WITH tail, b.id AS id, type(r) AS type, properties(r) AS relationship
RETURN tail, id, true AS forward, type, relationship.key AS key, relationship
