// record_migration: put an applied migration behind the one that it follows
// mode: write
// param previous: STRING version that it follows, BASELINE at the start
// param next: STRING version that stands behind now; null at the end of the chain
// param migration: MAP properties of the record {version, description, type, repeatable, source, checksum, placeholders}
// param millis: INTEGER how long it took
// param by: STRING user of the operating system
// param connected_as: STRING user of the database
// returns recorded: INTEGER 0 when the chain is not what the runner read, or the version is there
// note: create_baseline and hold_lock run before it in the same transaction
MATCH (p:__Neo4jMigration {version: $previous})
WHERE p.migrationTarget IS NULL
  AND NOT EXISTS { (there:__Neo4jMigration {version: $migration.version}) WHERE there.migrationTarget IS NULL }
OPTIONAL MATCH (p)-[old:MIGRATED_TO]->(n:__Neo4jMigration)
WITH p, old, n
WHERE coalesce(n.version, '') = coalesce($next, '')
CREATE (m:__Neo4jMigration)
SET m = $migration
CREATE (p)-[:MIGRATED_TO {
  at: datetime({timezone: 'UTC'}), in: duration({milliseconds: $millis}), by: $by, connectedAs: $connected_as
}]->(m)
FOREACH (_ IN CASE WHEN n IS NULL THEN [] ELSE [1] END |
  CREATE (m)-[new:MIGRATED_TO]->(n)
  SET new = properties(old)
  DELETE old
)
RETURN count(m) AS recorded
