// write_entity_types: keep what was inferred of labels
// mode: write
// param tenant: STRING
// param rows: LIST<MAP> {name, count, properties}
UNWIND $rows AS row
MERGE (t:__EntityType__ {tenant: $tenant, id: row.name})
SET t.count = row.count, t.properties = row.properties, t.refreshed = datetime()
