// catalog_entry: how many nodes a graph of the catalog has, and the mark that it was made with
// mode: read
// param graph: STRING
// returns mark: STRING the job id of its projection
// returns nodes: INTEGER no row where there is no such graph
// order: none
// cost: no look at the store
// needs: GDS
CALL gds.graph.list($graph) YIELD configuration, nodeCount
RETURN configuration.jobId AS mark, nodeCount AS nodes
