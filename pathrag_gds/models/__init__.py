"""Encoders and rerankers: text to vectors, and how well a path answers a question."""
