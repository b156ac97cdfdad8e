"""Report on communities: by a language model, or put together from the graph alone.

The finest level comes first, so that a large community can be told by the reports on its parts.
Each report is written as soon as it is there: what is done stays done, and the same command goes
on. A community is reported again only when what it holds has changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from contextvars import copy_context
from dataclasses import asdict, dataclass, field
from itertools import groupby
from threading import Event
from typing import TYPE_CHECKING, Any

from pathrag_gds import telemetry
from pathrag_gds.communities.content import content_hash
from pathrag_gds.communities.extractive import extractive_report
from pathrag_gds.communities.read import (
    StoredCommunity,
    properties_of,
    read_communities,
    read_content,
    require_run,
)
from pathrag_gds.communities.report_parse import parse_report
from pathrag_gds.communities.report_prompt import (
    DEFAULT_REPORT_BUDGET,
    ReportPrompt,
    build_report_prompt,
)
from pathrag_gds.communities.types import CommunityContent, CommunityReport
from pathrag_gds.config import DEFAULT_TENANT, check_tenant
from pathrag_gds.errors import ConfigError, GraphRAGError, LLMError
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import load
from pathrag_gds.graph.schema import read_ontology

if TYPE_CHECKING:
    from pathrag_gds.models.llm import LLM

__all__ = [
    "DEFAULT_CONCURRENCY",
    "ReportPlan",
    "ReportSummary",
    "plan_reports",
    "report_communities",
]

DEFAULT_CONCURRENCY = 4
"""Requests to a language model at a time."""

ANSWER_TOKENS = 400
"""What a report takes, for the preview of the cost; about what models answer to such a prompt."""

CountTokens = Callable[[str], int]
Progress = Callable[[int, int, str], None]
# So many requests in a row that the endpoint did not answer: it will not answer the next one.
_DEAD_AFTER = 3
_TRIES = 2


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """What a run of reports would do.

    Attributes:
        communities: How many there are.
        unchanged: Whose report is still about what they hold.
        wanted: Ids of the others, in the order of the work.
        prompt_tokens: Of all prompts together; the reports on parts that are not written yet are
            not among them.
        answer_tokens: Of all answers together, estimated.
    """

    tenant: str
    communities: int
    unchanged: int
    wanted: tuple[str, ...]
    prompt_tokens: int = 0
    answer_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ReportSummary:
    """What a run of reports did.

    Attributes:
        written: Reports that were written.
        unchanged: Communities whose report was right already.
        gone: Communities none of whose entities is left.
        fallback: Ids of communities whose answer was no JSON, so that its text is the summary.
        repaired: Ids of communities whose answer was mended.
        failures: Id of each community without a report and what is wrong, in order.
        model: Who wrote them; empty where they were put together from the graph.
        prompt_tokens: Of all prompts that were sent.
        answer_tokens: Of all answers.
        seconds: Wall time.
    """

    tenant: str
    written: int
    unchanged: int
    gone: int
    fallback: tuple[str, ...]
    repaired: tuple[str, ...]
    failures: tuple[tuple[str, str], ...]
    model: str
    prompt_tokens: int
    answer_tokens: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return asdict(self) | {
            "fallback": list(self.fallback),
            "repaired": list(self.repaired),
            "failures": [{"community": id_, "reason": why} for id_, why in self.failures],
        }

    def error(self) -> GraphRAGError | None:
        """Give the error that names what was not done; None where all was."""
        if not self.failures:
            return None
        count = len(self.failures)
        shown = "\n".join(f"  {id_}: {why}" for id_, why in self.failures[:20])
        rest = f"\n  and {count - 20} more" if count > 20 else ""
        return GraphRAGError(
            f"{count} {'community has' if count == 1 else 'communities have'} no new report; "
            f"{self.written} were written:\n{shown}{rest}",
            failures=self.failures,
            hint="The same command does only those that are missing: pathrag communities report",
        )


def plan_reports(
    db: Database,
    *,
    tenant: str = DEFAULT_TENANT,
    with_model: bool = False,
    count_tokens: CountTokens | None = None,
    budget: int = DEFAULT_REPORT_BUDGET,
) -> ReportPlan:
    """See which communities need a report, and what a language model would be sent for it.

    Args:
        with_model: Whether a language model will write; it also replaces reports without one.
        count_tokens: How it counts; needed with a model.
        budget: Tokens of a prompt at most.

    Raises:
        ConfigError: The tenant has no communities, or an option is out of range.
    """
    desk = _Desk.open(db, tenant, with_model=with_model, count_tokens=count_tokens, budget=budget)
    wanted = []
    tokens = unchanged = 0
    for community in desk.communities:
        draft = desk.draft(community)
        if draft is None:
            continue
        if draft.is_current:
            unchanged += 1
            continue
        wanted.append(community.id)
        tokens += draft.prompt.tokens if draft.prompt else 0
    return ReportPlan(
        tenant,
        len(desk.communities),
        unchanged,
        tuple(wanted),
        tokens,
        ANSWER_TOKENS * len(wanted) if with_model else 0,
    )


def report_communities(
    db: Database,
    *,
    tenant: str = DEFAULT_TENANT,
    llm: LLM | None = None,
    count_tokens: CountTokens | None = None,
    budget: int = DEFAULT_REPORT_BUDGET,
    concurrency: int = DEFAULT_CONCURRENCY,
    lenient: bool = False,
    progress: Progress | None = None,
) -> ReportSummary:
    """Write a report on each community that has none, or whose entities and facts have changed.

    An answer that breaks the schema is asked for once more, with what is wrong about it. What is
    refused twice, and what the endpoint does not answer, fails that community alone; after three
    requests in a row without an answer no more are sent. Reports of a language model are kept
    where none is given.

    Args:
        llm: Who writes; None puts the reports together from the graph, and they say so.
        count_tokens: How the model counts; needed with one.
        budget: Tokens of a prompt at most, at least 500.
        concurrency: Requests at a time, at least 1.
        lenient: Mend answers that break the schema; the reports say what was mended.
        progress: Called with how many communities are settled, how many there are, and the last.

    Returns:
        What was done; see :meth:`ReportSummary.error`.

    Raises:
        ConfigError: The tenant has no communities, or an option is out of range.
        TenantError: The tenant has an impossible name.
        DatabaseError: The server failed; reports that were written stay.
    """
    if concurrency < 1:
        raise ConfigError(f"concurrency must be at least 1, not {concurrency}.")
    started = time.monotonic()
    desk = _Desk.open(
        db, tenant, with_model=llm is not None, count_tokens=count_tokens, budget=budget
    )
    run = _Run(desk, llm, lenient, progress or (lambda done, total, what: None))
    for _, level in groupby(desk.communities, key=lambda community: community.level):
        run.level(list(level), concurrency)
    return run.summary(time.monotonic() - started)


@dataclass(frozen=True, slots=True)
class _Draft:
    """What is known of a community before its report is written.

    Attributes:
        digest: Hash of what the report is about.
        prompt: What a language model is asked; None without one.
        is_current: Whether the report that there is need not be written again.
    """

    content: CommunityContent
    digest: str
    prompt: ReportPrompt | None
    is_current: bool


@dataclass(slots=True)
class _Desk:
    """What drafts are made from; the reports on it grow level by level."""

    db: Database
    tenant: str
    communities: tuple[StoredCommunity, ...]
    count_tokens: CountTokens | None
    budget: int
    phrasing: Mapping[str, tuple[str, str]]
    reports: dict[str, CommunityReport]
    children: Mapping[str, Sequence[StoredCommunity]]

    @classmethod
    def open(
        cls,
        db: Database,
        tenant: str,
        *,
        with_model: bool,
        count_tokens: CountTokens | None,
        budget: int,
    ) -> _Desk:
        check_tenant(tenant)
        if with_model and count_tokens is None:
            raise ConfigError("count_tokens is needed with a language model.")
        if budget < 500:
            raise ConfigError(f"The budget of a prompt must be at least 500 tokens, not {budget}.")
        run = require_run(db, tenant)
        communities = read_communities(db, tenant, run["id"])
        children: dict[str, list[StoredCommunity]] = {}
        for community in communities:
            if community.parent_id is not None:
                children.setdefault(community.parent_id, []).append(community)
        return cls(
            db=db,
            tenant=tenant,
            communities=communities,
            count_tokens=count_tokens if with_model else None,
            budget=budget,
            phrasing=read_ontology(db, tenant).phrasing,
            reports={c.id: c.report for c in communities if c.report is not None},
            children=children,
        )

    def draft(self, community: StoredCommunity) -> _Draft | None:
        """Read a community; None where none of its entities is left."""
        content = read_content(self.db, community)
        if content is None:
            return None
        old = self.reports.get(community.id)
        if self.count_tokens is None:
            digest = content_hash(content)
            # What a model wrote about the same content is better, however it was told.
            told = old is not None and (
                old.content_hash == digest or self._told(content, old.content_hash)
            )
            return _Draft(content, digest, None, told)
        parts = [
            self.reports[child.id]
            for child in self.children.get(community.id, ())
            if child.id in self.reports
        ]
        prompt = build_report_prompt(
            content,
            count_tokens=self.count_tokens,
            budget=self.budget,
            children=parts,
            phrasing=self.phrasing,
        )
        hashes = [self.reports[id_].content_hash for id_ in prompt.children]
        digest = content_hash(content, hashes)
        # A report that was written without the parts told of, too, is about all of the content.
        same = old is not None and old.content_hash in (digest, content_hash(content))
        current = same and old is not None and old.origin != "extractive"
        return _Draft(content, digest, prompt, current)

    def _told(self, content: CommunityContent, digest: str) -> bool:
        """Whether a report with this hash was written of the same content and of parts."""
        parts = [
            self.reports[child.id].content_hash
            for child in self.children.get(content.community.id, ())
            if child.id in self.reports
        ]
        return bool(parts) and content_hash(content, parts) == digest


@dataclass(slots=True)
class _Written:
    """A report that is ready to be kept, or why there is none."""

    community: StoredCommunity
    report: CommunityReport | None = None
    failure: str = ""
    is_current: bool = False
    is_gone: bool = False
    is_silent: bool = False
    prompt_tokens: int = 0
    answer_tokens: int = 0


@dataclass(slots=True)
class _Run:
    desk: _Desk
    llm: LLM | None
    lenient: bool
    progress: Progress
    written: int = 0
    unchanged: int = 0
    gone: int = 0
    silent: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    settled: set[str] = field(default_factory=set)
    stopped: Event = field(default_factory=Event)
    fallback: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def level(self, communities: Sequence[StoredCommunity], concurrency: int) -> None:
        """Report on the communities of one level, several at a time; keep each at once."""
        try:
            for done in _several(self._write, communities, concurrency, lambda: self._is_dead):
                self._keep(done)
        finally:
            # What is still asked after an interrupt ends with its next piece.
            self.stopped.set()
        self.stopped.clear()
        for community in communities:
            if community.id not in self.settled:
                self._leave(community)

    def _leave(self, community: StoredCommunity) -> None:
        """Note that a community is not reported on, unless it need not be."""
        draft = self.desk.draft(community)
        if draft is None or draft.is_current:
            self._keep(_Written(community, is_current=draft is not None, is_gone=draft is None))
            return
        self.settled.add(community.id)
        self.failures[community.id] = "was not asked, since the endpoint did not answer"

    @property
    def _is_dead(self) -> bool:
        return self.silent >= _DEAD_AFTER

    def _write(self, community: StoredCommunity) -> _Written:
        draft = self.desk.draft(community)
        if draft is None:
            return _Written(community, is_gone=True)
        if draft.is_current:
            return _Written(community, is_current=True)
        content = draft.content
        with telemetry.span(
            "graphrag.summarize",
            tenant=self.desk.tenant,
            community_id=community.id,
            nodes_n=len(content.entities),
            edges_n=len(content.edges),
            model=self.llm.name if self.llm else "extractive",
        ) as span:
            if self.llm is None or draft.prompt is None:
                report = extractive_report(
                    content, phrasing=self.desk.phrasing, digest=draft.digest
                )
                done = _Written(community, report)
            else:
                done = self._asked(community, draft, draft.prompt, self.llm)
            span.set(input_tokens=done.prompt_tokens, output_tokens=done.answer_tokens)
            if done.report is not None:
                span.set(form=done.report.form)
                span.tell(title=done.report.title, summary=done.report.summary)
            if done.failure:
                span.fail("LLMError" if done.is_silent else "GraphRAGError", done.failure)
            return done

    def _asked(
        self, community: StoredCommunity, draft: _Draft, prompt: ReportPrompt, llm: LLM
    ) -> _Written:
        count = self.desk.count_tokens or len
        messages = prompt.messages()
        done = _Written(community)
        sent = prompt.tokens
        for _ in range(_TRIES):
            try:
                text, finish = _answer(llm, messages, self.stopped)
            except LLMError as error:
                done.failure, done.is_silent = error.message, True
                return done
            done.prompt_tokens += sent
            done.answer_tokens += count(text) if text else 0
            try:
                done.report = _parsed(text, finish, draft, lenient=self.lenient)
            except GraphRAGError as error:
                done.failure = error.failures[0][1]
                again = (
                    f"This answer is refused: {done.failure}. Give the JSON object again, "
                    "complete and as demanded, and nothing else."
                )
                messages = [
                    *messages,
                    {"role": "assistant", "content": text or "{}"},
                    {"role": "user", "content": again},
                ]
                sent += count(text or "{}") + count(again)
                continue
            done.failure = ""
            return done
        return done

    def _keep(self, done: _Written) -> None:
        id_ = done.community.id
        self.prompt_tokens += done.prompt_tokens
        self.answer_tokens += done.answer_tokens
        self.unchanged += done.is_current
        self.gone += done.is_gone
        if done.failure:
            self.failures[id_] = done.failure
        if not (done.is_current or done.is_gone):
            self.silent = self.silent + 1 if done.is_silent else 0
        if done.report is not None:
            rows = self.desk.db.run(
                load("communities/write_report"),
                tenant=self.desk.tenant,
                id=id_,
                report=properties_of(done.report),
            )
            if not rows[0]["written"]:
                self.failures[id_] = "is gone: communities were detected again meanwhile"
            else:
                self.desk.reports[id_] = done.report
                self.written += 1
                if done.report.form == "fallback":
                    self.fallback.append(id_)
                if done.report.form == "repaired":
                    self.repaired.append(id_)
        self.settled.add(id_)
        self.progress(len(self.settled), len(self.desk.communities), done.community.id)

    def summary(self, seconds: float) -> ReportSummary:
        """Give what was done; communities in the order of the work, whoever was done first."""
        order = [community.id for community in self.desk.communities]
        return ReportSummary(
            tenant=self.desk.tenant,
            written=self.written,
            unchanged=self.unchanged,
            gone=self.gone,
            fallback=tuple(id_ for id_ in order if id_ in self.fallback),
            repaired=tuple(id_ for id_ in order if id_ in self.repaired),
            failures=tuple((id_, self.failures[id_]) for id_ in order if id_ in self.failures),
            model=self.llm.name if self.llm else "",
            prompt_tokens=self.prompt_tokens,
            answer_tokens=self.answer_tokens,
            seconds=round(seconds, 3),
        )


def _parsed(text: str, finish: str, draft: _Draft, *, lenient: bool) -> CommunityReport:
    """Read an answer; one that broke off is refused, since half a text is no summary."""
    if finish == "length" and not lenient:
        id_ = draft.content.community.id
        why = "the answer broke off: the model ran out of tokens"
        raise GraphRAGError(f"The report of community {id_!r}: {why}.", failures=((id_, why),))
    return parse_report(text, draft.content, lenient=lenient, digest=draft.digest)


def _answer(llm: LLM, messages: Sequence[Mapping[str, str]], stopped: Event) -> tuple[str, str]:
    """Ask for an answer; give what came until it ended, or was stopped, and why it ended."""
    pieces: list[str] = []
    with closing(llm.chat(messages)) as chat:
        while not stopped.is_set():
            try:
                pieces.append(next(chat))
            except StopIteration as end:
                return "".join(pieces), end.value or ""
    return "", "stopped"


def _several(
    work: Callable[[StoredCommunity], _Written],
    items: Iterable[StoredCommunity],
    concurrency: int,
    is_over: Callable[[], bool],
) -> Iterator[_Written]:
    """Do several at a time and give each as it is done; begin no more once it is over.

    No more are begun than are waited for, so that an interrupt leaves little to wait for.
    """
    waiting = iter(items)
    running: set[Future[_Written]] = set()
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="report")
    try:
        while True:
            while len(running) < concurrency and not is_over():
                item = next(waiting, None)
                if item is None:
                    break
                # Spans of the threads belong to the one that is open here.
                running.add(pool.submit(copy_context().run, work, item))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
