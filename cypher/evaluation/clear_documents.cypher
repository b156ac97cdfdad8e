// clear_documents: delete the documents of a tenant that an evaluation filled, in batches
// mode: auto
// param tenant: STRING
// cost: a pass over the tenant's documents and their relationships
MATCH (n:Document {tenant: $tenant})
WHERE n.id IS NOT NULL
CALL (n) {
  DETACH DELETE n
} IN TRANSACTIONS OF 2000 ROWS
