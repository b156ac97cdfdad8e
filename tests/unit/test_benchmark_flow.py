"""The other side of the flow benchmark rates as ours does, and its picture is well made."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from pathrag_gds.retrieve.flow import FLOW_PRESETS, Subgraph
from pathrag_gds.retrieve.flow_between import between
from tests.benchmarks.curves import Curve, curves_svg, shares_svg
from tests.benchmarks.flow import published, scale_free
from tests.benchmarks.sparsity import SHARES, hidden


def test_graph_is_scale_free_and_the_same_again() -> None:
    edges = scale_free(200, links=3)
    assert len(edges) == 197 * 3
    assert edges == scale_free(200, links=3)
    degrees = sorted((len(out) for out in Subgraph.of(edges).out.values()), reverse=True)
    assert degrees[0] > 5 * degrees[100]


def test_published_algorithm_keeps_the_paths_that_ours_finds() -> None:
    edges = scale_free(60, links=2)
    seeds = ["n5", "n20", "n40"]
    _, kept, done = published(edges, seeds, limit=60)
    every = replace(FLOW_PRESETS["reference"], top_k=1000)
    ours = between(Subgraph.of(edges), seeds, "reference", options=every)
    # It drops paths over the same nodes, and keeps 15 at most.
    assert (kept, done) == (min(len({frozenset(o.path.nodes) for o in ours.paths}), 15), 1.0)
    assert kept > 5


def test_published_algorithm_is_stopped_at_the_limit() -> None:
    _, kept, done = published(scale_free(60, links=2), ["n5", "n20"], limit=-1.0)
    assert (kept, done) == (0, 0.0)


def test_picture_marks_what_was_stopped() -> None:
    curves = [
        Curve("ours", ((10.0, 0.01, False), (1000.0, 0.1, False))),
        Curve("a < b", ((10.0, 5.0, False), (1000.0, 60.0, True))),
    ]
    root = ElementTree.fromstring(curves_svg([("title", "size", curves)]))
    kinds = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert (kinds.count("polyline"), kinds.count("circle"), kinds.count("path")) == (2, 3, 1)
    texts = [element.text for element in root.iter() if element.text and element.text.strip()]
    assert {"title", "size", "ours", "a < b", "1 s", "100 s", "1k"} <= set(texts)


def test_no_curves_are_an_empty_picture() -> None:
    assert ElementTree.fromstring(curves_svg([("nothing", "x", [])])).tag.endswith("svg")


def test_what_is_hidden_grows_and_is_the_same_again() -> None:
    keys = [f"k{i}" for i in range(4000)]
    parts = [hidden(keys, share, seed=0) for share in SHARES]
    assert parts[0] == []
    for share, part, more in zip(SHARES[1:], parts[1:], [*parts[2:], keys], strict=True):
        assert abs(len(part) / len(keys) - share) < 0.02
        assert set(part) < set(more)
    assert hidden(keys, 0.5, seed=0) == parts[-1] != hidden(keys, 0.5, seed=1)


def test_picture_of_shares_goes_from_the_bottom_to_the_top() -> None:
    picture = ElementTree.fromstring(shares_svg("<set>", "x", {"one": [(0.5, 0.0), (0.0, 1.0)]}))
    (line,) = picture.iter("{http://www.w3.org/2000/svg}polyline")
    (left, top), (right, bottom) = (
        tuple(map(float, point.split(","))) for point in line.attrib["points"].split()
    )
    assert left < right
    assert top < bottom
    told = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"<set>", "one", "0%", "50%"} <= set(told)
