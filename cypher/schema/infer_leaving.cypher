// infer_leaving: relationship types of a tenant, seen from the nodes they leave
// mode: read
// param tenant: STRING
// param structural: LIST<STRING> types that are bookkeeping
// returns type: STRING
// returns count: INTEGER relationships of the type
// returns max_degree: INTEGER most that leave one node
// returns label_sets: LIST<LIST<STRING>> distinct label sets of the start nodes
// order: none
// cost: one pass over the tenant's relationships
// note: without id IS NOT NULL the index on (tenant, id) would not serve: all tenants were read
MATCH (a:__Entity__ {tenant: $tenant})-[r]->(b:__Entity__)
WHERE a.id IS NOT NULL AND $tenant IN [b.tenant] AND NOT type(r) IN $structural
WITH type(r) AS type, a, count(*) AS degree
WITH type, labels(a) AS label_set, sum(degree) AS total, max(degree) AS widest
RETURN type, sum(total) AS count, max(widest) AS max_degree, collect(label_set) AS label_sets
