// passages: what chosen chunks say, and which documents they belong to
// mode: read
// param tenant: STRING
// param chunk_ids: LIST<STRING>
// returns chunk: STRING
// returns text: STRING null where the chunk has none
// returns document: STRING null where the chunk belongs to none
// order: none
// cost: one index seek and one relationship per chunk
UNWIND $chunk_ids AS id
MATCH (c:Chunk {tenant: $tenant, id: id})
OPTIONAL MATCH (c)-[:FROM_DOCUMENT]->(d:Document)
WHERE $tenant IN [d.tenant]
RETURN c.id AS chunk, c.text AS text, min(d.id) AS document
