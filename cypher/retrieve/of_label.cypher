// of_label: entities with a label, and what one property of each is
// mode: read
// param tenant: STRING
// param label: STRING
// param key: STRING of the property; empty for none
// param most: INTEGER entities that are read
// slot filter: predicate on e that begins with AND, empty for none; may use $filters
// param filters: MAP values of the filter
// returns id: STRING
// returns name: STRING
// returns labels: LIST<STRING>
// returns value: ANY null where the entity has no such property
// order: by id, among those that are read
// cost: the tenant's entries of the index on (tenant, id) until most have the label
MATCH (e:__Entity__ {tenant: $tenant})
WHERE e.id IS NOT NULL AND $label IN labels(e) ${filter}
WITH e LIMIT $most
RETURN e.id AS id, e.name AS name, labels(e) AS labels, e[$key] AS value
ORDER BY id
