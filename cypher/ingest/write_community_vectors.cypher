// write_community_vectors: store vectors of communities as float32, with the hash of what was embedded
// mode: write
// param tenant: STRING
// param property: STRING where the vectors go
// param hash_property: STRING where the hashes go
// param rows: LIST<MAP> {id: STRING, vector: LIST<FLOAT>, hash: STRING}
// cost: one index seek per row; the vector index follows the commit
// needs: constraint community_id_unique; Neo4j 5.24 for the property named by a parameter
UNWIND $rows AS row
MATCH (n:__Community__ {tenant: $tenant, id: row.id})
CALL db.create.setNodeVectorProperty(n, $property, row.vector)
SET n[$hash_property] = row.hash
