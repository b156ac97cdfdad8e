// read_reranker: which reranker was adapted to a tenant
// mode: read
// param tenant: STRING
// returns record: MAP
// order: none; there is one or none
// cost: a scan of the few __Reranker__ nodes
MATCH (r:__Reranker__ {tenant: $tenant})
RETURN r {.tenant, .fingerprint, .name, .ontology, .template, .created, .questions, .before, .after}
       AS record
LIMIT 1
