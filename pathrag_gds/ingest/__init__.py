"""Read files, write them to the graph in batches, and embed what changed."""

from pathrag_gds.ingest.embed import EmbedProgress, EmbedReport, embed
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.load import LoadProgress, LoadReport, load_files

__all__ = [
    "EmbedProgress",
    "EmbedReport",
    "Input",
    "LoadProgress",
    "LoadReport",
    "embed",
    "load_files",
]
