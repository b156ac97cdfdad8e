// create_entity_embedding: make the vector index of entities over the property embedding
// mode: schema
// param dimension: INTEGER from 1 to 4096
// param similarity: STRING cosine or euclidean
// note: CREATE … IF NOT EXISTS is silent about another dimension: compare afterwards
CREATE VECTOR INDEX entity_embedding IF NOT EXISTS FOR (n:__Entity__) ON (n.embedding)
OPTIONS {indexConfig: {`vector.dimensions`: $dimension,
  `vector.similarity_function`: $similarity, `vector.quantization.enabled`: false}}
