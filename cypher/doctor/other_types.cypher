// other_types: relationship types that the database knows besides the given ones
// mode: read
// param known: LIST<STRING>
// returns type: STRING
// order: type ascending
// cost: none; no relationship is read
CALL db.relationshipTypes() YIELD relationshipType AS type
WHERE NOT type IN $known
RETURN type
ORDER BY type
