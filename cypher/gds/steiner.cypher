// steiner: cheap trees that link a node to others in a graph that is sent along
// mode: read
// param graph: STRING name in the catalog, not in use; gone afterwards
// param neighbours: LIST<LIST<INTEGER>> of each node, which is numbered by its place
// param costs: LIST<FLOAT> of each node, to leave it; at least 0
// param trees: LIST<LIST<LIST<INTEGER>>> [[root], targets], all of them with some neighbour or some way in
// returns root: INTEGER
// returns node: INTEGER of its tree, the root left out
// returns parent: INTEGER the node before it
// order: none
// cost: about one search for cheapest ways per tree
// needs: GDS
// note: a target that cannot be reached is in no tree; a failure leaves the graph in the catalog: gds/drop
UNWIND range(0, size($neighbours) - 1) AS tail
UNWIND $neighbours[tail] AS head
WITH gds.graph.project($graph, tail, head,
    {relationshipProperties: {cost: $costs[tail]}}, {readConcurrency: 1}) AS made
CALL (made) {
    UNWIND $trees AS tree
    CALL gds.steinerTree.stream(made.graphName, {sourceNode: tree[0][0], targetNodes: tree[1],
        relationshipWeightProperty: 'cost', concurrency: 1, logProgress: false}) YIELD nodeId, parentId
    WITH tree[0][0] AS root, nodeId, parentId
    WHERE nodeId <> root
    RETURN collect([root, nodeId, parentId]) AS found
}
CALL gds.graph.drop(made.graphName, false) YIELD graphName
UNWIND found AS row
RETURN row[0] AS root, row[1] AS node, row[2] AS parent
