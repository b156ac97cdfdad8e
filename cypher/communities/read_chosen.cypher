// read_chosen: chosen communities of a run, without their entities
// mode: read
// param tenant: STRING
// param run: STRING
// param ids: LIST<STRING>
// returns id: STRING
// returns level: INTEGER 0 is the coarsest
// returns parent_id: STRING null on level 0
// returns size: INTEGER entities when it was written
// returns report: MAP what was reported; content_hash is null where nothing was
// order: none
// cost: one index seek per community
// needs: constraint community_id_unique
UNWIND $ids AS id
MATCH (c:__Community__ {tenant: $tenant, id: id})
WHERE c.run = $run
RETURN c.id AS id, c.level AS level, c.parent_id AS parent_id, c.size AS size,
       c {.title, .summary, .findings, .explanations, .key_entities, .key_entities_from, .rating,
          .rating_explanation, .origin, .form, .repairs, .content_hash} AS report
