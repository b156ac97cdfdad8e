"""Adapt the reranker to a user's graph: read it, ask it questions, train on them, install.

Importing this package loads neither torch nor numpy; training needs the extra ``train``.
"""

from pathrag_gds.adapt.install import remove, rerankers_folder
from pathrag_gds.adapt.pairs import Unused
from pathrag_gds.adapt.run import Adapted, AdaptProgress, Hits, adapt

__all__ = ["AdaptProgress", "Adapted", "Hits", "Unused", "adapt", "remove", "rerankers_folder"]
