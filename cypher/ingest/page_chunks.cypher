// page_chunks: one page of a tenant's chunks by id
// mode: read
// param tenant: STRING
// param after: STRING id of the last chunk of the page before, empty for the first page
// param page: INTEGER chunks at most
// param hash_property: STRING where the hash of what was embedded is
// returns id: STRING
// returns hash: STRING null where nothing was embedded
// returns text: STRING
// order: id within the tenant
// cost: one index range of the page
// needs: constraint chunk_id_unique
MATCH (c:Chunk)
WHERE c.tenant = $tenant AND c.id > $after
RETURN c.id AS id, c[$hash_property] AS hash, c.text AS text
ORDER BY c.tenant, c.id LIMIT $page
