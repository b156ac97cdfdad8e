"""What docker-compose.yml says, read without a YAML parser."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["COMPOSE_FILE", "official_image"]

COMPOSE_FILE = Path(__file__).parent.parent / "docker-compose.yml"


def official_image() -> str:
    """Give the image of the one service."""
    (image,) = re.findall(r"(?m)^\s+image:\s*(\S+)\s*$", COMPOSE_FILE.read_text(encoding="utf-8"))
    return str(image)
