// subgraph: what lies around a few entities, up to four hops far, in one round trip
// mode: read
// param tenant: STRING
// param starts: LIST<STRING> ids
// param rounds: INTEGER 1 to 4: how often what was found is expanded, the starts first
// param structural: LIST<STRING> types that are bookkeeping
// param start_cap: INTEGER relationships read of a start
// param cap: INTEGER relationships read of any other node
// param most: INTEGER nodes expanded in a round after the first, those with the fewest relationships
// slot types: of relationships that are followed, with a colon; empty for all
// slot filter: predicate on r and m that begins with AND, empty for none; may use $filters
// param filters: MAP values of the filter
// returns tail: STRING id of the node that the relationship leaves
// returns id: STRING id of the node that it enters
// returns forward: BOOLEAN true
// returns key: STRING of the relationship, null where it has none
// returns type: STRING
// returns relationship: MAP properties of the relationship
// returns tail_degree: INTEGER relationships of the node that it leaves
// returns head_degree: INTEGER relationships of the node that it enters
// returns left_out: INTEGER nodes that were not expanded because of most; the same in every row
// order: none
// cost: one index seek per start, then at most start_cap or cap rows per expanded node; LIMIT is lazy.
//   Degrees are read, not counted, at nodes with 50 relationships and more
// needs: Neo4j 5.23
MATCH (s:__Entity__ {tenant: $tenant})
WHERE s.id IN $starts
WITH collect(s) AS done0
CALL (done0) {
    UNWIND done0 AS n
    CALL (n) {
        MATCH (n)-[r${types}]-(m:__Entity__)
        WHERE $tenant IN [m.tenant] AND NOT type(r) IN $structural ${filter}
        RETURN r, m LIMIT $start_cap
    }
    RETURN collect(r) AS read1, collect(DISTINCT m) AS found1
}
WITH *, [m IN found1 WHERE $rounds > 1 AND NOT m IN done0] AS next1
CALL (next1) {
    UNWIND next1 AS n
    WITH n ORDER BY COUNT { (n)-[${types}]-() }, n.id LIMIT $most
    CALL (n) {
        MATCH (n)-[r${types}]-(m:__Entity__)
        WHERE $tenant IN [m.tenant] AND NOT type(r) IN $structural ${filter}
        RETURN r, m LIMIT $cap
    }
    RETURN collect(r) AS read2, collect(DISTINCT m) AS found2, collect(DISTINCT n) AS more2
}
WITH *, done0 + more2 AS done1, size(next1) - size(more2) AS left2
WITH *, [m IN found2 WHERE $rounds > 2 AND NOT m IN done1] AS next2
CALL (next2) {
    UNWIND next2 AS n
    WITH n ORDER BY COUNT { (n)-[${types}]-() }, n.id LIMIT $most
    CALL (n) {
        MATCH (n)-[r${types}]-(m:__Entity__)
        WHERE $tenant IN [m.tenant] AND NOT type(r) IN $structural ${filter}
        RETURN r, m LIMIT $cap
    }
    RETURN collect(r) AS read3, collect(DISTINCT m) AS found3, collect(DISTINCT n) AS more3
}
WITH *, done1 + more3 AS done2, size(next2) - size(more3) AS left3
WITH *, [m IN found3 WHERE $rounds > 3 AND NOT m IN done2] AS next3
CALL (next3) {
    UNWIND next3 AS n
    WITH n ORDER BY COUNT { (n)-[${types}]-() }, n.id LIMIT $most
    CALL (n) {
        MATCH (n)-[r${types}]-(m:__Entity__)
        WHERE $tenant IN [m.tenant] AND NOT type(r) IN $structural ${filter}
        RETURN r, m LIMIT $cap
    }
    RETURN collect(r) AS read4, collect(DISTINCT m) AS found4, collect(DISTINCT n) AS more4
}
WITH *, done2 + more4 AS done3, size(next3) - size(more4) AS left4
WITH read1 + read2 + read3 + read4 AS read, left2 + left3 + left4 AS left_out
UNWIND read AS r
WITH DISTINCT r, left_out
WITH r, startNode(r) AS a, endNode(r) AS b, left_out
RETURN a.id AS tail, b.id AS id, true AS forward, r.key AS key, type(r) AS type,
       properties(r) AS relationship, COUNT { (a)-[${types}]-() } AS tail_degree,
       COUNT { (b)-[${types}]-() } AS head_degree, left_out
