"""Train the path reranker: groups of texts in, a BERT classifier with two outputs out.

Importing this package loads neither torch nor numpy; training needs the extra ``train``.
"""

from pathrag_gds.models.training.batches import TokenisedGroups, tokenise
from pathrag_gds.models.training.groups import Group, is_held_out, read_groups, write_groups

__all__ = ["Group", "TokenisedGroups", "is_held_out", "read_groups", "tokenise", "write_groups"]
