// community_entities: the entities of a community, with what is told of them
// mode: read
// param tenant: STRING
// param community: STRING
// returns id: STRING
// returns name: STRING
// returns labels: LIST<STRING>
// returns properties: MAP without vectors
// order: none
// cost: the entities of the community
// needs: constraint community_id_unique
MATCH (c:__Community__ {tenant: $tenant, id: $community})<-[:IN_COMMUNITY]-(e:__Entity__)
WHERE $tenant IN [e.tenant]
RETURN e.id AS id, e.name AS name, labels(e) AS labels,
       e {.*, embedding: null, embedding_alt: null, text_hash: null, text_hash_alt: null}
           AS properties
