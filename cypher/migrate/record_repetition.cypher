// record_repetition: note that a repeatable migration was applied again
// mode: write
// param version: STRING
// param checksum: STRING of the text that was applied now
// param placeholders: STRING JSON object or null
// param millis: INTEGER how long it took
// param by: STRING user of the operating system
// param connected_as: STRING user of the database
// returns recorded: INTEGER
MATCH (m:__Neo4jMigration {version: $version})
WHERE m.migrationTarget IS NULL
CREATE (m)-[r:REPEATED {
  checksum: $checksum, at: datetime({timezone: 'UTC'}), in: duration({milliseconds: $millis}), by: $by,
  connectedAs: $connected_as
}]->(m)
SET r.placeholders = $placeholders
RETURN count(r) AS recorded
