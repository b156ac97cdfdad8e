// tenant_state: whether a tenant holds anything, and whether that is the demo
// mode: read
// param tenant: STRING
// param document: STRING id of the document that only the demo has
// returns occupied: BOOLEAN
// returns demo: BOOLEAN
// returns digest: STRING of the files that were loaded completely, null without the demo
// cost: one entry of each index on (tenant, id)
// note: the index on (tenant, id) serves where the id is said to exist, too
OPTIONAL MATCH (d:Document {tenant: $tenant, id: $document})
RETURN EXISTS { MATCH (e:__Entity__ {tenant: $tenant}) WHERE e.id IS NOT NULL }
         OR EXISTS { MATCH (c:Chunk {tenant: $tenant}) WHERE c.id IS NOT NULL }
         OR EXISTS { MATCH (o:Document {tenant: $tenant}) WHERE o.id IS NOT NULL } AS occupied,
       d IS NOT NULL AS demo, d.demo_digest AS digest
