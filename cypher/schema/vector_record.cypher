// vector_record: which vectors are in force for a role, and what made them
// mode: read
// param role: STRING entity, chunk or community
// returns record: MAP
MATCH (v:__VectorIndex__ {role: $role})
RETURN v {.role, .index, .property, .hash_property, .dimension, .encoder, .fingerprint, .template}
       AS record
