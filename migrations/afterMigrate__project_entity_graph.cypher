// Graphs in the GDS catalog live in memory and are snapshots, so no migration can make them: they are made anew after each run.
CALL gds.graph.list() YIELD graphName
WITH graphName WHERE graphName STARTS WITH 'pathrag_'
CALL gds.graph.drop(graphName, false) YIELD graphName AS dropped
RETURN count(dropped) AS dropped;
// One graph per tenant, named pathrag_<tenant>; none on an empty store. Nodes come first and in the order of their ids,
// because GDS numbers nodes as it meets them and repeatable results need the same numbers. Provenance is no relation.
CALL () {
  MATCH (a:__Entity__) WHERE a.tenant IS NOT NULL
  WITH a ORDER BY a.tenant, a.id
  RETURN a, null AS r, null AS b
  UNION ALL
  MATCH (a:__Entity__)-[r]->(b:__Entity__)
  WHERE a.tenant = b.tenant AND NOT type(r) IN ['FROM_CHUNK', 'FROM_DOCUMENT', 'NEXT_CHUNK', 'PART_OF', 'FIRST_CHUNK',
    'HAS_ENTITY', 'SIMILAR', 'IN_COMMUNITY', 'PARENT_COMMUNITY']
  RETURN a, r, b
}
RETURN a.tenant AS tenant, gds.graph.project('pathrag_' + a.tenant, a, b, {
  sourceNodeLabels: ['__Entity__'], targetNodeLabels: CASE WHEN b IS NULL THEN null ELSE ['__Entity__'] END,
  relationshipType: type(r)
}, {undirectedRelationshipTypes: ['*'], readConcurrency: 1}).relationshipCount AS relationships;
