// write_progress: note in the transaction of a batch how far the load of its file is
// mode: write
// param tenant: STRING
// param id: STRING of the file, by content and way of reading
// param path: STRING for people
// param records: INTEGER records of the file that are committed
// param finished: BOOLEAN
// param witness: STRING id of a node that the batch wrote or used, null when it wrote nothing
// cost: a scan of the few __Load__ nodes
MERGE (l:__Load__ {tenant: $tenant, id: $id})
SET l.path = $path, l.records = $records, l.finished = $finished, l.at = datetime(),
    l.witness = coalesce($witness, l.witness)
