// cosines: how near each report of a run is to a question
// mode: read
// param tenant: STRING
// param run: STRING
// param property: STRING where the vectors are
// param question: LIST<FLOAT> its vector
// returns id: STRING of a community that has a report
// returns cosine: FLOAT from -1 to 1, null where the report has no vector
// order: none
// cost: one index range and one product per report of the run; exact, whatever other tenants have
// needs: index community_run
MATCH (c:__Community__ {tenant: $tenant, run: $run})
WHERE c.content_hash IS NOT NULL
RETURN c.id AS id, 2 * vector.similarity.cosine(c[$property], $question) - 1 AS cosine
