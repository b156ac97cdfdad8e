// read_progress: how far an interrupted load of a file came
// mode: read
// param tenant: STRING
// param ids: LIST<STRING> of files, by content and way of reading
// returns id: STRING
// returns records: INTEGER records of the file that are committed
// returns finished: BOOLEAN whether that is all of them
// returns kept: BOOLEAN false when the node that was written last is gone, so others may be too
// cost: a scan of the few __Load__ nodes, and two index seeks for each of them
// needs: constraints entity_id_unique and chunk_id_unique
MATCH (l:__Load__)
WHERE l.tenant = $tenant AND l.id IN $ids
RETURN l.id AS id, l.records AS records, l.finished AS finished,
       l.witness IS NULL
         OR EXISTS { MATCH (e:__Entity__ {tenant: $tenant, id: l.witness}) }
         OR EXISTS { MATCH (c:Chunk {tenant: $tenant, id: l.witness}) } AS kept
