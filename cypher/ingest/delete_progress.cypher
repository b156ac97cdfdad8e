// delete_progress: forget how far the loads of these files came
// mode: write
// param tenant: STRING
// param ids: LIST<STRING>
// cost: a scan of the few __Load__ nodes
MATCH (l:__Load__)
WHERE l.tenant = $tenant AND l.id IN $ids
DELETE l
