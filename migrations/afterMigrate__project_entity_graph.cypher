// Graphs in the GDS catalog live in memory and are snapshots, so no migration can make them: they are made anew after each run.
CALL gds.graph.list() YIELD graphName
WITH graphName WHERE graphName STARTS WITH 'pathrag_'
CALL gds.graph.drop(graphName, false) YIELD graphName AS dropped
RETURN count(dropped) AS dropped;
// One graph per tenant, named pathrag_<tenant>; none on an empty store. Nodes come first and in the order of their ids,
// because GDS numbers nodes as it meets them and repeatable results need the same numbers. Provenance is no relation.
// All relations become one type: GDS keeps room for each node once per type (1.2 MB per type at 20,000 nodes), and where
// a model names the relations there are thousands of types.
// A server that runs out of heap dies, so what does not fit is left out and told, the smallest graphs go first, and twice
// the estimate must be free: a graph takes up to a quarter more than GDS estimates, and building it takes room, too.
CALL () {
  MATCH (a:__Entity__) WHERE a.tenant IS NOT NULL
  RETURN a.tenant AS tenant, count(a) AS nodes, 0 AS relationships
  UNION ALL
  MATCH (a:__Entity__)-[r]->(b:__Entity__)
  WHERE a.tenant = b.tenant AND NOT type(r) IN ['FROM_CHUNK', 'FROM_DOCUMENT', 'NEXT_CHUNK', 'PART_OF', 'FIRST_CHUNK',
    'HAS_ENTITY', 'SIMILAR', 'IN_COMMUNITY', 'PARENT_COMMUNITY']
  RETURN a.tenant AS tenant, 0 AS nodes, count(r) AS relationships
}
WITH tenant, sum(nodes) AS nodes, 2 * sum(relationships) AS relationships
CALL gds.graph.project.estimate('*', '*', {nodeCount: nodes, relationshipCount: relationships}) YIELD bytesMax
WITH tenant, nodes, relationships, 2 * bytesMax AS needed ORDER BY needed, tenant
WITH collect({tenant: tenant, nodes: nodes, relationships: relationships, needed: needed}) AS graphs
CALL gds.debug.sysInfo() YIELD key, value
WITH graphs, value AS free WHERE key = 'availableHeapInBytes'
UNWIND range(0, size(graphs) - 1) AS place
WITH graphs[place] AS graph, reduce(sum = 0, earlier IN graphs[..place + 1] | sum + earlier.needed) <= free AS fits, free
CALL (graph, fits) {
  CALL (graph, fits) {
    WITH graph WHERE fits
    MATCH (a:__Entity__ {tenant: graph.tenant})
    WITH a ORDER BY a.id
    RETURN a, null AS b
    UNION ALL
    WITH graph WHERE fits
    MATCH (a:__Entity__ {tenant: graph.tenant})-[r]->(b:__Entity__)
    WHERE graph.tenant IN [b.tenant] AND NOT type(r) IN ['FROM_CHUNK', 'FROM_DOCUMENT', 'NEXT_CHUNK', 'PART_OF',
      'FIRST_CHUNK', 'HAS_ENTITY', 'SIMILAR', 'IN_COMMUNITY', 'PARENT_COMMUNITY']
    RETURN a, b
  }
  RETURN gds.graph.project('pathrag_' + graph.tenant, a, b, {},
    {undirectedRelationshipTypes: ['*'], readConcurrency: 1}) AS made
}
WITH graph, free, fits, made WHERE NOT fits
RETURN 'The graph of tenant \'' + graph.tenant + '\' (' + graph.nodes + ' nodes, ' + graph.relationships / 2
  + ' relationships) is not in the catalog of Graph Data Science: it would take ' + graph.needed / 1048576
  + ' MB, and the server has ' + free / 1048576 + ' MB of heap free for all. Nothing else is affected. With more heap'
  + ' (pathrag server start --heap 4g), run again: pathrag migrate up' AS warning;
