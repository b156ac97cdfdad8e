"""What several rankings together say to a question, for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pathrag_gds.serve.terminal import plain, show_wrapped

if TYPE_CHECKING:
    from rich.console import Console

    from pathrag_gds.answer.fuse import Place
    from pathrag_gds.answer.methods import FusedResult

__all__ = ["show_fused_result"]

_TEXT = 300
_ENTITIES = 10


def show_fused_result(out: Console, result: FusedResult) -> None:
    """Print answers and paths where paths were searched; then entities, then texts."""
    if any(ranking.name == "path" for ranking in result.rankings):
        from pathrag_gds.serve.results import show_result

        show_result(out, result.search)
        out.print()
    if not (result.entities or result.passages):
        out.print("Nothing in the graph has to do with the question.")
        return
    if result.entities:
        out.print("Entities:")
    for entity in result.entities[:_ENTITIES]:
        head = f"{entity.rank}  {entity.score:.4f}  {plain(entity.name)}"
        show_wrapped(out, f"{head}  ({_told(entity.places)})", "")
    if result.passages:
        out.print()
        out.print("Texts:")
    for passage in result.passages:
        head = f"{passage.rank}  {passage.score:.4f}  {plain(passage.id)}"
        show_wrapped(out, f"{head}  ({_told(passage.places)})", "")
        text = plain(" ".join(passage.text.split()))
        if text:
            show_wrapped(out, text if len(text) <= _TEXT else text[: _TEXT - 1] + "…", "   ")


def _told(places: Iterable[Place]) -> str:
    return ", ".join(f"{place.ranking} {place.rank}" for place in places)
