// switch_run: put a run in force in the place of the one that was
// mode: write
// param tenant: STRING
// param run: STRING
// param figures: MAP what is known of the run
// returns switched: INTEGER 0 where another run has begun meanwhile
// cost: the few runs of the tenant
// needs: constraint community_run_id_unique
MATCH (new:__CommunityRun__ {tenant: $tenant, id: $run})
WHERE NOT new.live
OPTIONAL MATCH (old:__CommunityRun__ {tenant: $tenant})
WHERE old.id IS NOT NULL AND old.live
SET old.live = false
WITH DISTINCT new
SET new += $figures
SET new.live = true, new.finished = datetime()
RETURN count(new) AS switched
