// provenance: the documents of the chunks that the chosen facts were read from
// mode: read
// param tenant: STRING
// param chunk_ids: LIST<STRING>
// returns chunk: STRING
// returns document: STRING null where the chunk belongs to none
// order: none
// cost: one index seek and one relationship per chunk
UNWIND $chunk_ids AS id
MATCH (c:Chunk {tenant: $tenant, id: id})
OPTIONAL MATCH (c)-[:FROM_DOCUMENT]->(d:Document)
WHERE $tenant IN [d.tenant]
RETURN c.id AS chunk, d.id AS document
