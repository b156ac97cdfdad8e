// tenant_state: whether a tenant holds anything, and whether that is the demo and nothing else
// mode: read
// param tenant: STRING
// param document: STRING id of the document that only the demo has
// param entities: LIST<STRING> ids of all entities of the demo
// param chunks: LIST<STRING> ids of all its chunks
// param keys: LIST<STRING> keys of all its relationships
// returns occupied: BOOLEAN
// returns demo: BOOLEAN false where anything else is there, too
// returns digest: STRING of the files that were loaded completely, null without the demo
// cost: the demo's own entities, chunks and relationships; what is foreign is read up to the first
// note: the index on (tenant, id) serves where the id is said to exist, too
OPTIONAL MATCH (d:Document {tenant: $tenant, id: $document})
RETURN EXISTS { MATCH (e:__Entity__ {tenant: $tenant}) WHERE e.id IS NOT NULL }
         OR EXISTS { MATCH (c:Chunk {tenant: $tenant}) WHERE c.id IS NOT NULL }
         OR EXISTS { MATCH (o:Document {tenant: $tenant}) WHERE o.id IS NOT NULL } AS occupied,
       d IS NOT NULL
         AND NOT EXISTS {
           MATCH (e:__Entity__ {tenant: $tenant}) WHERE e.id IS NOT NULL AND NOT e.id IN $entities
         }
         AND NOT EXISTS {
           MATCH (c:Chunk {tenant: $tenant}) WHERE c.id IS NOT NULL AND NOT c.id IN $chunks
         }
         AND NOT EXISTS {
           MATCH (o:Document {tenant: $tenant}) WHERE o.id IS NOT NULL AND o.id <> $document
         }
         AND NOT EXISTS {
           MATCH (a:__Entity__ {tenant: $tenant})-[r]->(:__Entity__)
           WHERE a.id IN $entities AND NOT coalesce(r.key, '') IN $keys
         } AS demo,
       d.demo_digest AS digest
