// release_lock: give the migration lock back
// mode: write
// param id: STRING
// returns released: INTEGER 0 when somebody else removed it
MATCH (l:__Neo4jMigrationsLock {id: $id})
DELETE l
RETURN count(*) AS released
