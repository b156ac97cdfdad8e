// coarsest: which entities are in the communities of the coarsest level of a run
// mode: read
// param tenant: STRING
// param run: STRING
// returns id: STRING of the community
// returns size: INTEGER entities when it was written
// returns members: LIST<STRING> ids of entities that are there now
// order: none
// cost: one index range, and the entities
// needs: index community_run
MATCH (c:__Community__ {tenant: $tenant, run: $run})
WHERE c.level = 0
CALL (c) {
    MATCH (c)<-[:IN_COMMUNITY]-(e:__Entity__)
    WHERE $tenant IN [e.tenant]
    RETURN collect(e.id) AS members
}
RETURN c.id AS id, c.size AS size, members
