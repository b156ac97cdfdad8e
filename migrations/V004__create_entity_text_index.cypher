// Seeds by words. The folded keys are indexed beside the names, because the default analyzer does not fold accents.
// It keeps stop words: a film named "It" must be found.
CREATE FULLTEXT INDEX entity_text IF NOT EXISTS
FOR (e:__Entity__) ON EACH [e.name, e.name_key, e.aliases, e.alias_keys, e.description]
OPTIONS {indexConfig: {`fulltext.analyzer`: '${nm:fulltext_analyzer}'}};
