// merge_ends: make the entities that relationships end at and nothing else defines
// mode: write
// param tenant: STRING
// param rows: LIST<MAP> {id: STRING, key: STRING folded id, forms: LIST<STRING> its other forms or null}
// cost: one index seek per row
// needs: constraint entity_id_unique
UNWIND $rows AS row
MERGE (e:__Entity__ {tenant: $tenant, id: row.id})
ON CREATE SET e.name = row.id, e.name_key = row.key, e.name_forms = row.forms
