"""What an answer from numbered sources cites, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pathrag_gds.serve.terminal import plain, show_wrapped

if TYPE_CHECKING:
    from rich.console import Console

    from pathrag_gds.answer.sources import SourcedAnswer

__all__ = ["show_sourced"]

_TEXT = 200


def show_sourced(out: Console, answer: SourcedAnswer) -> None:
    """Print the sources that an answer cites, what of it cites none, and what it cost."""
    out.print()
    for source in answer.cited:
        head = f"[{source.number}] {source.kind} {plain(source.id)}"
        show_wrapped(out, f"{head}  {plain(source.title)}".rstrip(), "", style="bold")
        text = plain(source.text)
        show_wrapped(out, text if len(text) <= _TEXT else text[: _TEXT - 1] + "…", "   ")
    for sentence in answer.uncited:
        show_wrapped(out, f"cites no source: {plain(sentence)}", "")
    if answer.model:
        show_wrapped(
            out,
            f"{plain(answer.model)} was asked {answer.requests} times, with {len(answer.sources)} "
            f"sources to cite and {answer.prompt_tokens:,} tokens in all",
            "",
            style="dim",
        )
    why = answer.reason or answer.method
    show_wrapped(out, f"By {plain(why)}.", "")
