// drop_leftovers: delete communities of runs that are not kept, in batches
// mode: auto
// param tenant: STRING
// param kept: LIST<STRING> ids of runs
// cost: the communities of the tenant
// needs: index community_run
MATCH (c:__Community__ {tenant: $tenant})
WHERE c.run IS NOT NULL AND NOT c.run IN $kept
CALL (c) {
    DETACH DELETE c
} IN TRANSACTIONS OF 1000 ROWS
