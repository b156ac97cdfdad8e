// yens: the cheapest ways between pairs in a graph that is sent along
// mode: read
// param graph: STRING name in the catalog, not in use; gone afterwards
// param neighbours: LIST<LIST<INTEGER>> of each node, which is numbered by its place
// param costs: LIST<FLOAT> of each node, to leave it; at least 0
// param pairs: LIST<LIST<INTEGER>> [from, to], different with some neighbour or some way in
// param k: INTEGER ways per pair
// returns nodes: LIST<INTEGER> from first to last, none twice
// returns cost: FLOAT the sum
// order: none
// cost: k times the hops of a way: as many searches for a cheapest way, per pair
// needs: GDS
// note: a failure leaves the graph in the catalog: gds/drop
UNWIND range(0, size($neighbours) - 1) AS tail
UNWIND $neighbours[tail] AS head
WITH gds.graph.project($graph, tail, head,
    {relationshipProperties: {cost: $costs[tail]}}, {readConcurrency: 1}) AS made
CALL (made) {
    UNWIND $pairs AS pair
    CALL gds.shortestPath.yens.stream(made.graphName, {sourceNode: pair[0], targetNode: pair[1],
        k: $k, relationshipWeightProperty: 'cost', concurrency: 1, logProgress: false}) YIELD nodeIds, totalCost
    RETURN collect([nodeIds, totalCost]) AS found
}
CALL gds.graph.drop(made.graphName, false) YIELD graphName
UNWIND found AS row
RETURN row[0] AS nodes, row[1] AS cost
