// maxflow: the largest flow between each pair in a graph that is sent along
// mode: read
// param graph: STRING name in the catalog, not in use; gone afterwards
// param edges: LIST<LIST<FLOAT>> [from, to, capacity]; ends are whole numbers
// param pairs: LIST<LIST<INTEGER>> [from, to], different ends of some edges
// returns start: INTEGER
// returns target: INTEGER
// returns tail: INTEGER of an edge
// returns head: INTEGER of an edge
// returns flow: FLOAT above 0, at most the edge's capacity
// order: none
// cost: one maximum flow per pair
// needs: GDS with gds.maxFlow.stream (2.23 and later)
// note: a failure leaves the graph in the catalog: gds/drop
UNWIND $edges AS edge
WITH gds.graph.project($graph, toInteger(edge[0]), toInteger(edge[1]),
    {relationshipProperties: {capacity: edge[2]}}, {readConcurrency: 1}) AS made
CALL (made) {
    UNWIND $pairs AS pair
    CALL gds.maxFlow.stream(made.graphName, {sourceNodes: [pair[0]], targetNodes: [pair[1]],
        capacityProperty: 'capacity', concurrency: 1}) YIELD source, target, flow
    WITH pair, source, target, flow
    WHERE flow > 0
    RETURN collect([pair[0], pair[1], source, target, flow]) AS found
}
CALL gds.graph.drop(made.graphName, false) YIELD graphName
UNWIND found AS row
RETURN row[0] AS start, row[1] AS target, row[2] AS tail, row[3] AS head, row[4] AS flow
