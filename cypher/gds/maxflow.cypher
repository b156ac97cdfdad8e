// maxflow: the largest flow between each pair in a graph that is sent along
// mode: read
// param graph: STRING name in the catalog, not in use; gone afterwards
// param neighbours: LIST<LIST<INTEGER>> of each node, which is numbered by its place
// param capacities: LIST<FLOAT> of each node, of a relationship that leaves it
// param pairs: LIST<LIST<INTEGER>> [from, to], different with some neighbour or some way in
// returns start: INTEGER
// returns target: INTEGER
// returns tail: INTEGER of an edge
// returns head: INTEGER of an edge
// returns flow: FLOAT above 0, at most the edge's capacity
// order: none
// cost: one maximum flow per pair
// needs: GDS with gds.maxFlow.stream (2.23 and later)
// note: a failure leaves the graph in the catalog: gds/drop
UNWIND range(0, size($neighbours) - 1) AS tail
UNWIND $neighbours[tail] AS head
WITH gds.graph.project($graph, tail, head,
    {relationshipProperties: {capacity: $capacities[tail]}}, {readConcurrency: 1}) AS made
CALL (made) {
    UNWIND $pairs AS pair
    CALL gds.maxFlow.stream(made.graphName, {sourceNodes: [pair[0]], targetNodes: [pair[1]],
        capacityProperty: 'capacity', concurrency: 1, logProgress: false}) YIELD source, target, flow
    WITH pair, source, target, flow
    WHERE flow > 0
    RETURN collect([pair[0], pair[1], source, target, flow]) AS found
}
CALL gds.graph.drop(made.graphName, false) YIELD graphName
UNWIND found AS row
RETURN row[0] AS start, row[1] AS target, row[2] AS tail, row[3] AS head, row[4] AS flow
