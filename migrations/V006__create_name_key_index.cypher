// Mentions in a question are looked up by the folded name, exactly.
CREATE RANGE INDEX entity_name_key IF NOT EXISTS
FOR (e:__Entity__) ON (e.tenant, e.name_key);
