"""Draw what a tuning found: quality against texts read, and against time. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from pathrag_gds.evaluation.front import front

__all__ = ["curve_svg"]

_WIDTH, _HEIGHT = 420, 320
_LEFT, _TOP, _GAP, _BELOW = 64, 44, 76, 96
_FRONT, _TRIAL, _LANDMARK = "#1b6ca8", "#9aa5b1", "#c0392b"
_STYLE = "font-family:sans-serif;font-size:12px"
_AXES = (
    ("texts read per question, mean (log)", "texts", "mean"),
    ("milliseconds per question, half take less (log)", "millis", "p50"),
)


@dataclass(frozen=True, slots=True)
class _Dot:
    """A configuration in a panel.

    Attributes:
        share: Of the questions to tune by that it was asked, above 0, at most 1.
    """

    name: str
    cost: float
    quality: float
    share: float
    landmark: bool
    told: str


def curve_svg(report: Mapping[str, Any]) -> str:
    """Draw the report of a tuning (:meth:`~pathrag_gds.evaluation.tune.Tuning.report`) as SVG.

    Two panels with quality upwards. Every configuration is a dot, paler the fewer questions it was
    asked; its name, changes and figures show when the pointer rests on it. The line joins those
    asked the most questions that none of these beats; presets are red squares with their names.
    Needs no script, font or network. Nothing asked, no dots.
    """
    most = max((t["tuning"]["n"] for t in report["trials"]), default=1)
    shapes: list[str] = []
    for number, (label, cost, figure) in enumerate(_AXES):
        dots = [_dot(t, t["tuning"][cost][figure], most) for t in report["trials"]]
        shapes += _panel(dots, _LEFT + number * (_WIDTH + _GAP), label, report["metric"])
    width = _LEFT + 2 * _WIDTH + _GAP + 32
    height = _TOP + _HEIGHT + _BELOW
    names = ", ".join(one["name"] for one in report["sets"])
    title = f"{report['metric']} on {most} questions of {names}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="{_STYLE}">\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n'
        + "\n".join([_text(width / 2, 24, title, "middle"), *shapes, *_legend(height - 20)])
        + "\n</svg>\n"
    )


def _dot(trial: Mapping[str, Any], cost: float, most: int) -> _Dot:
    figures = trial["tuning"]
    changes = ", ".join(f"{name} {value}" for name, value in trial["changes"].items())
    told = (
        f"{trial['name']}: {figures['quality']:.3f} on {figures['n']} questions, "
        f"{figures['texts']['mean']:.0f} texts, {figures['millis']['p50']:.0f} ms"
    )
    return _Dot(
        trial["name"],
        cost,
        figures["quality"],
        figures["n"] / most,
        trial["landmark"],
        f"{told}\n{changes}" if changes else told,
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    """From values to pixels: costs on a logarithmic axis, quality on a linear one."""

    left: float
    cheap: float
    dear: float
    low: float

    def x(self, cost: float) -> float:
        span = math.log(self.dear / self.cheap)
        share = math.log(max(cost, self.cheap) / self.cheap) / span
        return round(self.left + share * _WIDTH, 1)

    def y(self, quality: float) -> float:
        return round(_TOP + (1 - (quality - self.low) / (1 - self.low)) * _HEIGHT, 1)


def _panel(dots: Sequence[_Dot], left: float, label: str, metric: str) -> list[str]:
    costs = [max(dot.cost, 1.0) for dot in dots] or [1.0]
    # Room on both sides, so that no dot lies on the frame.
    low = math.floor(min((dot.quality for dot in dots), default=0.0) * 10 - 0.2) / 10
    scale = _Scale(left, min(costs) / 1.25, max(costs) * 1.25, min(max(low, 0.0), 0.9))
    shapes = [
        f'<rect x="{left}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" '
        'stroke="#888"/>',
        _text(left + _WIDTH / 2, _TOP + _HEIGHT + 40, label, "middle"),
        f'<text transform="translate({left - 44:g} {_TOP + _HEIGHT / 2:g}) rotate(-90)" '
        f'text-anchor="middle">{escape(metric)}</text>',
        *(shape for cost in _ticks(scale.cheap, scale.dear) for shape in _below(scale, cost)),
        *(shape for step in range(11) for shape in _beside(scale, step / 10)),
    ]
    whole = {dot.name: (dot.quality, dot.cost) for dot in dots if dot.share == 1}
    best = front(whole)
    line = " ".join(f"{scale.x(whole[name][1])},{scale.y(whole[name][0])}" for name in best)
    if len(best) > 1:
        shapes.append(f'<polyline points="{line}" fill="none" stroke="{_FRONT}" stroke-width="2"/>')
    # What matters more is drawn over what matters less.
    for dot in sorted(dots, key=lambda d: (d.landmark, d.name in best, d.share)):
        shapes += _mark(dot, scale, dot.name in best)
    return shapes


def _mark(dot: _Dot, scale: _Scale, best: bool) -> list[str]:
    x, y = scale.x(dot.cost), scale.y(dot.quality)
    title = f"<title>{escape(dot.told)}</title>"
    opacity = f'fill-opacity="{max(dot.share, 0.25):.2f}"'
    if not dot.landmark:
        colour, radius = (_FRONT, 4.5) if best else (_TRIAL, 3.5)
        return [
            f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{colour}" {opacity}>{title}</circle>'
        ]
    stroke = f' stroke="{_FRONT}" stroke-width="2"' if best else ""
    return [
        f'<rect x="{x - 4:g}" y="{y - 4:g}" width="8" height="8" fill="{_LANDMARK}" '
        f"{opacity}{stroke}>{title}</rect>",
        _text(x, y + 18, dot.name, "middle", _LANDMARK),
    ]


def _ticks(cheap: float, dear: float) -> list[float]:
    """Give round costs between two: 1, 2 and 5 times powers of ten, or finer where few are."""
    first, last = math.floor(math.log10(cheap)), math.ceil(math.log10(dear))
    digits = (1, 2, 5) if dear / cheap > 8 else (1, 1.5, 2, 3, 4, 5, 6, 8)
    values = (digit * 10.0**power for power in range(first, last + 1) for digit in digits)
    return [value for value in values if cheap <= value <= dear]


def _below(scale: _Scale, cost: float) -> tuple[str, str]:
    x = scale.x(cost)
    return (
        f'<line x1="{x}" y1="{_TOP}" x2="{x}" y2="{_TOP + _HEIGHT}" stroke="#eee"/>',
        _text(x, _TOP + _HEIGHT + 18, f"{cost:g}", "middle"),
    )


def _beside(scale: _Scale, quality: float) -> tuple[str, ...]:
    if quality < scale.low:
        return ()
    y = scale.y(quality)
    return (
        f'<line x1="{scale.left}" y1="{y}" x2="{scale.left + _WIDTH}" y2="{y}" stroke="#eee"/>',
        _text(scale.left - 6, y + 4, f"{quality:g}", "end"),
    )


def _legend(y: float) -> list[str]:
    return [
        f'<circle cx="{_LEFT + 4}" cy="{y - 4}" r="4.5" fill="{_FRONT}"/>',
        _text(_LEFT + 16, y, "none is better and cheaper", "start"),
        f'<circle cx="{_LEFT + 214}" cy="{y - 4}" r="3.5" fill="{_TRIAL}"/>',
        _text(_LEFT + 226, y, "another trial (pale: asked fewer questions)", "start"),
        f'<rect x="{_LEFT + 500}" y="{y - 8}" width="8" height="8" fill="{_LANDMARK}"/>',
        _text(_LEFT + 514, y, "preset", "start"),
    ]


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#222") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
