// mark: note that the demo is loaded and embedded completely, and from what
// mode: write
// param tenant: STRING
// param document: STRING id of the document that only the demo has
// param digest: STRING
// cost: one index seek
MATCH (d:Document {tenant: $tenant, id: $document})
SET d.demo_digest = $digest
