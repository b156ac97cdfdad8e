"""The one object that users of the library hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, overload

from pathrag_gds import telemetry
from pathrag_gds.answer.prompt import (
    DEFAULT_BUDGET,
    DEFAULT_CHUNK_BUDGET,
    MAX_CHUNKS,
    build_prompt,
    check_prompt_options,
    chunks_of,
)
from pathrag_gds.config import DEFAULT_TENANT, SearchConfig, check_tenant, read_settings
from pathrag_gds.errors import ConfigError, DimensionMismatch, IndexMissing, PathRAGError
from pathrag_gds.types import (
    DepthTrace,
    Explanation,
    Pattern,
    PatternRun,
    SavedPattern,
    SearchResult,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pathrag_gds.answer.ask import AskMethod
    from pathrag_gds.answer.generate import GeneratedAnswer
    from pathrag_gds.answer.methods import FusedResult, FusionOptions, Method
    from pathrag_gds.answer.prompt import CountTokens, Order, PathPrompt
    from pathrag_gds.answer.sources import SourcedAnswer
    from pathrag_gds.communities.detect import Detection
    from pathrag_gds.communities.report import ReportSummary
    from pathrag_gds.communities.search import CommunityResult
    from pathrag_gds.config import Settings
    from pathrag_gds.graph.database import Database
    from pathrag_gds.graph.gds_client import CommunityAlgorithm
    from pathrag_gds.models.encoder import Encoder
    from pathrag_gds.models.llm import LLM
    from pathrag_gds.models.reranker import Reranker
    from pathrag_gds.retrieve.nearest import NearestContext
    from pathrag_gds.retrieve.session import SearchContext

__all__ = ["PathRAG"]

_MAX_TENANTS = 256


class PathRAG:
    """Ask a graph in Neo4j questions; see :meth:`search`. Thread safe.

    Example::

        with PathRAG.connect("bolt://localhost:7687", password="…") as rag:
            result = rag.search("In which village was Bob when the milk was spilled?")
            for path in result.paths:
                print(path.score, path.text)

    Args:
        database: An open database; closed by :meth:`close`.
        tenant: Whose graph is searched unless a call says otherwise.
        config: Defaults of every search.
        encoder: Embeds questions; the shipped model by default.
        reranker: Scores paths; by default the one that was adapted to the tenant, else the shipped
            one.
        home: Folder of the embedded server, where adapted rerankers lie.
        llm: Writes the answers of :meth:`ask`, and names the keywords of a search with
            ``keywords="llm"``; by default the endpoint that the settings name, which is looked at
            when it is first needed.
    """

    def __init__(
        self,
        database: Database,
        *,
        tenant: str = DEFAULT_TENANT,
        config: SearchConfig | None = None,
        encoder: Encoder | None = None,
        reranker: Reranker | None = None,
        home: Path | str | None = None,
        llm: LLM | None = None,
    ) -> None:
        from pathrag_gds.models.encoder import load_encoder
        from pathrag_gds.models.reranker import load_reranker
        from pathrag_gds.server.home import Home

        self.database = database
        self.tenant = check_tenant(tenant)
        self.config = config or SearchConfig()
        self.encoder = encoder or load_encoder(None)
        self.reranker = reranker or load_reranker(None, self.encoder)
        self.llm = llm
        self._settings: Settings | None = None
        # Who names a reranker gets it, whatever was adapted.
        self._adapted = None if reranker else Home.at(home).rerankers
        self._lock = Lock()
        self._contexts: dict[str, SearchContext] = {}
        self._nearness: dict[str, NearestContext] = {}

    @classmethod
    def connect(
        cls,
        uri: str | None = None,
        *,
        username: str | None = None,
        password: str | None = None,
        database: str | None = None,
        tenant: str | None = None,
        home: str | None = None,
        model: str | None = None,
        reranker: str | None = None,
        config: SearchConfig | None = None,
    ) -> PathRAG:
        """Connect to the server that is given, else to the one that settings name.

        Without ``uri`` the environment (``NEO4J_URI``, ``NEO4J_USERNAME``, ``NEO4J_PASSWORD``,
        ``NEO4J_DATABASE``), then ``pathrag.toml``, then the running embedded server are taken.

        Args:
            home: Folder of the embedded server.
            model: Encoder by name or path; the shipped one by default.
            reranker: Reranker by name or path; by default the one that was adapted to the tenant,
                else the shipped one.
            config: Defaults of every search; the preset that the settings name by default.

        Raises:
            ServerUnavailable: Nothing answers.
            AuthFailed: The credentials are refused.
            ModelError: A model cannot be loaded.
        """
        flags = {
            "uri": uri,
            "username": username,
            "password": password,
            "database": database,
            "tenant": tenant,
            "home": home,
            "model": model,
            "reranker": reranker,
        }
        return cls.from_settings(read_settings(flags), config=config)

    @classmethod
    def from_settings(cls, settings: Settings, *, config: SearchConfig | None = None) -> PathRAG:
        """Connect as settings say; see :meth:`connect`."""
        from pathrag_gds.graph.connect import open_database
        from pathrag_gds.models.encoder import load_encoder
        from pathrag_gds.models.reranker import load_reranker

        telemetry.start(settings.telemetry, settings.telemetry_text)
        tenant = check_tenant(settings.tenant or DEFAULT_TENANT)
        config = config or settings.search_config()
        encoder = load_encoder(settings.model or None)
        reranker = load_reranker(settings.reranker, encoder) if settings.reranker else None
        made = cls(
            open_database(settings),
            tenant=tenant,
            config=config,
            encoder=encoder,
            reranker=reranker,
            home=settings.home or None,
        )
        made._settings = settings
        return made

    def __enter__(self) -> PathRAG:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PathRAG({self.database!r}, tenant={self.tenant!r})"

    def close(self) -> None:
        """Close the connection pool."""
        self.database.close()

    def refresh(self) -> None:
        """Forget what is known of the graph's types and indexes; the next search reads it again.

        Call it after another process loaded data: types that are new are not followed before.
        """
        with self._lock:
            self._contexts.clear()
            self._nearness.clear()

    def search(
        self,
        question: str,
        *,
        tenant: str | None = None,
        config: SearchConfig | None = None,
        start_ids: Sequence[str] = (),
        **overrides: Any,
    ) -> SearchResult:
        """Find the paths that answer a question.

        Args:
            question: In plain language.
            tenant: Whose graph, instead of the object's.
            config: Instead of the object's.
            start_ids: Ids of the entities that the question is about, where you know them. They
                are the anchors, and the question's words are not searched for names; one that the
                graph does not have is named in ``warnings``.
            **overrides: Fields of :class:`SearchConfig` to change, such as ``top_k=3``.

        Returns:
            Paths best first, at most ``top_k``; none where nothing passes ``min_score``.

        Raises:
            ConfigError: The question is empty, or an option is unknown or out of range.
            EncoderMismatch: The vectors in the database are of another encoder.
            DatabaseError: The server refused or failed a statement.
            LLMError: With ``keywords="llm"``, the language model names none.
        """
        return self._search(question, tenant, config, start_ids, overrides, None)

    @overload
    def query(
        self,
        question: str,
        *,
        method: Literal["path"] = "path",
        tenant: str | None = None,
        config: SearchConfig | None = None,
        start_ids: Sequence[str] = (),
        fusion: FusionOptions | None = None,
        **overrides: Any,
    ) -> SearchResult: ...

    @overload
    def query(
        self,
        question: str,
        *,
        method: Literal["community"],
        tenant: str | None = None,
        config: SearchConfig | None = None,
        start_ids: Sequence[str] = (),
        fusion: FusionOptions | None = None,
        **overrides: Any,
    ) -> CommunityResult: ...

    @overload
    def query(
        self,
        question: str,
        *,
        method: Literal["hybrid", "vector"],
        tenant: str | None = None,
        config: SearchConfig | None = None,
        start_ids: Sequence[str] = (),
        fusion: FusionOptions | None = None,
        **overrides: Any,
    ) -> FusedResult: ...

    def query(
        self,
        question: str,
        *,
        method: Method = "path",
        tenant: str | None = None,
        config: SearchConfig | None = None,
        start_ids: Sequence[str] = (),
        fusion: FusionOptions | None = None,
        **overrides: Any,
    ) -> SearchResult | CommunityResult | FusedResult:
        """Find what answers a question by one method, or by all of them together.

        Example::

            found = rag.query("What do Bob's friends do?", method="hybrid")
            for passage in found.passages:
                print(passage.id, [(place.ranking, place.rank) for place in passage.places])

        Args:
            question: And ``tenant``, ``config``, ``start_ids``, ``**overrides``: see
                :meth:`search`.
            method: ``path``: as :meth:`search`. ``community``: reports on communities, their
                entities and texts. ``vector``: what is nearest by vector. ``hybrid``: all of them
                and what is nearest by words, fused by rank. A method that is not a search of paths
                looks at ``top_k`` alone of the configuration.
            fusion: Weights of the rankings, and options of communities; defaults where it is None.

        Raises:
            ConfigError: As for :meth:`search`; another method than ``path`` is given with options
                that say where paths may go; or, by ``community``, the tenant has no communities or
                no reports. ``hybrid`` does without them and says so in ``warnings``.
            EncoderMismatch: The vectors in the database are of another encoder.
            DatabaseError: The server refused or failed a statement.
        """
        if method == "path":
            return self.search(
                question, tenant=tenant, config=config, start_ids=start_ids, **overrides
            )
        from pathrag_gds.answer.methods import FusionOptions, check_unrestricted, find
        from pathrag_gds.communities.search import search_communities

        config = (config or self.config).with_(**overrides)
        check_unrestricted(method, config)
        tenant = self._tenant(tenant)
        fusion = fusion or FusionOptions()
        if method == "community":
            return search_communities(
                self.database,
                self.encoder,
                question,
                tenant=tenant,
                communities=fusion.communities,
                hops=fusion.hops,
                top_k=config.top_k,
                scorer=fusion.scorer,
            )
        if method not in ("hybrid", "vector"):
            raise ConfigError(
                f"There is no method {method!r}.", hint="Known: path, community, hybrid, vector"
            )
        if not question.strip():
            raise ConfigError("The question is empty.", hint='Ask one: "Who is Jane?"')

        def search(wide: SearchConfig) -> SearchResult:
            return self.search(question, tenant=tenant, config=wide, start_ids=start_ids)

        with telemetry.span(
            "pathrag.query", tenant=tenant, method=method, question_length=len(question)
        ) as span:
            span.tell(question=question)
            context, setup = self._nearest(tenant)
            found = find(
                self.database,
                self.encoder,
                question,
                method=method,
                context=context,
                config=config,
                options=fusion,
                search=search,
                setup_round_trips=setup,
            )
            span.set(
                outcome=found.search.outcome,
                round_trips=found.search.stats.round_trips,
                setup_round_trips=found.search.stats.setup_round_trips,
                entities=len(found.entities),
                passages=len(found.passages),
            )
            return found

    def explain(
        self,
        question: str,
        *,
        tenant: str | None = None,
        config: SearchConfig | None = None,
        start_ids: Sequence[str] = (),
        **overrides: Any,
    ) -> Explanation:
        """Search, and say what was kept and what was cut at each depth; see :meth:`search`."""
        trace: list[DepthTrace] = []
        result = self._search(question, tenant, config, start_ids, overrides, trace)
        return Explanation(result, tuple(trace))

    def prompt(
        self,
        question: str,
        *,
        tenant: str | None = None,
        config: SearchConfig | None = None,
        start_ids: Sequence[str] = (),
        order: Order = "ascending",
        budget: int = DEFAULT_BUDGET,
        chunk_budget: int = DEFAULT_CHUNK_BUDGET,
        count_tokens: CountTokens | None = None,
        **overrides: Any,
    ) -> PathPrompt:
        """Search, and write the prompt that asks a language model to answer from the paths alone.

        Args:
            question: And ``tenant``, ``config``, ``start_ids``, ``**overrides``: see
                :meth:`search`.
            order: And ``budget``, ``chunk_budget``, ``count_tokens``: see :meth:`prompt_of`.

        Raises:
            ConfigError: As for :meth:`search` and :meth:`prompt_of`.
            EncoderMismatch: The vectors in the database are of another encoder.
            DatabaseError: The server refused or failed a statement.
        """
        check_prompt_options(order=order, budget=budget, chunk_budget=chunk_budget)
        return self.prompt_of(
            self.search(question, tenant=tenant, config=config, start_ids=start_ids, **overrides),
            order=order,
            budget=budget,
            chunk_budget=chunk_budget,
            count_tokens=count_tokens,
        )

    def prompt_of(
        self,
        result: SearchResult,
        *,
        order: Order = "ascending",
        budget: int = DEFAULT_BUDGET,
        chunk_budget: int = DEFAULT_CHUNK_BUDGET,
        count_tokens: CountTokens | None = None,
    ) -> PathPrompt:
        """Write the prompt for a result of :meth:`search`.

        Reads the texts that its paths were read from, in one statement.

        Args:
            result: Without a path the prompt says that there is none.
            order: ``ascending`` puts the best path last, ``descending`` first.
            budget: Tokens at most of instructions, question and paths. The best path is always in
                the prompt and none is cut in two; see
                :func:`pathrag_gds.answer.prompt.build_prompt`.
            chunk_budget: Tokens at most that the texts add; 0 for none.
            count_tokens: How the language model counts; by default the encoder's tokenizer counts,
                which is near what others do for English, not equal.

        Raises:
            ConfigError: An option is out of range, or the budget is too small for the question and
                the best path.
            DatabaseError: The server refused or failed a statement.
        """
        from pathrag_gds.retrieve.chunks import read_chunk_texts

        context = self._known(result.tenant) or self._read(result.tenant)
        prompt = partial(
            build_prompt,
            result,
            count_tokens=count_tokens or self.encoder.count_tokens,
            order=order,
            budget=budget,
            chunk_budget=chunk_budget,
            phrasing=context.ontology.phrasing,
        )
        paths = prompt()
        ids = list(chunks_of(paths.numbered.values()))[:MAX_CHUNKS] if chunk_budget else []
        return prompt(chunks=read_chunk_texts(self.database, result.tenant, ids)) if ids else paths

    def ask(
        self,
        question: str,
        *,
        llm: LLM | None = None,
        on_text: Callable[[str], None] | None = None,
        stream: bool = True,
        tenant: str | None = None,
        config: SearchConfig | None = None,
        start_ids: Sequence[str] = (),
        order: Order = "ascending",
        budget: int = DEFAULT_BUDGET,
        chunk_budget: int = DEFAULT_CHUNK_BUDGET,
        count_tokens: CountTokens | None = None,
        **overrides: Any,
    ) -> GeneratedAnswer:
        """Search, and let a language model answer from the paths alone, citing them.

        Example::

            answer = rag.ask("Where was Bob?", on_text=lambda piece: print(piece, end=""))
            print(answer.text, [path.rank for path in answer.cited], answer.uncited)

        Where the search finds no answer, the text says that the graph does not say, and no model is
        asked. Nothing is sent but the prompt, and to no other than the endpoint that was named.

        Args:
            question: And ``tenant``, ``config``, ``start_ids``, ``**overrides``: see
                :meth:`search`.
            llm: Instead of the object's.
            on_text: Called with each piece of the text as it comes. What it raises ends the
                request.
            stream: Ask for the answer piece by piece.
            order: And ``budget``, ``chunk_budget``, ``count_tokens``: see :meth:`prompt_of`.

        Raises:
            ConfigError: No language model is configured; or as for :meth:`search` and
                :meth:`prompt_of`.
            EncoderMismatch: The vectors in the database are of another encoder.
            DatabaseError: The server refused or failed a statement.
            LLMError: The model does not answer, or its answer broke off.
            MissingExtra: The extra ``llm`` is not installed.
        """
        from pathrag_gds.answer.generate import generate_answer

        check_prompt_options(order=order, budget=budget, chunk_budget=chunk_budget)
        # First, so that nobody waits for a search whose answer nobody can write.
        llm = llm or self.llm or self._configured_llm()
        with telemetry.span("pathrag.ask", tenant=self._tenant(tenant)):
            result = self.search(
                question, tenant=tenant, config=config, start_ids=start_ids, **overrides
            )
            prompt = self.prompt_of(
                result,
                order=order,
                budget=budget,
                chunk_budget=chunk_budget,
                count_tokens=count_tokens,
            )
            return generate_answer(result, prompt, llm, on_text=on_text, stream=stream)

    def ask_by(
        self,
        question: str,
        *,
        method: AskMethod = "auto",
        fusion: FusionOptions | None = None,
        reports: int | None = None,
        concurrency: int = 4,
        llm: LLM | None = None,
        on_text: Callable[[str], None] | None = None,
        stream: bool = True,
        tenant: str | None = None,
        config: SearchConfig | None = None,
        start_ids: Sequence[str] = (),
        order: Order = "ascending",
        budget: int = DEFAULT_BUDGET,
        chunk_budget: int = DEFAULT_CHUNK_BUDGET,
        count_tokens: CountTokens | None = None,
        **overrides: Any,
    ) -> GeneratedAnswer | SourcedAnswer:
        """Let a language model answer by a method, or by the one that fits the question.

        Example::

            answer = rag.ask_by("What are the main themes of the story?")
            print(answer.reason, answer.text, [source.title for source in answer.cited])

        Args:
            question: And ``tenant``, ``config``, ``start_ids``, ``**overrides``: see
                :meth:`search`.
            method: ``path``: as :meth:`ask`. ``community``: from the best reports and the texts
                that they lead to. ``hybrid``: from paths and texts, see :meth:`query`. ``global``:
                from many reports, each part of them asked for its points, these for the answer.
                ``auto``: ``global`` where the question is about a whole and there are reports,
                ``path`` where paths answer, else ``hybrid``; the answer's ``reason`` says which.
            fusion: Of ``community`` and ``hybrid``.
            reports: That ``global`` reads at most; by default 32.
            concurrency: Requests of ``global`` at a time.
            llm: And ``on_text``, ``stream``: see :meth:`ask`.
            order: And ``budget``, ``chunk_budget``, ``count_tokens``: see :meth:`prompt_of`. The
                prompts of methods other than ``path`` take at most both budgets together.

        Raises:
            ConfigError: As for :meth:`ask` and :meth:`query`; or ``community`` and ``global`` find
                no communities or no reports.
            EncoderMismatch: The vectors in the database are of another encoder.
            DatabaseError: The server refused or failed a statement.
            LLMError: The model does not answer, or its answer broke off.
            MissingExtra: The extra ``llm`` is not installed.
        """
        from pathrag_gds.answer.ask import Asking, answer_by, has_reports, reports_of
        from pathrag_gds.answer.generate import generate_answer
        from pathrag_gds.answer.methods import FusionOptions, check_unrestricted

        check_prompt_options(order=order, budget=budget, chunk_budget=chunk_budget)
        if not question.strip():
            raise ConfigError("The question is empty.", hint='Ask one: "Who is Jane?"')
        searched = (config or self.config).with_(**overrides)
        if method != "path":
            check_unrestricted(method, searched)
        writer = llm or self.llm or self._configured_llm()
        named = self._tenant(tenant)
        options = fusion or FusionOptions()

        def from_paths(result: SearchResult) -> GeneratedAnswer:
            prompt = self.prompt_of(
                result,
                order=order,
                budget=budget,
                chunk_budget=chunk_budget,
                count_tokens=count_tokens,
            )
            return generate_answer(result, prompt, writer, on_text=on_text, stream=stream)

        asking = Asking(
            question=question,
            tenant=named,
            search=lambda: self.search(
                question, tenant=named, config=searched, start_ids=start_ids
            ),
            from_paths=from_paths,
            communities=lambda: self.query(
                question, method="community", tenant=named, config=searched, fusion=options
            ),
            fused=lambda: self.query(
                question,
                method="hybrid",
                tenant=named,
                config=searched,
                start_ids=start_ids,
                fusion=options,
            ),
            reports=lambda: reports_of(
                self.database, self.encoder, question, named, reports, options.scorer
            ),
            has_reports=lambda: has_reports(self.database, named),
            llm=writer,
            count_tokens=count_tokens or self.encoder.count_tokens,
            budget=budget + chunk_budget,
            concurrency=concurrency,
            on_text=on_text,
            stream=stream,
        )
        with telemetry.span("pathrag.ask", tenant=named):
            return answer_by(asking, method)

    def detect_communities(
        self,
        *,
        tenant: str | None = None,
        algorithm: CommunityAlgorithm = "louvain",
        seed: int | None = None,
        gamma: float | None = None,
        weight_property: str = "",
        min_size: int = 3,
    ) -> Detection:
        """Find communities, in the place of those that the tenant has.

        Args:
            algorithm: And all others: see
                :func:`pathrag_gds.communities.detect.detect_communities`.

        Raises:
            ConfigError: An option is out of range, or goes with another algorithm.
            GdsMissing: The server has no Graph Data Science.
            DatabaseError: The server refused or failed a statement.
        """
        from pathrag_gds.communities.detect import detect_communities

        return detect_communities(
            self.database,
            tenant=self._tenant(tenant),
            algorithm=algorithm,
            seed=seed,
            gamma=gamma,
            weight_property=weight_property,
            min_size=min_size,
        )

    def report_communities(
        self,
        *,
        tenant: str | None = None,
        llm: LLM | None = None,
        budget: int = DEFAULT_BUDGET,
        concurrency: int = 4,
        lenient: bool = False,
    ) -> ReportSummary:
        """Report on each community that has no report or has changed, and embed the reports.

        Args:
            llm: Who writes; by default the object's. Without one the reports are extracts of the
                graph: settings are not looked at, so that nothing is sent unasked.
            budget: And all others: see
                :func:`pathrag_gds.communities.report.report_communities`.

        Returns:
            What was written; its ``error()`` tells of communities that could not be reported on.

        Raises:
            ConfigError: The tenant has no communities, or an option is out of range.
            DatabaseError: The server refused or failed a statement.
        """
        from pathrag_gds.communities.report import report_communities
        from pathrag_gds.ingest.embed import embed

        named = self._tenant(tenant)
        writer = llm or self.llm
        done = report_communities(
            self.database,
            tenant=named,
            llm=writer,
            count_tokens=self.encoder.count_tokens if writer else None,
            budget=budget,
            concurrency=concurrency,
            lenient=lenient,
        )
        embed(self.database, self.encoder, tenant=named, roles=("community",))
        return done

    def save_pattern(
        self, source: SearchResult | Pattern, name: str, *, replace: bool = False
    ) -> SavedPattern:
        """Keep the query behind an answer, for :meth:`run_pattern` to run again.

        It is saved in the tenant that it is about.

        Args:
            source: A pattern, or a result: then the pattern that its first answer is from.
            name: Unique within the tenant.
            replace: Whatever has the name gives way.

        Raises:
            ConfigError: The name is taken or is none, or a value of a filter is no JSON value.
            PathRAGError: The result has no pattern.
            DatabaseError: The server refused or failed the statement.
        """
        from pathrag_gds.retrieve.pattern import answering
        from pathrag_gds.retrieve.saved import save_pattern

        if isinstance(source, SearchResult):
            patterns = answering(source)
            if not patterns:
                raise PathRAGError(
                    "No pattern answers the question, so there is none to save.",
                    hint="See what was found, and what was cut: pathrag explain …",
                )
            source = patterns[0]
        return save_pattern(self.database, name, source, replace=replace)

    def patterns(self, *, tenant: str | None = None) -> tuple[SavedPattern, ...]:
        """List the saved patterns of a tenant, by name.

        Raises:
            DatabaseError: The server refused or failed the statement.
        """
        from pathrag_gds.retrieve.saved import read_patterns

        return read_patterns(self.database, self._tenant(tenant))

    def run_pattern(
        self, name: str, anchors: Sequence[str] = (), *, tenant: str | None = None
    ) -> PatternRun:
        """Ask a saved pattern again, of other anchors; no model is used.

        Args:
            anchors: One for each chain of the pattern: an id, a name or an alias. All entities of
                an ambiguous name are taken, and their answers put together. Empty: the anchors
                that it was saved with.

        Raises:
            ConfigError: The tenant has no such pattern or no such entity; there are more or fewer
                anchors than chains; or what is saved does not only read.
            DatabaseError: The server refused or failed a statement.
        """
        from pathrag_gds.retrieve.saved import run_pattern

        return run_pattern(self.database, self._tenant(tenant), name, anchors)

    def delete_pattern(self, name: str, *, tenant: str | None = None) -> None:
        """Forget a saved pattern.

        Raises:
            ConfigError: The tenant has none of that name.
            DatabaseError: The server refused or failed the statement.
        """
        from pathrag_gds.retrieve.saved import delete_pattern

        delete_pattern(self.database, self._tenant(tenant), name)

    def _tenant(self, tenant: str | None) -> str:
        return check_tenant(self.tenant if tenant is None else tenant)

    def _configured_llm(self) -> LLM:
        from pathrag_gds.models.llm import ChatClient

        return ChatClient((self._settings or read_settings()).endpoint())

    def _search(
        self,
        question: str,
        tenant: str | None,
        config: SearchConfig | None,
        start_ids: Sequence[str],
        overrides: Mapping[str, Any],
        trace: list[DepthTrace] | None,
    ) -> SearchResult:
        if not question.strip():
            raise ConfigError("The question is empty.", hint='Ask one: "Who is Jane?"')
        config = (config or self.config).with_(**overrides)
        tenant = self._tenant(tenant)
        with telemetry.span(
            "pathrag.query", tenant=tenant, method="path", question_length=len(question)
        ) as span:
            span.tell(question=question)
            result = self._searched(question, tenant, config, start_ids, trace)
            span.set(
                outcome=result.outcome,
                shape=result.shape.get("kind"),
                strategy=result.stats.strategy,
                depth=result.stats.depth,
                round_trips=result.stats.round_trips,
                setup_round_trips=result.stats.setup_round_trips,
                candidates=result.stats.candidates,
                texts_scored=result.stats.texts_scored,
                cache_hits=result.stats.cache_hits,
                paths=len(result.paths),
                answers=len(result.answers),
            )
            span.tell(answer_names=[answer.name for answer in result.answers])
            return result

    def _searched(
        self,
        question: str,
        tenant: str,
        config: SearchConfig,
        start_ids: Sequence[str],
        trace: list[DepthTrace] | None,
    ) -> SearchResult:
        """Search with what is known of the tenant; read that again where it is out of date."""
        # Once, and first: nobody waits for a database whose search no model begins.
        keywords = () if start_ids else self._keywords(question, config)
        known = self._known(tenant)
        if known is not None:
            try:
                return self._run(question, config, known, start_ids, keywords, trace)
            except (DimensionMismatch, IndexMissing):
                # What was read may be out of date, after a switch to another model for one.
                if trace is not None:
                    trace.clear()
        return self._run(question, config, self._read(tenant), start_ids, keywords, trace)

    def _run(
        self,
        question: str,
        config: SearchConfig,
        context: SearchContext,
        start_ids: Sequence[str],
        keywords: Sequence[str],
        trace: list[DepthTrace] | None,
    ) -> SearchResult:
        from pathrag_gds.retrieve.flow_search import check_pruner
        from pathrag_gds.retrieve.keywords import Keyword
        from pathrag_gds.retrieve.scope import read_scope
        from pathrag_gds.retrieve.search import run, search

        check_pruner(self.database, config.pruner)
        warnings = list(context.warnings)
        types = {t.name for t in context.ontology.relation_types}
        for name in config.rel_types:
            if name not in types:
                warnings.append(f"The graph has no relationship type {name!r}.")
        scope = read_scope(self.database, context.tenant, config.scope, context.ontology)
        vector = None
        if context.question_vector is not None:
            with telemetry.span("pathrag.encode"):
                vector = tuple(float(x) for x in self.encoder.encode([question])[0])
        vectors: list[tuple[float, ...] | None] = [None] * len(keywords)
        if keywords and vector is not None:
            vectors = [tuple(map(float, one)) for one in self.encoder.encode(keywords)]
        context = replace(
            context,
            question_vector=vector,
            warnings=tuple(warnings),
            scope=scope,
            setup_round_trips=context.setup_round_trips + bool(scope.communities),
        )
        steps = search(
            question,
            config,
            context,
            trace,
            start_ids=start_ids,
            keywords=[Keyword(*one) for one in zip(keywords, vectors, strict=True)],
        )
        return run(self.database, steps)

    def _keywords(self, question: str, config: SearchConfig) -> tuple[str, ...]:
        """Let the language model name keywords, where the search is by such."""
        if config.keywords != "llm":
            return ()
        from pathrag_gds.answer.keywords import extract_keywords

        return extract_keywords(question, self.llm or self._configured_llm())

    def _nearest(self, tenant: str) -> tuple[NearestContext, int]:
        """Give what is known of a tenant's vectors and sizes, and what it took to read it now."""
        from pathrag_gds.retrieve.nearest import SETUP_ROUND_TRIPS, read_nearest_context

        with self._lock:
            known = self._nearness.get(tenant)
        if known is not None:
            return known, 0
        context = read_nearest_context(self.database, tenant, self.encoder)
        with self._lock:
            # As with contexts: what is missing may have come the next time.
            if not context.warnings:
                if len(self._nearness) >= _MAX_TENANTS:
                    self._nearness.pop(next(iter(self._nearness)))
                self._nearness[tenant] = context
        return context, SETUP_ROUND_TRIPS

    def _known(self, tenant: str) -> SearchContext | None:
        with self._lock:
            return self._contexts.get(tenant)

    def _read(self, tenant: str) -> SearchContext:
        from pathrag_gds.retrieve.context import read_context

        with telemetry.span("pathrag.context", tenant=tenant) as span:
            context = read_context(
                self.database,
                tenant,
                encoder=self.encoder,
                reranker=self.reranker,
                adapted=self._adapted,
            )
            span.set(
                relation_types=len(context.ontology.relation_types),
                round_trips=context.setup_round_trips,
            )
        with self._lock:
            # What something is missing from is read again the next time: it may have come.
            self._contexts.pop(tenant, None)
            if not context.warnings:
                if len(self._contexts) >= _MAX_TENANTS:
                    self._contexts.pop(next(iter(self._contexts)))
                self._contexts[tenant] = context
        return context
