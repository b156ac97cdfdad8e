// create_community_embedding_alt: make the vector index of communities over the property embedding_alt
// mode: schema
// param dimension: INTEGER from 1 to 4096
// param similarity: STRING cosine or euclidean
// note: CREATE … IF NOT EXISTS is silent about another dimension: compare afterwards
CREATE VECTOR INDEX community_embedding_alt IF NOT EXISTS FOR (n:__Community__) ON (n.embedding_alt)
OPTIONS {indexConfig: {`vector.dimensions`: $dimension,
  `vector.similarity_function`: $similarity, `vector.quantization.enabled`: false}}
