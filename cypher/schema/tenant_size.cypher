// tenant_size: how many entities a tenant has, counted no further than asked
// mode: read
// param tenant: STRING
// param at_most: INTEGER
// returns size: INTEGER at most at_most
// cost: at_most entries of the index on (tenant, id)
// note: without id IS NOT NULL the index on (tenant, id) would not serve: all tenants were read
MATCH (e:__Entity__ {tenant: $tenant})
WHERE e.id IS NOT NULL
WITH e LIMIT $at_most
RETURN count(e) AS size
