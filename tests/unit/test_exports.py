"""What the package calls public is what is public."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

import pathrag_gds

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(pathrag_gds.__path__, "pathrag_gds.")
    if not found.name.endswith(("__main__", ".cli"))
)


def test_top_level_names_are_the_bound_ones() -> None:
    bound = {
        name
        for name, value in vars(pathrag_gds).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    }
    assert bound | {"__version__"} == set(pathrag_gds.__all__)
    assert len(pathrag_gds.__all__) == len(set(pathrag_gds.__all__))
    assert set(pathrag_gds.__all__) >= {
        "Connection",
        "PathRAG",
        "PathRAGError",
        "SearchConfig",
        "SearchResult",
    }


@pytest.mark.parametrize("name", sorted(set(pathrag_gds.__all__) - {"__version__"}))
def test_top_level_names_say_what_they_are(name: str) -> None:
    text = inspect.getdoc(getattr(pathrag_gds, name))
    assert text, name
    assert text.splitlines()[0].endswith((".", "…")), text.splitlines()[0]


@pytest.mark.parametrize("name", MODULES)
def test_module_lists_exist_and_are_documented(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} says nothing about itself"
    for exported in getattr(module, "__all__", ()):
        value = getattr(module, exported)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{name}.{exported} has no docstring"


def test_error_tree_is_whole_and_exit_codes_are_stable() -> None:
    from pathrag_gds import errors

    classes = {n: getattr(errors, n) for n in errors.__all__}
    assert all(issubclass(c, errors.PathRAGError) for c in classes.values())
    assert all(name in (errors.__doc__ or "") for name in classes)
    assert {n: c.exit_code for n, c in classes.items() if c.__base__ is errors.PathRAGError} == {
        "ConfigError": 2,
        "DatabaseError": 3,
        "EmbeddedServerError": 4,
        "MigrationError": 5,
        "LoadError": 6,
        "ModelError": 7,
        "PartialError": 8,
        "QueryFileError": 9,
    }
