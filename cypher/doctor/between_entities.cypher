// between_entities: which of some relationship types lead from entity to entity of one tenant
// mode: read
// param sample: INTEGER relationships of each type that are looked at
// param tenant: STRING whose relationships count; null for any
// returns type: STRING
// returns tenant: STRING of the first one that was found
// order: none
// cost: at most sample relationships per type
CALL () {
    // branch type
    CALL () {
        MATCH (a)-[r${type}]->(b)
        WITH a, r, b LIMIT $sample
        WHERE a:__Entity__ AND b:__Entity__ AND a.tenant = b.tenant
          AND ($tenant IS NULL OR a.tenant = $tenant)
        RETURN type(r) AS type, a.tenant AS tenant LIMIT 1
    }
    RETURN type, tenant
    // end branch
}
RETURN type, tenant
