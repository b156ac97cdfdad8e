"""Read files, write them to the graph in batches, and embed what changed."""

from pathrag_gds.ingest.embed import EmbedProgress, EmbedReport, embed
from pathrag_gds.ingest.import_csv import ImportFiles, to_import_csv
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.load import load_files
from pathrag_gds.ingest.report import LoadProgress, LoadReport

__all__ = [
    "EmbedProgress",
    "EmbedReport",
    "ImportFiles",
    "Input",
    "LoadProgress",
    "LoadReport",
    "embed",
    "load_files",
    "to_import_csv",
]
