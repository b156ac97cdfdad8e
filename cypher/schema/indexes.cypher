// indexes: every index but token lookups
// mode: read
// returns name: STRING
// returns type: STRING
// returns state: STRING ONLINE, POPULATING or FAILED
// returns percent: FLOAT
// returns labels_or_types: LIST<STRING>
// returns properties: LIST<STRING>
// returns config: MAP
// order: name ascending
SHOW INDEXES YIELD name, type, state, populationPercent, labelsOrTypes, properties, options
WHERE type <> 'LOOKUP'
RETURN name, type, state, populationPercent AS percent, labelsOrTypes AS labels_or_types,
       properties, options.indexConfig AS config
ORDER BY name
