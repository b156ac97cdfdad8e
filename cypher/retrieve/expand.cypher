// expand: one hop from every node of the frontier, in one round trip
// mode: read
// param tenant: STRING
// param frontier: LIST<STRING> distinct ids, the best first
// param targets: LIST<STRING> ids already found, which hubs are also expanded into
// param structural: LIST<STRING> types that are bookkeeping
// param cap: INTEGER rows of one type in one direction from one node
// param rest_cap: INTEGER rows of a branch that follows no hub type
// param dense: INTEGER where types are many, a node of so many relationships is a hub; else 0
// param scan: INTEGER relationships of a hub that are read to choose from its rarer types
// param row_cap: INTEGER rows in all
// param vector: LIST<FLOAT> the question's, null where there is none
// param vector_property: STRING
// slot filter: predicate on r and m that begins with AND, empty for none; may use $filters
// param filters: MAP values of the filter
// slot facts: AND NOT type(r) IN $structural where types are not named, and not what has a branch; else
//   empty
// slot limit: $cap or $rest_cap
// slot shown: what a map projection of m shows, vectors left out
// returns tail: STRING id of the frontier node
// returns forward: BOOLEAN the relationship leaves it
// returns key: STRING of the relationship, null where it has none
// returns type: STRING
// returns relationship: MAP properties of the relationship
// returns id: STRING id of the node on the other side
// returns name: STRING
// returns labels: LIST<STRING>
// returns properties: MAP without vectors; keys that the node lacks may be there as null
// returns similarity: FLOAT cosine in [-1, 1], null without vectors
// returns cut: BOOLEAN of the hub's rarer types not all were read
// returns total: INTEGER rows without row_cap
// order: by turns: of every node, type and direction the first, then the second, … So whoever stops
//   early has of all. Rows that lead to targets take the first turn
// cost: one index seek per frontier node, then at most cap or rest_cap rows per branch and node;
//   LIMIT is lazy, ORDER BY would read every relationship of a hub. With many types a hub's most
//   frequent ones are read so, too, and of the others at most scan relationships. Only hubs are
//   searched for targets: about 12 hits per pair, the smaller side is walked
// needs: Neo4j 5.23
MATCH (t:__Entity__ {tenant: $tenant})
WHERE t.id IN $targets
WITH collect(t) AS targets
UNWIND range(0, size($frontier) - 1) AS place
WITH targets, place, $frontier[place] AS tail
MATCH (n:__Entity__ {tenant: $tenant, id: tail})
WITH targets, place, n, COUNT { (n)--() } AS degree
CALL (n, degree, targets) {
    // branch neighbours
    MATCH (n)${left}[r${type}]${right}(m:__Entity__)
    WHERE $tenant IN [m.tenant] ${facts} ${filter}
    RETURN r, m, false AS cut, false AS wanted LIMIT ${limit}
    // end branch
    // branch sparse
    WITH n, degree
    WHERE degree < $dense
    MATCH (n)${left}[r${type}]${right}(m:__Entity__)
    WHERE $tenant IN [m.tenant] ${facts} ${filter}
    RETURN r, m, false AS cut, false AS wanted
    // end branch
    // branch frequent
    WITH n, degree
    WHERE degree >= $dense
    MATCH (n)${left}[r${type}]${right}(m:__Entity__)
    WHERE $tenant IN [m.tenant] ${facts} ${filter}
    RETURN r, m, false AS cut, false AS wanted LIMIT $cap
    // end branch
    // branch rare
    WITH n, degree
    WHERE degree >= $dense
    MATCH (n)${left}[r${type}]${right}(m:__Entity__)
    WHERE $tenant IN [m.tenant] ${facts} ${filter}
    WITH r, m LIMIT $scan
    WITH collect([r, m]) AS read
    UNWIND read AS pair
    WITH size(read) = $scan AS cut, type(pair[0]) AS kind, collect(pair)[..$cap] AS some
    UNWIND some AS pair
    RETURN pair[0] AS r, pair[1] AS m, cut, false AS wanted
    // end branch
    // branch found
    WITH n, targets
    WHERE COUNT { (n)${left}[${type}]${right}() } >= $cap
    UNWIND targets AS m
    MATCH (n)${left}[r${type}]${right}(m)
    WHERE true ${facts} ${filter}
    RETURN r, m, false AS cut, true AS wanted LIMIT $rest_cap
    // end branch
    // branch found_dense
    WITH n, targets, degree
    WHERE degree >= $dense
    UNWIND targets AS m
    MATCH (n)${left}[r${type}]${right}(m)
    WHERE true ${facts} ${filter}
    RETURN r, m, false AS cut, true AS wanted LIMIT $rest_cap
    // end branch
}
WITH n, place, type(r) AS type, startNode(r) = n AS forward,
     collect([r, m, cut, wanted]) AS same
UNWIND range(0, size(same) - 1) AS number
WITH n, place, type, forward, same[number] AS row, number
ORDER BY CASE WHEN row[3] THEN 0 ELSE number END, place, type, forward
WITH collect([n, type, forward, row]) AS read
WITH read[..$row_cap] AS read, size(read) AS total
UNWIND read AS each
WITH total, each[0] AS n, each[1] AS type, each[2] AS forward, each[3][0] AS r, each[3][1] AS m,
     each[3][2] AS cut
WITH n, r, m, cut, type, forward, total, properties(r) AS relationship, m {${shown}} AS properties
RETURN n.id AS tail, forward, relationship.key AS key, type, relationship,
       properties.id AS id, properties.name AS name, labels(m) AS labels, properties,
       2 * vector.similarity.cosine(m[$vector_property], $vector) - 1 AS similarity, cut, total
