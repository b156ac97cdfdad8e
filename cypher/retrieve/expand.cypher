// expand: one hop from every node of the frontier, in one round trip
// mode: read
// param tenant: STRING
// param frontier: LIST<STRING> distinct ids
// param targets: LIST<STRING> ids already found, which hubs are also expanded into
// param structural: LIST<STRING> types that are bookkeeping
// param cap: INTEGER rows of a branch that follows one hub type in one direction
// param rest_cap: INTEGER rows of any other branch
// param vector: LIST<FLOAT> the question's, null where there is none
// param vector_property: STRING
// slot filter: predicate on r and m that begins with AND, empty for none; may use $filters
// param filters: MAP values of the filter
// slot facts: AND NOT type(r) IN $structural where the types are not named, else empty
// slot limit: $cap or $rest_cap
// slot shown: what a map projection of m shows, vectors left out
// returns tail: STRING id of the frontier node
// returns forward: BOOLEAN the relationship leaves it
// returns key: STRING of the relationship, null where it has none
// returns type: STRING
// returns relationship: MAP properties of the relationship
// returns id: STRING id of the node on the other side
// returns name: STRING
// returns labels: LIST<STRING>
// returns properties: MAP without vectors; keys that the node lacks may be there as null
// returns similarity: FLOAT cosine in [-1, 1], null without vectors
// order: none
// cost: one index seek per frontier node, then at most cap or rest_cap rows per branch and node;
//   LIMIT is lazy, ORDER BY would read every relationship of a hub. Only nodes with more than cap
//   relationships are searched for targets: about 12 hits per pair, the smaller side is walked
// needs: Neo4j 5.23
MATCH (t:__Entity__ {tenant: $tenant})
WHERE t.id IN $targets
WITH collect(t) AS targets
UNWIND $frontier AS tail
MATCH (n:__Entity__ {tenant: $tenant, id: tail})
CALL (n, targets) {
    // branch neighbours
    MATCH (n)${left}[r${type}]${right}(m:__Entity__)
    WHERE $tenant IN [m.tenant] ${facts} ${filter}
    RETURN r, m LIMIT ${limit}
    // end branch
    // branch found
    WITH n, targets
    WHERE COUNT { (n)${left}[${type}]${right}() } >= $cap
    UNWIND targets AS m
    MATCH (n)${left}[r${type}]${right}(m)
    WHERE true ${facts} ${filter}
    RETURN r, m LIMIT $rest_cap
    // end branch
}
WITH n, r, m, properties(r) AS relationship, m {${shown}} AS properties
RETURN n.id AS tail, startNode(r) = n AS forward, relationship.key AS key, type(r) AS type,
       relationship, properties.id AS id, properties.name AS name, labels(m) AS labels,
       properties,
       2 * vector.similarity.cosine(m[$vector_property], $vector) - 1 AS similarity
