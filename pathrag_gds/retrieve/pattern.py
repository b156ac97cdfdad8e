"""Chains as queries: Cypher for people, and one statement for the answers of several. Pure.

A chain is a list of relations from a known node; the nodes that they lead to are its answers. Where
several chains are given, an answer is what all of them lead to. The Cypher is made of types that
are in the graph, never guessed, and reads only::

    MATCH (start:__Entity__ {tenant: $tenant, id: $start})
          <-[:`starred_actors`]-(n1:__Entity__ WHERE $tenant IN [n1.tenant])
          -[:`directed_by`]->(answer:__Entity__ WHERE $tenant IN [answer.tenant])
    WHERE n1 <> start AND NOT answer IN [start, n1]
    RETURN DISTINCT answer.id AS id, answer.name AS name
    ORDER BY id
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import Row
from pathrag_gds.graph.queries import (
    Branch,
    Param,
    Part,
    Query,
    escape_identifier,
    load,
    parameters_in,
)
from pathrag_gds.graph.schema import STRUCTURAL_TYPES
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.statements import Request, edge_of_row, entity_of_row
from pathrag_gds.types import Chain, Entity, Hop, Path, Pattern, SearchResult, Step

__all__ = [
    "MAX_READ",
    "HopFilter",
    "PatternAnswer",
    "PatternAnswers",
    "answering",
    "answers_request",
    "pattern_of",
    "pattern_query",
    "read_answers",
    "started_from",
]

# Answers of one pattern that are read to count them and to find the nearest: so many take about
# 200 ms. Of a pattern with more the number is not told.
MAX_READ = 10_000

ANSWER = "answer"

HopFilter = Callable[[str, str], Predicate]
"""Gives the predicate on a node and a relationship, by their variables; values in ``$filters``."""


@dataclass(frozen=True, slots=True)
class PatternAnswer:
    """A node that a pattern leads to.

    Attributes:
        similarity: Cosine of its vector and the question's, in [-1, 1]; 0 without a vector.
        paths: One for each chain of the pattern, from its start to this node; empty where none was
            asked for.
    """

    entity: Entity
    similarity: float
    paths: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class PatternAnswers:
    """What the graph says to a pattern.

    Attributes:
        answers: Most similar first, then by id.
        total: Distinct answers in the graph; None where there are more than were read, or where
            the time was up.
    """

    answers: tuple[PatternAnswer, ...] = ()
    total: int | None = None

    @property
    def complete(self) -> bool:
        """Every answer in the graph is here."""
        return self.total == len(self.answers)


def pattern_of(
    chains: Sequence[Chain],
    text: str,
    *,
    tenant: str,
    revisit: str,
    predicate: HopFilter | None = None,
    named: Iterable[str] = (),
) -> Pattern:
    """Write the query that gives every answer of some chains.

    Args:
        chains: One, or several that meet in the answer. A chain without a step leads to its start.
        text: What the reranker read of them.
        revisit: What a walk along one chain may not visit twice; see ``SearchConfig``. A chain
            knows nothing of the others.
        predicate: On every node that a step leads to and on every relationship.
        named: Ids that the question names: they are no answers. Those that cannot be answers
            anyway are left out of the query.

    Raises:
        ConfigError: There is no chain, or a step has a type that is bookkeeping or is no name.
    """
    written = _Written(chains, revisit, predicate, named)
    cypher = load("retrieve/pattern").render(parts={"chain": written.chains("$")}).text
    values = {
        "tenant": tenant,
        "filters": written.filters,
        "named": written.named,
        **written.ids,
    }
    return Pattern(
        chains=tuple(chains),
        text=text,
        cypher=cypher,
        parameters={name: values[name] for name in parameters_in(cypher)},
    )


def pattern_query(pattern: Pattern) -> Query:
    """Make a statement of a pattern's Cypher: read mode, exactly its parameters."""
    return replace(
        load("retrieve/pattern"),
        text=pattern.cypher,
        slots=(),
        params=tuple(Param(name, _type(value)) for name, value in pattern.parameters.items()),
    )


def _type(value: Any) -> str:
    if isinstance(value, str):
        return "STRING"
    return "MAP" if isinstance(value, Mapping) else "LIST"


def started_from(pattern: Pattern, starts: Sequence[str]) -> Pattern:
    """Give the same pattern with other ids to start from, one for each chain.

    Raises:
        ConfigError: There are not as many as chains.
    """
    if len(starts) != len(pattern.chains):
        raise ConfigError(
            f"The pattern starts from {len(pattern.chains)} anchors, not from {len(starts)}."
        )
    values: dict[str, Any] = {_start(number): id_ for number, id_ in enumerate(starts, 1)}
    if "named" in pattern.parameters:
        values["named"] = list(dict.fromkeys(starts))
    return replace(
        pattern,
        chains=tuple(replace(c, start=s) for c, s in zip(pattern.chains, starts, strict=True)),
        parameters={**pattern.parameters, **values},
        total=None,
        complete=False,
    )


def answering(result: SearchResult) -> tuple[Pattern, ...]:
    """Give the patterns that the answers of a result are from, in the order of the answers.

    Where no answer is from a pattern, the result's best pattern, if it has any.
    """
    indexes = dict.fromkeys(a.pattern for a in result.answers if a.pattern is not None)
    return tuple(result.patterns[i] for i in indexes) or result.patterns[:1]


def answers_request(
    patterns: Sequence[Pattern],
    *,
    tenant: str,
    revisit: str,
    limit: int,
    examples: int,
    predicate: HopFilter | None = None,
    named: Iterable[str] = (),
    vector: Sequence[float] | None = None,
    vector_property: str = "embedding",
) -> Request:
    """Ask in one statement for the answers of several patterns.

    The text depends on the chains' types: the server plans each combination of patterns once, and
    that takes longer than to run it (about 80 ms for two hops, 200 ms for three). So few patterns,
    in a steady order, are quicker.

    Args:
        patterns: At least one, made by :func:`pattern_of` with this ``revisit``, ``predicate`` and
            ``named``.
        limit: Answers of each that are returned, the nearest to the question.
        examples: How many of them come with paths.
        vector: Of the question; None where there is none, then the order is by id.
    """
    named = tuple(named)
    all_written = [_Written(p.chains, revisit, predicate, named) for p in patterns]
    branches = [
        Branch(
            slots={"index": str(index), "paths": ", ".join(written.reached) if examples else ""},
            parts={
                "chain": written.chains(f"$patterns[{index}]."),
                # What nobody asks for need not be planned.
                "example": written.examples(f"$patterns[{index}].") if examples else [],
            },
        )
        for index, written in enumerate(all_written)
    ]
    return Request(
        load("retrieve/answers").render(branches={"pattern": branches}),
        {
            "tenant": tenant,
            "patterns": [written.ids for written in all_written],
            "filters": {k: v for written in all_written for k, v in written.filters.items()},
            "named": list(named),
            "most": max(MAX_READ, limit) + 1,
            "limit": limit,
            "examples": examples,
            "vector": None if vector is None else list(vector),
            "vector_property": vector_property,
        },
    )


def read_answers(
    patterns: Sequence[Pattern], request: Request, rows: Iterable[Row]
) -> tuple[PatternAnswers, ...]:
    """Read what came back for :func:`answers_request`, in the order of its patterns.

    A pattern of which nothing came, because the time was up, has no answers and no total.
    """
    by_index = {row["index"]: row for row in rows}
    most = request.parameters["most"]
    return tuple(
        _read(pattern, by_index[index], most) if index in by_index else PatternAnswers()
        for index, pattern in enumerate(patterns)
    )


def _read(pattern: Pattern, row: Row, most: int) -> PatternAnswers:
    paths = {
        example["id"]: tuple(
            _path(chain, relationships)
            for chain, relationships in zip(pattern.chains, example["chains"], strict=True)
        )
        for example in row["examples"]
    }
    answers = tuple(
        PatternAnswer(
            entity_of_row(answer),
            round(answer["similarity"] or 0.0, 6),
            paths.get(answer["id"], ()),
        )
        for answer in row["answers"]
    )
    return PatternAnswers(answers, row["total"] if row["total"] < most else None)


def _path(chain: Chain, relationships: Sequence[Mapping[str, Any]]) -> Path:
    path = Path((chain.start,))
    for step, relationship in zip(chain.steps, relationships, strict=True):
        ends = relationship["source"], relationship["target"]
        tail, far = ends if step.forward else ends[::-1]
        edge = edge_of_row({**relationship, "tail": tail, "id": far, "forward": step.forward})
        path = path.extend(Hop(edge, step.forward))
    return path


@dataclass(frozen=True, slots=True)
class _Hop:
    """A step with the variables that it is written with, and what is asked of where it leads."""

    step: Step
    before: str
    node: str
    relationship: str
    conditions: tuple[str, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Walk:
    """A chain as it is written: the variable of its start and its hops."""

    start: str
    hops: tuple[_Hop, ...]

    def part(
        self, ids: str, apart: bool, wanted: Sequence[str], show_all: bool, **slots: str
    ) -> Part:
        """Write it.

        Args:
            ids: What stands before a variable where its node's id is meant.
            apart: Each hop in a clause of its own: within one, no relationship is walked twice.
            wanted: Further conditions on the answer.
            show_all: Name relationships of which nothing is asked, too.
        """
        asked = {w for hop in self.hops for c in hop.conditions for w in re.findall(r"\w+", c)}
        clauses = [self.hops[:1], *([hop] for hop in self.hops[1:])] if apart else [self.hops]
        wheres = [[c for hop in hops for c in hop.conditions] for hops in clauses]
        wheres[-1] += wanted

        def written(hop: _Hop, **more: str) -> Part:
            step = hop.step
            shown = show_all or hop.relationship in asked
            return Part(
                {
                    **Branch((step.type,), "out" if step.forward else "in").fill(),
                    "relationship": hop.relationship if shown else "",
                    "node": hop.node,
                    "labels": f":{escape_identifier(step.label)}" if step.label else "",
                    "pinned": f" AND {hop.node}.id = {ids}{hop.node}" if step.id else "",
                    **more,
                }
            )

        return Part(
            {
                "first": self.start if self.hops else ANSWER,
                "start": f"{ids}{self.start}",
                "where": _where(wheres[0]),
                **slots,
            },
            {
                "hop": [written(hop) for hop in clauses[0]],
                "clause": [
                    written(hop, **{"from": hop.before, "where": _where(where)})
                    for (hop,), where in zip(clauses[1:], wheres[1:], strict=True)
                ],
            },
        )


class _Written:
    """Chains with a variable for each node and each relationship; see :func:`pattern_of`."""

    def __init__(
        self,
        chains: Sequence[Chain],
        revisit: str,
        predicate: HopFilter | None,
        named: Iterable[str],
    ) -> None:
        if not chains:
            raise ConfigError("A pattern needs a chain.")
        self.apart = revisit == "none"
        starts = {chain.start for chain in chains if chain.steps}
        never = starts if revisit in ("node", "topic") else set()
        self.named = [id_ for id_ in dict.fromkeys(named) if id_ not in never]
        self.ids: dict[str, str] = {}
        self.filters: dict[str, Any] = {}
        self.walks: list[_Walk] = []
        between, relationships = count(1), count(1)
        for number, chain in enumerate(chains, 1):
            start = _start(number)
            self._pin(start, chain.start)
            hops: list[_Hop] = []
            for at, step in enumerate(chain.steps, 1):
                if step.type in STRUCTURAL_TYPES:
                    raise ConfigError(f"{step.type} is bookkeeping: no pattern is made of it.")
                node = ANSWER if at == len(chain.steps) else f"n{next(between)}"
                hop = _hop(step, start, hops, node, f"r{next(relationships)}", revisit, predicate)
                hops.append(hop)
                self.filters |= hop.values
                if step.id:
                    self._pin(node, step.id)
            self.walks.append(_Walk(start, tuple(hops)))

    def _pin(self, variable: str, id_: str) -> None:
        if self.ids.setdefault(variable, id_) != id_:
            raise ConfigError("Chains of one pattern that end in different nodes never meet.")

    @property
    def reached(self) -> list[str]:
        """Name what holds the relationships of each chain."""
        return [f"hops{number}" for number in range(1, len(self.walks) + 1)]

    def chains(self, ids: str) -> list[Part]:
        """Write what finds the answers."""
        parts = []
        for i, walk in enumerate(self.walks):
            wanted = [f"{ANSWER} IN answers"] if i else []
            if self.named and walk is self.walks[-1]:
                wanted.append(f"NOT {ANSWER}.id IN $named")
            meet = f"WITH collect(DISTINCT {ANSWER}) AS answers" if i else ""
            parts.append(walk.part(ids, self.apart, wanted, False, meet=meet))
        return parts

    def examples(self, ids: str) -> list[Part]:
        """Write what walks to one answer."""
        return [
            walk.part(
                ids,
                self.apart,
                [],
                True,
                reached=reached,
                hops=", ".join(hop.relationship for hop in walk.hops),
            )
            for walk, reached in zip(self.walks, self.reached, strict=True)
        ]


def _hop(
    step: Step,
    start: str,
    before: Sequence[_Hop],
    node: str,
    relationship: str,
    revisit: str,
    predicate: HopFilter | None,
) -> _Hop:
    """Say what a hop may not visit again, and what the filter asks of it."""
    conditions = []
    last = before[-1] if before else None
    if revisit == "node" and last:
        seen = ", ".join([start, *(hop.node for hop in before)])
        conditions.append(f"NOT {node} IN [{seen}]")
    elif revisit in ("node", "topic"):
        conditions.append(f"{node} <> {start}")
    elif revisit == "none" and last and last.step.type == step.type:
        conditions.append(f"{relationship} <> {last.relationship}")
    filtered = predicate(node, relationship) if predicate else Predicate("", {})
    if filtered.text:
        conditions.append(filtered.text)
    came_from = last.node if last else start
    return _Hop(step, came_from, node, relationship, tuple(conditions), filtered.values)


def _start(number: int) -> str:
    """Name the variable of the start of a chain, and the parameter of its id; from 1."""
    return "start" if number == 1 else f"start{number}"


def _where(conditions: Sequence[str]) -> str:
    return "WHERE " + "\n  AND ".join(conditions) if conditions else ""
