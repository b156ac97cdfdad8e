// switch_vectors: put sets of vectors in force, all in one statement
// mode: write
// param records: LIST<MAP> {role, index, property, hash_property, dimension, encoder, fingerprint,
//   template}
// needs: constraint vector_index_role_unique
UNWIND $records AS record
MERGE (v:__VectorIndex__ {role: record.role})
SET v += record, v.at = datetime()
