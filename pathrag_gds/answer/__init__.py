"""From ranked paths to what a language model is asked, and to its answer."""
