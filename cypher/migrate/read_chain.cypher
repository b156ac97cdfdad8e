// read_chain: every recorded migration, with what it follows
// mode: read
// returns node, previous: STRING element ids; previous is null at the start and at loose ends
// returns version, description, type, source, checksum: STRING
// returns repeatable: BOOLEAN
// returns placeholders: STRING JSON object, null when the file had none
// returns at: DATETIME
// returns duration: DURATION
// returns by, connected_as: STRING
// order: version, node
// note: of a repeated migration the latest application counts; records of other databases
//   (migrationTarget) are left alone
MATCH (m:__Neo4jMigration)
WHERE m.migrationTarget IS NULL
OPTIONAL MATCH (p:__Neo4jMigration)-[r:MIGRATED_TO]->(m)
CALL (m) {
  OPTIONAL MATCH (m)-[again:REPEATED]->(m)
  RETURN again ORDER BY again.at DESC LIMIT 1
}
RETURN elementId(m) AS node, elementId(p) AS previous, m.version AS version,
  m.description AS description, m.type AS type, m.source AS source,
  coalesce(again.checksum, m.checksum) AS checksum, coalesce(m.repeatable, false) AS repeatable,
  coalesce(again.placeholders, m.placeholders) AS placeholders, coalesce(again.at, r.at) AS at,
  coalesce(again.in, r.in) AS duration, coalesce(again.by, r.by) AS by,
  coalesce(again.connectedAs, r.connectedAs) AS connected_as
ORDER BY version, node
