// largest_communities: a few communities in force
// mode: read
// param tenant: STRING
// param most: INTEGER
// returns id: STRING
// order: the coarsest level first, then the largest, then by id
// cost: the few runs of the tenant, and one index range
// needs: index community_run
MATCH (r:__CommunityRun__ {tenant: $tenant})
WHERE r.id IS NOT NULL AND r.live
MATCH (c:__Community__ {tenant: $tenant, run: r.id})
RETURN c.id AS id
ORDER BY c.level, c.size DESC, id
LIMIT $most
