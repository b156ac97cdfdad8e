// merge_nodes: write entities; what a row does not name stays as it is
// mode: write
// param tenant: STRING
// param rows: LIST<MAP> {id: STRING, key: STRING folded id, forms: LIST<STRING> its other forms
//   or null, labels: LIST<STRING>, properties: MAP}
// cost: one index seek per row
// needs: constraint entity_id_unique; Neo4j 5.24 for the dynamic labels
// note: labels are values here: one statement for all label sets, and nothing to escape
UNWIND $rows AS row
MERGE (e:__Entity__ {tenant: $tenant, id: row.id})
ON CREATE SET e.name = row.id, e.name_key = row.key, e.name_forms = row.forms
SET e += row.properties
SET e:$(row.labels)
