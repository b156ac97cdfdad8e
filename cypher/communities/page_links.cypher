// page_links: one page of entities by id, and how strongly each is linked to others
// mode: read
// param tenant: STRING
// param after: STRING id of the last entity of the page before, empty for the first page
// param page: INTEGER entities at most
// param structural: LIST<STRING> types that are bookkeeping
// param weight: STRING property of relationships; null where each counts 1
// returns id: STRING
// returns links: LIST<LIST<ANY>> id of the end and the sum of the weights of the relationships that
//   leave for it; none to itself
// returns weighted: INTEGER relationships that have a weight
// returns refused: INTEGER relationships whose weight is no number from 0 up
// order: id within the tenant
// cost: one index range of the page and the relationships that leave it
// needs: constraint entity_id_unique
MATCH (a:__Entity__)
WHERE a.tenant = $tenant AND a.id > $after
WITH a ORDER BY a.tenant, a.id LIMIT $page
CALL (a) {
    MATCH (a)-[r]->(b:__Entity__)
    WHERE $tenant IN [b.tenant] AND NOT type(r) IN $structural AND b <> a
    WITH b, r[$weight] AS given
    WITH b, given, CASE WHEN given IS NULL THEN 1.0 ELSE toFloatOrNull(given) END AS number
    WITH b, given, CASE WHEN number >= 0 AND number < 1e300 THEN number END AS number
    WITH b, sum(number) AS weight, count(given) AS weighted, count(*) - count(number) AS refused
    RETURN collect([b.id, weight]) AS links, coalesce(sum(weighted), 0) AS weighted,
           coalesce(sum(refused), 0) AS refused
}
RETURN a.id AS id, links, weighted, refused
ORDER BY a.tenant, a.id
