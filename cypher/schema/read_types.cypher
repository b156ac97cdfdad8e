// read_types: the recorded ontology of a tenant
// mode: read
// param tenant: STRING
// returns kind: STRING relation or entity
// returns type: MAP the record; of a relation: name, count, domains, ranges, max_out, max_in,
//   description, phrase, inverse; of an entity: name, count, properties, description
// order: kind, then name ascending
// note: without id IS NOT NULL the index on (tenant, id) would not serve: all tenants were read
MATCH (t:__RelationType__ {tenant: $tenant})
WHERE t.id IS NOT NULL
RETURN 'relation' AS kind,
       {name: t.id, count: t.count, domains: t.domains, ranges: t.ranges, max_out: t.max_out,
        max_in: t.max_in, description: coalesce(t.description, ''),
        phrase: coalesce(t.phrase, ''), inverse: coalesce(t.inverse, '')} AS type
ORDER BY t.id
UNION ALL
MATCH (t:__EntityType__ {tenant: $tenant})
WHERE t.id IS NOT NULL
RETURN 'entity' AS kind,
       {name: t.id, count: t.count, properties: t.properties,
        description: coalesce(t.description, '')} AS type
ORDER BY t.id
