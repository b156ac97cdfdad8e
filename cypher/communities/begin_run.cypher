// begin_run: note that a run begins to write communities; every other unfinished one loses its note
// mode: write
// param tenant: STRING
// param source: STRING what finds the communities: an algorithm, or an import
// returns run: STRING its id: the number after the highest so far
// returns live: STRING id of the run in force, null where there is none
// cost: the few runs of the tenant
// needs: constraint community_run_id_unique
// note: a run that lost its note cannot write any more: of two at once the later one goes on
OPTIONAL MATCH (r:__CommunityRun__ {tenant: $tenant})
WHERE r.id IS NOT NULL
WITH coalesce(max(r.number), 0) + 1 AS number, collect(r) AS runs
WITH number, runs, head([r IN runs WHERE r.live | r.id]) AS live
FOREACH (old IN [r IN runs WHERE NOT r.live] | DELETE old)
CREATE (new:__CommunityRun__ {tenant: $tenant, id: toString(number), number: number, source: $source,
                             live: false, begun: datetime()})
RETURN new.id AS run, live
