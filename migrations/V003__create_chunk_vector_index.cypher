// Passages by meaning; the same rules as the entity index.
CREATE VECTOR INDEX chunk_embedding IF NOT EXISTS
FOR (c:Chunk) ON (c.embedding)
OPTIONS {indexConfig: {
  `vector.dimensions`: ${nm:vector_dimensions},
  `vector.similarity_function`: '${nm:vector_similarity}',
  `vector.quantization.enabled`: false
}};
