// write_mark: note what an evaluation loads, or loaded, into its tenant
// mode: write
// param tenant: STRING
// param document: STRING id of the document that only an evaluation makes
// param digest: STRING
// cost: one index seek
MERGE (d:Document {tenant: $tenant, id: $document})
SET d.eval_digest = $digest
