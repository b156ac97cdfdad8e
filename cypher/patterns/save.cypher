// save: keep a pattern under a name; one that is there is only replaced on request
// mode: write
// param tenant: STRING
// param name: STRING
// param record: MAP {text, cypher, chains, parameters, created}; chains and parameters as JSON
// param replace: BOOLEAN
// returns replaced: BOOLEAN another was there; no row where one was there and stays
// order: none
// cost: one index seek
MERGE (p:__Pattern__ {tenant: $tenant, name: $name})
WITH p, p.cypher IS NOT NULL AS replaced
WHERE $replace OR NOT replaced
SET p += $record
RETURN replaced
