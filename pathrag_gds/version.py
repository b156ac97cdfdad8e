"""The version of this package, in one place for code that must not read metadata at start-up."""

__version__ = "0.1.0"
