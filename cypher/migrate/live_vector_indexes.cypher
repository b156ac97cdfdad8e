// live_vector_indexes: the vector indexes in use, as the embedding of the graph left them
// mode: read
// returns role: STRING entity, chunk or community
// returns name: STRING
// returns dimension: INTEGER
// order: name
MATCH (v:__VectorIndex__)
WHERE v.index IS NOT NULL
RETURN v.role AS role, v.index AS name, v.dimension AS dimension
ORDER BY name
