// pagerank: what walks from each seed bring to every node of a graph that is sent along
// mode: read
// param graph: STRING name in the catalog, not in use; gone afterwards
// param neighbours: LIST<LIST<INTEGER>> of each node, which is numbered by its place; the number of nodes stands for
//   those that were not sent along
// param lost: LIST<FLOAT> of each node, how many neighbours were not sent along
// param seeds: LIST<INTEGER> each with some neighbour or some way in
// param damping: FLOAT in [0, 1)
// param iterations: INTEGER hops of the longest walk, and one
// returns seed: INTEGER
// returns nodes: LIST<INTEGER> that something reaches
// returns resources: LIST<FLOAT> of each, above 0; the score of PageRank over 1 - damping
// order: none
// cost: one PageRank of the graph per seed
// needs: GDS
// note: a failure leaves the graph in the catalog: gds/drop
UNWIND range(0, size($neighbours) - 1) AS tail
UNWIND $neighbours[tail] AS head
WITH gds.graph.project($graph, tail, head,
    {relationshipProperties: {
        share: CASE head WHEN size($neighbours) THEN $lost[tail] ELSE 1.0 END
    }}, {readConcurrency: 1}) AS made
CALL (made) {
    UNWIND $seeds AS seed
    CALL gds.pageRank.stream(made.graphName, {sourceNodes: [seed], dampingFactor: $damping,
        maxIterations: $iterations, tolerance: 0.0, relationshipWeightProperty: 'share',
        concurrency: 1, logProgress: false}) YIELD nodeId, score
    WITH seed, nodeId, score
    WHERE score > 0
    WITH seed, collect(nodeId) AS nodes, collect(score / (1 - $damping)) AS resources
    RETURN collect([seed, nodes, resources]) AS found
}
CALL gds.graph.drop(made.graphName, false) YIELD graphName
UNWIND found AS row
RETURN row[0] AS seed, row[1] AS nodes, row[2] AS resources
