// expand_chains: one hop from every node of the frontiers, by type, direction and label of the end
// mode: read
// param tenant: STRING
// param frontier: LIST<STRING> distinct ids, those of the best chains first
// param structural: LIST<STRING> types that are bookkeeping
// param cap: INTEGER rows of one type in one direction from one node
// param rest_cap: INTEGER rows of a branch that follows no hub type
// param dense: INTEGER where types are many, a node of so many relationships is a hub; else 0
// param scan: INTEGER relationships of a hub that are read to choose from its rarer types
// param row_cap: INTEGER relationships in all
// param labels: LIST<STRING> a node counts under the first of these that it has
// param width: INTEGER of no more ends than these is it told how near they are
// param vector: LIST<FLOAT> the question's, null where there is none
// param vector_property: STRING
// slot filter: predicate on r and m that begins with AND, empty for none; may use $filters
// param filters: MAP values of the filter
// slot facts: AND NOT type(r) IN $structural where types are not named, and not what has a branch; else
//   empty
// slot limit: $cap or $rest_cap
// returns type: STRING
// returns forward: BOOLEAN the relationship leaves the frontier node
// returns label: STRING of the ends, empty where they have none of $labels
// returns links: LIST<LIST<ANY>> [frontier node id, [ids of its ends, one per relationship]]
// returns near: LIST<LIST<ANY>> [id, cosine in [-1, 1] or null] of the row's ends, empty where the
//   type, direction and label have few
// returns cut: LIST<STRING> frontier nodes of whose rarer types not all were read
// returns total: INTEGER relationships without row_cap
// order: by rounds of turns. Of every node, type and direction the first relationship is in round 0,
//   the next two are in round 1, the next four in round 2, … So whoever stops early has of all
// cost: one index seek per frontier node, then at most cap or rest_cap rows per branch and node;
//   LIMIT is lazy. With many types a hub's most frequent ones are read so, too, and of the others at
//   most scan relationships. One row comes back per type, direction, label and round
// needs: Neo4j 5.23
UNWIND range(0, size($frontier) - 1) AS place
MATCH (n:__Entity__ {tenant: $tenant, id: $frontier[place]})
WITH place, n, COUNT { (n)--() } AS degree
CALL (n, degree) {
    // branch neighbours
    MATCH (n)${left}[r${type}]${right}(m:__Entity__)
    WHERE $tenant IN [m.tenant] ${facts} ${filter}
    RETURN r, m, false AS cut LIMIT ${limit}
    // end branch
    // branch sparse
    WITH n, degree
    WHERE degree < $dense
    MATCH (n)${left}[r${type}]${right}(m:__Entity__)
    WHERE $tenant IN [m.tenant] ${facts} ${filter}
    RETURN r, m, false AS cut
    // end branch
    // branch frequent
    WITH n, degree
    WHERE degree >= $dense
    MATCH (n)${left}[r${type}]${right}(m:__Entity__)
    WHERE $tenant IN [m.tenant] ${facts} ${filter}
    RETURN r, m, false AS cut LIMIT $cap
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
    RETURN pair[0] AS r, pair[1] AS m, cut
    // end branch
}
WITH n, place, type(r) AS type, startNode(r) = n AS forward, collect([m, cut]) AS same
UNWIND range(0, size(same) - 1) AS number
WITH number, place, n, type, forward, same[number][0] AS m, same[number][1] AS cut
ORDER BY number, place, type, forward
WITH collect([number, n, type, forward, m, cut]) AS read
WITH read[..$row_cap] AS read, size(read) AS total
UNWIND read AS row
WITH total, toInteger(log(row[0] + 1) / log(2)) AS round, row[1] AS n, row[2] AS type,
     row[3] AS forward, row[4] AS m, row[5] AS cut
WITH total, n, type, forward, m, cut, round,
     coalesce(head([label IN $labels WHERE label IN labels(m)]), '') AS label
WITH total, n, type, forward, label, round, collect(m) AS found, max(cut) AS cut
WITH total, type, forward, label, round, collect([n.id, [m IN found | m.id]]) AS links,
     collect(found) AS all, collect(CASE WHEN cut THEN n.id END) AS cut
CALL (all) {
    UNWIND all AS found
    UNWIND found AS m
    RETURN collect(DISTINCT m) AS ends
}
WITH total, type, forward, label, collect([round, links, cut, ends]) AS rounds,
     sum(size(ends)) AS met
UNWIND rounds AS each
WITH total, type, forward, label, met, each
ORDER BY each[0], type, forward, label
RETURN type, forward, label, each[1] AS links,
       CASE WHEN met > $width
           THEN [m IN each[3] |
                 [m.id, 2 * vector.similarity.cosine(m[$vector_property], $vector) - 1]]
           ELSE []
       END AS near,
       each[2] AS cut, total
