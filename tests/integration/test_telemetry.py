"""Spans of questions to a real graph, and of the work on communities."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from opentelemetry.trace import StatusCode

from cli import cli
from pathrag_gds import PathRAG, telemetry
from pathrag_gds.communities import detect_communities, report_communities, search_communities
from pathrag_gds.config import Connection
from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import Database
from pathrag_gds.ingest import embed
from tests.integration.test_communities import cliques, fill
from tests.integration.test_community_search import ENCODER, tell
from tests.integration.test_search import VILLAGE
from tests.spans import attributes, recording

pytestmark = pytest.mark.integration


def test_one_question_is_one_tree(demo: Database) -> None:
    rag = PathRAG(demo)
    with recording() as recorded:
        result = rag.search(VILLAGE, max_depth=3)
    stages = [name for name, parent in recorded.parents() if parent == "pathrag.query"]
    assert [stage.removeprefix("pathrag.") for stage in stages] == [
        *("context", "encode", "seed", "link", "score"),
        *("expand", "prune", "score", "prune") * 3,
        # Bob and the milk are both named: what meets is read as one text.
        *("score", "hydrate", "hydrate", "answer", "answers"),
    ]
    assert recorded.parents()[0] == ("pathrag.query", "")
    assert len(recorded.spans) == len(stages) + 1
    root = attributes(recorded.one("pathrag.query"))
    assert root == {
        "rag.tenant": "default",
        "rag.pathrag.method": "path",
        "rag.pathrag.question_length": len(VILLAGE),
        "rag.pathrag.outcome": "answered",
        "rag.pathrag.shape": result.shape["kind"],
        "rag.pathrag.strategy": result.stats.strategy,
        "rag.pathrag.depth": 3,
        "rag.pathrag.round_trips": 7,
        "rag.pathrag.setup_round_trips": result.stats.setup_round_trips,
        "rag.pathrag.candidates": result.stats.candidates,
        "rag.pathrag.texts_scored": result.stats.texts_scored,
        "rag.pathrag.cache_hits": result.stats.cache_hits,
        "rag.pathrag.paths": len(result.paths),
        "rag.pathrag.answers": len(result.answers),
    }
    assert {attributes(span)["rag.tenant"] for span in recorded.spans} == {"default"}
    # The second question reads nothing about the graph's types.
    with recording() as recorded:
        rag.search(VILLAGE, max_depth=1)
    assert "pathrag.context" not in recorded.names


def test_a_hybrid_question_is_a_tree_with_its_rankings(migrated: Database) -> None:
    tell(migrated)
    embed(migrated, ENCODER, tenant="t")
    rag = PathRAG(migrated, encoder=ENCODER, tenant="t")
    with recording() as recorded:
        found = rag.query("Who lends money?", method="hybrid", max_depth=1)
    roots = [span for span in recorded.spans if span.parent is None]
    assert [attributes(root) for root in roots] == [
        {
            "rag.tenant": "t",
            "rag.pathrag.method": "hybrid",
            "rag.pathrag.question_length": 16,
            "rag.pathrag.outcome": found.search.outcome,
            "rag.pathrag.round_trips": found.search.stats.round_trips,
            "rag.pathrag.setup_round_trips": found.search.stats.setup_round_trips,
            "rag.pathrag.entities": len(found.entities),
            "rag.pathrag.passages": len(found.passages),
        }
    ]
    assert roots[0].context is not None
    children = [
        s for s in recorded.spans if s.parent and s.parent.span_id == roots[0].context.span_id
    ]
    assert [span.name for span in children] == [
        "pathrag.query",
        "pathrag.nearest",
        "graphrag.retrieve",
        "pathrag.fuse",
        "pathrag.passages",
    ]
    assert attributes(children[0])["rag.pathrag.method"] == "path"
    rankings = ("path", "vector", "text", "community")
    assert attributes(children[3])["rag.pathrag.rankings"] == rankings


def test_communities_have_the_spans_of_seeds_001(migrated: Database) -> None:
    fill(migrated, "t", cliques(3, 4))
    with recording() as recorded:
        detect_communities(migrated, tenant="t")
        report_communities(migrated, tenant="t")
    assert attributes(recorded.one("graphrag.detect")) == {
        "rag.tenant": "t",
        "rag.graphrag.algorithm": "louvain",
        "rag.graphrag.resolution": 1.0,
        "rag.graphrag.nodes_in": 12,
        # Six in each of three cliques of four, and three that join them in a ring.
        "rag.graphrag.edges_in": 21,
        "rag.graphrag.communities_out": 3,
        "rag.graphrag.levels": 1,
    }
    told = [attributes(s) for s in recorded.spans if s.name == "graphrag.summarize"]
    assert len(told) == 3
    assert len({span.pop("rag.graphrag.community_id") for span in told}) == 3
    assert (
        told
        == [
            {
                "rag.tenant": "t",
                "rag.graphrag.nodes_n": 4,
                "rag.graphrag.edges_n": 6,
                "rag.graphrag.model": "extractive",
                "rag.graphrag.input_tokens": 0,
                "rag.graphrag.output_tokens": 0,
                "rag.graphrag.form": "extracted",
            }
        ]
        * 3
    )
    assert all(
        any(key.endswith(".elapsed_ms") for key in span.attributes or ()) for span in recorded.spans
    )


def test_a_question_to_communities_has_a_span(migrated: Database) -> None:
    tell(migrated)
    with recording() as recorded:
        search_communities(
            migrated, ENCODER, "Who lends money?", tenant="t", communities=1, scorer="overlap"
        )
    assert attributes(recorded.one("graphrag.retrieve")) == {
        "rag.tenant": "t",
        "rag.graphrag.query_length": 16,
        "rag.graphrag.community_top_k": 1,
        "rag.graphrag.hops": 1,
        "rag.graphrag.scorer": "overlap",
        "rag.graphrag.communities_matched": 1,
        "rag.graphrag.seeds_n": 2,
        # The other two of its clique, and one in each of the other cliques.
        "rag.graphrag.neighbors_n": 4,
        # Two texts of the key entities, and one of each of the others that have any.
        "rag.graphrag.chunks_out": 4,
    }
    with recording() as recorded, pytest.raises(ConfigError):
        search_communities(migrated, ENCODER, "Who lends money?", tenant="nobody")
    assert recorded.one("graphrag.retrieve").status.status_code is StatusCode.ERROR


def test_the_command_line_draws_the_tree(
    demo: Database, server: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", server.password)
    monkeypatch.setenv("PATHRAG_TELEMETRY", "tree")
    where = ["--uri", server.uri, "--username", server.username]
    try:
        done = CliRunner().invoke(cli, ["query", VILLAGE, *where])
    finally:
        telemetry.disable()
    assert done.exit_code == 0, done.output
    first, *rest = done.stderr.splitlines()
    assert first.startswith("pathrag.query  ")
    assert "tenant=default method=path" in first
    assert any(line.startswith("├─ pathrag.expand  ") and "depth=1" in line for line in rest)
    assert "village" not in done.stderr.casefold()
