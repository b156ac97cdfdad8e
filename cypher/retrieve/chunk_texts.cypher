// chunk_texts: what the chunks say that chosen facts were read from
// mode: read
// param tenant: STRING
// param chunk_ids: LIST<STRING>
// returns chunk: STRING
// returns text: STRING null where the chunk has none
// order: none
// cost: one index seek per chunk
UNWIND $chunk_ids AS id
MATCH (c:Chunk {tenant: $tenant, id: id})
RETURN c.id AS chunk, c.text AS text
