"""The wheel and the source archive: what is in them, and that they run on their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from pathrag_gds.graph.queries import all_queries
from pathrag_gds.models.path_reranker import PathReranker, shipped_reranker
from pathrag_gds.models.training.lexicon import load_lexicon
from pathrag_gds.server.artifacts import locked
from pathrag_gds.version import __version__

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parent.parent.parent
RERANKER = ("model.onnx", "tokenizer.json", "reranker.json", "MODEL_CARD.md")
CALIBRATION_TEXTS = ("calibration.txt", "calibration_pairs.txt")
# Each file that load_lexicon names, and one of every kind that it looks for.
LEXICON = (
    "attributes.jsonl",
    "events_home.jsonl",
    "implied.jsonl",
    "names.json",
    "places.jsonl",
    "relations_people.jsonl",
)


def run(*command: str, cwd: Path = ROOT, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tracked(*folders: str) -> set[str]:
    """List the files of the checkout that belong to the project."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", *folders)
    return {line for line in listed.splitlines() if (ROOT / line).is_file()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(
        *(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)),
        *("--wheel", "--sdist", str(ROOT)),
    )
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (file,) = built.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    run(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"),
        *("--disable-pip-version-check", "--target", str(folder), str(wheel)),
    )
    return folder


def test_wheel_holds_the_whole_program_and_nothing_beside_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    assert {PurePosixPath(name).parts[0] for name in names} == {
        "pathrag_gds",
        f"pathrag_gds-{__version__}.dist-info",
    }
    expected = tracked("pathrag_gds") | {
        f"pathrag_gds/{name}" for name in tracked("cypher", "migrations", "cli.py")
    }
    inside = {name for name in names if name.startswith("pathrag_gds/")}
    assert inside == expected
    assert {
        "pathrag_gds/cli.py",
        "pathrag_gds/py.typed",
        "pathrag_gds/server/artifacts.lock",
        "pathrag_gds/cypher/server/gds_version.cypher",
        "pathrag_gds/migrations/V001__create_constraints.cypher",
        "pathrag_gds/models/all-MiniLM-L6-v2-int8/model.onnx",
        "pathrag_gds/models/all-MiniLM-L6-v2-int8/tokenizer.json",
        "pathrag_gds/models/node-matcher-int8/model.onnx",
        "pathrag_gds/models/node-matcher-int8/tokenizer.json",
        *(f"pathrag_gds/models/path-reranker-int8/{name}" for name in RERANKER),
        *(f"pathrag_gds/models/export/{name}" for name in CALIBRATION_TEXTS),
        *(f"pathrag_gds/models/training/lexicon/{name}" for name in LEXICON),
    } <= inside
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_source_archive_holds_every_folder(built: Path) -> None:
    (file,) = built.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {
            str(PurePosixPath(*PurePosixPath(member.name).parts[1:]))
            for member in archive.getmembers()
            if member.isfile()
        }
    wanted = tracked("pathrag_gds", "cypher", "migrations", "tests")
    assert wanted - names == set()
    assert {"cli.py", "pyproject.toml", "README.md", "LICENSE", "docker-compose.yml"} <= names


def test_installed_command_runs_from_another_folder(site: Path, tmp_path: Path) -> None:
    script = site / "bin" / "pathrag"
    for command in ([str(script)], [sys.executable, "-m", "pathrag_gds"]):
        shown = run(*command, "--version", cwd=tmp_path, PYTHONPATH=str(site))
        assert __version__ in shown
        usage = run(*command, "--help", cwd=tmp_path, PYTHONPATH=str(site))
        assert usage.startswith("Usage: ")
        for name in ("demo", "query", "load", "migrate", "server", "doctor"):
            assert f"  {name} " in usage


def test_installed_files_are_found(site: Path, tmp_path: Path) -> None:
    code = """
import json, sys
import pathrag_gds
from pathrag_gds.graph.queries import all_queries, cypher_folder
from pathrag_gds.migrate import migrations_folder
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.models.path_reranker import PathReranker
from pathrag_gds.models.reranker import load_reranker
from pathrag_gds.models.training.lexicon import load_lexicon
from pathrag_gds.server.artifacts import locked
encoder = load_encoder(None)
reranker = load_reranker(None, encoder).reranker
assert isinstance(reranker, PathReranker)
lexicon = load_lexicon()
print(json.dumps({
    "package": pathrag_gds.__file__,
    "cypher": str(cypher_folder()),
    "migrations": str(migrations_folder()),
    "queries": len(all_queries()),
    "jars": len(locked("lts")),
    "vector": list(encoder.encode(["milk"]).shape),
    "reranker": reranker.fingerprint,
    "scores": len(reranker.score("Who?", ["milk"])),
    "relations": len(lexicon.relations),
    "frames": len(lexicon.frames),
}))
"""
    shown = json.loads(run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(site)))
    assert shown == {
        "package": str(site / "pathrag_gds" / "__init__.py"),
        "cypher": str(site / "pathrag_gds" / "cypher"),
        "migrations": str(site / "pathrag_gds" / "migrations"),
        "queries": len(all_queries()),
        "jars": len(locked("lts")),
        "vector": [1, 384],
        "reranker": PathReranker(shipped_reranker()).fingerprint,
        "scores": 1,
        "relations": len(load_lexicon().relations),
        "frames": len(load_lexicon().frames),
    }


@pytest.mark.parametrize("command", [("cli.py",), ("-m", "pathrag_gds")])
def test_checkout_runs_without_being_installed(command: tuple[str, ...]) -> None:
    assert __version__ in run(sys.executable, *command, "--version")
