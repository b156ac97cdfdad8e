"""Entry point of the command ``pathrag`` and of ``python -m pathrag_gds``."""

from __future__ import annotations

import importlib
from importlib.util import find_spec


def main() -> None:
    """Run the command line interface.

    In a wheel ``cli.py`` lies inside the package; in a checkout or an editable install it lies
    beside it, as the project's layout fixes.
    """
    name = "pathrag_gds.cli" if find_spec("pathrag_gds.cli") else "cli"
    importlib.import_module(name).main()


if __name__ == "__main__":
    main()
