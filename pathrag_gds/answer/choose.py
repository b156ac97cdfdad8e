"""Which method answers a question best, by its words and by what a search found. Pure.

A question about a whole ("what are the main themes …") is answered by no path; nor is one that asks
to sum up. A question whose paths pass the threshold is answered from them; where none does, what
reports and texts say is the next best.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pathrag_gds.types import SearchResult

__all__ = ["Choice", "about_a_whole", "after_search"]

AnswerMethod = Literal["global", "path", "hybrid", "community"]

_PARTS = "themes?|topics?|subjects?|patterns?|trends?|issues?|ideas?|findings?|aspects?|concerns?"
# What the words are, and what they show.
_WHOLE: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"\b(summari[sz]e|summary|sum\s+up|overview|outline|synopsis)\b", re.I),
        "it asks for a summary",
    ),
    (
        re.compile(
            rf"\b(main|major|key|central|overall|common|general|important|top|recurring)\s+"
            rf"(\w+\s+)?({_PARTS})\b",
            re.I,
        ),
        "it asks for what a whole is about",
    ),
    (
        re.compile(r"\bwhat\s+(themes|topics|subjects|trends)\b", re.I),
        "it asks for what a whole is about",
    ),
    (
        re.compile(r"\b(everything|all)\s+(that\s+)?(we|you|is|there)\s+(know|known|is)\b", re.I),
        "it asks for all that is known",
    ),
    (
        re.compile(
            r"\b(as\s+a\s+whole|in\s+general|on\s+the\s+whole|across\s+(all|the)\s+\w+|"
            r"(the|this)\s+(whole|entire)\s+(\w+\s+)?"
            r"(graph|story|book|corpus|collection|dataset|data))\b",
            re.I,
        ),
        "it asks about the whole",
    ),
    (
        re.compile(
            r"\bwhat\s+(is|are)\s+(the|this|these)\s+"
            r"(graph|stor(y|ies)|books?|corpus|collection|dataset|data|documents?|texts?)\s+about\b",
            re.I,
        ),
        "it asks about the whole",
    ),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A method, and why it was chosen: a clause."""

    method: AnswerMethod
    reason: str


def about_a_whole(question: str) -> str:
    """Say by which words a question is about a whole, as a clause; empty where it is not.

    English words alone are known; a question in another language is never taken for one.
    """
    for words, meaning in _WHOLE:
        if found := words.search(question):
            return f'{meaning} ("{" ".join(found[0].split())}")'
    return ""


def after_search(question: str, result: SearchResult | None, *, has_reports: bool) -> Choice:
    """Choose a method.

    Args:
        result: Of a search of paths; None where the question is about a whole, and none was made.
        has_reports: Whether the tenant has reports on communities.
    """
    whole = about_a_whole(question)
    if whole and has_reports:
        return Choice("global", whole)
    if result is not None and result.answers:
        least = result.config.get("min_score", 0)
        return Choice("path", f"paths answer it with a confidence of {least:g} or more")
    lacking = f"{whole}, but there are no reports on communities" if whole else "no path answers it"
    return Choice("hybrid", f"{lacking}, so texts and paths are read together")
