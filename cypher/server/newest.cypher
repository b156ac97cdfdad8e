// newest: reads nothing; its transaction ends after the newest write
// mode: read
// returns nothing: INTEGER
RETURN 0 AS nothing
