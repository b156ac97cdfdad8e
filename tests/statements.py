"""Statements that tests write themselves, to make data and to look at what is there."""

from __future__ import annotations

import re

from pathrag_gds.graph.queries import Mode, Param, Query

__all__ = ["statement"]


def statement(text: str, mode: Mode = "write", name: str = "test") -> Query:
    """Make a query from its text; its parameters are the ``$names`` in it."""
    names = dict.fromkeys(re.findall(r"\$([A-Za-z_]\w*)", text))
    return Query(name=name, text=text, mode=mode, params=tuple(Param(n, "ANY") for n in names))
