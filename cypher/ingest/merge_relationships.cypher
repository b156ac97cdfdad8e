// merge_relationships: write relationships between entities that are there
// mode: write
// param tenant: STRING
// param rows: LIST<MAP> {source: STRING, type: STRING, target: STRING, key: STRING,
//   properties: MAP}
// returns written: INTEGER rows whose two ends are there; the others are passed over
// cost: two index seeks per row, and the smaller degree of the two ends
// needs: constraint entity_id_unique; Neo4j 5.26 for the dynamic type
// note: the type is a value: 1,000 types in a batch of 5,000 rows took 3.6 s in this one statement
//   and 66 s as one statement a type, each to be planned; with 9 types both cost the same db hits
// note: 5.26 plans Expand(Into) from the start; 2026.01 looks the type up while the graph is nearly
//   empty and goes over to Expand(Into) with the first replanning, after some 15,000 rows
UNWIND $rows AS row
MATCH (a:__Entity__ {tenant: $tenant, id: row.source})
MATCH (b:__Entity__ {tenant: $tenant, id: row.target})
MERGE (a)-[r:$(row.type) {key: row.key}]->(b)
SET r += row.properties
RETURN count(*) AS written
