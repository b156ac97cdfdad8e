// link_parents: link communities to the ones that hold them
// mode: write
// param tenant: STRING
// param rows: LIST<MAP> {community: STRING, parent: STRING}
// cost: two index seeks per row
// needs: constraint community_id_unique
UNWIND $rows AS row
MATCH (c:__Community__ {tenant: $tenant, id: row.community})
MATCH (p:__Community__ {tenant: $tenant, id: row.parent})
SET c.parent_id = p.id
CREATE (c)-[:PARENT_COMMUNITY]->(p)
