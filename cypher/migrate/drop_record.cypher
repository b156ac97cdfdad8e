// drop_record: take a record out of the chain and close the gap
// mode: write
// param node: STRING element id
// returns dropped: INTEGER
MATCH (m:__Neo4jMigration)
WHERE elementId(m) = $node
OPTIONAL MATCH (p:__Neo4jMigration)-[:MIGRATED_TO]->(m)
OPTIONAL MATCH (m)-[old:MIGRATED_TO]->(n:__Neo4jMigration)
FOREACH (_ IN CASE WHEN p IS NULL OR n IS NULL THEN [] ELSE [1] END |
  CREATE (p)-[new:MIGRATED_TO]->(n)
  SET new = properties(old)
)
DETACH DELETE m
RETURN count(*) AS dropped
