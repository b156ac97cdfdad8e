"""What communities say to a question, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pathrag_gds.serve.terminal import plain, show_wrapped

if TYPE_CHECKING:
    from rich.console import Console

    from pathrag_gds.communities.search import CommunityResult

__all__ = ["show_community_result"]

_TEXT = 300
_ENTITIES = 20


def show_community_result(out: Console, result: CommunityResult) -> None:
    """Print the communities with their reports, then their entities, then the texts."""
    if result.outcome == "not_in_graph":
        out.print("No report has to do with the question.")
    for found in result.communities:
        report = found.report
        kind = "extract" if report.origin == "extractive" else "report"
        head = f"{found.rank}  {found.score.score:.3f}  {plain(report.title)}"
        show_wrapped(out, head, "", style="bold")
        told = (
            f"community {report.community_id}, level {found.level}, {found.size} entities, {kind}"
        )
        show_wrapped(out, told, "   ", style="dim")
        show_wrapped(out, plain(report.summary), "   ")
        for finding in report.findings:
            show_wrapped(out, f"- {plain(finding.summary)}", "   ")
        out.print()
    keys = [found for found in result.entities if not found.hops]
    around = [found for found in result.entities if found.hops]
    for what, some in (("Key entities", keys), ("Around them", around)):
        if some:
            names = ", ".join(plain(found.entity.name) for found in some[:_ENTITIES])
            rest = f", and {len(some) - _ENTITIES} more" if len(some) > _ENTITIES else ""
            show_wrapped(out, f"{what}: {names}{rest}.", "")
    if result.chunks:
        out.print()
    for chunk in result.chunks:
        show_wrapped(out, f"[{chunk.rank}] {plain(chunk.id)}", "", style="dim")
        text = plain(" ".join(chunk.text.split()))
        show_wrapped(out, text if len(text) <= _TEXT else text[: _TEXT - 1] + "…", "    ")
