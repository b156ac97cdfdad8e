"""Other people's ways to answer, measured beside our search on the same graph and encoder.

=================== ==================================================================
``template``        table of masked questions and their most frequent gold chain
``pagerank``        personalised PageRank in HippoRAG's manner, by Graph Data Science
``proprag``         beam over paths of facts by embedding alone, in PropRAG's manner
``graphrag-hybrid`` HybridCypherRetriever of the package neo4j-graphrag, two hops
=================== ==================================================================

They are found by name in :data:`pathrag_gds.evaluation.systems.OPPONENTS`. Answers of equal score
are put in order by the MD5 of question and id: as good as chance, and the same in every run.
"""
