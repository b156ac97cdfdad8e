// create_version_constraint: neo4j-migrations' own constraint on recorded migrations
// mode: schema
// note: names and columns are those of neo4j-migrations 4.1, so that both tools work on one chain;
//   it does not bind while migrationTarget is null, so record_migration checks for itself
CREATE CONSTRAINT unique_version___Neo4jMigration IF NOT EXISTS
FOR (m:__Neo4jMigration) REQUIRE (m.version, m.migrationTarget) IS UNIQUE
