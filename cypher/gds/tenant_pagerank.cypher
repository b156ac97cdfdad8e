// tenant_pagerank: what walks from each seed bring to the entities of a tenant
// mode: read
// param tenant: STRING
// param graph: STRING the tenant's in the catalog
// param seeds: LIST<STRING> ids
// param damping: FLOAT in [0, 1)
// param iterations: INTEGER hops of the longest walk, and one
// param most: INTEGER rows per seed
// returns seed: STRING
// returns id: STRING
// returns resource: FLOAT above 0; the score of PageRank over 1 - damping
// order: seed, then resource descending, then id
// cost: one PageRank of the whole graph per seed
// needs: GDS
UNWIND $seeds AS id
MATCH (s:__Entity__ {tenant: $tenant, id: id})
CALL (s) {
    CALL gds.pageRank.stream($graph, {sourceNodes: [s], dampingFactor: $damping,
        maxIterations: $iterations, tolerance: 0.0, concurrency: 1, logProgress: false}) YIELD nodeId, score
    WITH gds.util.asNode(nodeId) AS e, score
    WHERE score > 0
    RETURN e, score ORDER BY score DESC, e.id LIMIT $most
}
RETURN s.id AS seed, e.id AS id, score / (1 - $damping) AS resource
ORDER BY seed, resource DESC, id
