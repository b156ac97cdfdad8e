// nearest: entities and chunks that are nearest to a question, by vector and by words
// mode: read
// param tenant: STRING
// param vector: LIST<FLOAT> the question's, null where there is none
// param entity_index: STRING name of the vector index of entities
// param entity_property: STRING property that it indexes
// param chunk_index: STRING name of the vector index of chunks
// param chunk_property: STRING property that it indexes
// param text: STRING Lucene query for the terms
// param terms: LIST<STRING> folded words of the question
// param patterns: LIST<STRING> for each of them, the regular expression of a text that has the word
// param k: INTEGER rows of each ranking
// param over_entities: INTEGER rows asked of an index of entities before the tenant is looked at
// param over_chunks: INTEGER rows asked of an index of chunks before the tenant is looked at
// returns what: STRING entity or chunk
// returns via: STRING vector or text
// returns score: FLOAT of that ranking; larger is better
// returns id: STRING
// returns name: STRING of an entity, null for a chunk
// returns labels: LIST<STRING>
// returns chunk_ids: LIST<STRING> what an entity was read from, null for a chunk
// order: within what and via: score descending, then id
// cost: one look-up in each index, or one pass over a small tenant's entities and one over its chunks
// needs: Neo4j 5.23
// note: words of chunks weigh by how rare they are in the tenant, ln(1 + chunks / those with it)
CALL () {
    // branch entity_vector
    CALL db.index.vector.queryNodes($entity_index, $over_entities, $vector) YIELD node, score
    WITH node, score
    WHERE node.tenant = $tenant
    RETURN node, 'entity' AS what, 'vector' AS via, score
    ORDER BY score DESC, node.id LIMIT $k
    // end branch
    // branch entity_vector_exact
    MATCH (node:__Entity__ {tenant: $tenant})
    WHERE node.id IS NOT NULL AND node[$entity_property] IS NOT NULL
    WITH node, vector.similarity.cosine(node[$entity_property], $vector) AS score
    RETURN node, 'entity' AS what, 'vector' AS via, score
    ORDER BY score DESC, node.id LIMIT $k
    // end branch
    // branch entity_text
    CALL db.index.fulltext.queryNodes('entity_text', $text, {limit: $over_entities}) YIELD node, score
    WITH node, score
    WHERE node.tenant = $tenant
    RETURN node, 'entity' AS what, 'text' AS via, score
    ORDER BY score DESC, node.id LIMIT $k
    // end branch
    // branch entity_text_exact
    MATCH (node:__Entity__ {tenant: $tenant})
    WHERE node.id IS NOT NULL
    WITH node, split(node.name_key, ' ') AS name_words,
         split(toLower(coalesce(toStringOrNull(node.description), '')), ' ') AS description_words
    WITH node, 2.0 * size([term IN $terms WHERE term IN name_words])
               + size([term IN $terms WHERE term IN description_words]) AS score
    WHERE score > 0
    RETURN node, 'entity' AS what, 'text' AS via, score
    ORDER BY score DESC, node.id LIMIT $k
    // end branch
    // branch chunk_vector
    CALL db.index.vector.queryNodes($chunk_index, $over_chunks, $vector) YIELD node, score
    WITH node, score
    WHERE node.tenant = $tenant
    RETURN node, 'chunk' AS what, 'vector' AS via, score
    ORDER BY score DESC, node.id LIMIT $k
    // end branch
    // branch chunk_vector_exact
    MATCH (node:Chunk {tenant: $tenant})
    WHERE node.id IS NOT NULL AND node[$chunk_property] IS NOT NULL
    WITH node, vector.similarity.cosine(node[$chunk_property], $vector) AS score
    RETURN node, 'chunk' AS what, 'vector' AS via, score
    ORDER BY score DESC, node.id LIMIT $k
    // end branch
    // branch chunk_text
    CALL db.index.fulltext.queryNodes('chunk_text', $text, {limit: $over_chunks}) YIELD node, score
    WITH node, score
    WHERE node.tenant = $tenant
    RETURN node, 'chunk' AS what, 'text' AS via, score
    ORDER BY score DESC, node.id LIMIT $k
    // end branch
    // branch chunk_text_exact
    MATCH (node:Chunk {tenant: $tenant})
    WHERE node.id IS NOT NULL
    WITH node, toLower(coalesce(toStringOrNull(node.text), '')) AS text
    WITH collect({node: node, found: [i IN range(0, size($terms) - 1)
                  WHERE text CONTAINS $terms[i] AND text =~ $patterns[i]]}) AS chunks
    WITH chunks, [i IN range(0, size($terms) - 1)
         | size([chunk IN chunks WHERE i IN chunk.found])] AS having
    UNWIND chunks AS chunk
    WITH chunk.node AS node,
         reduce(sum = 0.0, i IN chunk.found | sum + log(1.0 + toFloat(size(chunks)) / having[i]))
             AS score
    WHERE score > 0
    RETURN node, 'chunk' AS what, 'text' AS via, score
    ORDER BY score DESC, node.id LIMIT $k
    // end branch
}
RETURN what, via, score, node.id AS id, node.name AS name, labels(node) AS labels,
       node.chunk_ids AS chunk_ids
