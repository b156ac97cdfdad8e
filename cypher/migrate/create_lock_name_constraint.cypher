// create_lock_name_constraint: one lock per database; what makes the lock exclusive
// mode: schema
CREATE CONSTRAINT __Neo4jMigrationsLock__has_unique_name IF NOT EXISTS
FOR (l:__Neo4jMigrationsLock) REQUIRE l.name IS UNIQUE
