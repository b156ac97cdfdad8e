// tenants: every tenant that has entities or chunks
// mode: read
// returns tenant: STRING
// order: by name
// cost: a scan of entities and chunks
CALL () {
  MATCH (e:__Entity__) RETURN DISTINCT e.tenant AS tenant
  UNION
  MATCH (c:Chunk) RETURN DISTINCT c.tenant AS tenant
}
WITH tenant
WHERE tenant IS NOT NULL
RETURN tenant
ORDER BY tenant
