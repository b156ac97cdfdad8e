// Seeds by meaning. Another model with other dimensions gets an index of its own (pathrag embed --model), never an edit here.
// Quantization is off: it changes the order of close neighbours.
CREATE VECTOR INDEX entity_embedding IF NOT EXISTS
FOR (e:__Entity__) ON (e.embedding)
OPTIONS {indexConfig: {
  `vector.dimensions`: ${nm:vector_dimensions},
  `vector.similarity_function`: '${nm:vector_similarity}',
  `vector.quantization.enabled`: false
}};
