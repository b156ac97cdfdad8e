// pagerank: what walks from each seed bring to every node of a graph that is sent along
// mode: read
// param graph: STRING name in the catalog, not in use; gone afterwards
// param edges: LIST<LIST<FLOAT>> [from, to, share]; ends are whole numbers, shares are relative
// param seeds: LIST<INTEGER> each an end of some edge
// param damping: FLOAT in [0, 1)
// param iterations: INTEGER hops of the longest walk, and one
// returns seed: INTEGER
// returns node: INTEGER
// returns resource: FLOAT above 0; the score of PageRank over 1 - damping
// order: none
// cost: one PageRank of the graph per seed
// needs: GDS
// note: a failure leaves the graph in the catalog: gds/drop
UNWIND $edges AS edge
WITH gds.graph.project($graph, toInteger(edge[0]), toInteger(edge[1]),
    {relationshipProperties: {share: edge[2]}}, {readConcurrency: 1}) AS made
CALL (made) {
    UNWIND $seeds AS seed
    CALL gds.pageRank.stream(made.graphName, {sourceNodes: [seed], dampingFactor: $damping,
        maxIterations: $iterations, tolerance: 0.0, relationshipWeightProperty: 'share',
        concurrency: 1}) YIELD nodeId, score
    WITH seed, nodeId, score
    WHERE score > 0
    RETURN collect([seed, nodeId, score / (1 - $damping)]) AS found
}
CALL gds.graph.drop(made.graphName, false) YIELD graphName
UNWIND found AS row
RETURN row[0] AS seed, row[1] AS node, row[2] AS resource
