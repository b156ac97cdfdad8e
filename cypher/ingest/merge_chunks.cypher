// merge_chunks: write chunks, and the documents they come from
// mode: write
// param tenant: STRING
// param rows: LIST<MAP> {id: STRING, text: STRING, document: STRING or null, position: INTEGER,
//   title: MAP {title} or empty, properties: MAP}
// cost: two index seeks per row
// needs: constraints chunk_id_unique and document_id_unique
UNWIND $rows AS row
MERGE (c:Chunk {tenant: $tenant, id: row.id})
SET c += row.properties
SET c.text = row.text, c.document = row.document, c.position = row.position
WITH c, row
WHERE row.document IS NOT NULL
CALL (c, row) {
  MATCH (c)-[old:FROM_DOCUMENT]->(d:Document)
  WHERE d.id <> row.document
  DELETE old
}
MERGE (d:Document {tenant: $tenant, id: row.document})
SET d += row.title
MERGE (c)-[:FROM_DOCUMENT]->(d)
