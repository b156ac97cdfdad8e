// write_relation_types: keep what was inferred of relationship types
// mode: write
// param tenant: STRING
// param rows: LIST<MAP> {name, count, domains, ranges, max_out, max_in}
UNWIND $rows AS row
MERGE (t:__RelationType__ {tenant: $tenant, id: row.name})
SET t.count = row.count, t.domains = row.domains, t.ranges = row.ranges,
    t.max_out = row.max_out, t.max_in = row.max_in, t.refreshed = datetime()
