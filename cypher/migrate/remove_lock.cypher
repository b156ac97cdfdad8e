// remove_lock: remove the migration lock of a database, whoever holds it
// mode: write
// param name: STRING
// returns removed: INTEGER
MATCH (l:__Neo4jMigrationsLock {name: $name})
DELETE l
RETURN count(*) AS removed
