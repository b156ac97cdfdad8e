"""Draw curves as SVG: of seconds on logarithmic axes, of shares on linear ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

__all__ = ["Curve", "Panel", "curves_svg", "shares_svg"]

_WIDTH, _HEIGHT = 380, 300
_LEFT, _TOP, _GAP, _BELOW = 64, 44, 84, 92
_COLOURS = ("#1b6ca8", "#2e8b57", "#8a4fbf", "#c0392b", "#b7791f")


@dataclass(frozen=True, slots=True)
class Curve:
    """Points (x, seconds, whether it was stopped then), by x; x and seconds above 0."""

    name: str
    points: tuple[tuple[float, float, bool], ...]


Panel = tuple[str, str, Sequence[Curve]]


def curves_svg(panels: Sequence[Panel]) -> str:
    """Draw panels side by side: (title, what is on x, curves).

    A curve has the same colour in every panel. A point that stands for a run which was stopped is
    an arrow head: the time is longer.
    """
    names = list(dict.fromkeys(curve.name for _, _, curves in panels for curve in curves))
    colour = dict(zip(names, _COLOURS * len(names), strict=False))
    seconds = [s for _, _, curves in panels for curve in curves for _, s, _ in curve.points]
    low = math.floor(math.log10(min(seconds, default=0.01)))
    high = max(math.ceil(math.log10(max(seconds, default=1.0))), low + 1)
    shapes: list[str] = []
    for number, panel in enumerate(panels):
        shapes += _panel(panel, _LEFT + number * (_WIDTH + _GAP), low, high, colour)
    legend_y = _TOP + _HEIGHT + 72
    for number, name in enumerate(names):
        x = _LEFT + number * 190
        shapes.append(
            f'<line x1="{x}" y1="{legend_y - 4}" x2="{x + 24}" y2="{legend_y - 4}" '
            f'stroke="{colour[name]}" stroke-width="2"/>'
        )
        shapes.append(_text(x + 30, legend_y, name, "start"))
    width = _LEFT + len(panels) * (_WIDTH + _GAP) - _GAP + 32
    height = _TOP + _HEIGHT + _BELOW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="font-family:sans-serif;font-size:12px">\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n'
        + "\n".join(shapes)
        + "\n</svg>\n"
    )


def shares_svg(title: str, axis: str, curves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Draw curves of points (share, share), both from 0 to 1.

    Args:
        axis: What is on x.
        curves: By name; x in steps that are labelled.
    """
    places = sorted({x for points in curves.values() for x, _ in points})
    widest = (places[-1] if places else 0.0) or 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        return round(_LEFT + x / widest * _WIDTH, 1), round(_TOP + (1 - y) * _HEIGHT, 1)

    shapes = [
        f'<rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" '
        'stroke="#888"/>',
        _text(_LEFT + _WIDTH / 2, 26, title, "middle"),
        _text(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 40, axis, "middle"),
    ]
    for tenth in range(0, 11, 2):
        y = at(0, tenth / 10)[1]
        shapes.append(f'<line x1="{_LEFT}" y1="{y}" x2="{_LEFT + _WIDTH}" y2="{y}" stroke="#ddd"/>')
        shapes.append(_text(_LEFT - 6, y + 4, f"{tenth / 10:g}", "end"))
    shapes += [_text(at(x, 0)[0], _TOP + _HEIGHT + 18, f"{x:.0%}", "middle") for x in places]
    for number, ((name, points), colour) in enumerate(
        zip(curves.items(), _COLOURS * len(curves), strict=False)
    ):
        line = " ".join("{},{}".format(*at(*point)) for point in sorted(points))
        shapes.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        shapes += [_mark(*at(*point), stopped=False, colour=colour) for point in sorted(points)]
        y = _TOP + 16 + 20 * number
        x = _LEFT + _WIDTH + 16
        shapes.append(
            f'<line x1="{x}" y1="{y - 4}" x2="{x + 24}" y2="{y - 4}" stroke="{colour}" '
            'stroke-width="2"/>'
        )
        shapes.append(_text(x + 30, y, name, "start"))
    width, height = _LEFT + _WIDTH + 240, _TOP + _HEIGHT + 60
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="font-family:sans-serif;font-size:12px">\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n'
        + "\n".join(shapes)
        + "\n</svg>\n"
    )


def _panel(panel: Panel, left: float, low: int, high: int, colour: dict[str, str]) -> list[str]:
    title, axis, curves = panel
    places = sorted({x for curve in curves for x, _, _ in curve.points}) or [1.0]
    first, last = math.log10(places[0]), math.log10(places[-1])
    span = (last - first) or 1.0

    def at(x: float, seconds: float) -> tuple[float, float]:
        height = (math.log10(seconds) - low) / (high - low)
        return (
            round(left + (math.log10(x) - first) / span * _WIDTH, 1),
            round(_TOP + (1 - height) * _HEIGHT, 1),
        )

    shapes = [
        f'<rect x="{left}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" '
        'stroke="#888"/>',
        _text(left + _WIDTH / 2, 26, title, "middle"),
        _text(left + _WIDTH / 2, _TOP + _HEIGHT + 40, axis, "middle"),
    ]
    for power in range(low, high + 1):
        y = at(places[0], 10.0**power)[1]
        stroke = "#444" if power == 0 else "#ddd"
        shapes.append(
            f'<line x1="{left}" y1="{y}" x2="{left + _WIDTH}" y2="{y}" stroke="{stroke}"/>'
        )
        shapes.append(_text(left - 6, y + 4, f"{10.0**power:g} s", "end"))
    for x in places:
        shapes.append(_text(at(x, 1.0)[0], _TOP + _HEIGHT + 18, _short(x), "middle"))
    for curve in curves:
        points = [(*at(x, s), stopped) for x, s, stopped in curve.points]
        line = " ".join(f"{x},{y}" for x, y, _ in points)
        shapes.append(
            f'<polyline points="{line}" fill="none" stroke="{colour[curve.name]}" '
            'stroke-width="2"/>'
        )
        shapes += [_mark(x, y, stopped, colour[curve.name]) for x, y, stopped in points]
    return shapes


def _mark(x: float, y: float, stopped: bool, colour: str) -> str:
    if stopped:
        return f'<path d="M{x - 5},{y} L{x + 5},{y} L{x},{y - 9} Z" fill="{colour}"/>'
    return f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>'


def _short(value: float) -> str:
    if value >= 1_000_000:
        return f"{value / 1_000_000:.3g}M"
    return f"{value / 1000:.3g}k" if value >= 1000 else f"{value:g}"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'
