"""What every test shares: which servers to test on, markers, and when a skip is a failure."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.browser import Browser, browser, find_browser
from tests.sources import GIVEN, OTHER_LANE, Source, choose_sources, describe

_SETTINGS = (
    "NEO4J_URI",
    "NEO4J_USERNAME",
    "NEO4J_USER",
    "NEO4J_PASSWORD",
    "NEO4J_DATABASE",
    "PATHRAG_LANE",
    "PATHRAG_TENANT",
    "PATHRAG_MODEL",
    "PATHRAG_RERANKER",
    # No test may reach a language model but the one that it scripts.
    "PATHRAG_LLM_BASE_URL",
    "PATHRAG_LLM_MODEL",
    "PATHRAG_LLM_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "OPENAI_API_KEY",
)

SOURCES = pytest.StashKey[tuple[Source, ...]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("pathrag", "pathrag-gds: servers to test on")
    group.addoption(
        "--lane",
        choices=["lts", "current", "all"],
        default=None,
        help="embedded servers to test on (default: PATHRAG_TEST_LANE, else all)",
    )
    group.addoption(
        "--neo4j-uri",
        default=None,
        help="test on this server instead (default: PATHRAG_TEST_NEO4J_URI); it is wiped",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "once: only on the first of the servers to test on")
    config.stash[SOURCES] = choose_sources(
        os.environ, lane=config.getoption("--lane"), uri=config.getoption("--neo4j-uri")
    )
    # A developer's own server and settings must not reach a test, least of all one that wipes.
    for name in _SETTINGS:
        os.environ.pop(name, None)


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [f"neo4j: {describe(source)}" for source in config.stash[SOURCES]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "lane" not in metafunc.fixturenames:
        return
    names = [source.name for source in metafunc.config.stash[SOURCES]]
    if metafunc.definition.get_closest_marker("once"):
        names = names[:1]
    metafunc.parametrize("lane", names, indirect=True, scope="session")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "integration" in Path(item.path).parts and not item.get_closest_marker("container"):
            item.add_marker("integration")
    # What is quick comes first; a server is started once, and the demo graph loaded once on it.
    items.sort(key=_order)


def _order(item: pytest.Item) -> tuple[int, int, bool]:
    callspec = getattr(item, "callspec", None)
    lane = ("", "lts", "current", GIVEN).index(callspec.params.get("lane", "") if callspec else "")
    slow = ("browser", "torch", "integration", "container", "packaging")
    kind = max((1 + i for i, name in enumerate(slow) if item.get_closest_marker(name)), default=0)
    return kind, lane, "demo" in getattr(item, "fixturenames", ())


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("torch") and find_spec("torch") is None:
        pytest.skip('torch is not installed: pip install -e ".[test,test-torch]"')
    if item.get_closest_marker("browser") and find_browser() is None:
        pytest.skip("no Chromium and no Chrome: apt-get install chromium")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        for variable, markers in _REQUIRED.items():
            if OTHER_LANE in reason:
                break
            if os.environ.get(variable) == "1" and any(map(item.get_closest_marker, markers)):
                report.outcome = "failed"
                report.longrepr = f"{variable}=1 makes a skip a failure. {reason}"
    return report


_REQUIRED = {
    "PATHRAG_REQUIRE_NEO4J": ("integration", "container"),
    "PATHRAG_REQUIRE_TORCH": ("torch",),
    "PATHRAG_REQUIRE_BROWSER": ("browser",),
}


@pytest.fixture(autouse=True, scope="session")
def _user_folders(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the user's own embedded server out of reach; jars still come from the shared cache."""
    os.environ["PATHRAG_HOME"] = str(tmp_path_factory.mktemp("home") / "pathrag")


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless browser; what asks for it carries the marker ``browser``."""
    path = find_browser()
    assert path is not None
    with browser(path, tmp_path_factory.mktemp("browser")) as started:
        yield started
