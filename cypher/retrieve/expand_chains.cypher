// expand_chains: one hop from every node of the frontiers, by type, direction and label of the end
// mode: read
// param tenant: STRING
// param frontier: LIST<STRING> distinct ids
// param structural: LIST<STRING> types that are bookkeeping
// param cap: INTEGER rows of a branch that follows one hub type in one direction
// param rest_cap: INTEGER rows of any other branch
// param labels: LIST<STRING> a node counts under the first of these that it has
// param width: INTEGER only of more ends than these is it told how near they are
// param vector: LIST<FLOAT> the question's, null where there is none
// param vector_property: STRING
// slot filter: predicate on r and m that begins with AND, empty for none; may use $filters
// param filters: MAP values of the filter
// slot facts: AND NOT type(r) IN $structural where the types are not named, else empty
// slot limit: $cap or $rest_cap
// returns type: STRING
// returns forward: BOOLEAN the relationship leaves the frontier node
// returns label: STRING of the ends, empty where they have none of $labels
// returns links: LIST<LIST<ANY>> [frontier node id, [ids of its ends, one per relationship]]
// returns near: LIST<LIST<ANY>> [id, cosine in [-1, 1] or null] of every end, empty for few ends
// order: none
// cost: one index seek per frontier node, then at most cap or rest_cap rows per branch and node
//   (LIMIT is lazy); one row comes back per type, direction and label
// needs: Neo4j 5.23
UNWIND $frontier AS tail
MATCH (n:__Entity__ {tenant: $tenant, id: tail})
CALL (n) {
    // branch neighbours
    MATCH (n)${left}[r${type}]${right}(m:__Entity__)
    WHERE $tenant IN [m.tenant] ${facts} ${filter}
    RETURN r, m LIMIT ${limit}
    // end branch
}
WITH n, type(r) AS type, startNode(r) = n AS forward, m,
     coalesce(head([label IN $labels WHERE label IN labels(m)]), '') AS label
WITH n, type, forward, label, collect(m) AS found
WITH type, forward, label, collect([n.id, [m IN found | m.id]]) AS links, collect(found) AS all
CALL (all) {
    UNWIND all AS found
    UNWIND found AS m
    RETURN collect(DISTINCT m) AS ends
}
RETURN type, forward, label, links,
       CASE WHEN size(ends) > $width
           THEN [m IN ends |
                 [m.id, 2 * vector.similarity.cosine(m[$vector_property], $vector) - 1]]
           ELSE []
       END AS near
