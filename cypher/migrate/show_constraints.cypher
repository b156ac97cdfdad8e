// show_constraints: every constraint
// mode: read
// returns name, type: STRING
// returns labels, properties: LIST<STRING>
// order: name
SHOW CONSTRAINTS
YIELD name, type, labelsOrTypes, properties
RETURN name, type, labelsOrTypes AS labels, properties
ORDER BY name
