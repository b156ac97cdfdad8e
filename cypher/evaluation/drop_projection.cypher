// drop_projection: drop an evaluation's graph from the GDS catalog, if it is there
// mode: read
// param graph: STRING
// returns graph: STRING no row when it was not there
// order: none
// cost: frees memory; the store is not touched
// needs: GDS
CALL gds.graph.drop($graph, false) YIELD graphName
RETURN graphName AS graph
