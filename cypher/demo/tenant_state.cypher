// tenant_state: whether a tenant holds anything, and whether that is the demo
// mode: read
// param tenant: STRING
// param document: STRING id of the document that only the demo has
// returns occupied: BOOLEAN
// returns demo: BOOLEAN
// cost: one entry of each index on (tenant, id)
// note: without id IS NOT NULL the index on (tenant, id) would not serve: all tenants were read
RETURN EXISTS { (e:__Entity__ {tenant: $tenant}) WHERE e.id IS NOT NULL }
         OR EXISTS { (c:Chunk {tenant: $tenant}) WHERE c.id IS NOT NULL }
         OR EXISTS { (d:Document {tenant: $tenant}) WHERE d.id IS NOT NULL } AS occupied,
       EXISTS { (:Document {tenant: $tenant, id: $document}) } AS demo
