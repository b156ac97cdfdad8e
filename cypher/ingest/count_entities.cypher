// count_entities: how many entities a tenant has
// mode: read
// param tenant: STRING
// returns count: INTEGER
// cost: one index range
MATCH (n:__Entity__)
WHERE n.tenant = $tenant
RETURN count(n) AS count
