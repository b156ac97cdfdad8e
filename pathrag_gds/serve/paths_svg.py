"""Draw the paths of a result as one graph: an SVG picture, the same for the same paths. Pure.

Columns are hops from where the paths start; an arrow points as its relationship is stored. Colours
come from the page around it, by the classes of the shapes.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from pathrag_gds.serve.terminal import plain
from pathrag_gds.types import RankedPath

__all__ = ["MAX_NEIGHBOURS", "MAX_NODES", "Drawing", "draw_paths", "html_text"]

MAX_NEIGHBOURS = 8
MAX_NODES = 60

_BOX_WIDTH, _BOX_HEIGHT = 180, 44
_ROW = 72
_MARGIN, _TOP = 16, 28
_BULGE = 72
_LABEL_HEIGHT, _HEAD = 16, 12
_MIN_GAP, _GAP_ROOM, _GAP_PER_ARROW = 96, 40, 9
# Pixels of one em, of names in bold and of labels; as the styles of the page set them.
_NAME_EM, _LABEL_EM = 13 * 1.1, 12.0
_NAME_WIDTH, _LABEL_WIDTH = _BOX_WIDTH - 12.0, 190.0
# Widths in em of the widest of the usual fonts (DejaVu Sans), so that no other overflows.
_NARROW, _BROAD = frozenset("ijlI.,:;'|![]() "), frozenset("mwMW@%—…&")
_EM_NARROW, _EM_LOWER, _EM_UPPER, _EM_BROAD, _EM_WIDE = 0.36, 0.63, 0.77, 1.0, 1.1
# Shrunk to the page's width, but no further, or names could not be read.
_LEAST_SCALE = 0.75
_TYPES_PER_LABEL = 2
_SWEEPS = 4
# Where along an arrow its label is tried first to last, from the left end.
_PLACES = (0.5, 0.57, 0.43, 0.64, 0.36, 0.71, 0.29, 0.78, 0.22, 0.85, 0.15)

Point = tuple[float, float]
_Curve = tuple[Point, Point, Point, Point]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of paths.

    Attributes:
        svg: The picture; empty where no path is drawn.
        drawn: Ranks of the paths that are drawn, ascending.
        left_out: Ranks of the paths that are not.
        hidden: Names of nodes that have as many neighbours as may be drawn, each with the number of
            those that are not.
    """

    svg: str
    drawn: tuple[int, ...]
    left_out: tuple[int, ...]
    hidden: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Arrow:
    """All drawn relationships from one node to another."""

    source: str
    target: str
    types: tuple[str, ...]
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Column of a node, and the upper left corner of its box in pixels."""

    column: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class _Box:
    """Where a label lies, in pixels."""

    left: float
    top: float
    width: float
    height: float

    def overlap(self, other: _Box) -> float:
        wide = min(self.left + self.width, other.left + other.width) - max(self.left, other.left)
        high = min(self.top + self.height, other.top + other.height) - max(self.top, other.top)
        return max(wide, 0.0) * max(high, 0.0)


def draw_paths(
    paths: Sequence[RankedPath],
    *,
    roles: Mapping[str, str] | None = None,
    answers: Collection[str] = (),
    max_neighbours: int = MAX_NEIGHBOURS,
    max_nodes: int = MAX_NODES,
) -> Drawing:
    """Draw paths as one graph, from left to right.

    Paths are taken best first, each whole or not at all: one that would give a node more than
    ``max_neighbours`` neighbours, or the picture more than ``max_nodes`` nodes, is left out.

    Args:
        paths: Best first.
        roles: What is said under a node's name, such as ``anchor``, by id.
        answers: Ids of the nodes that are marked as answers.
        max_neighbours: Of one node.
        max_nodes: Of the picture.

    Returns:
        The picture and what it leaves out; no paths, no picture.
    """
    drawn, neighbours = _choose(paths, max_neighbours, max_nodes)
    ranks = {ranked.rank for ranked in drawn}
    left_out = [ranked for ranked in paths if ranked.rank not in ranks]
    names = {node.id: node.name for ranked in paths for node in ranked.nodes}
    hidden = _hidden(left_out, neighbours, max_neighbours)
    svg = ""
    if drawn:
        svg = _svg(
            drawn,
            names=names,
            roles=roles or {},
            answers=frozenset(answers),
            hidden=hidden,
        )
    return Drawing(
        svg=svg,
        drawn=tuple(ranked.rank for ranked in drawn),
        left_out=tuple(ranked.rank for ranked in left_out),
        hidden=tuple((names[node], count) for node, count in hidden.items()),
    )


def html_text(text: object) -> str:
    """Make a text safe between tags and in quoted attributes.

    Control and direction characters are made visible; so is what UTF-8 cannot hold.
    """
    return escape(plain(text).encode("utf-8", "backslashreplace").decode("utf-8"))


# What is drawn


def _choose(
    paths: Sequence[RankedPath], max_neighbours: int, max_nodes: int
) -> tuple[list[RankedPath], dict[str, set[str]]]:
    """Take the paths that fit, best first; give them and the neighbours of each node."""
    chosen: list[RankedPath] = []
    neighbours: dict[str, set[str]] = {}
    for ranked in paths:
        more = {node: set(neighbours.get(node, ())) for node in ranked.path.nodes}
        for one, other in pairwise(ranked.path.nodes):
            more[one].add(other)
            more[other].add(one)
        fits = all(len(found) <= max_neighbours for found in more.values())
        if fits and len({**neighbours, **more}) <= max_nodes:
            chosen.append(ranked)
            neighbours |= more
    return chosen, neighbours


def _hidden(
    left_out: Iterable[RankedPath], neighbours: Mapping[str, set[str]], max_neighbours: int
) -> dict[str, int]:
    """Count what is not drawn beside each node that is full."""
    missing: dict[str, set[str]] = {}
    for ranked in left_out:
        for one, other in pairwise(ranked.path.nodes):
            for hub, end in ((one, other), (other, one)):
                beside = neighbours.get(hub, set())
                if len(beside) >= max_neighbours and end not in beside:
                    missing.setdefault(hub, set()).add(end)
    return {hub: len(ends) for hub, ends in missing.items()}


def _arrows(drawn: Iterable[RankedPath]) -> list[_Arrow]:
    """Put the relationships from one node to another into one arrow, best path first."""
    types: dict[tuple[str, str], dict[str, None]] = {}
    ranks: dict[tuple[str, str], dict[int, None]] = {}
    for ranked in drawn:
        for hop in ranked.path.hops:
            ends = (hop.edge.source, hop.edge.target)
            types.setdefault(ends, {})[hop.edge.type] = None
            ranks.setdefault(ends, {})[ranked.rank] = None
    return [_Arrow(*ends, tuple(found), tuple(ranks[ends])) for ends, found in types.items()]


# Where it stands


def _columns(drawn: Sequence[RankedPath], arrows: Iterable[_Arrow]) -> list[list[str]]:
    """Put nodes into columns by their distance from the starts, ends of an arrow at most one apart.

    Within a column they stand near what they are tied to in the columns beside it.
    """
    order = list(dict.fromkeys(node for ranked in drawn for node in ranked.path.nodes))
    beside: dict[str, set[str]] = {node: set() for node in order}
    for arrow in arrows:
        beside[arrow.source].add(arrow.target)
        beside[arrow.target].add(arrow.source)
    distance = {ranked.path.start: 0 for ranked in drawn}
    queue = deque(distance)
    while queue:
        node = queue.popleft()
        for other in sorted(beside[node]):
            if other not in distance:
                distance[other] = distance[node] + 1
                queue.append(other)
    columns: list[list[str]] = [[] for _ in range(max(distance.values()) + 1)]
    for node in order:
        columns[distance[node]].append(node)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for here, there in pairwise(columns if forward else columns[::-1]):
            _order_by(there, here, beside)
    return columns


def _order_by(column: list[str], other: Sequence[str], beside: Mapping[str, set[str]]) -> None:
    """Sort a column by the middle of what its nodes are tied to in another column."""
    row = {node: number - (len(other) - 1) / 2 for number, node in enumerate(other)}
    own = {node: number - (len(column) - 1) / 2 for number, node in enumerate(column)}

    def middle(node: str) -> float:
        # Sorted, because a sum of fractions depends on its order.
        rows = sorted(row[end] for end in beside[node] if end in row)
        return sum(rows) / len(rows) if rows else own[node]

    column.sort(key=middle)


def _gaps(columns: Sequence[Sequence[str]], arrows: Iterable[_Arrow]) -> list[float]:
    """Give the room right of each column in pixels: for its longest label, and more for many."""
    column = {node: number for number, nodes in enumerate(columns) for node in nodes}
    widths: list[list[float]] = [[] for _ in columns]
    for arrow in arrows:
        left = min(column[arrow.source], column[arrow.target])
        widths[left].append(_ems(_label(arrow)) * _LABEL_EM)
    return [
        max(_MIN_GAP, max(found) + _GAP_ROOM + len(found) * _GAP_PER_ARROW) if found else 0.0
        for found in widths
    ]


def _places(columns: Sequence[Sequence[str]], gaps: Sequence[float]) -> dict[str, _Place]:
    middle = _TOP + max(map(len, columns)) * _ROW / 2
    places: dict[str, _Place] = {}
    x = float(_MARGIN)
    for number, (nodes, gap) in enumerate(zip(columns, gaps, strict=True)):
        top = middle - len(nodes) * _ROW / 2 + (_ROW - _BOX_HEIGHT) / 2
        places |= {n: _Place(number, x, top + row * _ROW) for row, n in enumerate(nodes)}
        x += _BOX_WIDTH + gap
    return places


def _curves(arrows: Sequence[_Arrow], places: Mapping[str, _Place]) -> list[_Curve]:
    """Give each arrow's curve, from its source to its target."""
    ports: defaultdict[tuple[str, bool], list[tuple[float, int, bool]]] = defaultdict(list)
    for number, arrow in enumerate(arrows):
        ends = (places[arrow.source], places[arrow.target])
        for is_target, node in enumerate((arrow.source, arrow.target)):
            here, there = ends[is_target], ends[not is_target]
            on_right = there.column >= here.column
            ports[node, on_right].append((there.y, number, bool(is_target)))
    point: dict[tuple[int, bool], Point] = {}
    for (node, on_right), found in ports.items():
        place = places[node]
        step = _BOX_HEIGHT / (len(found) + 1)
        for position, (_, number, is_target) in enumerate(sorted(found), start=1):
            x = place.x + (_BOX_WIDTH if on_right else 0)
            point[number, is_target] = (x, place.y + position * step)
    return [
        _curve(
            point[number, False],
            point[number, True],
            places[arrow.target].column - places[arrow.source].column,
        )
        for number, arrow in enumerate(arrows)
    ]


def _curve(start: Point, end: Point, columns: int) -> _Curve:
    """Bend a curve so that it leaves and meets its boxes level; within a column it bulges right."""
    if columns == 0:
        return (start, (start[0] + _BULGE, start[1]), (end[0] + _BULGE, end[1]), end)
    half = (end[0] - start[0]) / 2
    return (start, (start[0] + half, start[1]), (end[0] - half, end[1]), end)


def _point_on(curve: _Curve, share: float) -> Point:
    weights = (
        (1 - share) ** 3,
        3 * (1 - share) ** 2 * share,
        3 * (1 - share) * share**2,
        share**3,
    )
    return (
        sum(w * p[0] for w, p in zip(weights, curve, strict=True)),
        sum(w * p[1] for w, p in zip(weights, curve, strict=True)),
    )


def _place_label(text: str, curve: _Curve, left: float, right: float, taken: list[_Box]) -> Point:
    """Find the middle of a label on its arrow where it covers least of the labels before it."""
    width = _ems(text) * _LABEL_EM
    # From the left end, whichever way the arrow points, so that labels of a fan stand alike.
    along = curve if curve[0][0] <= curve[3][0] else curve[::-1]
    best: tuple[float, _Box] | None = None
    for share in _PLACES:
        x, y = _point_on(along, share)
        x = max(left + width / 2, min(x, right - width / 2))
        box = _Box(x - width / 2, y - _LABEL_HEIGHT / 2, width, _LABEL_HEIGHT)
        covered = sum(box.overlap(other) for other in taken)
        if best is None or covered < best[0]:
            best = (covered, box)
        if not covered:
            break
    assert best is not None
    taken.append(best[1])
    return (best[1].left + width / 2, best[1].top + _LABEL_HEIGHT / 2)


# How it is written


def _svg(
    drawn: Sequence[RankedPath],
    *,
    names: Mapping[str, str],
    roles: Mapping[str, str],
    answers: Collection[str],
    hidden: Mapping[str, int],
) -> str:
    arrows = _arrows(drawn)
    columns = _columns(drawn, arrows)
    gaps = _gaps(columns, arrows)
    places = _places(columns, gaps)
    width = sum(gaps) + len(columns) * _BOX_WIDTH + 2 * _MARGIN
    height = _TOP + max(map(len, columns)) * _ROW + _MARGIN
    shapes = [_heading(number, places[nodes[0]].x) for number, nodes in enumerate(columns)]
    labels: list[str] = []
    taken: list[_Box] = []
    best = drawn[0].rank
    for arrow, curve in zip(arrows, _curves(arrows, places), strict=True):
        first = min(places[arrow.source], places[arrow.target], key=lambda place: place.column)
        # Heads of arrows stay in sight beside the boxes.
        left = first.x + _BOX_WIDTH + _HEAD
        right = first.x + _BOX_WIDTH + gaps[first.column] - _HEAD
        shapes.append(_arrow_shape(arrow, curve, names, is_best=best in arrow.ranks))
        text = _label(arrow)
        x, y = _place_label(text, curve, left, right, taken)
        labels.append(
            f'<text class="label" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">'
            f"{html_text(text)}</text>"
        )
    boxes = [
        _node_shape(
            node,
            names[node],
            places[node],
            role=", ".join(filter(None, (roles.get(node, ""), "answer" * (node in answers)))),
            is_start=places[node].column == 0,
            is_answer=node in answers,
            hidden=hidden.get(node, 0),
        )
        for nodes in columns
        for node in nodes
    ]
    told = f"{len(drawn)} paths as one graph of {len(boxes)} nodes and {len(arrows)} arrows"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{told}" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="min-width: {width * _LEAST_SCALE:.0f}px">\n'
        '<defs><marker id="head" viewBox="0 0 10 10" refX="10" refY="5" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        '<path class="head" d="M 0 0 L 10 5 L 0 10 z"/></marker></defs>\n'
        + "\n".join([*shapes, *labels, *boxes])
        + "\n</svg>\n"
    )


def _heading(column: int, x: float) -> str:
    told = "start" if column == 0 else f"{column} hop{'' if column == 1 else 's'}"
    middle = x + _BOX_WIDTH / 2
    return f'<text class="hops" x="{middle:.1f}" y="18" text-anchor="middle">{told}</text>'


def _arrow_shape(arrow: _Arrow, curve: _Curve, names: Mapping[str, str], *, is_best: bool) -> str:
    start, one, other, end = (f"{x:.1f} {y:.1f}" for x, y in curve)
    told = (
        f"{names[arrow.source]} -[{', '.join(arrow.types)}]-> {names[arrow.target]} "
        f"(path {', '.join(map(str, arrow.ranks))})"
    )
    return (
        f'<path class="arrow{" best" * is_best}" d="M {start} C {one}, {other}, {end}" '
        f'marker-end="url(#head)"><title>{html_text(told)}</title></path>'
    )


def _node_shape(
    node: str,
    name: str,
    place: _Place,
    *,
    role: str,
    is_start: bool,
    is_answer: bool,
    hidden: int,
) -> str:
    kind = "node" + " start" * is_start + " answer" * is_answer
    middle = place.x + _BOX_WIDTH / 2
    lines = [
        f'<g class="{kind}"><title>{html_text(f"{name} ({node})")}</title>'
        f'<rect x="{place.x:.1f}" y="{place.y:.1f}" width="{_BOX_WIDTH}" '
        f'height="{_BOX_HEIGHT}" rx="6"/>',
        f'<text class="name" x="{middle:.1f}" y="{place.y + (19 if role else 27):.1f}" '
        f'text-anchor="middle">{html_text(_clipped(plain(name), _NAME_WIDTH / _NAME_EM))}</text>',
    ]
    if role:
        lines.append(
            f'<text class="role" x="{middle:.1f}" y="{place.y + 35:.1f}" text-anchor="middle">'
            f"{html_text(role)}</text>"
        )
    if hidden:
        lines.append(
            f'<text class="more" x="{middle:.1f}" y="{place.y + _BOX_HEIGHT + 14:.1f}" '
            f'text-anchor="middle">+ {hidden:,} not drawn</text>'
        )
    return "".join(lines) + "</g>"


def _label(arrow: _Arrow) -> str:
    more = len(arrow.types) - _TYPES_PER_LABEL
    told = ", ".join(map(plain, arrow.types[:_TYPES_PER_LABEL]))
    return _clipped(told, _LABEL_WIDTH / _LABEL_EM) + (f" + {more}" if more > 0 else "")


def _ems(text: str) -> float:
    """Measure a text in em, on the safe side."""
    return sum(map(_width, text))


def _width(character: str) -> float:
    if character in _NARROW or unicodedata.combining(character):
        return _EM_NARROW
    if unicodedata.east_asian_width(character) in "WF":
        return _EM_WIDE
    if character in _BROAD:
        return _EM_BROAD
    return _EM_UPPER if character.isupper() else _EM_LOWER


def _clipped(text: str, ems: float) -> str:
    """Cut a text at so many em, the sign of the cut among them."""
    if _ems(text) <= ems:
        return text
    kept, used = 0, _width("…")
    while used + _width(text[kept]) <= ems:
        used += _width(text[kept])
        kept += 1
    return text[:kept].rstrip() + "…"
