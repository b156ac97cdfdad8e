// clear_community_vectors: remove the vectors of communities that say nothing, and note the hash of the text
// mode: write
// param tenant: STRING
// param property: STRING where the vectors are
// param hash_property: STRING where the hashes go
// param rows: LIST<MAP> {id: STRING, hash: STRING}
// cost: one index seek per row
// needs: constraint community_id_unique; Neo4j 5.24 for the property named by a parameter
UNWIND $rows AS row
MATCH (n:__Community__ {tenant: $tenant, id: row.id})
SET n[$property] = null, n[$hash_property] = row.hash
