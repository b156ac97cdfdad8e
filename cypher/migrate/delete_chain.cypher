// delete_chain: forget which migrations were applied; leaves everything else as it is
// mode: write
// returns deleted: INTEGER records, the start included
MATCH (m:__Neo4jMigration)
WHERE m.migrationTarget IS NULL
DETACH DELETE m
RETURN count(*) AS deleted
