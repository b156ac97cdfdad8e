// Communities of entities and the runs that wrote them. A community belongs to one run; the run that is live is the one that counts.
CREATE CONSTRAINT community_id_unique IF NOT EXISTS
FOR (c:__Community__) REQUIRE (c.tenant, c.id) IS UNIQUE;
CREATE CONSTRAINT community_run_id_unique IF NOT EXISTS
FOR (r:__CommunityRun__) REQUIRE (r.tenant, r.id) IS UNIQUE;
// All communities of a run, and the one of an earlier run that has the same members: its report is taken over.
CREATE RANGE INDEX community_run IF NOT EXISTS
FOR (c:__Community__) ON (c.tenant, c.run);
CREATE RANGE INDEX community_members IF NOT EXISTS
FOR (c:__Community__) ON (c.tenant, c.members);
// Reports by meaning; the same rules as the entity index.
CREATE VECTOR INDEX community_embedding IF NOT EXISTS
FOR (c:__Community__) ON (c.embedding)
OPTIONS {indexConfig: {
  `vector.dimensions`: ${nm:vector_dimensions},
  `vector.similarity_function`: '${nm:vector_similarity}',
  `vector.quantization.enabled`: false
}};
