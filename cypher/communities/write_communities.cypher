// write_communities: write communities of a run that is not in force yet
// mode: write
// param tenant: STRING
// param run: STRING
// param rows: LIST<MAP> {id: STRING, level: INTEGER, size: INTEGER, members: STRING hash of the ids of
//   its entities, properties: MAP}
// returns written: INTEGER 0 where another run has begun meanwhile
// cost: one index seek per row
// needs: constraint community_id_unique
MATCH (r:__CommunityRun__ {tenant: $tenant, id: $run})
WHERE NOT r.live
UNWIND $rows AS row
CREATE (c:__Community__ {tenant: $tenant, id: row.id})
SET c += row.properties
SET c.run = r.id, c.level = row.level, c.size = row.size, c.members = row.members
RETURN count(c) AS written
