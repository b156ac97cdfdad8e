"""``python -m pathrag_gds.models.export``: write an encoder or a reranker from the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from pathrag_gds.errors import PathRAGError
from pathrag_gds.models.export import (
    default_weights,
    export,
    export_reranker,
    read_bert,
    sample_pairs,
)
from pathrag_gds.models.path_reranker import RerankerRecord
from pathrag_gds.models.training.groups import read_groups

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Export as the arguments say; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pathrag_gds.models.export")
    parser.add_argument(
        "--weights",
        type=Path,
        help="folder with config.json, model.safetensors and tokenizer.json: a BERT encoder (the "
        "default: all-MiniLM-L6-v2) or a classifier with two labels, which makes a reranker",
    )
    parser.add_argument("--output", type=Path, required=True, help="folder to write into")
    parser.add_argument("--float", action="store_true", help="float32 instead of 8 bits")
    parser.add_argument("--name", help="of the reranker; the name of the output folder by default")
    parser.add_argument("--base", default="", help="weights that the reranker was trained from")
    parser.add_argument(
        "--trained-on", action="append", default=[], metavar="SET", help="may be given repeatedly"
    )
    parser.add_argument(
        "--groups",
        type=Path,
        help="training groups (JSONL) to choose the reranker's 8-bit weights over",
    )
    options = parser.parse_args(arguments)
    try:
        weights = options.weights or default_weights()
        if read_bert(weights).outputs:
            record = RerankerRecord(
                options.name or options.output.name,
                base=options.base,
                trained_on=tuple(options.trained_on),
                created=date.today().isoformat(),
            )
            pairs = sample_pairs(read_groups(options.groups)) if options.groups else []
            path = export_reranker(
                weights, options.output, record, pairs=pairs, quantised=not options.float
            )
        else:
            path = export(weights, options.output, quantised=not options.float)
    except PathRAGError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
