"""Take over the indexes of other GraphRAG systems: their graph, texts, communities and reports."""

from pathrag_gds.imports.graphrag import read_graphrag
from pathrag_gds.imports.index import ForeignCommunity, ForeignIndex
from pathrag_gds.imports.lightrag import read_lightrag
from pathrag_gds.imports.write import ImportReport, import_index

__all__ = [
    "ForeignCommunity",
    "ForeignIndex",
    "ImportReport",
    "import_index",
    "read_graphrag",
    "read_lightrag",
]
