// unlink_leftovers: take the entities off communities of runs that are not kept, in batches
// mode: auto
// param tenant: STRING
// param kept: LIST<STRING> ids of runs
// cost: the communities of the tenant and the links of those that go
// needs: index community_run
MATCH (c:__Community__ {tenant: $tenant})
WHERE c.run IS NOT NULL AND NOT c.run IN $kept
MATCH (c)<-[link:IN_COMMUNITY]-()
CALL (link) {
    DELETE link
} IN TRANSACTIONS OF 5000 ROWS
