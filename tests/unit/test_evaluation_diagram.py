"""The reliability diagram: bars where they belong."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from pathrag_gds.evaluation.diagram import reliability_svg
from pathrag_gds.evaluation.metrics import Bin, calibration

SVG = "{http://www.w3.org/2000/svg}"


def bars(picture: str) -> list[tuple[float, float, float]]:
    found = ET.fromstring(picture).iter(f"{SVG}rect")
    return [
        (float(r.get("x", "")), float(r.get("width", "")), float(r.get("height", "")))
        for r in found
        if r.get("fill") == "#9ecae1"
    ]


def test_a_bar_is_as_high_as_the_share_of_right_answers() -> None:
    picture = reliability_svg((Bin(0.5, 0.75, 4, 0.6, 0.25), Bin(0.75, 1.0, 9, 0.9, 1.0)), "Bob")
    # The picture's side is 320 pixels, its left edge at 48; a bar leaves a pixel on either side.
    assert bars(picture) == [(48 + 160 + 1, 80 - 2, 80), (48 + 240 + 1, 80 - 2, 320)]
    texts = [t.text for t in ET.fromstring(picture).iter(f"{SVG}text")]
    assert "Bob" in texts
    assert texts.count("4") == texts.count("9") == 1


def test_no_answers_no_bars() -> None:
    assert bars(reliability_svg(calibration([]).bins, "a < b & c")) == []
