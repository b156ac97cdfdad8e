// Every record is found by (tenant, id) and is there once. Uniqueness only: it is all that Community has.
CREATE CONSTRAINT entity_id_unique IF NOT EXISTS
FOR (e:__Entity__) REQUIRE (e.tenant, e.id) IS UNIQUE;
CREATE CONSTRAINT chunk_id_unique IF NOT EXISTS
FOR (c:Chunk) REQUIRE (c.tenant, c.id) IS UNIQUE;
CREATE CONSTRAINT document_id_unique IF NOT EXISTS
FOR (d:Document) REQUIRE (d.tenant, d.id) IS UNIQUE;
CREATE CONSTRAINT relation_type_id_unique IF NOT EXISTS
FOR (t:__RelationType__) REQUIRE (t.tenant, t.id) IS UNIQUE;
CREATE CONSTRAINT entity_type_id_unique IF NOT EXISTS
FOR (t:__EntityType__) REQUIRE (t.tenant, t.id) IS UNIQUE;
CREATE CONSTRAINT vector_index_role_unique IF NOT EXISTS
FOR (v:__VectorIndex__) REQUIRE v.role IS UNIQUE;
