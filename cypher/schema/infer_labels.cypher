// infer_labels: labels of a tenant's entities and the property keys that occur with each
// mode: read
// param tenant: STRING
// param entity_label: STRING the label that every entity has, left out
// returns label: STRING empty for entities without a label of their own
// returns count: INTEGER entities with the label
// returns key_sets: LIST<LIST<STRING>> distinct sets of property keys
// order: none
// cost: one pass over the tenant's entities
// note: without id IS NOT NULL the index on (tenant, id) would not serve: all tenants were read
MATCH (e:__Entity__ {tenant: $tenant})
WHERE e.id IS NOT NULL
WITH labels(e) AS label_set, keys(e) AS key_set, count(*) AS entities
UNWIND CASE WHEN size(label_set) = 1 THEN [''] ELSE
       [label IN label_set WHERE label <> $entity_label] END AS label
RETURN label, sum(entities) AS count, collect(key_set) AS key_sets
