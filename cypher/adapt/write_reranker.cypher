// write_reranker: note which reranker was adapted to a tenant; it takes the place of another
// mode: write
// param tenant: STRING
// param record: MAP {fingerprint, name, ontology, template, created, questions, before, after}
// cost: a scan of the few __Reranker__ nodes
MERGE (r:__Reranker__ {tenant: $tenant})
SET r += $record
