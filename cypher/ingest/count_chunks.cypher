// count_chunks: how many chunks a tenant has
// mode: read
// param tenant: STRING
// returns count: INTEGER
// cost: one index range
// note: without id IS NOT NULL the index on (tenant, id) would not serve: all tenants were read
MATCH (n:Chunk)
WHERE n.tenant = $tenant AND n.id IS NOT NULL
RETURN count(n) AS count
