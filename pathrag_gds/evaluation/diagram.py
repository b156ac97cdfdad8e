"""Draw a reliability diagram: whether confidence means what it says. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from pathrag_gds.evaluation.metrics import Bin

__all__ = ["reliability_svg"]

_SIDE = 320
_LEFT, _TOP, _BELOW = 48, 40, 56
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_STYLE = "font-family:sans-serif;font-size:12px"


def reliability_svg(bins: Sequence[Bin], title: str) -> str:
    """Draw bins as an SVG picture of 400 by 416 pixels.

    Each bar stands over its bin's range of confidence and is as high as the share of right answers;
    its number of answers stands in it. The dashed diagonal is where all bars would end if
    confidence were exactly right. No bins, no bars.
    """
    shapes = [
        f'<rect x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" fill="none" '
        'stroke="#888"/>',
        *(shape for tick in _TICKS for shape in _tick(tick)),
        *(shape for one in bins for shape in _bar(one)),
        f'<line x1="{_LEFT}" y1="{_y(0):g}" x2="{_x(1):g}" y2="{_y(1):g}" stroke="#444" '
        'stroke-dasharray="5 4"/>',
        _text(_LEFT + _SIDE / 2, 22, title, "middle"),
        _text(_LEFT + _SIDE / 2, _TOP + _SIDE + 42, "confidence", "middle"),
        f'<text transform="translate(14 {_TOP + _SIDE / 2:g}) rotate(-90)" '
        'text-anchor="middle">share of right answers</text>',
    ]
    width, height = _LEFT + _SIDE + 32, _TOP + _SIDE + _BELOW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="{_STYLE}">\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n'
        + "\n".join(shapes)
        + "\n</svg>\n"
    )


def _bar(one: Bin) -> tuple[str, str]:
    left, right, top = _x(one.low), _x(one.high), _y(one.accuracy)
    # A number that does not fit under a low bar's top stands above it.
    label = top + 14 if one.accuracy > 0.08 else top - 4
    return (
        f'<rect x="{left + 1:g}" y="{top:g}" width="{right - left - 2:g}" '
        f'height="{_y(0) - top:g}" fill="#9ecae1"/>',
        _text((left + right) / 2, label, str(one.count), "middle"),
    )


def _tick(value: float) -> tuple[str, str]:
    return (
        _text(_x(value), _TOP + _SIDE + 18, f"{value:g}", "middle"),
        _text(_LEFT - 6, _y(value) + 4, f"{value:g}", "end"),
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _x(value: float) -> float:
    return _LEFT + value * _SIDE


def _y(value: float) -> float:
    return _TOP + (1 - value) * _SIDE
