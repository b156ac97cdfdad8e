// delete_stale_types: drop the records of types that the tenant no longer has
// mode: write
// param tenant: STRING
// param relation_types: LIST<STRING> those that it has
// param entity_types: LIST<STRING> those that it has
MATCH (t:__RelationType__|__EntityType__ {tenant: $tenant})
WHERE (t:__RelationType__ AND NOT t.id IN $relation_types)
   OR (t:__EntityType__ AND NOT t.id IN $entity_types)
DELETE t
