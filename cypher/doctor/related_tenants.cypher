// related_tenants: which of some tenants have a relationship that a search could follow
// mode: read
// param tenants: LIST<STRING>
// param structural: LIST<STRING> types that are bookkeeping
// returns tenant: STRING
// order: tenant ascending
// cost: per tenant its entities up to the first such relationship
UNWIND $tenants AS tenant
WITH tenant
WHERE EXISTS {
  MATCH (a:__Entity__ {tenant: tenant})-[r]->(b:__Entity__)
  WHERE a.id IS NOT NULL AND tenant IN [b.tenant] AND NOT type(r) IN $structural
}
RETURN tenant
ORDER BY tenant
