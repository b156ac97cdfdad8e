// around: the entities next to some others, those first that are next to most of them
// mode: read
// param tenant: STRING
// param ids: LIST<STRING> where to go from
// param known: LIST<STRING> ids that are not wanted
// param structural: LIST<STRING> types that are bookkeeping
// param most: INTEGER rows
// returns id: STRING
// returns links: INTEGER of the others, how many it is next to
// order: links descending, then id
// cost: one index seek per id and all its relationships
// needs: constraint entity_id_unique
UNWIND $ids AS id
MATCH (e:__Entity__ {tenant: $tenant, id: id})
MATCH (e)-[r]-(m:__Entity__)
WHERE $tenant IN [m.tenant] AND NOT type(r) IN $structural AND NOT m.id IN $known
RETURN m.id AS id, count(DISTINCT e) AS links
ORDER BY links DESC, id LIMIT $most
