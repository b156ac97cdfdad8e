// memory: what a graph of this size takes in the catalog, and what is free
// mode: read
// param nodes: INTEGER
// param relationships: INTEGER in stored form: an undirected one counts twice
// param properties: LIST<STRING> of relationships, each a number
// returns needed: INTEGER bytes, twice what GDS estimates at most
// returns free: INTEGER bytes of the server's heap
// order: none
// cost: no look at the store
// needs: GDS
// note: a graph was seen to take up to a quarter more than estimated, and building it takes room, too; a server that
//   runs out of heap dies
CALL gds.graph.project.estimate('*', '*', {
    nodeCount: $nodes, relationshipCount: $relationships, relationshipProperties: $properties
}) YIELD bytesMax
CALL gds.debug.sysInfo() YIELD key, value
WHERE key = 'availableHeapInBytes'
RETURN 2 * bytesMax AS needed, value AS free
