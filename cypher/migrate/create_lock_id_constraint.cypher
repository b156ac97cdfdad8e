// create_lock_id_constraint: one lock per id, as neo4j-migrations makes it
// mode: schema
CREATE CONSTRAINT __Neo4jMigrationsLock__has_unique_id IF NOT EXISTS
FOR (l:__Neo4jMigrationsLock) REQUIRE l.id IS UNIQUE
