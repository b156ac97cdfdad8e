// all_rerankers: which rerankers were adapted to any tenant
// mode: read
// returns record: MAP
// order: tenant ascending
// cost: a scan of the few __Reranker__ nodes
MATCH (r:__Reranker__)
RETURN r {.tenant, .fingerprint, .name, .ontology, .template, .created, .questions, .before, .after}
       AS record
ORDER BY r.tenant
