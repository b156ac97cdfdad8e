"""Answers of a language model by a method other than paths alone, or by the one that fits best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pathrag_gds.answer.choose import Choice, about_a_whole, after_search
from pathrag_gds.answer.overview import (
    DEFAULT_CONCURRENCY,
    DEFAULT_REPORTS,
    answer_from_reports,
)
from pathrag_gds.answer.sources import (
    Source,
    SourcedAnswer,
    answer_from_sources,
    build_source_prompt,
    sources_of_communities,
    sources_of_community_result,
    sources_of_fused,
)
from pathrag_gds.communities.search import ChosenReports, CommunityResult, Scorer, choose_reports
from pathrag_gds.communities.store import live_run
from pathrag_gds.errors import ConfigError

if TYPE_CHECKING:
    from pathrag_gds.answer.generate import GeneratedAnswer
    from pathrag_gds.answer.methods import FusedResult
    from pathrag_gds.answer.prompt import CountTokens
    from pathrag_gds.graph.database import QueryRunner
    from pathrag_gds.models.encoder import Encoder
    from pathrag_gds.models.llm import LLM
    from pathrag_gds.types import SearchResult

__all__ = ["AskMethod", "Asking", "answer_by", "has_reports", "reports_of"]

AskMethod = Literal["path", "community", "hybrid", "global", "auto"]


@dataclass(frozen=True, slots=True)
class Asking:
    """What it takes to answer by any method: each is called when it is needed.

    Attributes:
        search: Of paths.
        from_paths: Answers from what a search of paths found.
        communities: What the method ``community`` finds.
        fused: What the method ``hybrid`` finds.
        reports: The reports that the method ``global`` reads.
        has_reports: Whether the tenant has reports on communities.
        llm: Who answers.
        count_tokens: How the model counts.
        budget: Tokens of a prompt at most.
        concurrency: Requests at a time, of the method ``global``.
        on_text: Called with each piece of the answer as it comes.
        stream: Ask for the answer piece by piece.
    """

    question: str
    tenant: str
    search: Callable[[], SearchResult]
    from_paths: Callable[[SearchResult], GeneratedAnswer]
    communities: Callable[[], CommunityResult]
    fused: Callable[[], FusedResult]
    reports: Callable[[], ChosenReports]
    has_reports: Callable[[], bool]
    llm: LLM
    count_tokens: CountTokens
    budget: int
    concurrency: int = DEFAULT_CONCURRENCY
    on_text: Callable[[str], None] | None = None
    stream: bool = True


def answer_by(asking: Asking, method: AskMethod) -> GeneratedAnswer | SourcedAnswer:
    """Answer by a method; ``auto`` chooses one and says why in ``reason``.

    ``auto`` takes ``global`` for a question about a whole where there are reports, ``path`` where
    paths answer, else ``hybrid``: see :mod:`pathrag_gds.answer.choose`.

    Raises:
        ConfigError: The method is unknown, the tenant lacks what it needs, or a budget is too
            small.
        LLMError: There is no answer.
    """
    if method == "auto":
        return _chosen(asking)
    if method == "path":
        return asking.from_paths(asking.search())
    if method == "community":
        return _from_communities(asking)
    if method == "hybrid":
        return _from_hybrid(asking)
    if method == "global":
        return _from_reports(asking)
    raise ConfigError(
        f"There is no method {method!r}.", hint="Known: path, community, hybrid, global, auto"
    )


def has_reports(db: QueryRunner, tenant: str) -> bool:
    """Say whether a tenant has communities in force with a report on any of them."""
    from pathrag_gds.communities.read import read_communities

    run = live_run(db, tenant)
    if run is None:
        return False
    return any(c.report is not None for c in read_communities(db, tenant, str(run["id"])))


def reports_of(
    db: QueryRunner, encoder: Encoder, question: str, tenant: str, count: int | None, scorer: Scorer
) -> ChosenReports:
    """Choose the reports that a question about a whole is answered from.

    Raises:
        ConfigError: See :func:`pathrag_gds.communities.search.choose_reports`.
    """
    return choose_reports(
        db,
        encoder,
        question,
        tenant=tenant,
        count=DEFAULT_REPORTS if count is None else count,
        scorer=scorer,
    )


def _chosen(asking: Asking) -> GeneratedAnswer | SourcedAnswer:
    known = asking.has_reports()
    whole = bool(about_a_whole(asking.question)) and known
    result = None if whole else asking.search()
    choice = after_search(asking.question, result, has_reports=known)
    if choice.method == "global":
        return _from_reports(asking, choice)
    if choice.method == "path" and result is not None:
        return replace(asking.from_paths(result), reason=_told(choice))
    return _from_hybrid(asking, choice)


def _told(choice: Choice | None) -> str:
    return f"{choice.method}: {choice.reason}" if choice else ""


def _from_communities(asking: Asking) -> SourcedAnswer:
    found = asking.communities()
    sources = sources_of_community_result(found)
    return _from_sources(asking, sources, "community", found.warnings)


def _from_hybrid(asking: Asking, choice: Choice | None = None) -> SourcedAnswer:
    found = asking.fused()
    return _from_sources(asking, sources_of_fused(found), "hybrid", found.warnings, _told(choice))


def _from_sources(
    asking: Asking,
    sources: Sequence[Source],
    method: Literal["community", "hybrid"],
    warnings: Sequence[str],
    reason: str = "",
) -> SourcedAnswer:
    prompt = build_source_prompt(
        asking.question, sources, count_tokens=asking.count_tokens, budget=asking.budget
    )
    return answer_from_sources(
        prompt,
        asking.llm,
        tenant=asking.tenant,
        method=method,
        reason=reason,
        warnings=warnings,
        on_text=asking.on_text,
        stream=asking.stream,
    )


def _from_reports(asking: Asking, choice: Choice | None = None) -> SourcedAnswer:
    chosen = asking.reports()
    warnings = list(chosen.warnings)
    if (left := chosen.most - len(chosen.communities)) > 0:
        warnings.append(f"{left} of {chosen.most} reports were not read (--communities).")
    return answer_from_reports(
        asking.question,
        sources_of_communities(chosen.communities),
        asking.llm,
        tenant=asking.tenant,
        count_tokens=asking.count_tokens,
        budget=asking.budget,
        concurrency=asking.concurrency,
        reason=_told(choice),
        warnings=warnings,
        on_text=asking.on_text,
        stream=asking.stream,
    )
