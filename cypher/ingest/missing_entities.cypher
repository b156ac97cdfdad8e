// missing_entities: which of these ids no entity of the tenant has
// mode: read
// param tenant: STRING
// param ids: LIST<STRING>
// returns id: STRING
// cost: one index seek per id
// needs: constraint entity_id_unique
UNWIND $ids AS id
OPTIONAL MATCH (e:__Entity__ {tenant: $tenant, id: id})
WITH id, e
WHERE e IS NULL
RETURN id
