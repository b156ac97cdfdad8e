// count_chunks: how many chunks a tenant has
// mode: read
// param tenant: STRING
// returns count: INTEGER
// cost: one index range
MATCH (n:Chunk)
WHERE n.tenant = $tenant
RETURN count(n) AS count
