// infer_entering: relationship types of a tenant, seen from the nodes they enter
// mode: read
// param tenant: STRING
// param structural: LIST<STRING> types that are bookkeeping
// returns type: STRING
// returns max_degree: INTEGER most that enter one node
// returns label_sets: LIST<LIST<STRING>> distinct label sets of the end nodes
// order: none
// cost: one pass over the tenant's relationships
// note: without id IS NOT NULL the index on (tenant, id) would not serve: all tenants were read
MATCH (b:__Entity__ {tenant: $tenant})<-[r]-(a:__Entity__)
WHERE b.id IS NOT NULL AND $tenant IN [a.tenant] AND NOT type(r) IN $structural
WITH type(r) AS type, b, count(*) AS degree
WITH type, labels(b) AS label_set, max(degree) AS widest
RETURN type, max(widest) AS max_degree, collect(label_set) AS label_sets
