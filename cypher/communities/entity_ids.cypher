// entity_ids: which entities the node ids of the GDS catalog stand for
// mode: read
// param nodes: LIST<INTEGER> node ids, as an algorithm streams them
// returns node: INTEGER
// returns id: STRING
// order: none
// cost: one look-up per node
// needs: GDS
UNWIND $nodes AS node
WITH node, gds.util.asNode(node) AS e
RETURN node, e.id AS id
