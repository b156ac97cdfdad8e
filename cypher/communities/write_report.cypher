// write_report: keep the report on a community
// mode: write
// param tenant: STRING
// param id: STRING of the community
// param report: MAP properties, null where the report has none
// returns written: INTEGER 0 where the community is gone
// cost: one index seek
// needs: constraint community_id_unique
MATCH (c:__Community__ {tenant: $tenant, id: $id})
SET c += $report
RETURN count(c) AS written
