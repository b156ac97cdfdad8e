// clear_chunks: delete the chunks of a tenant that an evaluation filled, in batches
// mode: auto
// param tenant: STRING
// cost: a pass over the tenant's chunks and their relationships
MATCH (n:Chunk {tenant: $tenant})
WHERE n.id IS NOT NULL
CALL (n) {
  DETACH DELETE n
} IN TRANSACTIONS OF 2000 ROWS
