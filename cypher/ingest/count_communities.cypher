// count_communities: how many communities of a tenant have a report
// mode: read
// param tenant: STRING
// returns count: INTEGER
// cost: one index range
// note: without id IS NOT NULL the index on (tenant, id) would not serve: all tenants were read
MATCH (n:__Community__)
WHERE n.tenant = $tenant AND n.id IS NOT NULL AND n.summary IS NOT NULL
RETURN count(n) AS count
