// Names as a whole, so that one edit in a name is one edit of a term, and an alias is found among any number of others.
CREATE FULLTEXT INDEX entity_names IF NOT EXISTS
FOR (e:__Entity__) ON EACH [e.name_key, e.name_forms, e.alias_keys, e.alias_forms]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'keyword'}};
