// drop_chunk_vectors: remove a whole set of vectors and their hashes, in batches
// mode: auto
// param property: STRING where the vectors are
// param hash_property: STRING where the hashes are
// cost: a scan of all chunks
// needs: Neo4j 5.24 for the property named by a parameter
// note: a set of vectors belongs to no tenant: all of it goes
MATCH (n:Chunk)
WHERE n[$property] IS NOT NULL OR n[$hash_property] IS NOT NULL
CALL (n) {
  SET n[$property] = null, n[$hash_property] = null
} IN TRANSACTIONS OF 2000 ROWS
