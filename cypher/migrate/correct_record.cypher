// correct_record: make a record agree with its file
// mode: write
// param version: STRING
// param checksum: STRING of the file
// param description: STRING
// param source: STRING name of the file
// param placeholders: STRING JSON object or null
// returns corrected: INTEGER
MATCH (m:__Neo4jMigration {version: $version})
WHERE m.migrationTarget IS NULL
SET m.checksum = $checksum, m.description = $description, m.source = $source,
  m.placeholders = $placeholders
RETURN count(m) AS corrected
