// carry_reports: give communities of a new run the reports of those in force with the same members
// mode: write
// param tenant: STRING
// param run: STRING
// param live: STRING id of the run in force
// param keys: LIST<STRING> properties that make a report
// returns carried: INTEGER
// cost: one index seek per community of the new run
// needs: index community_members
// note: whether a report still tells what its community holds is seen from its content hash later
MATCH (c:__Community__ {tenant: $tenant, run: $run})
MATCH (old:__Community__ {tenant: $tenant, members: c.members})
WHERE old.run = $live AND old.content_hash IS NOT NULL
WITH c, min(old.id) AS id
MATCH (old:__Community__ {tenant: $tenant, id: id})
FOREACH (key IN [k IN keys(old) WHERE k IN $keys] | SET c[key] = old[key])
RETURN count(c) AS carried
