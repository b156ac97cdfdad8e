// pagerank: entities by personalised PageRank from weighted seeds
// mode: read
// param tenant: STRING
// param graph: STRING name in the GDS catalog
// param seeds: LIST<MAP> rows {id: STRING, weight: FLOAT} where walks restart; weights sum to 1
// param damping: FLOAT probability of going on, in [0, 1)
// param iterations: INTEGER at most
// param tolerance: FLOAT
// param most: INTEGER rows
// returns id: STRING
// returns score: FLOAT above 0; all scores of a graph sum to about 1
// order: score descending, then id
// cost: one PageRank of the whole graph per seed
// needs: GDS
// note: the rank of several seeds is the weighted sum of the ranks of each; weights inside one run
//   need GDS 2.17
UNWIND $seeds AS seed
MATCH (s:__Entity__ {tenant: $tenant, id: seed.id})
CALL gds.pageRank.stream($graph, {sourceNodes: [s], dampingFactor: $damping,
    maxIterations: $iterations, tolerance: $tolerance, concurrency: 1, logProgress: false}) YIELD nodeId, score
WITH nodeId, sum(seed.weight * score) AS score
WHERE score > 0
WITH gds.util.asNode(nodeId) AS e, score
RETURN e.id AS id, score
ORDER BY score DESC, id LIMIT $most
