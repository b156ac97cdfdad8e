"""From a question to ranked paths."""
