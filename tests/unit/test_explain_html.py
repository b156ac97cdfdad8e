"""An explanation as a page: what it tells, that it is whole, and that nothing of it is run."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.serve.explain_html import explanation_html
from pathrag_gds.types import (
    Anchor,
    Answer,
    Chain,
    Cut,
    DepthTrace,
    Edge,
    Entity,
    Explanation,
    Hop,
    Pattern,
    RankedPath,
    ResultHop,
    SearchResult,
    SearchStats,
    Seed,
    Source,
    Step,
    TracedPath,
)
from pathrag_gds.types import Path as GraphPath

VOID = frozenset({"meta", "br"})
RUNS_OR_LOADS = frozenset(
    {"script", "link", "img", "iframe", "object", "embed", "form", "base", "audio", "video", "use"}
)


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Give the elements in it, in their order; ``class_`` and ``http_equiv`` are attributes."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            element
            for element in elements(self)
            if element.tag == tag and wanted.items() <= element.attributes.items()
        ]

    def one(self, tag: str, **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found


def elements(root: Element) -> list[Element]:
    return [e for child in root.children for e in (child, *elements(child))]


class Tree(HTMLParser):
    """Reads a page and fails where its tags are not balanced."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"{tag} has an attribute twice"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> ends <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.texts.append(data)


def read(page: str) -> Element:
    tree = Tree()
    tree.feed(page)
    tree.close()
    assert tree.open == [tree.root], "a tag is left open"
    return tree.root


def path(*nodes: str, type_: str = "leads_to", forward: bool = True) -> GraphPath:
    ends = [(a, b) if forward else (b, a) for a, b in pairwise(nodes)]
    return GraphPath(nodes, tuple(Hop(Edge("k", a, b, type_), forward) for a, b in ends))


def ranked(rank: int, found: GraphPath, **names: str) -> RankedPath:
    return RankedPath(
        rank=rank,
        score=1 - rank / 10,
        confidence=0.9 - rank / 100,
        terms={"rerank": 0.625, "similarity": 0.125, "type": 0.5, "link": 1.0},
        text=f"text {rank}",
        path=found,
        nodes=tuple(Entity(node, names.get(node, node.upper())) for node in found.nodes),
        hops=tuple(ResultHop(hop, (Source("c1", "The story"),)) for hop in found.hops),
    )


BEST = path("milk", "event", "kitchen", type_="takes_place")
OTHER = path("milk", "jug", forward=False, type_="holds")


def explanation(**changes: Any) -> Explanation:
    values: dict[str, Any] = {
        "question": "Where was the milk?",
        "tenant": "mine",
        "method": "path",
        "outcome": "answered",
        "anchors": (Anchor("milk", "MILK", "the milk", 1.0),),
        "answers": (
            Answer("entity", "kitchen", "KITCHEN", confidence=0.89, paths=(1,)),
            Answer("value", "jug", "JUG", "colour", "blue", 0.88, (2,)),
        ),
        "paths": (ranked(1, BEST), ranked(2, OTHER)),
        "cut": (Cut(1, "beam_width", 7), Cut(2, "top_k", 3)),
        "stats": SearchStats(5, 4, 2, 1200, 9, 3, 0, {"total": 42.0}, "both", "nodes <tell>"),
        "config": {"min_score": 0.15, "weight_similarity": 6.0},
        "seeds": (Seed("jug", 0.5, 0.03), Seed("milk", 0.25, 0.02)),
        "warnings": ("an index is old",),
    }
    names = {node: node.upper() for node in ("milk", "event", "kitchen", "jug", "hall", "cat")}
    far = tuple(
        TracedPath(path("milk", node), 0.1, 0.1, "beam_width") for node in ("hall", "cat", "jug")
    )
    depths = (
        DepthTrace(0, (TracedPath(path("milk"), 0.3, 0.4),), names),
        DepthTrace(
            1,
            (
                TracedPath(path("milk", "event"), 0.5, 0.75),
                TracedPath(OTHER, 0.25, 0.5),
                *far,
                TracedPath(path("milk", "kitchen"), 0.2, 0.2, "odd <reason>"),
            ),
            names,
            (Cut(1, "beam_width", 7), Cut(1, "rerank_limit", 1100)),
            ("MILK",),
        ),
    )
    return Explanation(SearchResult(**{**values, **changes}), depths)


def rows_of(section: Element) -> list[list[str]]:
    return [
        [cell.text for cell in row.all("td")]
        for body in section.all("tbody")
        for row in body.all("tr")
    ]


def section(page: Element, id_: str) -> Element:
    return page.one("section", id=id_)


def test_the_page_tells_question_outcome_and_answers() -> None:
    page = read(explanation_html(explanation()))
    assert page.one("h1").text == "Where was the milk?"
    assert page.one("header").all("p")[0].text == "tenant mine, method path"
    assert page.one("header").all("p")[1].text == "Warning: an index is old"
    answers = section(page, "answers")
    assert answers.one("p", id="outcome").text == "Answered."
    assert rows_of(answers) == [["KITCHEN", "0.89", "1"], ["colour of JUG: blue", "0.88", "2"]]
    assert [a.attributes["href"] for a in answers.all("a")] == ["#path-1", "#path-2"]
    assert len(page.all("span", id="path-1")) == 1


def test_all_paths_are_there_with_the_terms_of_their_scores() -> None:
    paths = section(read(explanation_html(explanation())), "paths")
    assert [cell.text for cell in paths.all("th")] == [
        *("rank", "path", "score", "confidence", "rerank", "similarity", "type", "link")
    ]
    first, second = rows_of(paths)
    assert first[1] == (
        "MILK —[takes_place]→ EVENT —[takes_place]→ KITCHENsource: The story (c1)read as: text 1"
    )
    assert second[1].startswith("MILK ←[holds]— JUG")
    assert first[2:] == ["0.900", "0.890", "0.625", "0.125", "0.500", "1.000"]
    meanings = [item.text for item in paths.all("li")]
    assert [told.partition(":")[0] for told in meanings] == ["rerank", "similarity", "type", "link"]
    assert meanings[1].endswith("; --weight-similarity 6.0")


def test_anchors_and_seeds_are_there() -> None:
    page = read(explanation_html(explanation(), rows=1))
    assert rows_of(section(page, "anchors")) == [["the milk", "MILK", "milk", "1.000"]]
    seeds = section(page, "seeds")
    assert seeds.one("h2").text.endswith("(1 of 2)")
    assert rows_of(seeds) == [["JUG", "jug", "0.500", "0.0300"]]


def test_each_depth_tells_what_was_kept_and_why_the_rest_was_cut() -> None:
    page = read(explanation_html(explanation(), rows=2))
    start, first = page.all("section", class_="depth")
    assert start.one("h3").text == "Depth 0: 1 kept"
    assert rows_of(start) == [["0.400", "0.300", "MILK"]]
    assert first.one("h3").text == "Depth 1: 2 kept"
    cuts = first.all("details")
    assert [cut.one("summary").text for cut in cuts] == [
        "cut: 7 ranked below --beam-width",
        "cut: 1 odd <reason>",
    ]
    assert [line.text for line in first.all("p", class_="cut")] == [
        "cut: 1,100 not scored, beyond --rerank-limit"
    ]
    assert [row[2] for row in rows_of(cuts[0])] == [
        "MILK —[leads_to]→ HALL",
        "MILK —[leads_to]→ CAT",
    ]
    assert "and 1 more below them (--rows)" in cuts[0].text
    assert [row[2] for row in rows_of(cuts[1])] == ["MILK —[leads_to]→ KITCHEN"]
    assert "Not all relationships read: MILK" in first.text


def chains() -> Explanation:
    """Make an explanation of a search over chains, one kept and one cut at its depth."""
    kept = Chain("milk", (Step("holds", False, "Jug"), Step("stands_in", True, id="b")))
    cut = Chain("milk", (Step("r<1>", True),))
    depth = DepthTrace(
        2,
        (
            TracedPath(path("milk", "a", "b"), 0.5, 0.75, chain=kept),
            TracedPath(path("milk", "a"), 0.25, 0.5, "beam_width", chain=cut),
        ),
        {"milk": "MILK", "a": "A", "b": "B"},
        (Cut(2, "beam_width", 1), Cut(2, "row_cap", 12)),
    )
    return replace(explanation(), depths=(depth,))


def test_chains_are_told_with_one_of_their_paths() -> None:
    page = read(explanation_html(chains()))
    depth = page.one("section", class_="depth")
    kept, cut = depth.all("table")
    assert [th.text for th in kept.all("th")] == ["steer", "confidence", "chain"]
    assert rows_of(depth) == [
        [
            "0.750",
            "0.500",
            "MILK ←[holds]— (Jug) —[stands_in]→ Bsuch as MILK —[leads_to]→ A —[leads_to]→ B",
        ],
        ["0.500", "0.250", "MILK —[r<1>]→ ()such as MILK —[leads_to]→ A"],
    ]
    assert cut.all("th")[2].text == "chain"
    assert "the best chains, each with one of its paths, by steer" in section(page, "depths").text
    assert depth.one("p", class_="cut").text == "cut: 12 not read, beyond --max-rows"


def test_no_rows_means_all_and_fewer_than_none_is_refused() -> None:
    page = read(explanation_html(explanation(), rows=0))
    first = page.all("section", class_="depth")[1]
    assert len(rows_of(first.all("details")[0])) == 3
    assert "--rows" not in first.text
    with pytest.raises(ValueError, match="rows is -1"):
        explanation_html(explanation(), rows=-1)


def test_the_end_tells_what_was_left_out_the_cost_and_the_options() -> None:
    end = section(read(explanation_html(explanation())), "end")
    told = [line.text for line in end.all("p")]
    assert told == [
        "Left out: 3 beyond --top-k",
        "Depth 2, 5 round trips, 1,200 candidates, 9 texts scored.",
        "Strategy: both (nodes <tell>).",
    ]
    assert rows_of(end) == [["min_score", "0.15"], ["weight_similarity", "6.0"]]


def test_the_graph_has_every_node_arrow_and_relation() -> None:
    svg = section(read(explanation_html(explanation())), "graph").one("svg")
    names = [text.text for text in svg.all("text", class_="name")]
    assert sorted(names) == ["EVENT", "JUG", "KITCHEN", "MILK"]
    assert sorted(text.text for text in svg.all("text", class_="label")) == [
        *("holds", "takes_place", "takes_place")
    ]
    arrows = [p for p in svg.all("path") if p.attributes["class"] in ("arrow", "arrow best")]
    assert [p.one("title").text for p in arrows] == [
        "MILK -[takes_place]-> EVENT (path 1)",
        "EVENT -[takes_place]-> KITCHEN (path 1)",
        "JUG -[holds]-> MILK (path 2)",
    ]
    assert [p.attributes["class"] for p in arrows] == ["arrow best", "arrow best", "arrow"]
    (start,) = svg.all("g", class_="node start")
    assert start.one("text", class_="role").text == "anchor"
    assert len(svg.all("g", class_="node answer")) == 2


def test_the_queries_behind_the_answers_can_be_copied() -> None:
    cypher = "MATCH (a {id: $start})-[:`x<y`]->(b)\nRETURN b.id AS id"
    one = Pattern((), "milk ends in", cypher, {"start": "m<1>", "n": [1]}, total=1200)
    two = Pattern((), "other", "RETURN 1 AS id", {})
    answers = (
        Answer("entity", "kitchen", "KITCHEN", pattern=0),
        Answer("entity", "jug", "JUG", pattern=0),
    )
    page = read(explanation_html(explanation(patterns=(one, two), answers=answers)))
    patterns = section(page, "patterns")
    assert [pre.text for pre in patterns.all("pre")] == [cypher, "RETURN 1 AS id"]
    assert [h.text for h in patterns.all("h3")] == ["milk ends in", "other"]
    assert rows_of(patterns) == [["start", '"m<1>"'], ["n", "[1]"]]
    assert [line.text for line in patterns.all("p")][1:] == [
        "2 of 1,200 in the graph are among the answers above.",
        "0 of an unknown number in the graph are among the answers above.",
        "No parameters.",
    ]
    assert read(explanation_html(explanation())).all("section", id="patterns") == []


def test_paths_that_are_not_drawn_are_told() -> None:
    hub = tuple(ranked(n, path("hub", f"n{n:02}")) for n in range(1, 13))
    page = read(explanation_html(explanation(paths=hub)))
    told = [line.text for line in section(page, "graph").all("p")]
    assert told[1:] == [
        "8 of 12 paths are drawn, the best first: at most 8 neighbours of a node and 60 nodes. "
        "All are listed below.",
        "HUB has 4 more neighbours on paths that are not drawn.",
    ]
    assert len(rows_of(section(page, "paths"))) == 12


def test_without_paths_the_page_says_so() -> None:
    empty = replace(
        explanation(outcome="not_in_graph", answers=(), paths=(), anchors=(), seeds=()), depths=()
    )
    page = read(explanation_html(empty))
    answers = section(page, "answers")
    assert [line.text for line in answers.all("p")] == [
        "The graph does not say.",
        "No path of tenant mine answers this with a confidence of 0.15 or more.",
    ]
    assert page.all("svg") == []
    assert section(page, "anchors").one("p").text == "None, so paths start at the seeds."
    assert section(page, "seeds").one("p").text == "None."


BAD = '<script>alert("x")</script>&amp;\'"><img src=x onerror=y>\u202e\x00\ud800'
SHOWN = '<script>alert("x")</script>&amp;\'"><img src=x onerror=y>\\u202e\\x00\\ud800'


def nasty() -> Explanation:
    """Make an explanation each of whose texts is markup."""
    hop = Hop(Edge(BAD, "a", BAD, BAD, {BAD: BAD}, (BAD,)), True)
    walk = GraphPath(("a", BAD), (hop,))
    nodes = (Entity("a", BAD, (BAD,), BAD, {BAD: BAD}), Entity(BAD, BAD))
    paths = (
        RankedPath(
            1, 0.5, 0.5, {BAD: 1.0}, BAD, walk, nodes, (ResultHop(hop, (Source(BAD, BAD),)),)
        ),
        RankedPath(2, 0.5, 0.5, {"rerank": 1.0}, BAD, GraphPath(("a",)), nodes[:1], ()),
    )
    result = SearchResult(
        question=BAD,
        tenant=BAD,
        method=BAD,
        outcome="partial",
        anchors=(Anchor(BAD, BAD, BAD, 1.0),),
        answers=(Answer("value", BAD, BAD, BAD, BAD, 0.5, (1,)),),
        paths=paths,
        cut=(Cut(0, BAD, 1),),
        stats=SearchStats(),
        config={BAD: BAD},
        seeds=(Seed(BAD, 0.5, 0.5),),
        warnings=(BAD,),
        patterns=(Pattern((), BAD, f"RETURN '{BAD}'\nAS id", {BAD: BAD}),),
    )
    traced = (TracedPath(walk, 0.5, 0.5), TracedPath(walk, 0.5, 0.5, BAD))
    depth = DepthTrace(0, traced, {"a": BAD, BAD: BAD}, (Cut(0, BAD, 1),), (BAD,))
    return Explanation(result, (depth,))


def test_markup_in_the_graph_is_shown_and_not_read() -> None:
    page = explanation_html(nasty())
    assert "<script" not in page
    root = read(page)
    everything = elements(root)
    assert not {e.tag for e in everything} & RUNS_OR_LOADS
    assert not [a for e in everything for a in e.attributes if a.startswith("on")]
    assert root.one("h1").text == SHOWN
    assert {cell.text for cell in root.all("bdi")} >= {SHOWN}
    svg = root.one("svg")
    assert svg.one("g", class_="node answer").one("title").text == f"{SHOWN} ({SHOWN})"
    assert f"—[{SHOWN} {{{SHOWN}: {SHOWN}}}]→" in root.text
    page.encode("utf-8")
    assert not set(page) & {"\u202e", "\x00"}


def test_the_page_needs_nothing_else() -> None:
    for told in (explanation(), nasty()):
        page = explanation_html(told)
        root = read(page)
        assert "url(" not in page.replace('marker-end="url(#head)"', "")
        assert "@import" not in page
        links = [
            value
            for element in elements(root)
            for name, value in element.attributes.items()
            if name in ("href", "src", "xlink:href") and value is not None
        ]
        assert all(link.startswith("#path-") for link in links)
        policy = root.one("meta", http_equiv="Content-Security-Policy")
        assert policy.attributes["content"] == "default-src 'none'; style-src 'unsafe-inline'"
        ids = [e.attributes["id"] for e in elements(root) if "id" in e.attributes]
        assert len(set(ids)) == len(ids)


def test_a_page_has_no_times_so_that_two_runs_agree() -> None:
    slow = SearchStats(5, 4, 2, 1200, 9, 3, 0, {"total": 99_999.0}, "both", "nodes <tell>")
    assert explanation_html(explanation(stats=slow)) == explanation_html(explanation())


def test_a_page_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "from tests.unit.test_explain_html import explanation, nasty\n"
        "from tests.unit.test_paths_svg import web\n"
        "from pathrag_gds.serve.explain_html import explanation_html\n"
        "import hashlib\n"
        "told = (explanation(), nasty(), explanation(paths=web()))\n"
        "print(*(hashlib.sha256(explanation_html(t).encode()).hexdigest() for t in told))\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "7")
    }
    assert len(printed) == 1
