// all_entities: how many entities there are in all tenants together
// mode: read
// returns size: INTEGER
// cost: one look into the count store
MATCH (e:__Entity__)
RETURN count(e) AS size
