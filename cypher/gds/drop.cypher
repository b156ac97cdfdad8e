// drop: drop a graph from the catalog, and what questions that died have left there
// mode: read
// param graph: STRING
// param prefix: STRING that graphs of single questions begin with
// param minutes: INTEGER after which such a graph belongs to no question any more
// returns graph: STRING name of a dropped one; no row where there was none
// order: none
// cost: frees memory; the store is not touched
// needs: GDS
CALL gds.graph.list() YIELD graphName, creationTime
WHERE graphName = $graph
   OR (graphName STARTS WITH $prefix AND creationTime < datetime() - duration({minutes: $minutes}))
CALL gds.graph.drop(graphName, false) YIELD graphName AS dropped
RETURN dropped AS graph
