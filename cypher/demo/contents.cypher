// contents: how much a tenant holds
// mode: read
// param tenant: STRING
// returns entities: INTEGER
// returns relationships: INTEGER between entities
// returns chunks: INTEGER
// cost: a pass over the tenant
RETURN COUNT { MATCH (e:__Entity__ {tenant: $tenant}) WHERE e.id IS NOT NULL } AS entities,
       COUNT {
         MATCH (a:__Entity__ {tenant: $tenant})-->(b:__Entity__)
         WHERE a.id IS NOT NULL AND $tenant IN [b.tenant]
       } AS relationships,
       COUNT { MATCH (c:Chunk {tenant: $tenant}) WHERE c.id IS NOT NULL } AS chunks
