// chain_chunks: link the chunks of each document by position, in place of the links they had
// mode: write
// param tenant: STRING
// param documents: LIST<STRING> ids
// cost: the chunks of the documents
// needs: constraint document_id_unique
UNWIND $documents AS document
MATCH (d:Document {tenant: $tenant, id: document})
CALL (d) {
  MATCH (d)<-[:FROM_DOCUMENT]-(:Chunk)-[old:NEXT_CHUNK]-()
  DELETE old
}
CALL (d) {
  MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)
  WITH c ORDER BY c.position, c.id
  WITH collect(c) AS chunks
  UNWIND range(0, size(chunks) - 2) AS i
  WITH chunks[i] AS a, chunks[i + 1] AS b
  CREATE (a)-[:NEXT_CHUNK]->(b)
}
