// seeds: anchors by name, and the nearest entities by vector and by text, in one round trip
// mode: read
// param tenant: STRING
// param keys: LIST<STRING> folded word sequences of the question, as written and loosened
// param start_ids: LIST<STRING> entities that the caller names instead
// param vector: LIST<FLOAT> the question's, null where there is none
// param vector_index: STRING name of the vector index
// param vector_property: STRING property that it indexes
// param aliases: STRING Lucene query for the keys as phrases over aliases
// param forms: LIST<STRING> Lucene queries for the keys over aliases and other forms of names
// param near: LIST<STRING> Lucene queries for names one edit from a mention
// param heads: LIST<STRING> first three letters and length of what such a name may be
// param tails: LIST<STRING> last two letters and length of it
// param text: STRING Lucene query for the terms
// param terms: LIST<STRING> folded words of the question
// param k: INTEGER rows of each ranking
// param over: INTEGER rows asked of an index before the tenant is looked at
// slot filter: predicate on e that begins with AND, empty for none; may use $filters
// slot scope: the same on e that a name stands for
// param filters: MAP values of the filter
// returns via: STRING name, near, given, vector or text
// returns score: FLOAT of that ranking; larger is better
// returns keys: LIST<STRING> the keys that are the entity's name, an alias or a form of one
// returns id: STRING
// returns name: STRING
// returns labels: LIST<STRING>
// returns properties: MAP without vectors
// returns similarity: FLOAT cosine in [-1, 1], null without vectors
// order: within vector and text: score descending, then id
// cost: one seek per key or id; one vector look-up, full-text ones for terms, forms and names one edit
//   apart, or as many passes over a small tenant
// needs: Neo4j 5.23
// note: without id IS NOT NULL the index on (tenant, id) would not serve: all tenants were read
CALL () {
    // branch name
    MATCH (e:__Entity__ {tenant: $tenant})
    WHERE e.name_key IN $keys ${scope}
    RETURN e, 'name' AS via, 1.0 AS score
    // end branch
    // branch given
    MATCH (e:__Entity__ {tenant: $tenant})
    WHERE e.id IN $start_ids ${scope}
    RETURN e, 'given' AS via, 1.0 AS score
    // end branch
    // branch alias
    CALL db.index.fulltext.queryNodes('entity_text', $aliases, {limit: $over}) YIELD node
    WITH node AS e
    WHERE e.tenant = $tenant AND any(key IN e.alias_keys WHERE key IN $keys) ${scope}
    RETURN e, 'name' AS via, 1.0 AS score
    // end branch
    // branch alias_exact
    MATCH (e:__Entity__ {tenant: $tenant})
    WHERE e.id IS NOT NULL
      AND any(key IN coalesce(e.alias_keys, []) + coalesce(e.name_forms, [])
                     + coalesce(e.alias_forms, []) WHERE key IN $keys) ${scope}
    RETURN e, 'name' AS via, 1.0 AS score
    // end branch
    // branch form
    UNWIND $forms AS query
    CALL db.index.fulltext.queryNodes('entity_names', query, {limit: $over}) YIELD node
    WITH node AS e
    WHERE e.tenant = $tenant ${scope}
    RETURN DISTINCT e, 'name' AS via, 1.0 AS score
    // end branch
    // branch near
    UNWIND $near AS query
    CALL db.index.fulltext.queryNodes('entity_names', query, {limit: $over}) YIELD node
    WITH node AS e
    WHERE e.tenant = $tenant ${scope}
    RETURN DISTINCT e, 'near' AS via, 1.0 AS score
    // end branch
    // branch near_exact
    MATCH (e:__Entity__ {tenant: $tenant})
    WHERE e.id IS NOT NULL
      AND any(key IN [e.name_key] + coalesce(e.alias_keys, []) + coalesce(e.name_forms, [])
                     + coalesce(e.alias_forms, [])
              WHERE left(key, 3) + size(key) IN $heads OR right(key, 2) + size(key) IN $tails) ${scope}
    RETURN e, 'near' AS via, 1.0 AS score
    // end branch
    // branch vector
    CALL db.index.vector.queryNodes($vector_index, $over, $vector) YIELD node, score
    WITH node AS e, score
    WHERE e.tenant = $tenant ${filter}
    RETURN e, 'vector' AS via, score
    ORDER BY score DESC, e.id LIMIT $k
    // end branch
    // branch vector_exact
    MATCH (e:__Entity__ {tenant: $tenant})
    WHERE e.id IS NOT NULL AND e[$vector_property] IS NOT NULL ${filter}
    WITH e, vector.similarity.cosine(e[$vector_property], $vector) AS score
    RETURN e, 'vector' AS via, score
    ORDER BY score DESC, e.id LIMIT $k
    // end branch
    // branch text
    CALL db.index.fulltext.queryNodes('entity_text', $text, {limit: $over}) YIELD node, score
    WITH node AS e, score
    WHERE e.tenant = $tenant ${filter}
    RETURN e, 'text' AS via, score
    ORDER BY score DESC, e.id LIMIT $k
    // end branch
    // branch text_exact
    MATCH (e:__Entity__ {tenant: $tenant})
    WHERE e.id IS NOT NULL ${filter}
    WITH e, split(e.name_key, ' ') AS name_words,
         split(toLower(coalesce(toStringOrNull(e.description), '')), ' ') AS description_words
    WITH e, 2.0 * size([term IN $terms WHERE term IN name_words])
            + size([term IN $terms WHERE term IN description_words]) AS score
    WHERE score > 0
    RETURN e, 'text' AS via, score
    ORDER BY score DESC, e.id LIMIT $k
    // end branch
}
RETURN via, score,
       [key IN [e.name_key] + coalesce(e.alias_keys, []) + coalesce(e.name_forms, [])
               + coalesce(e.alias_forms, []) WHERE key IN $keys] AS keys,
       e.id AS id, e.name AS name, labels(e) AS labels,
       e {.*, embedding: null, embedding_alt: null, text_hash: null, text_hash_alt: null}
           AS properties,
       2 * vector.similarity.cosine(e[$vector_property], $vector) - 1 AS similarity
