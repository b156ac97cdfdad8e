// clear_entities: delete the entities of a tenant that an evaluation filled, in batches
// mode: auto
// param tenant: STRING
// cost: a pass over the tenant's entities and their relationships
MATCH (n:__Entity__ {tenant: $tenant})
WHERE n.id IS NOT NULL
CALL (n) {
  DETACH DELETE n
} IN TRANSACTIONS OF 2000 ROWS
