// hydrate: everything that is shown of the nodes on the chosen paths
// mode: read
// param tenant: STRING
// param ids: LIST<STRING>
// returns id: STRING
// returns name: STRING
// returns labels: LIST<STRING>
// returns properties: MAP without vectors
// order: none
// cost: one index seek per id
UNWIND $ids AS id
MATCH (e:__Entity__ {tenant: $tenant, id: id})
RETURN e.id AS id, e.name AS name, labels(e) AS labels,
       e {.*, embedding: null, embedding_alt: null, text_hash: null, text_hash_alt: null}
           AS properties
