// page_communities: one page of a tenant's reports by id of the community
// mode: read
// param tenant: STRING
// param after: STRING id of the last community of the page before, empty for the first page
// param page: INTEGER communities at most
// param hash_property: STRING where the hash of what was embedded is
// returns id: STRING
// returns hash: STRING null where nothing was embedded
// returns title: STRING
// returns summary: STRING
// returns findings: LIST<STRING> null where it has none
// order: id within the tenant
// cost: one index range of the page
// needs: constraint community_id_unique
MATCH (c:__Community__)
WHERE c.tenant = $tenant AND c.id > $after AND c.summary IS NOT NULL
RETURN c.id AS id, c[$hash_property] AS hash, c.title AS title, c.summary AS summary,
       c.findings AS findings
ORDER BY c.tenant, c.id LIMIT $page
