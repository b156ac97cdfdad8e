// show_indexes: every index with its state and settings
// mode: read
// returns name, type: STRING
// returns labels, properties: LIST<STRING>
// returns settings: MAP
// returns state: STRING ONLINE, POPULATING or FAILED
// returns percent: FLOAT
// returns failure: STRING
// returns statement: STRING that made it
// order: name
SHOW INDEXES
YIELD name, type, labelsOrTypes, properties, options, state, populationPercent, failureMessage,
  createStatement, owningConstraint
WHERE owningConstraint IS NULL AND type <> 'LOOKUP'
RETURN name, type, labelsOrTypes AS labels, properties, options.indexConfig AS settings, state,
  populationPercent AS percent, failureMessage AS failure, createStatement AS statement
ORDER BY name
