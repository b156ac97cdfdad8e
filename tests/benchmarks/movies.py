"""Turn Neo4j's movies script into CSV with import headers, so that ``pathrag load`` can read it.

python -m tests.benchmarks.movies MOVIES.cypher FOLDER
pathrag load FOLDER/movies.csv FOLDER/people.csv FOLDER/relationships.csv
"""

from __future__ import annotations

import sys
from pathlib import Path

from pathrag_gds.evaluation.datasets.movies import convert

if __name__ == "__main__":
    for written in convert(Path(sys.argv[1]), Path(sys.argv[2])):
        print(written)
