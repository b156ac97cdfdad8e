"""The beam of chains on a real server: the same chains and ends as walking every path by hand."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

import pytest

from pathrag_gds.config import RevisitPolicy, SearchConfig
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.schema import refresh_ontology
from pathrag_gds.models.reranker import PathScore
from pathrag_gds.retrieve.chains import ChainBeam
from pathrag_gds.retrieve.expand import allowed
from pathrag_gds.retrieve.search import run, search
from pathrag_gds.retrieve.session import SearchContext, Session
from pathrag_gds.retrieve.statements import perform
from pathrag_gds.retrieve.steps import Way
from pathrag_gds.types import Chain, Edge, Hop, Path, Step
from tests.statements import statement

pytestmark = pytest.mark.integration

TENANT = "t"
NODES = "abcdefgh"
LABELS = {"a": "X", "b": "X", "c": "X", "d": "Y", "e": "Y"}
DEPTH = 3


class Content:
    """Finds every text equally good."""

    name = "content"
    fingerprint = "1"

    def score(self, question: str, texts: Sequence[str]) -> list[PathScore]:
        return [PathScore(0.5, 0.5)] * len(texts)


def draw_edges() -> tuple[Edge, ...]:
    """Draw a small graph with a loop, relationships side by side, and ways there and back."""
    rng = random.Random(11)
    pairs = [rng.sample(NODES, 2) for _ in range(16)]
    drawn = [(s, t, rng.choice("AB")) for s, t in pairs]
    drawn += [("a", "b", "A"), ("a", "b", "A"), ("b", "a", "A"), ("b", "b", "B")]
    return tuple(Edge(str(i), s, t, type_) for i, (s, t, type_) in enumerate(drawn))


EDGES = draw_edges()


@pytest.fixture
def graph(migrated: Database) -> Database:
    migrated.run(
        statement(
            "UNWIND $ids AS id CREATE (e:__Entity__ {tenant: $tenant, id: id, name: id}) "
            "FOREACH (_ IN CASE $labels[id] WHEN 'X' THEN [1] ELSE [] END | SET e:X) "
            "FOREACH (_ IN CASE $labels[id] WHEN 'Y' THEN [1] ELSE [] END | SET e:Y)"
        ),
        tenant=TENANT,
        ids=list(NODES),
        labels=LABELS,
    )
    for type_ in "AB":
        rows = [[e.key, e.source, e.target] for e in EDGES if e.type == type_]
        migrated.run(
            statement(
                "UNWIND $rows AS row MATCH (s:__Entity__ {tenant: $tenant, id: row[1]}) "
                "MATCH (t:__Entity__ {tenant: $tenant, id: row[2]}) "
                f"CREATE (s)-[:{type_} {{key: row[0]}}]->(t)"
            ),
            tenant=TENANT,
            rows=rows,
        )
    return migrated


def walk_all(start: str, policy: RevisitPolicy) -> dict[Chain, set[Way]]:
    """Walk every path of up to three hops, and put those of one chain together."""
    may = allowed(policy)
    # A loop is walked in its own direction.
    hops = [Hop(e, f) for e in EDGES for f in (True, False) if f or e.source != e.target]
    border = [Path((start,))]
    found: dict[Chain, set[Way]] = defaultdict(set)
    for _ in range(DEPTH):
        border = [p.extend(h) for p in border for h in hops if h.head == p.tail and may(p, h)]
        for path in border:
            found[chain_of(path)].add(path.nodes)
    return found


def chain_of(path: Path) -> Chain:
    return Chain(
        path.start,
        tuple(
            Step(
                hop.edge.type,
                hop.forward,
                LABELS.get(hop.tail, ""),
                hop.tail if hop.tail == path.start else "",
            )
            for hop in path.hops
        ),
    )


def context(db: Database) -> SearchContext:
    return SearchContext(tenant=TENANT, ontology=refresh_ontology(db, TENANT), reranker=Content())


@pytest.mark.parametrize("policy", ["node", "edge", "topic", "none"])
def test_chains_lead_where_all_their_paths_lead(graph: Database, policy: RevisitPolicy) -> None:
    config = SearchConfig(
        strategy="chains", revisit=policy, beam_width=1000, rerank_limit=0, patterns=0
    )
    session = Session("Where?", config, context(graph), None, ("a",))
    steps = session.find_seeds()
    beam = ChainBeam(session)

    def drive() -> None:
        request = next(steps)
        try:
            while True:
                request = steps.send(perform(graph, request))
        except StopIteration as stop:
            beam.start(session.begin(stop.value))

    drive()
    for depth in range(1, DEPTH + 1):
        going = beam.go_deeper(depth)
        request = next(going)
        with pytest.raises(StopIteration):
            going.send(perform(graph, request))
    found = {s.growth.chain: s.growth.ends for s in beam.scored if s.growth.chain.steps}
    expected = walk_all("a", policy)
    assert found.keys() == expected.keys()
    assert len(expected) > 40
    for chain, ends in found.items():
        assert ends.keys() == {way[-1] for way in expected[chain]}, chain
        # Every way that is kept is one that may be walked.
        assert {way for ways in ends.values() for way in ways} <= expected[chain]
    assert not any(scored.growth.sampled for scored in beam.scored)


@pytest.mark.parametrize("policy", ["node", "edge", "topic", "none"])
def test_the_best_chain_is_answered_completely(graph: Database, policy: RevisitPolicy) -> None:
    config = SearchConfig(
        strategy="chains", revisit=policy, max_depth=DEPTH, beam_width=1000, rerank_limit=0
    )
    made = context(graph)
    result = run(graph, search("Where?", config, made, start_ids=["a"]))
    assert result.stats.round_trips == DEPTH + 4
    assert len(result.patterns) == config.patterns
    expected = walk_all("a", policy)
    for index, pattern in enumerate(result.patterns):
        (chain,) = pattern.chains
        ends = {way[-1] for c, ways in expected.items() if like(c, chain) for way in ways} - {"a"}
        assert (pattern.total, pattern.complete) == (len(ends), True)
        if index == 0:
            assert {a.id for a in result.answers if a.pattern == 0} == ends
    for ranked in result.paths:
        if ranked.path.hops:
            assert ranked.path.nodes in expected[chain_of(ranked.path)]
        assert all(hop.hop.edge in EDGES for hop in ranked.hops)


def like(chain: Chain, pattern: Chain) -> bool:
    """Whether a pattern takes in a chain: where it names neither label nor node, any will do."""
    return len(chain.steps) == len(pattern.steps) and all(
        (mine.type, mine.forward) == (other.type, other.forward)
        and other.label in ("", mine.label)
        and other.id in ("", mine.id)
        for mine, other in zip(chain.steps, pattern.steps, strict=True)
    )
