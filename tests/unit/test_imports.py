"""What starting up loads, in a process of its own; and what it does not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.test_layers import HEAVY

ROOT = Path(__file__).parent.parent.parent

_REPORT = "import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{_REPORT}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.split(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}


@pytest.mark.parametrize(
    "code",
    [
        "import pathrag_gds",
        "from pathrag_gds import *",
        "import pathrag_gds.server, pathrag_gds.migrate, pathrag_gds.ingest, pathrag_gds.demo",
        "import pathrag_gds.graph.database, pathrag_gds.models.encoder, pathrag_gds.retrieve",
        "import cli",
    ],
)
def test_importing_loads_nothing_heavy(code: str) -> None:
    loaded = loaded_by(code)
    assert "pathrag_gds" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["--version"], ["query", "--help"], ["server", "--help"]]
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    loaded = loaded_by(
        "import sys\n"
        f"sys.argv = ['pathrag', *{arguments!r}]\n"
        "from pathrag_gds.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code"
    )
    assert "click" in loaded
    assert not loaded & HEAVY
