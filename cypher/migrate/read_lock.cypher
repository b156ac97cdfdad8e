// read_lock: who holds the migration lock
// mode: read
// param name: STRING
// returns id, by, host: STRING by and host are null when neo4j-migrations made it
// returns pid: INTEGER or null
// returns at: DATETIME or null
// cost: one index seek
MATCH (l:__Neo4jMigrationsLock {name: $name})
RETURN l.id AS id, l.by AS by, l.host AS host, l.pid AS pid, l.at AS at
