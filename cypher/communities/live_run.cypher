// live_run: the run whose communities are in force
// mode: read
// param tenant: STRING
// returns run: MAP
// order: none
// cost: the few runs of the tenant
MATCH (r:__CommunityRun__ {tenant: $tenant})
WHERE r.id IS NOT NULL AND r.live
RETURN r {.*} AS run
