// drop_runs: delete the notes of runs that are neither in force nor the one that writes
// mode: write
// param tenant: STRING
// param kept: LIST<STRING> ids of runs
// cost: the few runs of the tenant
MATCH (r:__CommunityRun__ {tenant: $tenant})
WHERE r.id IS NOT NULL AND NOT r.id IN $kept AND NOT r.live
DELETE r
