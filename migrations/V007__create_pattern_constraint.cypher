// A saved pattern is found by (tenant, name) and is there once.
CREATE CONSTRAINT pattern_name_unique IF NOT EXISTS
FOR (p:__Pattern__) REQUIRE (p.tenant, p.name) IS UNIQUE;
