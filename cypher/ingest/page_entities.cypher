// page_entities: one page of a tenant's entities by id, with what their text is made of
// mode: read
// param tenant: STRING
// param after: STRING id of the last entity of the page before, empty for the first page
// param page: INTEGER entities at most
// param hash_property: STRING where the hash of what was embedded is
// param hidden: LIST<STRING> properties that are no part of the text, vectors among them
// returns id: STRING
// returns hash: STRING null where nothing was embedded
// returns labels: LIST<STRING>
// returns properties: LIST<LIST> pairs of key and value
// order: id within the tenant
// cost: one index range of the page; vectors are not read
// needs: constraint entity_id_unique
MATCH (e:__Entity__)
WHERE e.tenant = $tenant AND e.id > $after
RETURN e.id AS id, e[$hash_property] AS hash, labels(e) AS labels,
  [key IN keys(e) WHERE NOT key IN $hidden | [key, e[key]]] AS properties
ORDER BY e.tenant, e.id LIMIT $page
