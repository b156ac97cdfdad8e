// pagerank_passages: chunks by the sum of the personalised PageRank of the entities read from them
// mode: read
// param tenant: STRING
// param graph: STRING name in the GDS catalog
// param seeds: LIST<MAP> rows {id: STRING, weight: FLOAT} where walks restart; weights sum to 1
// param damping: FLOAT probability of going on, in [0, 1)
// param iterations: INTEGER at most
// param tolerance: FLOAT
// param most: INTEGER rows
// returns id: STRING of the chunk
// returns score: FLOAT above 0
// order: score descending, then id
// cost: one PageRank of the whole graph per seed
// needs: GDS
UNWIND $seeds AS seed
MATCH (s:__Entity__ {tenant: $tenant, id: seed.id})
CALL gds.pageRank.stream($graph, {sourceNodes: [s], dampingFactor: $damping,
    maxIterations: $iterations, tolerance: $tolerance, concurrency: 1, logProgress: false}) YIELD nodeId, score
WITH nodeId, sum(seed.weight * score) AS score
WHERE score > 0
WITH gds.util.asNode(nodeId) AS e, score
UNWIND e.chunk_ids AS chunk
WITH chunk, sum(score) AS score
RETURN chunk AS id, score
ORDER BY score DESC, id LIMIT $most
