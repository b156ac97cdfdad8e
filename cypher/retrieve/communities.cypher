// communities: which of some ids are communities in force
// mode: read
// param tenant: STRING
// param ids: LIST<STRING>
// returns id: STRING
// order: none
// cost: the few runs of the tenant, and one index seek per id
// needs: constraint community_id_unique
MATCH (r:__CommunityRun__ {tenant: $tenant})
WHERE r.id IS NOT NULL AND r.live
MATCH (c:__Community__ {tenant: $tenant})
WHERE c.id IN $ids AND c.run = r.id
RETURN c.id AS id
