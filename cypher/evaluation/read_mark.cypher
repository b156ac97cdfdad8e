// read_mark: what an evaluation noted about its tenant, and whether anything else is there
// mode: read
// param tenant: STRING
// param document: STRING id of the document that only an evaluation makes
// returns digest: STRING null without a note
// returns occupied: BOOLEAN whether there are entities or chunks
// order: none
// cost: an index seek each
OPTIONAL MATCH (d:Document {tenant: $tenant, id: $document})
RETURN d.eval_digest AS digest,
       EXISTS { MATCH (e:__Entity__ {tenant: $tenant}) WHERE e.id IS NOT NULL }
         OR EXISTS { MATCH (c:Chunk {tenant: $tenant}) WHERE c.id IS NOT NULL } AS occupied
