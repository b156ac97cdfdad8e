// read_progress: how far an interrupted load of a file came
// mode: read
// param tenant: STRING
// param ids: LIST<STRING> of files, by content and way of reading
// returns id: STRING
// returns records: INTEGER records of the file that are committed
// returns finished: BOOLEAN whether that is all of them
// cost: a scan of the few __Load__ nodes
MATCH (l:__Load__)
WHERE l.tenant = $tenant AND l.id IN $ids
RETURN l.id AS id, l.records AS records, l.finished AS finished
