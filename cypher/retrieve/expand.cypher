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
// slot limit: $cap or $rest_cap
// returns tail: STRING id of the frontier node
// returns forward: BOOLEAN the relationship leaves it
// returns key: STRING of the relationship, null where it has none
// returns type: STRING
// returns relationship: MAP properties of the relationship
// returns id: STRING id of the node on the other side
// returns name: STRING
// returns labels: LIST<STRING>
// returns properties: MAP without vectors
// returns similarity: FLOAT cosine in [-1, 1], null without vectors
// order: none
// cost: one index seek per frontier node, then at most cap or rest_cap rows per branch and node;
//   LIMIT is lazy, ORDER BY would read every relationship of a hub
// needs: Neo4j 5.23
MATCH (t:__Entity__ {tenant: $tenant})
WHERE t.id IN $targets
WITH collect(t) AS targets
UNWIND $frontier AS tail
MATCH (n:__Entity__ {tenant: $tenant, id: tail})
CALL (n, targets) {
    // branch neighbours
    MATCH (n)${left}[r${type}]${right}(m:__Entity__)
    WHERE $tenant IN [m.tenant] AND NOT type(r) IN $structural ${filter}
    RETURN r, m LIMIT ${limit}
    // end branch
    // branch found
    UNWIND targets AS m
    MATCH (n)${left}[r${type}]${right}(m)
    WHERE true ${filter}
    RETURN r, m LIMIT ${limit}
    // end branch
}
RETURN n.id AS tail, startNode(r) = n AS forward, r.key AS key, type(r) AS type,
       properties(r) AS relationship, m.id AS id, m.name AS name, labels(m) AS labels,
       m {.*, embedding: null, embedding_alt: null, text_hash: null, text_hash_alt: null}
           AS properties,
       2 * vector.similarity.cosine(m[$vector_property], $vector) - 1 AS similarity
