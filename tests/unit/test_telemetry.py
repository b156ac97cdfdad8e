"""Spans: who is whose parent, what they tell and what not, and that nothing is done when off."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from opentelemetry.trace import StatusCode

from pathrag_gds import telemetry
from pathrag_gds.answer.generate import generate_answer
from pathrag_gds.answer.prompt import build_prompt
from pathrag_gds.config import read_settings
from pathrag_gds.errors import ConfigError, DatabaseError, MissingExtra, QueryTimeout
from tests.fakes import MemoryGraph, RecordingDatabase
from tests.searching import CHAIN, QUESTION, ask
from tests.spans import attributes, recording

SECRET = "s3cret-of-the-server"


@pytest.fixture(autouse=True)
def _off() -> Iterator[None]:
    yield
    telemetry.disable()


# One question


def test_stages_of_a_search_are_children_of_the_question_in_their_order() -> None:
    with recording() as recorded, telemetry.span("pathrag.query", tenant="t"):
        result = ask(MemoryGraph(CHAIN, seeds=["a"]), max_depth=1)
    assert result.stats.round_trips == 4
    assert recorded.names == [
        "pathrag.seed",
        "pathrag.link",
        "pathrag.score",
        "pathrag.expand",
        "pathrag.prune",
        "pathrag.score",
        "pathrag.prune",
        "pathrag.hydrate",
        "pathrag.hydrate",
        "pathrag.answer",
        "pathrag.query",
    ]
    assert {parent for name, parent in recorded.parents() if name != "pathrag.query"} == {
        "pathrag.query"
    }
    assert recorded.parents()[0] == ("pathrag.query", "")
    assert {span.attributes["rag.tenant"] for span in recorded.spans if span.attributes} == {"t"}


def test_each_depth_has_its_expansion_and_says_which_it_is() -> None:
    with recording() as recorded:
        ask(MemoryGraph(CHAIN, seeds=["a"]), max_depth=2)
    told = [attributes(span) for span in recorded.spans if span.name == "pathrag.expand"]
    # The chain a, b, c, d: one neighbour of a; those of b are a and c.
    assert told == [
        {
            "rag.tenant": "t",
            "rag.pathrag.depth": 1,
            "rag.pathrag.query": "retrieve/expand",
            "rag.pathrag.rows": 1,
        },
        {
            "rag.tenant": "t",
            "rag.pathrag.depth": 2,
            "rag.pathrag.query": "retrieve/expand",
            "rag.pathrag.rows": 2,
        },
    ]
    scores = [attributes(span) for span in recorded.spans if span.name == "pathrag.score"]
    assert [(s["rag.pathrag.depth"], s["rag.pathrag.texts_scored"]) for s in scores] == [
        (0, 1),
        (1, 1),
        (2, 1),
    ]
    prunes = [attributes(span) for span in recorded.spans if span.name == "pathrag.prune"]
    # At depth 2 the way back to a is no path.
    assert [(p["rag.pathrag.depth"], p.get("rag.pathrag.cut", 0)) for p in prunes] == [
        (1, 0),
        (1, 0),
        (2, 1),
        (2, 0),
    ]


def test_flow_has_a_span_of_its_own() -> None:
    with recording() as recorded:
        ask(MemoryGraph(CHAIN, seeds=["a", "d"]), pruner="flow:paper")
    assert "pathrag.flow" in recorded.names
    assert recorded.names.index("pathrag.expand") < recorded.names.index("pathrag.flow")
    assert attributes(recorded.spans[recorded.names.index("pathrag.flow")]) == {
        "rag.pathrag.depth": 1
    }


def test_spans_make_no_difference_to_the_result() -> None:
    plain = ask(MemoryGraph(CHAIN, seeds=["a"]), max_depth=2).to_dict()
    with recording(text=True):
        watched = ask(MemoryGraph(CHAIN, seeds=["a"]), max_depth=2).to_dict()
    assert plain["stats"].pop("millis").keys() == watched["stats"].pop("millis").keys()
    assert plain == watched


def test_a_generated_answer_has_a_span_with_its_model_and_its_citations() -> None:
    class Model:
        name = "scripted"

        def chat(self, messages: Any, *, stream: bool = True) -> Iterator[str]:
            yield "It ends at d [1]. "
            yield "And nobody knows why."

    result = ask(MemoryGraph(CHAIN, seeds=["a"]), max_depth=3)
    prompt = build_prompt(result, count_tokens=lambda text: len(text.split()))
    with recording() as recorded, telemetry.span("pathrag.ask", tenant="t"):
        generate_answer(result, prompt, Model())  # type: ignore[arg-type]
    assert recorded.parents() == [("pathrag.ask", ""), ("pathrag.generate", "pathrag.ask")]
    assert attributes(recorded.one("pathrag.generate")) == {
        "rag.tenant": "t",
        "rag.pathrag.model": "scripted",
        "rag.pathrag.prompt_tokens": prompt.tokens,
        "rag.pathrag.prompt_paths": len(prompt.numbered),
        "rag.pathrag.outcome": "answered",
        "rag.pathrag.finish": "",
        "rag.pathrag.sentences": 2,
        "rag.pathrag.cited": 1,
        "rag.pathrag.uncited": 1,
    }


# What is not told


def everything(recorded: Any) -> str:
    return "\n".join(span.to_json() for span in recorded.spans)


def secretive() -> MemoryGraph:
    """A graph that says something which must not leave it."""
    nodes = {id_: {"name": f"Confidential {id_}"} for id_ in "abcd"}
    return MemoryGraph(CHAIN, seeds=["a"], nodes=nodes)


def test_no_text_of_questions_or_nodes_is_told() -> None:
    with recording() as recorded, telemetry.span("pathrag.query") as span:
        span.tell(question="Whose money is it?")
        ask(secretive(), question="What of Confidential a?", max_depth=2)
    told = everything(recorded)
    assert "onfidential" not in told
    assert "money" not in told


def test_text_is_told_to_whoever_asks_for_it() -> None:
    with recording(text=True) as recorded, telemetry.span("pathrag.query") as span:
        span.tell(question="Whose money is it?")
        ask(secretive(), start_ids=["a"], max_depth=1)
    assert attributes(recorded.one("pathrag.query")) == {
        "rag.pathrag.question": "Whose money is it?"
    }
    assert attributes(recorded.one("pathrag.link"))["rag.pathrag.names"] == ("Confidential a",)


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        (False, DatabaseError(f"Refused: {QUESTION}"), {"exception.type": "DatabaseError"}),
        (
            True,
            DatabaseError("Refused."),
            {"exception.type": "DatabaseError", "exception.message": "Refused."},
        ),
        # A foreign message may hold anything, a password too.
        (True, ValueError(f"bolt://neo4j:{SECRET}@host"), {"exception.type": "ValueError"}),
    ],
)
def test_errors_are_recorded_without_credentials(
    text: bool, error: Exception, told: dict[str, str]
) -> None:
    def fails(_: Mapping[str, Any]) -> list[Any]:
        raise error

    graph = MemoryGraph(CHAIN, seeds=["a"])
    database = RecordingDatabase({**graph.answers, "retrieve/expand": fails})
    with (
        recording(text=text) as recorded,
        pytest.raises(type(error)),
        telemetry.span("pathrag.query"),
    ):
        ask(graph, database=database, max_depth=2)
    for name in ("pathrag.expand", "pathrag.query"):
        span = recorded.one(name)
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description == type(error).__name__
        assert attributes(span)["error.type"] == type(error).__name__
        (event,) = span.events
        assert event.attributes == told
    assert recorded.one("pathrag.seed").status.status_code is StatusCode.UNSET
    assert SECRET not in everything(recorded)
    assert (QUESTION in everything(recorded)) is False


def test_a_statement_that_ran_out_of_time_failed_and_its_question_did_not() -> None:
    def slow(_: Mapping[str, Any]) -> list[Any]:
        raise QueryTimeout("Too long.")

    graph = MemoryGraph(CHAIN, seeds=["a"])
    database = RecordingDatabase({**graph.answers, "retrieve/expand": slow})
    with recording() as recorded, telemetry.span("pathrag.query"):
        result = ask(graph, database=database, max_depth=2, time_limit_s=60.0)
    assert result.outcome == "partial"
    assert recorded.one("pathrag.expand").status.description == "QueryTimeout"
    assert recorded.one("pathrag.query").status.status_code is StatusCode.UNSET


def test_a_failure_that_was_caught_is_told_like_one_that_was_raised() -> None:
    with recording() as recorded, telemetry.span("graphrag.summarize") as span:
        span.fail("LLMError", "The model says: Confidential.")
    (event,) = recorded.one("graphrag.summarize").events
    assert event.attributes == {"exception.type": "LLMError"}


# Trees


def test_threads_have_trees_of_their_own_unless_the_context_is_carried_over() -> None:
    def work(name: str) -> None:
        with telemetry.span(name):
            pass

    with (
        recording() as recorded,
        ThreadPoolExecutor(1) as pool,
        telemetry.span("pathrag.query", tenant="t"),
    ):
        pool.submit(work, "pathrag.alone").result()
        pool.submit(copy_context().run, work, "pathrag.inside").result()
    assert sorted(recorded.parents()) == [
        ("pathrag.alone", ""),
        ("pathrag.inside", "pathrag.query"),
        ("pathrag.query", ""),
    ]
    assert "rag.tenant" not in attributes(recorded.one("pathrag.alone"))
    assert attributes(recorded.one("pathrag.inside"))["rag.tenant"] == "t"


def test_a_tenant_ends_with_its_span() -> None:
    with recording() as recorded:
        with telemetry.span("pathrag.query", tenant="one"):
            with telemetry.span("graphrag.retrieve", tenant="two"):
                telemetry.record("pathrag.score", 0.0)
            telemetry.record("pathrag.prune", 0.0)
        telemetry.record("pathrag.flow", 0.0)
    tenants = {span.name: attributes(span).get("rag.tenant") for span in recorded.spans}
    assert tenants == {
        "pathrag.score": "two",
        "graphrag.retrieve": "two",
        "pathrag.prune": "one",
        "pathrag.query": "one",
        "pathrag.flow": None,
    }


def test_a_calculation_ends_now_and_began_so_long_ago() -> None:
    with recording() as recorded:
        telemetry.record("pathrag.score", 0.25, texts_scored=3, depth=None)
    span = recorded.one("pathrag.score")
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.end_time - span.start_time == 250_000_000
    assert dict(span.attributes or {}) == {
        "rag.pathrag.texts_scored": 3,
        "rag.pathrag.elapsed_ms": 250.0,
    }


def test_a_tree_has_a_line_for_each_span() -> None:
    with recording() as recorded:
        with telemetry.span("pathrag.query", tenant="t", method="path"):
            with telemetry.span("pathrag.expand", depth=1), telemetry.span("pathrag.inner"):
                pass
            with telemetry.span("pathrag.answer", ids=["a", "b"]):
                pass
        telemetry.record("pathrag.score", 0.0)
    drawn = telemetry.span_tree(recorded.spans)
    assert [line.partition(" ms")[0].rpartition("  ")[0] for line in drawn.splitlines()] == [
        "pathrag.query",
        "├─ pathrag.expand",
        "│  └─ pathrag.inner",
        "└─ pathrag.answer",
        "pathrag.score",
    ]
    assert drawn.splitlines()[0].endswith(" ms  tenant=t method=path")
    assert drawn.splitlines()[3].endswith(" ms  ids=[a, b]")
    assert drawn.splitlines()[4] == "pathrag.score  0.0 ms"


# Off and on


def test_nothing_is_made_while_it_is_off() -> None:
    assert not telemetry.is_on()
    first = telemetry.span("pathrag.query", tenant="t")
    assert first is telemetry.span("graphrag.detect")
    with first as span:
        span.set(rows=1)
        span.tell(question="?")
        span.fail("ValueError")
    telemetry.record("pathrag.score", 0.1)
    with pytest.raises(ValueError, match="goes on"), first:
        raise ValueError("goes on")


def test_the_library_is_not_imported_before_it_is_asked_for() -> None:
    code = (
        "import sys; from pathrag_gds import PathRAG, telemetry\n"
        "with telemetry.span('pathrag.query'): telemetry.record('pathrag.score', 1)\n"
        "telemetry.start(''); telemetry.start('off', '1')\n"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingExtra) as caught:
        telemetry.enable()
    assert caught.value.extra == "otel"


@pytest.mark.parametrize(
    ("destination", "text", "says"),
    [("jaeger", "", "off, on, tree, otlp"), ("tree", "perhaps", "PATHRAG_TELEMETRY_TEXT")],
)
def test_a_wrong_setting_is_named(destination: str, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        telemetry.start(destination, text)
    assert says in caught.value.hint
    assert not telemetry.is_on()


def test_settings_name_it() -> None:
    environment = {"PATHRAG_TELEMETRY": "tree", "PATHRAG_TELEMETRY_TEXT": "1"}
    settings = read_settings(environment=environment)
    assert (settings.telemetry, settings.telemetry_text) == ("tree", "1")


def test_a_tree_is_written_when_its_root_has_ended() -> None:
    written: list[str] = []
    telemetry.start("tree", "yes", write=written.append)
    telemetry.start("tree", "yes", write=print)  # no second one
    for _ in range(2):
        with telemetry.span("pathrag.query") as span:
            span.tell(question="Who?")
            with telemetry.span("pathrag.expand"):
                pass
            assert not [text for text in written if "expand" in text and "query" not in text]
    assert len(written) == 2
    assert [text.count("\n") for text in written] == [2, 2]
    assert all("question=Who?" in text for text in written)


def test_a_collector_gets_the_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.path, body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        port = server.server_address[1]
        code = (
            "from pathrag_gds import telemetry\n"
            "telemetry.start('otlp')\n"
            "with telemetry.span('pathrag.query', tenant='t'): pass\n"
        )
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        subprocess.run([sys.executable, "-c", code], check=True)
    finally:
        server.shutdown()
        server.server_close()
    ((path, body),) = got
    assert path == "/v1/traces"
    assert all(word in body for word in (b"pathrag.query", b"rag.tenant", b"service.name"))
