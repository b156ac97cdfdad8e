// tenants: what each tenant holds and how much of it is embedded
// mode: read
// param entity_hash: STRING property with the hash of what was embedded of an entity
// param chunk_hash: STRING the same of a chunk
// returns tenant: STRING
// returns entities: INTEGER
// returns embedded_entities: INTEGER
// returns chunks: INTEGER
// returns embedded_chunks: INTEGER
// order: tenant ascending
// cost: a pass over all entities and chunks
CALL () {
  MATCH (e:__Entity__)
  RETURN e.tenant AS tenant, count(*) AS entities, count(e[$entity_hash]) AS embedded_entities,
         0 AS chunks, 0 AS embedded_chunks
  UNION ALL
  MATCH (c:Chunk)
  RETURN c.tenant AS tenant, 0 AS entities, 0 AS embedded_entities,
         count(*) AS chunks, count(c[$chunk_hash]) AS embedded_chunks
}
RETURN tenant, sum(entities) AS entities, sum(embedded_entities) AS embedded_entities,
       sum(chunks) AS chunks, sum(embedded_chunks) AS embedded_chunks
ORDER BY tenant
