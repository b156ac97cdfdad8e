// create_repeated_index: neo4j-migrations' own index on repeated applications
// mode: schema
CREATE INDEX repeated_at__Neo4jMigration IF NOT EXISTS
FOR ()-[r:REPEATED]-() ON (r.at)
