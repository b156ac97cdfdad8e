// hydrate_hops: everything that is shown of the nodes on the chosen ways, and their relationships
// mode: read
// param tenant: STRING
// param ids: LIST<STRING>
// param hops: LIST<MAP> {tail: id it is walked from, id: id it leads to, type: STRING, forward: BOOLEAN}
// slot filter: predicate on r and m that begins with AND, empty for none; may use $filters
// param filters: MAP values of the filter
// returns id: STRING of the node, or of the one that the relationship leads to
// returns name: STRING
// returns labels: LIST<STRING>
// returns properties: MAP of the node, without vectors
// returns tail: STRING id of the node that the relationship is walked from, null in a node's row
// returns forward: BOOLEAN the relationship leaves it
// returns key: STRING of the relationship, null where it has none
// returns type: STRING
// returns relationship: MAP properties of the relationship
// order: none
// cost: one index seek per id and two per hop; the smaller end of a hop is walked
// needs: Neo4j 5.23
CALL () {
    UNWIND $ids AS id
    MATCH (m:__Entity__ {tenant: $tenant, id: id})
    RETURN m, null AS n, null AS r
    UNION ALL
    UNWIND $hops AS hop
    MATCH (n:__Entity__ {tenant: $tenant, id: hop.tail})
    MATCH (m:__Entity__ {tenant: $tenant, id: hop.id})
    MATCH (n)-[r]-(m)
    WHERE type(r) = hop.type AND (startNode(r) = n) = hop.forward ${filter}
    RETURN m, n, r
}
RETURN m.id AS id, m.name AS name, labels(m) AS labels,
       m {.*, embedding: null, embedding_alt: null, text_hash: null, text_hash_alt: null}
           AS properties,
       n.id AS tail, startNode(r) = n AS forward, r.key AS key, type(r) AS type,
       properties(r) AS relationship
