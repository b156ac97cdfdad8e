// gds_version: version of the Graph Data Science plugin; fails where there is none
// mode: read
// returns version: STRING
// needs: GDS
RETURN gds.version() AS version
