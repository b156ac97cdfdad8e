// sizes: how many entities and chunks a tenant has, counted no further than asked, and all tenants
// mode: read
// param tenant: STRING
// param at_most: INTEGER
// returns entities: INTEGER of the tenant, at most at_most
// returns chunks: INTEGER of the tenant, at most at_most
// returns all_entities: INTEGER of all tenants
// returns all_chunks: INTEGER of all tenants
// cost: at_most entries of two indexes, and two looks into the count store
// note: without id IS NOT NULL the indexes on (tenant, id) would not serve: all tenants were read
CALL () {
    MATCH (e:__Entity__ {tenant: $tenant})
    WHERE e.id IS NOT NULL
    WITH e LIMIT $at_most
    RETURN count(e) AS entities
}
CALL () {
    MATCH (c:Chunk {tenant: $tenant})
    WHERE c.id IS NOT NULL
    WITH c LIMIT $at_most
    RETURN count(c) AS chunks
}
CALL () {
    MATCH (e:__Entity__)
    RETURN count(e) AS all_entities
}
CALL () {
    MATCH (c:Chunk)
    RETURN count(c) AS all_chunks
}
RETURN entities, chunks, all_entities, all_chunks
