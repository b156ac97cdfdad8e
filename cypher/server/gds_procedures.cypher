// gds_procedures: names of the Graph Data Science procedures that the server has
// mode: read
// returns names: LIST<STRING> empty without the plugin
SHOW PROCEDURES YIELD name
WHERE name STARTS WITH 'gds.'
RETURN collect(name) AS names
