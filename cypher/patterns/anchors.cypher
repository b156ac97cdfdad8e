// anchors: the entities that words mean: the one of that id, else all of that name or alias
// mode: read
// param tenant: STRING
// param mentions: LIST<MAP> {id: STRING as given, key: STRING folded, phrase: STRING Lucene query
//   for the key as a phrase over aliases}
// param over: INTEGER rows asked of the index before the tenant is looked at
// returns mention: INTEGER index into mentions
// returns id: STRING
// returns name: STRING
// order: mention, then id
// cost: two index seeks and one full-text look-up per mention
UNWIND range(0, size($mentions) - 1) AS mention
CALL (mention) {
    MATCH (e:__Entity__ {tenant: $tenant, id: $mentions[mention].id})
    RETURN e, 0 AS how
    UNION
    MATCH (e:__Entity__ {tenant: $tenant, name_key: $mentions[mention].key})
    RETURN e, 1 AS how
    UNION
    CALL db.index.fulltext.queryNodes('entity_text', $mentions[mention].phrase, {limit: $over})
    YIELD node
    WITH node AS e, mention
    WHERE e.tenant = $tenant AND $mentions[mention].key IN e.alias_keys
    RETURN e, 1 AS how
}
WITH mention, how, collect(e) AS entities
ORDER BY how
WITH mention, head(collect(entities)) AS entities
UNWIND entities AS e
RETURN mention, e.id AS id, e.name AS name
ORDER BY mention, id
