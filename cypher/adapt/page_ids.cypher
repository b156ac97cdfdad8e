// page_ids: one page of a tenant's entities by id, with how many relationships leave each
// mode: read
// param tenant: STRING
// param after: STRING id of the last entity of the page before, empty for the first page
// param page: INTEGER entities at most
// returns id: STRING
// returns degree: INTEGER relationships of any type that leave it, bookkeeping too
// order: id within the tenant
// cost: one index range of the page, and the stored degree of each node
// needs: constraint entity_id_unique
MATCH (e:__Entity__)
WHERE e.tenant = $tenant AND e.id > $after
RETURN e.id AS id, COUNT { (e)-->() } AS degree
ORDER BY e.tenant, e.id LIMIT $page
