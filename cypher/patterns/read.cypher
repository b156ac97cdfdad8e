// read: the saved patterns of a tenant, or one of them
// mode: read
// param tenant: STRING
// param name: STRING null for all
// returns name, text, cypher, chains, parameters, created: STRING; chains and parameters as JSON
// order: name
// cost: one index seek, and the tenant's patterns
MATCH (p:__Pattern__ {tenant: $tenant})
WHERE p.name IS NOT NULL AND ($name IS NULL OR p.name = $name)
RETURN p.name AS name, p.text AS text, p.cypher AS cypher, p.chains AS chains,
       p.parameters AS parameters, p.created AS created
ORDER BY name
