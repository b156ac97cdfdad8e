"""The data that flows through a search: frozen, hashable where it is compared, without a database.

Ids are the application's own (property ``id``, unique per tenant), never Neo4j's element ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "Anchor",
    "Answer",
    "Chain",
    "Cut",
    "DepthTrace",
    "Edge",
    "Entity",
    "Explanation",
    "Hop",
    "Outcome",
    "Path",
    "PathKey",
    "Pattern",
    "PatternRun",
    "RankedPath",
    "ResultHop",
    "SavedPattern",
    "SearchResult",
    "SearchStats",
    "Seed",
    "Source",
    "Step",
    "TracedPath",
]

PathKey = tuple[tuple[str, ...], ...]
Outcome = Literal["answered", "partial", "not_in_graph", "unsupported"]
AnswerKind = Literal["entity", "value", "relation", "number", "boolean"]


@dataclass(frozen=True, slots=True)
class Entity:
    """A node of the graph, without its vectors.

    Attributes:
        id: Application key, unique within the tenant.
        name: What people call it; the id where the node has no name.
        labels: Its own type labels, sorted; ``__Entity__`` is left out.
        description: Free text, empty when there is none.
        properties: Every other attribute, system keys left out.
        chunk_ids: Chunks that it was read from.
    """

    id: str
    name: str
    labels: tuple[str, ...] = ()
    description: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)
    chunk_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A relationship in its stored direction.

    Attributes:
        key: Tells parallel relationships of one type between the same two nodes apart.
        source: Id of the start node.
        target: Id of the end node.
        type: Relationship type, exactly as in the graph.
    """

    key: str
    source: str
    target: str
    type: str
    properties: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)
    chunk_ids: tuple[str, ...] = field(default=(), compare=False, hash=False)

    @property
    def identity(self) -> tuple[str, ...]:
        """Give what makes this relationship itself and no other."""
        return (self.source, self.type, self.target, self.key)


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a path: a relationship and the direction of travel along it."""

    edge: Edge
    forward: bool

    @property
    def head(self) -> str:
        """Id of the node that the step starts from."""
        return self.edge.source if self.forward else self.edge.target

    @property
    def tail(self) -> str:
        """Id of the node that the step leads to."""
        return self.edge.target if self.forward else self.edge.source


@dataclass(frozen=True, slots=True)
class Path:
    """A walk through the graph: ``len(nodes) == len(hops) + 1``; ``nodes`` holds ids."""

    nodes: tuple[str, ...]
    hops: tuple[Hop, ...] = ()

    @property
    def start(self) -> str:
        """Id of the first node."""
        return self.nodes[0]

    @property
    def tail(self) -> str:
        """Id of the last node: the candidate answer."""
        return self.nodes[-1]

    @property
    def depth(self) -> int:
        """Number of hops."""
        return len(self.hops)

    @property
    def key(self) -> PathKey:
        """Identify the path whichever way it was walked.

        The sorted identities of its relationships, so A→B→C and C→B→A are one; with no hop, the
        node itself.
        """
        if not self.hops:
            return ((self.nodes[0],),)
        return tuple(sorted(hop.edge.identity for hop in self.hops))

    def extend(self, hop: Hop) -> Path:
        """Give this path with one more hop; the hop must start at the tail."""
        if hop.head != self.tail:
            raise ValueError(f"hop starts at {hop.head!r}, the path ends at {self.tail!r}")
        return Path((*self.nodes, hop.tail), (*self.hops, hop))


@dataclass(frozen=True, slots=True)
class Step:
    """One relation of a chain.

    Attributes:
        type: Relationship type, exactly as in the graph.
        forward: It is walked in its stored direction.
        label: That the node it leads to must have; empty for any node.
        id: Of the one node it leads to, where only that one is meant; empty for all.
    """

    type: str
    forward: bool
    label: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Chain:
    """Relations walked one after the other from one node: what many paths have in common."""

    start: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A query that gives every answer of one kind, made of relations that are in the graph.

    Attributes:
        chains: One, or several that meet in the answer.
        text: What the reranker read of it.
        cypher: Read-only, with parameters; its columns are ``id`` and ``name``, ordered by id.
        parameters: Values of all parameters of ``cypher``.
        total: Distinct answers in the graph; None where that was not counted.
        complete: Every one of them is among the answers of the result.
    """

    chains: tuple[Chain, ...]
    text: str
    cypher: str
    parameters: Mapping[str, Any] = field(compare=False, hash=False)
    total: int | None = None
    complete: bool = False


@dataclass(frozen=True, slots=True)
class SavedPattern:
    """A pattern that is kept in the database under a name.

    Attributes:
        name: Unique within the tenant.
        tenant: Whose it is.
        created: When it was saved: ISO 8601, UTC.
    """

    name: str
    tenant: str
    pattern: Pattern
    created: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {
            "name": self.name,
            "tenant": self.tenant,
            "text": self.pattern.text,
            "anchors": [chain.start for chain in self.pattern.chains],
            "cypher": self.pattern.cypher,
            "parameters": dict(self.pattern.parameters),
            "created": self.created,
        }


@dataclass(frozen=True, slots=True)
class Seed:
    """A node that a search may start from.

    Attributes:
        id: Of the entity.
        similarity: Cosine of its vector and the question's, in [-1, 1]; 0 without a vector.
        fused: Reciprocal rank fusion of the vector and the full-text ranking; larger is better.
    """

    id: str
    similarity: float
    fused: float


@dataclass(frozen=True, slots=True)
class Anchor:
    """A mention of an entity in the question.

    Attributes:
        id: Of the entity.
        name: Of the entity.
        mention: The words of the question, folded; the entity's name where the caller named it.
        score: 1 for an exact name or alias, below 1 for a name found by full text.
    """

    id: str
    name: str
    mention: str
    score: float


@dataclass(frozen=True, slots=True)
class PatternRun:
    """What a saved pattern says of some anchors.

    Attributes:
        saved: The pattern, with the anchors that it was saved with.
        anchors: Of each chain, the entities that it was started from: several where a name is that
            of several.
        answers: Id and name of every answer, by id.
    """

    saved: SavedPattern
    anchors: tuple[tuple[Anchor, ...], ...]
    answers: tuple[tuple[str, str], ...]

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {
            "name": self.saved.name,
            "tenant": self.saved.tenant,
            "text": self.saved.pattern.text,
            "cypher": self.saved.pattern.cypher,
            "anchors": [
                [{"id": a.id, "name": a.name, "mention": a.mention} for a in group]
                for group in self.anchors
            ],
            "total": len(self.answers),
            "answers": [{"id": id_, "name": name} for id_, name in self.answers],
        }


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact was read: a chunk, and the document it belongs to if that is known."""

    chunk: str
    document: str = ""


@dataclass(frozen=True, slots=True)
class ResultHop:
    """A hop of a result path with where it was read."""

    hop: Hop
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedPath:
    """A path of the result.

    Attributes:
        rank: From 1.
        score: Orders the paths: weighted sum of what reranker and vectors say, of ``link``,
            ``coverage`` and ``relation_prior``, less a penalty for depth; unbounded.
        confidence: In [0, 1]; thresholds apply to it.
        terms: The parts of the score by name, before weighting: ``rerank``, in [0, 1];
            ``similarity``, by how much what a node tells is nearer to the question than its like,
            in [-1, 1], and ``type``, by how much its end fits the type that is asked for more than
            other ends, both added, weighted, to the logit of ``rerank``; ``link``, in [0, 1];
            ``coverage``, the share of the question's words, names apart, that ``text`` has, and
            ``relation_prior``, how much of the wording of its relationships the question has, the
            mean of its hops, both in [0, 1].
        text: What the reranker read.
    """

    rank: int
    score: float
    confidence: float
    terms: Mapping[str, float]
    text: str
    path: Path
    nodes: tuple[Entity, ...]
    hops: tuple[ResultHop, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the paths say the answer is.

    Attributes:
        kind: ``entity`` (the end of a path), ``value`` (a property of it), …
        id: Of the entity, or of the entity that has the property.
        name: Of that entity.
        property: Key of the property for ``value``, else empty.
        value: The property's value for ``value``, else None.
        confidence: Of the best path that gives it, in [0, 1].
        paths: Ranks of the paths that give it, ascending.
        pattern: Index into ``patterns`` of the result, None without one.
    """

    kind: AnswerKind
    id: str
    name: str
    property: str = ""
    value: Any = None
    confidence: float = 0.0
    paths: tuple[int, ...] = ()
    pattern: int | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """How many candidates were dropped at one depth, and why."""

    depth: int
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class SearchStats:
    """What one search cost.

    Attributes:
        round_trips: Statements run inside the search.
        setup_round_trips: Statements run once per process and tenant (ontology, indexes).
        depth: Expansions that were run.
        candidates: Paths, or chains, that were considered, seeds included.
        texts_scored: Distinct texts that were scored in this search.
        cache_hits: Paths whose text had been scored already in this search.
        truncated: Nodes whose relationships were not all read, because of a cap.
        millis: Wall time by stage, and ``total``.
        strategy: What the beam was made of: ``paths``, ``chains`` or ``both``.
        strategy_reason: Why that strategy was taken, a clause.
    """

    round_trips: int = 0
    setup_round_trips: int = 0
    depth: int = 0
    candidates: int = 0
    texts_scored: int = 0
    cache_hits: int = 0
    truncated: int = 0
    millis: Mapping[str, float] = field(default_factory=dict)
    strategy: str = ""
    strategy_reason: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to one question; ``to_dict`` is the one JSON shape of CLI, library and HTTP.

    ``shape`` is what the question asks for, as plain values: ``{"kind": "path"}``, or what
    :meth:`pathrag_gds.retrieve.shape.Shape.to_dict` gives; empty where it was not looked for.
    ``keywords`` are what a language model named, where one was asked to; else they are left out.
    """

    question: str
    tenant: str
    method: str
    outcome: Outcome
    anchors: tuple[Anchor, ...]
    answers: tuple[Answer, ...]
    paths: tuple[RankedPath, ...]
    cut: tuple[Cut, ...]
    stats: SearchStats
    config: Mapping[str, Any]
    seeds: tuple[Seed, ...] = ()
    warnings: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    shape: Mapping[str, Any] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values; two runs differ in ``stats.millis`` alone."""
        from pathrag_gds.version import __version__

        return {
            "version": __version__,
            "question": self.question,
            "tenant": self.tenant,
            "method": self.method,
            "shape": dict(self.shape),
            **({"keywords": list(self.keywords)} if self.keywords else {}),
            "outcome": self.outcome,
            "anchors": [
                {"id": a.id, "name": a.name, "mention": a.mention, "score": a.score}
                for a in self.anchors
            ],
            "answers": [_answer_dict(a) for a in self.answers],
            "paths": [_path_dict(p) for p in self.paths],
            "patterns": [
                {
                    "text": p.text,
                    "cypher": p.cypher,
                    "parameters": dict(p.parameters),
                    "total": p.total,
                    "complete": p.complete,
                }
                for p in self.patterns
            ],
            "cut": [{"depth": c.depth, "reason": c.reason, "count": c.count} for c in self.cut],
            "stats": {
                "round_trips": self.stats.round_trips,
                "setup_round_trips": self.stats.setup_round_trips,
                "depth": self.stats.depth,
                "candidates": self.stats.candidates,
                "texts_scored": self.stats.texts_scored,
                "cache_hits": self.stats.cache_hits,
                "truncated": self.stats.truncated,
                "millis": dict(self.stats.millis),
                "strategy": self.stats.strategy,
                "strategy_reason": self.stats.strategy_reason,
            },
            "config": dict(self.config),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class TracedPath:
    """A path that was scored at some depth.

    Attributes:
        confidence: That the answer is at its end.
        steer: What the beam was ordered by.
        reason: Why it was cut; empty when it was kept.
        chain: Where a chain was scored: that one, and ``path`` is an instance of it, told without
            keys and properties of its relationships.
    """

    path: Path
    confidence: float
    steer: float
    reason: str = ""
    chain: Chain | None = None


@dataclass(frozen=True, slots=True)
class DepthTrace:
    """What happened at one depth: kept paths first, then cut ones, each best first.

    Attributes:
        names: Of every node on the paths, by id.
        cut: Counts by reason.
        truncated: Names of nodes whose relationships were not all read.
    """

    depth: int
    paths: tuple[TracedPath, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    cut: tuple[Cut, ...] = ()
    truncated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """A result and how it came about, depth by depth from the seeds on."""

    result: SearchResult
    depths: tuple[DepthTrace, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give the result's JSON with ``seeds`` and ``depths`` added."""
        return {
            **self.result.to_dict(),
            "seeds": [
                {"id": s.id, "similarity": s.similarity, "fused": s.fused}
                for s in self.result.seeds
            ],
            "depths": [
                {
                    "depth": d.depth,
                    "paths": [
                        {
                            "nodes": list(t.path.nodes),
                            "types": [hop.edge.type for hop in t.path.hops],
                            "confidence": t.confidence,
                            "steer": t.steer,
                            "reason": t.reason,
                        }
                        for t in d.paths
                    ],
                    "cut": [{"reason": c.reason, "count": c.count} for c in d.cut],
                    "truncated": list(d.truncated),
                }
                for d in self.depths
            ],
        }


def _answer_dict(answer: Answer) -> dict[str, Any]:
    return {
        "kind": answer.kind,
        "id": answer.id,
        "name": answer.name,
        "property": answer.property,
        "value": answer.value,
        "confidence": answer.confidence,
        "paths": list(answer.paths),
        "pattern": answer.pattern,
    }


def _path_dict(ranked: RankedPath) -> dict[str, Any]:
    return {
        "rank": ranked.rank,
        "score": ranked.score,
        "confidence": ranked.confidence,
        "terms": dict(ranked.terms),
        "text": ranked.text,
        "nodes": [
            {
                "id": node.id,
                "name": node.name,
                "labels": list(node.labels),
                "properties": ({"description": node.description} if node.description else {})
                | dict(node.properties),
            }
            for node in ranked.nodes
        ],
        "hops": [
            {
                "id": hop.hop.edge.key,
                "type": hop.hop.edge.type,
                "source": hop.hop.edge.source,
                "target": hop.hop.edge.target,
                "forward": hop.hop.forward,
                "properties": dict(hop.hop.edge.properties),
                "sources": [{"document": s.document, "chunk": s.chunk} for s in hop.sources],
            }
            for hop in ranked.hops
        ],
    }
