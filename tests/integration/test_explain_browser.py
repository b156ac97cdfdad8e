"""The page that explains the demo's question, opened in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from pathrag_gds import PathRAG
from pathrag_gds.graph.database import Database
from pathrag_gds.serve.explain_html import explanation_html
from pathrag_gds.serve.results import CUT_REASONS
from tests.browser import Browser, Page

pytestmark = [pytest.mark.integration, pytest.mark.browser]

VILLAGE = "In which village was Bob when the milk was spilled?"


def texts(page: Page, selector: str) -> list[str]:
    found: list[str] = page.value(
        f"[...document.querySelectorAll({selector!r})].map(e => e.textContent)"
    )
    return found


@pytest.mark.once
@pytest.mark.parametrize("dark", [False, True])
def test_the_demo_is_explained(
    demo: Database, chromium: Browser, tmp_path: Path, dark: bool
) -> None:
    told = PathRAG(demo).explain(VILLAGE)
    file = tmp_path / "explanation.html"
    file.write_text(explanation_html(told), encoding="utf-8")
    page = chromium.open(file, dark=dark)

    assert texts(page, "h1") == [VILLAGE]
    assert texts(page, "#answers tbody tr:first-child td:first-child") == ["Whiskerville"]
    assert texts(page, "#anchors tbody td:nth-child(2)") == ["Bob", "Milk"]
    assert texts(page, ".depth h3") == [
        f"Depth {depth.depth}: {sum(not traced.reason for traced in depth.paths)} kept"
        for depth in told.depths
    ]
    assert len(told.depths) >= 4
    for depth in told.depths:
        shown = texts(page, f".depth[data-depth='{depth.depth}'] :is(summary, p.cut)")
        told_cut = [f"cut: {cut.count:,} {CUT_REASONS[cut.reason]}" for cut in depth.cut]
        assert sorted(shown) == sorted(told_cut)
    paths = told.result.paths
    assert len(texts(page, "#paths tbody tr")) == len(paths) == 5
    ends = {(hop.hop.edge.source, hop.hop.edge.target) for path in paths for hop in path.hops}
    assert len(texts(page, "svg path.arrow")) == len(ends)
    assert len(texts(page, "svg g.node")) == len({n for path in paths for n in path.path.nodes})

    assert page.requests == [file.as_uri()]
    assert page.complaints == []
    assert page.value("document.documentElement.scrollWidth") == 1280
