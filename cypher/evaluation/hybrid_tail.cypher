// hybrid_tail: entities one and two hops from the nodes that a hybrid search found
// mode: read
// slot found: statement that gives node and score; empty where neo4j-graphrag puts its own before
// param tenant: STRING
// param topics: LIST<STRING> ids; where any of them was found, only those are gone on from
// param starts: INTEGER found nodes to go on from, at most
// param reach: INTEGER rows per found node and number of hops
// param structural: LIST<STRING> types that are bookkeeping
// returns start: STRING id of the node that was found
// returns score: FLOAT of the hybrid search
// returns id: STRING id of an entity around it, never itself
// returns hops: INTEGER 1 or 2, the fewer where both lead there
// order: none
// cost: at most reach rows per found node and number of hops; LIMIT is lazy
// note: Neo4j 5.26 plans x IN [a] AND x IN [b] in one WHERE as false, so each hop has its own
// note: the index holds all tenants, so the search must be asked for more than starts
${found}
WITH node AS e, score
WHERE e.tenant = $tenant
WITH e, score ORDER BY score DESC, e.id
WITH collect({node: e, score: score}) AS hits
WITH [hit IN hits WHERE hit.node.id IN $topics] AS on_topic, hits
UNWIND (CASE WHEN on_topic = [] THEN hits ELSE on_topic END)[..$starts] AS hit
WITH hit.node AS start, hit.score AS score
CALL (start) {
    MATCH (start)-[r]-(m:__Entity__)
    WHERE $tenant IN [m.tenant] AND NOT type(r) IN $structural
    RETURN m, 1 AS hops LIMIT $reach
    UNION ALL
    MATCH (start)-[q]-(n:__Entity__)
    WHERE $tenant IN [n.tenant] AND NOT type(q) IN $structural
    MATCH (n)-[r]-(m:__Entity__)
    WHERE r <> q AND $tenant IN [m.tenant] AND NOT type(r) IN $structural
    RETURN m, 2 AS hops LIMIT $reach
}
WITH start, score, m, min(hops) AS hops
WHERE m <> start
RETURN start.id AS start, score, m.id AS id, hops
