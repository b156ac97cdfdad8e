// create_baseline: make the node that a chain starts from, if there is none
// mode: write
// returns created: INTEGER
OPTIONAL MATCH (b:__Neo4jMigration {version: 'BASELINE'})
WHERE b.migrationTarget IS NULL
WITH count(b) AS there
UNWIND CASE there WHEN 0 THEN [1] ELSE [] END AS missing
CREATE (:__Neo4jMigration {version: 'BASELINE'})
RETURN count(missing) AS created
