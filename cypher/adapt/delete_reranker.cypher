// delete_reranker: forget which reranker was adapted to a tenant
// mode: write
// param tenant: STRING
// cost: a scan of the few __Reranker__ nodes
MATCH (r:__Reranker__ {tenant: $tenant})
DELETE r
