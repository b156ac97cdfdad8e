"""The page of an explanation, as a browser shows it: what it holds, that it runs and loads nothing,
and that nothing on it lies over something else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.serve.explain_html import explanation_html
from pathrag_gds.types import (
    Anchor,
    Cut,
    DepthTrace,
    Edge,
    Entity,
    Explanation,
    Hop,
    Pattern,
    TracedPath,
)
from pathrag_gds.types import Path as GraphPath
from tests.browser import Browser, Page
from tests.unit.test_explain_html import SHOWN, chains, explanation, nasty, path, ranked
from tests.unit.test_paths_svg import web

pytestmark = pytest.mark.browser

Open = Callable[..., Page]

RTL = "שלום עולם"
LONG = "ein_sehr_langer_Name_ohne_Leerzeichen_" * 12
WIDE = "W" * 80
QUOTES = "\"double\" 'single' `back` <b>bold</b> &lt;"
HOSTILE = ("<script>document.title = 'ran'</script>", QUOTES, RTL, LONG, WIDE, "猫" * 60)

# Pairs of nodes whose boxes, and of labels whose texts, lie over each other.
OVERLAPS = """
(selector => {
  const found = [...document.querySelectorAll(selector)].map(e => e.getBoundingClientRect());
  return found.flatMap((a, i) => found.slice(i + 1).filter(b =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
})
"""
# Names that are wider than the box around them.
OUTSIDE = """
[...document.querySelectorAll("svg g.node")].filter(g => {
  const box = g.querySelector("rect").getBoundingClientRect();
  return [...g.querySelectorAll(".name, .role")].some(text => {
    const b = text.getBoundingClientRect();
    return b.left < box.left || b.right > box.right || b.top < box.top || b.bottom > box.bottom;
  });
}).map(g => g.textContent)
"""
# Labels of arrows that lie over a node.
ON_NODES = """
[...document.querySelectorAll("svg .label")].filter(label => {
  const a = label.getBoundingClientRect();
  return [...document.querySelectorAll("svg rect")].some(rect => {
    const b = rect.getBoundingClientRect();
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  });
}).map(label => label.textContent)
"""


@pytest.fixture
def opened(chromium: Browser, tmp_path: Path) -> Open:
    def opened(told: Explanation, **how: Any) -> Page:
        file = tmp_path / "explanation.html"
        file.write_text(explanation_html(told, rows=2), encoding="utf-8")
        page = chromium.open(file, **how)
        assert page.requests == [file.as_uri()]
        assert page.complaints == []
        return page

    return opened


def texts(page: Page, selector: str) -> list[str]:
    found: list[str] = page.value(
        f"[...document.querySelectorAll({selector!r})].map(e => e.textContent)"
    )
    return found


def hostile() -> Explanation:
    """Make an explanation of a star whose names, relations and question try to break the page."""
    edge = Edge("k", "hub", "far0", QUOTES, {LONG: RTL})
    walks = [
        path("hub", f"far{number}", type_=(QUOTES, RTL, "rel_" * 40)[number % 3])
        for number in range(len(HOSTILE))
    ]
    names = {f"far{number}": name for number, name in enumerate(HOSTILE)} | {"hub": "Hub"}
    paths = tuple(
        replace(
            ranked(rank, walk),
            text=HOSTILE[rank % len(HOSTILE)],
            nodes=tuple(Entity(node, names[node], (), LONG) for node in walk.nodes),
        )
        for rank, walk in enumerate(walks, 1)
    )
    traced = tuple(TracedPath(walk, 0.5, 0.5) for walk in walks)
    odd = TracedPath(GraphPath(("hub", "far0"), (Hop(edge, True),)), 0.1, 0.1, "beam_width")
    depths = (
        DepthTrace(0, (TracedPath(path("hub"), 0.5, 0.5),), names),
        DepthTrace(1, (*traced, odd), names, (Cut(1, "beam_width", 1),), (RTL, LONG)),
    )
    made = explanation(
        question=" ".join(HOSTILE),
        paths=paths,
        anchors=(Anchor("hub", "Hub", QUOTES, 1.0),),
        answers=(),
        config={LONG: list(HOSTILE)},
        warnings=HOSTILE,
        patterns=tuple(
            Pattern((), name, f"// {LONG}\nRETURN {name}", {name: name}) for name in HOSTILE
        ),
    )
    return replace(made, depths=depths)


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_tells_what_the_search_did(opened: Open, dark: bool) -> None:
    page = opened(explanation(), dark=dark)
    assert texts(page, "h1") == ["Where was the milk?"]
    assert page.value("document.title") == "Where was the milk?"
    assert texts(page, "#answers tbody tr td:first-child") == ["KITCHEN", "colour of JUG: blue"]
    assert texts(page, "#anchors tbody tr td:first-child") == ["the milk"]
    assert texts(page, ".depth h3") == ["Depth 0: 1 kept", "Depth 1: 2 kept"]
    assert texts(page, ".depth .cut > summary, p.cut") == [
        "cut: 7 ranked below --beam-width",
        "cut: 1,100 not scored, beyond --rerank-limit",
        "cut: 1 odd <reason>",
    ]
    assert len(texts(page, "svg g.node")) == 4
    assert len(texts(page, "svg path.arrow")) == 3
    assert len(texts(page, "#paths tbody tr")) == 2
    light, fore = (
        page.value(f"getComputedStyle(document.body).{what}") for what in ("background", "color")
    )
    assert ("rgb(20, 23, 28)" in light, fore == "rgb(230, 232, 235)") == (dark, dark)


@pytest.mark.parametrize("dark", [False, True])
def test_kept_and_cut_chains_are_told_per_depth(opened: Open, dark: bool) -> None:
    page = opened(chains(), dark=dark)
    assert texts(page, ".depth h3") == ["Depth 2: 1 kept"]
    assert texts(page, ".depth th:last-child") == ["chain", "chain"]
    told = texts(page, ".depth tbody td:last-child")
    assert [line.partition("such as")[0] for line in told] == [
        "MILK ←[holds]— (Jug) —[stands_in]→ B",
        "MILK —[r<1>]→ ()",
    ]
    assert texts(page, ".depth .cut > summary, p.cut") == [
        "cut: 1 ranked below --beam-width",
        "cut: 12 not read, beyond --max-rows",
    ]


def test_a_rank_leads_to_its_path(opened: Open) -> None:
    page = opened(explanation())
    page.value("document.querySelector('#answers a').click()")
    assert page.value("location.hash") == "#path-1"
    assert page.value("document.querySelector(':target').textContent") == "1"


@pytest.mark.parametrize("dark", [False, True])
def test_hostile_texts_are_shown_and_do_nothing(opened: Open, dark: bool) -> None:
    page = opened(hostile(), dark=dark)
    question = " ".join(HOSTILE)
    assert texts(page, "h1") == [question]
    assert page.value("document.title") == question
    assert page.value("document.scripts.length") == 0
    assert len(texts(page, "svg g.node")) == 1 + len(HOSTILE)
    assert len(texts(page, "svg path.arrow")) == len(HOSTILE)
    assert texts(page, "#patterns pre") == [f"// {LONG}\nRETURN {name}" for name in HOSTILE]
    titles = texts(page, "svg g.node > title")
    assert {f"{name} (far{n})" for n, name in enumerate(HOSTILE)} < set(titles)
    assert texts(page, ".depth h3") == ["Depth 0: 1 kept", "Depth 1: 6 kept"]
    assert page.value("[...document.querySelectorAll('b, img, script')].length") == 0


def test_what_only_a_browser_would_run_is_not_run(opened: Open) -> None:
    page = opened(nasty())
    assert texts(page, "h1") == [SHOWN]
    assert page.value("document.querySelectorAll('img, script, [onerror]').length") == 0


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize(
    "told",
    [explanation(), chains(), hostile(), nasty(), explanation(paths=web())],
    ids=["plain", "chains", "hostile", "nasty", "web"],
)
def test_nothing_lies_over_something_else(opened: Open, told: Explanation, width: int) -> None:
    page = opened(told, width=width)
    # The page itself does not scroll sideways; wide tables and pictures do within it.
    assert page.value("document.documentElement.scrollWidth") == width
    assert page.value(f"{OVERLAPS}('svg g.node rect')") == 0
    assert page.value(OUTSIDE) == []
    assert page.value(ON_NODES) == []


def test_labels_of_a_star_can_all_be_read(opened: Open) -> None:
    page = opened(hostile())
    assert len(texts(page, "svg .label")) == len(HOSTILE)
    assert page.value(f"{OVERLAPS}('svg .label')") == 0
