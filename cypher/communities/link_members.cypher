// link_members: link entities to the communities of a run that is not in force yet
// mode: write
// param tenant: STRING
// param run: STRING
// param rows: LIST<MAP> {entity: STRING, community: STRING}
// returns runs: INTEGER 0 where another run has begun meanwhile
// cost: two index seeks per row
// needs: constraints entity_id_unique and community_id_unique
// note: an entity that is gone meanwhile is passed over
OPTIONAL MATCH (r:__CommunityRun__ {tenant: $tenant, id: $run})
WHERE NOT r.live
CALL (r) {
    WITH r
    WHERE r IS NOT NULL
    UNWIND $rows AS row
    MATCH (e:__Entity__ {tenant: $tenant, id: row.entity})
    MATCH (c:__Community__ {tenant: $tenant, id: row.community})
    CREATE (e)-[:IN_COMMUNITY]->(c)
    RETURN count(*) AS linked
}
RETURN count(r) AS runs
