"""``python -m pathrag_gds.models.export``: write the encoder from the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pathrag_gds.errors import ModelError
from pathrag_gds.models.export import default_weights, export

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Export as the arguments say; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pathrag_gds.models.export")
    parser.add_argument("--weights", type=Path, help="folder with config.json, model.safetensors")
    parser.add_argument("--output", type=Path, required=True, help="folder to write into")
    parser.add_argument("--float", action="store_true", help="float32 instead of 8 bits")
    options = parser.parse_args(arguments)
    try:
        path = export(
            options.weights or default_weights(), options.output, quantised=not options.float
        )
    except ModelError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
