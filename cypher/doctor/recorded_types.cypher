// recorded_types: the relationship types that each tenant's ontology records
// mode: read
// returns tenant: STRING
// returns types: LIST<STRING> in no order
// order: tenant ascending
// cost: one record per tenant and type
MATCH (t:__RelationType__)
RETURN t.tenant AS tenant, collect(t.id) AS types
ORDER BY tenant
