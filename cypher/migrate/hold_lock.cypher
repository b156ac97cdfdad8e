// hold_lock: make sure that this runner still holds the lock, and keep others from changing it
// mode: write
// param id: STRING
// returns held: INTEGER 0 when the lock was removed meanwhile
// note: the write keeps the lock node locked until the transaction ends, so whatever else is
//   recorded in it is recorded by the holder
MATCH (l:__Neo4jMigrationsLock {id: $id})
SET l.seen = datetime({timezone: 'UTC'})
RETURN count(*) AS held
