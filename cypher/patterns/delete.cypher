// delete: forget a saved pattern
// mode: write
// param tenant: STRING
// param name: STRING
// returns name: STRING no row where there was none
// order: none
// cost: one index seek
MATCH (p:__Pattern__ {tenant: $tenant, name: $name})
WITH p, p.name AS name
DELETE p
RETURN name
