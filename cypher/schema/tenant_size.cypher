// tenant_size: how many entities a tenant has, counted no further than asked
// mode: read
// param tenant: STRING
// param at_most: INTEGER
// returns size: INTEGER at most at_most
// cost: at_most entries of the index on (tenant, id)
MATCH (e:__Entity__ {tenant: $tenant})
WITH e LIMIT $at_most
RETURN count(e) AS size
