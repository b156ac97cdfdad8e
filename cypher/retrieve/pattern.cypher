// pattern: every answer of chains of relations that meet in it, written for people to read and run
// mode: read
// param tenant: STRING
// param filters: MAP values of the filter
// param named: LIST<STRING> ids that the question names, which are no answers to it
// slot first: variable of the node that a chain starts from
// slot start: where its id stands among the parameters
// slot meet: collects the answers of the chain before, empty in the first chain
// slot from: variable of the node that a clause goes on from
// slot node: variable of the node that a hop leads to
// slot relationship: variable of the relationship, empty where nothing is asked of it
// slot type: of the relationship
// slot left: <- or -
// slot right: -> or -
// slot labels: of the node
// slot pinned: condition that begins with AND, empty where any node will do
// slot where: WHERE and conditions, empty for none; may use $filters and $named
// returns id: STRING
// returns name: STRING
// order: id
// cost: one index seek per chain, then what the chains hold: chains that meet cost the sum of both,
//   not their product (18,474 db hits for a cast of 94 films and 1,001 tagged films; two clauses in
//   a row took 741,944, and EXISTS for each answer 138,585 where that took 39,352)
// needs: Neo4j 5.26
// note: two conditions $tenant IN [n.tenant] in one WHERE are planned as false by 5.26; inside the
//   nodes they hold, and none of them is sought by
// each chain
${meet}
MATCH (${first}:__Entity__ {tenant: $tenant, id: ${start}})
// each hop
      ${left}[${relationship}${type}]${right}(${node}:__Entity__${labels} WHERE $tenant IN [${node}.tenant]${pinned})
// end each hop
${where}
// each clause
MATCH (${from})${left}[${relationship}${type}]${right}(${node}:__Entity__${labels} WHERE $tenant IN [${node}.tenant]${pinned})
${where}
// end each clause
// end each chain
RETURN DISTINCT answer.id AS id, answer.name AS name
ORDER BY id
