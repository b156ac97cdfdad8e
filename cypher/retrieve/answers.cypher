// answers: how many answers each pattern has, the nearest of them, and how some are reached
// mode: read
// param tenant: STRING
// param patterns: LIST<MAP> ids of start nodes and pinned nodes of each, by variable
// param filters: MAP values of the filter
// param named: LIST<STRING> ids that the question names, which are no answers to it
// param most: INTEGER answers of a pattern that are read
// param limit: INTEGER of them returned, the most similar ones
// param examples: INTEGER of those shown with one path per chain
// param vector: LIST<FLOAT> the question's, null where there is none
// param vector_property: STRING
// slot index: of the pattern, from 0
// slot first: variable of the node that a chain starts from
// slot start: where its id stands in $patterns
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
// slot hops: variables of a chain's relationships, in order
// slot reached: variable that holds the relationships of one chain
// slot paths: those variables of all chains
// returns index: INTEGER of the pattern
// returns total: INTEGER answers read
// returns answers: LIST<MAP> {id, name, labels, properties, similarity}; vectors left out; most
//   similar first, then by id
// returns examples: LIST<MAP> {id, chains}: of an answer, and for each chain its relationships in
//   order {source, target, type, key, relationship}
// order: none
// cost: that of the patterns (see pattern), two vector reads for what is shown and one for the rest,
//   and for each example a walk from the answer towards the start: 6,608 db hits and 9 ms for three
//   chains of two hops with 246 answers, 15 examples among them; 200 ms for 9,467 answers of three
//   hops. A pattern of more than $most answers ends early. The first time a combination of chains is
//   planned, it takes about 80 ms for each of two hops and 200 ms for each of three
// needs: Neo4j 5.26
CALL () {
    // branch pattern
    CALL () {
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
        RETURN DISTINCT answer LIMIT $most
    }
    WITH answer, vector.similarity.cosine(answer[$vector_property], $vector) AS similarity
    ORDER BY coalesce(similarity, 0) DESC, answer.id
    WITH collect(answer) AS answers
    WITH size(answers) AS total, answers[..$limit] AS shown
    CALL (shown) {
        UNWIND shown[..$examples] AS answer
        // each example
        CALL (answer) {
            MATCH (${first}:__Entity__ {tenant: $tenant, id: ${start}})
            // each hop
                  ${left}[${relationship}${type}]${right}(${node}:__Entity__${labels} WHERE $tenant IN [${node}.tenant]${pinned})
            // end each hop
            ${where}
            // each clause
            MATCH (${from})${left}[${relationship}${type}]${right}(${node}:__Entity__${labels} WHERE $tenant IN [${node}.tenant]${pinned})
            ${where}
            // end each clause
            RETURN [${hops}] AS ${reached} LIMIT 1
        }
        // end each example
        RETURN collect({id: answer.id, chains: [${paths}]}) AS examples
    }
    RETURN ${index} AS index, total, shown, examples
    // end branch
}
RETURN index, total,
       [answer IN shown | {
           id: answer.id, name: answer.name, labels: labels(answer),
           properties: answer {.*, embedding: null, embedding_alt: null, text_hash: null,
                               text_hash_alt: null},
           similarity: 2 * vector.similarity.cosine(answer[$vector_property], $vector) - 1
       }] AS answers,
       [example IN examples | {
           id: example.id,
           chains: [chain IN example.chains | [r IN chain | {
               source: startNode(r).id, target: endNode(r).id, type: type(r), key: r.key,
               relationship: properties(r)
           }]]
       }] AS examples
