// acquire_lock: take the migration lock, or fail on the uniqueness constraint when it is held
// mode: write
// param id: STRING made by the runner
// param name: STRING "John Doe" for the default database, else its name, as in neo4j-migrations
// param by: STRING user of the operating system
// param host: STRING
// param pid: INTEGER
// returns id: STRING
CREATE (l:__Neo4jMigrationsLock {
  id: $id, name: $name, by: $by, host: $host, pid: $pid, at: datetime({timezone: 'UTC'})
})
RETURN l.id AS id
