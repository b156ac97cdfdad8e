// await_indexes: wait until every index is online
// mode: read
// param seconds: INTEGER fail after so many
CALL db.awaitIndexes($seconds)
