// between: the shortest paths between entities of two mentions
// mode: read
// param tenant: STRING
// param sources: LIST<STRING> ids of the one
// param targets: LIST<STRING> ids of the other
// param structural: LIST<STRING> types that are bookkeeping
// param most: INTEGER paths returned
// param filters: MAP values of the filter
// slot types: relationship types that may be followed, with a colon; empty for all
// slot depth: hops at most, at least 1
// slot filter: predicate on r and m that begins with AND, empty for none; may use $filters
// returns nodes: LIST<STRING> ids of the nodes of one path, from the source to the target
// returns hops: LIST<MAP> {source, target, type, key, relationship} in order
// order: fewest hops first, then by the ids of the nodes
// cost: breadth first from both ends of each pair, up to depth hops; a group of equally short
//   paths is found as a whole
// needs: Neo4j 5.26
UNWIND $sources AS source
UNWIND $targets AS target
WITH source, target WHERE source <> target
MATCH (a:__Entity__ {tenant: $tenant, id: source})
MATCH (b:__Entity__ {tenant: $tenant, id: target})
MATCH p = SHORTEST 50 (a)
    (()-[r${types}]-(m:__Entity__
        WHERE $tenant IN [m.tenant] AND NOT type(r) IN $structural ${filter})){1,${depth}}
    (b)
WITH p, [n IN nodes(p) | n.id] AS nodes
ORDER BY length(p), nodes LIMIT $most
RETURN nodes,
       [r IN relationships(p) | {
           source: startNode(r).id, target: endNode(r).id, type: type(r), key: r.key,
           relationship: properties(r)
       }] AS hops
