"""Paths as one picture: what is drawn and what is left out, and that it can be read."""

from __future__ import annotations

import random
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest

from pathrag_gds.serve.paths_svg import draw_paths
from pathrag_gds.types import Edge, Entity, Hop, Path, RankedPath, ResultHop

NS = "{http://www.w3.org/2000/svg}"


def ranked(rank: int, *hops: tuple[str, str, str, bool], start: str = "") -> RankedPath:
    """Make a path of hops ``(head, type, tail, forward)``."""
    made = []
    for head, type_, tail, forward in hops:
        source, target = (head, tail) if forward else (tail, head)
        made.append(Hop(Edge("", source, target, type_), forward))
    nodes = (hops[0][0], *(hop[2] for hop in hops)) if hops else (start,)
    return RankedPath(
        rank,
        1.0,
        0.5,
        {},
        "",
        Path(nodes, tuple(made)),
        tuple(Entity(n, n.upper()) for n in nodes),
        tuple(map(ResultHop, made)),
    )


def chain(rank: int, *nodes: str) -> RankedPath:
    return ranked(rank, *((a, "leads_to", b, True) for a, b in pairwise(nodes)))


def web() -> tuple[RankedPath, ...]:
    """Make forty paths of four hops through a small dense graph."""
    chance = random.Random(5)
    paths = []
    for rank in range(1, 41):
        nodes = ["a", *(f"{layer}{chance.randrange(4)}" for layer in "bcde")]
        types = [chance.choice(("likes", "has_a_rather_long_relation_name", "in")) for _ in "bcde"]
        hops = zip(nodes, types, nodes[1:], strict=False)
        paths.append(ranked(rank, *((a, t, b, chance.random() < 0.5) for a, t, b in hops)))
    return tuple(paths)


def boxes(svg: str) -> dict[str, tuple[float, float, float, float]]:
    """Give each node's box by its name: left, top, right, bottom."""
    found = {}
    for group in ET.fromstring(svg).iter(f"{NS}g"):
        rect = group.find(f"{NS}rect")
        name = group.find(f"{NS}text[@class='name']")
        assert rect is not None
        assert name is not None
        assert name.text is not None
        x, y, width, height = (float(rect.attrib[a]) for a in ("x", "y", "width", "height"))
        found[name.text] = (x, y, x + width, y + height)
    return found


def texts(svg: str, class_: str) -> list[str]:
    return [
        text.text or ""
        for text in ET.fromstring(svg).iter(f"{NS}text")
        if text.attrib["class"] == class_
    ]


def test_columns_are_hops_from_the_start() -> None:
    drawing = draw_paths([chain(1, "a", "b", "c", "d"), chain(2, "a", "d")])
    found = boxes(drawing.svg)
    assert found["A"][0] < found["B"][0] == found["D"][0] < found["C"][0]
    assert texts(drawing.svg, "hops") == ["start", "1 hop", "2 hops"]
    assert (drawing.drawn, drawing.left_out, drawing.hidden) == ((1, 2), (), ())


def test_an_arrow_points_as_its_relationship_is_stored() -> None:
    drawing = draw_paths([ranked(1, ("a", "owns", "b", False))])
    (arrow,) = [
        p for p in ET.fromstring(drawing.svg).iter(f"{NS}path") if "arrow" in p.attrib["class"]
    ]
    _, x0, _, _, *_, x3, _ = arrow.attrib["d"].replace(",", "").split()
    found = boxes(drawing.svg)
    assert (float(x0), float(x3)) == (found["B"][0], found["A"][2])
    assert arrow[0].text == "B -[owns]-> A (path 1)"


def test_parallel_relationships_share_an_arrow_and_both_ways_do_not() -> None:
    paths = [ranked(n, ("a", f"r{n}", "b", n != 4)) for n in range(1, 5)]
    drawing = draw_paths(paths)
    assert texts(drawing.svg, "label") == ["r1, r2 + 1", "r4"]
    titles = [t.text for t in ET.fromstring(drawing.svg).iter(f"{NS}title")]
    assert titles[:2] == ["A -[r1, r2, r3]-> B (path 1, 2, 3)", "B -[r4]-> A (path 4)"]


def test_a_full_hub_leaves_out_the_worst_paths_and_says_how_many() -> None:
    drawing = draw_paths([chain(n, "hub", f"n{n:02}") for n in range(1, 21)], max_neighbours=5)
    assert drawing.drawn == (1, 2, 3, 4, 5)
    assert drawing.left_out == tuple(range(6, 21))
    assert drawing.hidden == (("HUB", 15),)
    assert texts(drawing.svg, "more") == ["+ 15 not drawn"]


def test_a_path_is_drawn_whole_or_not_at_all() -> None:
    paths = [chain(1, "a", "b"), chain(2, "a", "c"), chain(3, "x", "a", "d"), chain(4, "x", "y")]
    drawing = draw_paths(paths, max_neighbours=2)
    assert drawing.drawn == (1, 2, 4)
    assert sorted(boxes(drawing.svg)) == ["A", "B", "C", "X", "Y"]
    assert drawing.hidden == (("A", 2),)


def test_a_picture_has_no_more_nodes_than_may_be() -> None:
    drawing = draw_paths([chain(n, f"a{n}", f"b{n}") for n in range(1, 10)], max_nodes=7)
    assert drawing.drawn == (1, 2, 3)
    assert drawing.hidden == ()


def test_paths_without_hops_and_loops_are_drawn() -> None:
    drawing = draw_paths([ranked(1, start="a"), ranked(2, ("b", "knows", "b", True))])
    assert sorted(boxes(drawing.svg)) == ["A", "B"]
    assert texts(drawing.svg, "label") == ["knows"]


@pytest.mark.parametrize(("neighbours", "nodes"), [(0, 60), (8, 1)])
def test_without_a_drawn_path_there_is_no_picture(neighbours: int, nodes: int) -> None:
    assert draw_paths([]).svg == ""
    drawing = draw_paths([chain(1, "a", "b")], max_neighbours=neighbours, max_nodes=nodes)
    assert (drawing.svg, drawing.drawn, drawing.left_out) == ("", (), (1,))


def test_boxes_do_not_overlap_and_labels_stay_between_columns() -> None:
    drawing = draw_paths(web())
    root = ET.fromstring(drawing.svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    found = boxes(drawing.svg)
    assert len(drawing.drawn) > 20
    for one, other in combinations(found.values(), 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart
    assert all(box[0] > 0 and box[2] < width and box[3] < height for box in found.values())
    edges = sorted({(box[0], box[2]) for box in found.values()})
    gaps = [(left[1], right[0]) for left, right in pairwise(edges)]
    for text in root.iter(f"{NS}text"):
        if text.attrib["class"] == "label":
            x, half = float(text.attrib["x"]), len(text.text or "") * 3.3
            assert any(a <= x - half and x + half <= b for a, b in gaps)


def test_labels_of_a_full_hub_do_not_cover_each_other() -> None:
    drawing = draw_paths([chain(n, "hub", f"n{n}") for n in range(1, 9)])
    heights = sorted(
        float(text.attrib["y"])
        for text in ET.fromstring(drawing.svg).iter(f"{NS}text")
        if text.attrib["class"] == "label"
    )
    assert len(heights) == 8
    assert all(below - above >= 16 for above, below in pairwise(heights))


def test_long_and_wide_names_are_clipped_in_boxes_and_whole_in_titles() -> None:
    long, wide = "x" * 60, "猫" * 30
    drawing = draw_paths([chain(1, long, wide)])
    assert texts(drawing.svg, "name") == ["X" * 13 + "…", "猫" * 9 + "…"]
    titles = [t.text for t in ET.fromstring(drawing.svg).iter(f"{NS}title")]
    assert titles[1:] == [f"{long.upper()} ({long})", f"{wide} ({wide})"]


def test_roles_and_answers_are_told() -> None:
    drawing = draw_paths([chain(1, "a", "b")], roles={"a": "anchor"}, answers=["b"])
    assert texts(drawing.svg, "role") == ["anchor", "answer"]
