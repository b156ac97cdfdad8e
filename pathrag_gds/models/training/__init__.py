"""Train the path reranker: groups of texts in, a BERT classifier with two outputs out.

Importing this package loads neither torch nor numpy; training needs the extra ``train``.
"""

from pathrag_gds.models.training.groups import Group, read_groups, write_groups

__all__ = ["Group", "read_groups", "write_groups"]
