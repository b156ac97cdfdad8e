// drop_community_vectors: remove a whole set of vectors and their hashes, in batches
// mode: auto
// slot property: where the vectors are, escaped
// slot hash_property: where the hashes are, escaped
// cost: a scan of all communities
// note: a set of vectors belongs to no tenant: all of it goes
MATCH (n:__Community__)
WHERE n.${property} IS NOT NULL OR n.${hash_property} IS NOT NULL
CALL (n) {
  REMOVE n.${property}, n.${hash_property}
} IN TRANSACTIONS OF 2000 ROWS
