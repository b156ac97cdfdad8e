// tenant_state: whether a tenant holds anything, and whether that is the demo
// mode: read
// param tenant: STRING
// param document: STRING id of the document that only the demo has
// returns occupied: BOOLEAN
// returns demo: BOOLEAN
// cost: one entry of each index on (tenant, id)
RETURN EXISTS { (:__Entity__ {tenant: $tenant}) } OR EXISTS { (:Chunk {tenant: $tenant}) }
         OR EXISTS { (:Document {tenant: $tenant}) } AS occupied,
       EXISTS { (:Document {tenant: $tenant, id: $document}) } AS demo
