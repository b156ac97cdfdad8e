"""Import torch when training first needs it."""

from __future__ import annotations

from typing import Any

from pathrag_gds.errors import MissingExtra

__all__ = ["import_torch"]


def import_torch() -> Any:
    """Import torch, or raise ``MissingExtra``."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("train", needed_for="Training") from error
    return torch
