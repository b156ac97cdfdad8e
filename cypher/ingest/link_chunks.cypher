// link_chunks: one page of entities by id; FROM_CHUNK becomes what chunk_ids says
// mode: write
// param tenant: STRING
// param after: STRING id of the last entity of the page before, empty for the first page
// param page: INTEGER entities at most
// returns last: STRING id to go on from, null when nothing is left
// returns entities: INTEGER entities of this page
// order: id within the tenant
// cost: one index range of the page; one seek per chunk id
// needs: constraints entity_id_unique and chunk_id_unique
MATCH (e:__Entity__)
WHERE e.tenant = $tenant AND e.id > $after
WITH e ORDER BY e.tenant, e.id LIMIT $page
CALL (e) {
  MATCH (e)-[old:FROM_CHUNK]->(c:Chunk)
  WHERE NOT c.id IN coalesce(e.chunk_ids, [])
  DELETE old
}
CALL (e) {
  UNWIND e.chunk_ids AS id
  MATCH (c:Chunk {tenant: $tenant, id: id})
  MERGE (e)-[:FROM_CHUNK]->(c)
}
RETURN max(e.id) AS last, count(e) AS entities
