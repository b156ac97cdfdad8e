"""The one object that users of the library hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from pathrag_gds.config import DEFAULT_TENANT, SearchConfig, check_tenant, read_settings
from pathrag_gds.errors import ConfigError, EncoderMismatch, IndexMissing
from pathrag_gds.types import DepthTrace, Explanation, SearchResult

if TYPE_CHECKING:
    from pathrag_gds.config import Settings
    from pathrag_gds.graph.database import Database, QueryRunner
    from pathrag_gds.models.encoder import Encoder
    from pathrag_gds.models.reranker import Reranker
    from pathrag_gds.retrieve.search import SearchContext

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
        reranker: Scores paths; cosine of the encoder's vectors by default.
    """

    def __init__(
        self,
        database: Database,
        *,
        tenant: str = DEFAULT_TENANT,
        config: SearchConfig | None = None,
        encoder: Encoder | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        from pathrag_gds.models.encoder import load_encoder
        from pathrag_gds.models.reranker import load_reranker

        self.database = database
        self.tenant = check_tenant(tenant)
        self.config = config or SearchConfig()
        self.encoder = encoder or load_encoder(None)
        self.reranker = reranker or load_reranker(None, self.encoder)
        self._lock = Lock()
        self._contexts: dict[str, SearchContext] = {}

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
            reranker: Reranker by name or path; cosine by default.

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

        encoder = load_encoder(settings.model or None)
        reranker = load_reranker(settings.reranker or None, encoder)
        return cls(
            open_database(settings),
            tenant=settings.tenant or DEFAULT_TENANT,
            config=config,
            encoder=encoder,
            reranker=reranker,
        )

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
        """Forget what is known of the graph's types and indexes; the next search asks again."""
        with self._lock:
            self._contexts.clear()

    def search(
        self,
        question: str,
        *,
        tenant: str | None = None,
        config: SearchConfig | None = None,
        **overrides: Any,
    ) -> SearchResult:
        """Find the paths that answer a question.

        Args:
            question: In plain language.
            tenant: Whose graph, instead of the object's.
            config: Instead of the object's.
            **overrides: Fields of :class:`SearchConfig` to change, such as ``top_k=3``.

        Returns:
            Paths best first, at most ``top_k``; none where nothing passes ``min_score``.

        Raises:
            ConfigError: The question is empty, or an option is unknown or out of range.
            EncoderMismatch: The vectors in the database are of another encoder.
            DatabaseError: The server refused or failed a statement.
        """
        return self._search(question, tenant, config, overrides, None)

    def explain(
        self,
        question: str,
        *,
        tenant: str | None = None,
        config: SearchConfig | None = None,
        **overrides: Any,
    ) -> Explanation:
        """Search, and say what was kept and what was cut at each depth; see :meth:`search`."""
        trace: list[DepthTrace] = []
        result = self._search(question, tenant, config, overrides, trace)
        return Explanation(result, tuple(trace))

    def _search(
        self,
        question: str,
        tenant: str | None,
        config: SearchConfig | None,
        overrides: Mapping[str, Any],
        trace: list[DepthTrace] | None,
    ) -> SearchResult:
        from pathrag_gds.retrieve.search import run, search

        if not question.strip():
            raise ConfigError("The question is empty.")
        config = (config or self.config).with_(**overrides)
        context = self._context(check_tenant(tenant or self.tenant))
        warnings = list(context.warnings)
        known = {t.name for t in context.ontology.relation_types}
        for name in config.rel_types:
            if name not in known:
                warnings.append(f"The graph has no relationship type {name!r}.")
        vector = None
        if context.question_vector is not None:
            vector = tuple(float(x) for x in self.encoder.encode([question])[0])
        context = replace(context, question_vector=vector, warnings=tuple(warnings))
        return run(self.database, search(question, config, context, trace))

    def _context(self, tenant: str) -> SearchContext:
        with self._lock:
            known = self._contexts.get(tenant)
        if known is not None:
            return known
        context = self._read_context(tenant)
        with self._lock:
            if len(self._contexts) >= _MAX_TENANTS:
                self._contexts.pop(next(iter(self._contexts)))
            self._contexts[tenant] = replace(context, setup_round_trips=0)
        return context

    def _read_context(self, tenant: str) -> SearchContext:
        from pathrag_gds.graph.schema import (
            index_states,
            read_ontology,
            tenant_size,
            vector_record,
        )
        from pathrag_gds.retrieve.search import SearchContext
        from pathrag_gds.retrieve.seeds import SMALL_TENANT

        counting = _Counting(self.database)
        warnings: list[str] = []
        indexes = {state.name: state for state in index_states(counting)}
        text_index = indexes.get("entity_text")
        if text_index is None or text_index.state != "ONLINE":
            state = "absent" if text_index is None else text_index.state
            raise IndexMissing(
                f"The full-text index entity_text is {state}.",
                hint="Run: pathrag migrate up" if text_index is None else "Try again in a moment.",
            )
        record = vector_record(counting, "entity")
        size = tenant_size(counting, tenant, at_most=SMALL_TENANT + 1)
        ontology = read_ontology(counting, tenant)
        small = size <= SMALL_TENANT
        if not size:
            warnings.append(f"Tenant {tenant!r} has no entities. Run: pathrag load FILES")
        if record is None:
            warnings.append(
                "Nothing is embedded, so paths start from names and words alone. Run: pathrag embed"
            )
        else:
            if record.fingerprint != self.encoder.fingerprint:
                raise EncoderMismatch(
                    f"The vectors in the database are of {record.encoder!r} "
                    f"({record.fingerprint}), the encoder in use is {self.encoder.name!r} "
                    f"({self.encoder.fingerprint}).",
                    hint=f"Embed again: pathrag embed --model {self.encoder.name}\n"
                    f"Or use the other encoder: --model {record.encoder}",
                )
            vectors = indexes.get(record.index)
            if not small and (vectors is None or vectors.state != "ONLINE"):
                raise IndexMissing(
                    f"The vector index {record.index} is "
                    f"{'absent' if vectors is None else vectors.state}.",
                    hint="Run: pathrag doctor",
                )
        return SearchContext(
            tenant=tenant,
            ontology=ontology,
            reranker=self.reranker,
            question_vector=None if record is None else (),
            vector_index="entity_embedding" if record is None else record.index,
            vector_property="embedding" if record is None else record.property,
            small=small,
            text_limit=self.encoder.max_tokens,
            count_tokens=self.encoder.count_tokens,
            setup_round_trips=counting.count,
            warnings=tuple(warnings),
        )


@dataclass(slots=True)
class _Counting:
    """Count the statements of the set-up."""

    db: QueryRunner
    count: int = 0

    def run(self, query: Any, /, **parameters: Any) -> list[dict[str, Any]]:
        self.count += 1
        return self.db.run(query, **parameters)
