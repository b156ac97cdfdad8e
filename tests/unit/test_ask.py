"""Asking for an answer, by the command and by the library, without a server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import pathrag_gds.pathrag
from cli import cli
from pathrag_gds import PathRAG
from pathrag_gds.answer.prompt import NOT_IN_GRAPH, PathPrompt, build_prompt
from pathrag_gds.config import SearchConfig, Settings
from pathrag_gds.errors import ConfigError, LLMError
from pathrag_gds.types import SearchResult
from tests.endpoint import ScriptedEndpoint, Step, refuses, serving, stalls, streams, whole
from tests.fakes import MemoryGraph, WordOverlapReranker
from tests.unit.test_context import Encoder, database
from tests.unit.test_generate import Parrot, searched

ROOT = Path(__file__).parents[2]
KEY = "sk-geheim-123"
QUESTION = "Where does Mr. Bob sleep?"


class FakeRAG:
    """Stands where the facade stands: finds what it was given."""

    def __init__(self, result: SearchResult) -> None:
        self.result = result
        self.searches = 0

    def __enter__(self) -> FakeRAG:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def search(self, question: str, *, config: SearchConfig) -> SearchResult:
        self.searches += 1
        return self.result

    def prompt_of(self, result: SearchResult, **options: Any) -> PathPrompt:
        return build_prompt(result, count_tokens=lambda text: len(text.split()), **options)


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def rag(monkeypatch: pytest.MonkeyPatch) -> FakeRAG:
    fake = FakeRAG(searched())
    monkeypatch.setattr(pathrag_gds.pathrag.PathRAG, "from_settings", lambda _: fake)
    return fake


def ask(*arguments: str, endpoint: ScriptedEndpoint | None = None) -> tuple[int, str, str]:
    """Run the command, at an endpoint or at none; the key must not be in what it prints."""
    environment = {}
    if endpoint is not None:
        environment = {
            "PATHRAG_LLM_BASE_URL": endpoint.base_url,
            "PATHRAG_LLM_MODEL": "tiny",
            "PATHRAG_LLM_API_KEY": KEY,
        }
    done = CliRunner().invoke(cli, ["ask", QUESTION, *arguments], env=environment)
    assert KEY not in done.output
    return done.exit_code, done.stdout, done.stderr


def test_the_answer_its_paths_and_what_cites_none(rag: FakeRAG) -> None:
    with serving(streams("In Pl", "ace 2 [2].\n", "Or on the moon [7].")) as endpoint:
        code, out, err = ask(endpoint=endpoint)
    assert code == 0
    assert out.splitlines()[:4] == [
        "In Place 2 [2].",
        "Or on the moon [7].",
        "",
        "2  0.500  Mr. Bob —[sleeps_in]→ Place 2",
    ]
    assert "cites no path: Or on the moon [7]." in out
    assert out.splitlines()[-1].startswith("tiny read 3 paths in a prompt of ")
    assert err.splitlines() == [
        "Warning: The answer cites [7], which the prompt does not have.",
        "Warning: 1 of 2 sentences of the answer cite no path.",
    ]
    assert "Place 1" not in out


def test_without_an_endpoint_nothing_is_searched_or_sent(rag: FakeRAG) -> None:
    code, out, err = ask()
    assert (code, out) == (2, "")
    for name in ("PATHRAG_LLM_BASE_URL", "PATHRAG_LLM_MODEL", "PATHRAG_LLM_API_KEY"):
        assert name in err
    assert "pathrag query" in err
    assert rag.searches == 0


def test_the_endpoint_may_be_named_by_options(rag: FakeRAG) -> None:
    with serving(streams("In Place 1 [1].")) as endpoint:
        code, _, _ = ask("--llm-base-url", endpoint.base_url, "--llm-model", "other")
    assert code == 0
    assert endpoint.asked[0].body["model"] == "other"
    assert "Authorization" not in endpoint.asked[0].headers


def test_no_stream(rag: FakeRAG) -> None:
    with serving(whole("In Place 1 [1].")) as endpoint:
        code, out, _ = ask("--no-stream", endpoint=endpoint)
    assert (code, out.splitlines()[0]) == (0, "In Place 1 [1].")
    assert endpoint.asked[0].body["stream"] is False


def test_show_prompt_shows_what_is_sent(rag: FakeRAG) -> None:
    with serving(streams("In Place 1 [1].")) as endpoint:
        _, out, err = ask("--show-prompt", "--order", "descending", endpoint=endpoint)
        _, as_json, quiet = ask("--show-prompt", "--json", endpoint=endpoint)
    system, user = (message["content"] for message in endpoint.asked[0].body["messages"])
    assert err == f"{system}\n\n{user}\n\n"
    assert "Question: " not in out
    assert quiet == ""
    told = json.loads(as_json)
    assert told["prompt"]["user"] == endpoint.asked[1].body["messages"][1]["content"]
    assert told["prompt"]["order"] == "ascending"


def test_json(rag: FakeRAG) -> None:
    with serving(streams("In Place 1 [1].")) as endpoint:
        code, out, err = ask("--json", endpoint=endpoint)
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert told["generated"]["text"] == "In Place 1 [1]."
    assert told["generated"]["cited"] == [1]
    assert {k: v for k, v in told.items() if k != "generated"} == searched().to_dict()


@pytest.mark.parametrize("json_too", [False, True])
def test_where_nothing_passes_nothing_is_sent(rag: FakeRAG, json_too: bool) -> None:
    rag.result = searched(0)
    with serving(streams("Nonsense.")) as endpoint:
        code, out, err = ask(*["--json"] * json_too, endpoint=endpoint)
    assert (code, err) == (0, "")
    assert endpoint.asked == []
    if json_too:
        assert json.loads(out)["generated"]["text"] == NOT_IN_GRAPH
    else:
        assert out.splitlines() == [
            NOT_IN_GRAPH,
            "",
            "No path of tenant t answers this with a confidence of 0.1 or more.",
            'See why: pathrag explain "…"',
        ]


@pytest.mark.parametrize("step", [refuses(401, f"bad key {KEY}"), refuses(404, "no such model")])
def test_an_endpoint_that_refuses_is_exit_code_7(rag: FakeRAG, step: Step) -> None:
    with serving(step) as endpoint:
        code, out, err = ask(endpoint=endpoint)
    assert (code, out) == (7, "")
    assert err.startswith(f"Error: The language model 'tiny' at {endpoint.base_url} answered 40")


def test_an_answer_that_breaks_off_keeps_what_came(rag: FakeRAG) -> None:
    with serving(streams("In Pla", finish=None, done=False)) as endpoint:
        code, out, err = ask(endpoint=endpoint)
    assert (code, out) == (7, "In Pla\n")
    assert "did not finish its answer" in err


def test_an_answer_cannot_move_the_cursor(rag: FakeRAG) -> None:
    with serving(streams("a\tb\x1b[2J", "\r\nc\r [1]\x1b[0m.")) as endpoint:
        _, out, _ = ask(endpoint=endpoint)
    assert out.splitlines()[:2] == ["a b\\x1b[2J", "c\\r [1]\\x1b[0m."]
    assert "\x1b" not in out


def test_an_interrupt_ends_the_request(rag: FakeRAG, monkeypatch: pytest.MonkeyPatch) -> None:
    from pathrag_gds.serve import ask_commands

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ask_commands._Printer, "print", interrupt)
    with serving(stalls("In", comments=True)) as endpoint:
        code, _, err = ask(endpoint=endpoint)
        assert endpoint.hung_up.wait(5)
    assert (code, err) == (130, "Interrupted.\n")


def test_help_does_not_load_the_http_library() -> None:
    script = (
        "import sys, cli\n"
        "try: cli.cli(['ask', '--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('httpx2', 'ssl', 'rich', 'neo4j') if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def library(llm: Any = None) -> PathRAG:
    """Give the facade on a graph in memory."""
    graph = MemoryGraph(
        [("Bob", "sleeps_in", "Kitchen", {"chunk_ids": ["c1"]})],
        seeds=["Bob", "Kitchen"],
        documents={"c1": "d1"},
    )
    db = database()
    db.answers |= {
        **graph.answers,
        "schema/read_types": [
            {
                "kind": "relation",
                "type": {
                    **db.answers["schema/read_types"][0]["type"],  # type: ignore[index]
                    "name": "sleeps_in",
                },
            }
        ],
        "retrieve/chunk_texts": [{"chunk": "c1", "text": "Bob sleeps in the kitchen."}],
    }
    reranker = WordOverlapReranker({"Bob sleeps in Kitchen": 0.9})
    return PathRAG(db, encoder=Encoder(), reranker=reranker, llm=llm)  # type: ignore[arg-type]


def test_the_library_asks() -> None:
    told: list[str] = []
    answer = library(Parrot("In the Kitchen", " [1].")).ask(
        "Where does Bob sleep?", on_text=told.append, max_depth=1
    )
    assert "".join(told) == answer.text == "In the Kitchen [1]."
    assert [path.path.tail for path in answer.cited] == ["Kitchen"]
    assert answer.uncited == ()
    assert [chunk.text for chunk in answer.prompt.chunks] == ["Bob sleeps in the kitchen."]


def test_the_library_takes_the_model_of_a_call_before_its_own() -> None:
    other = Parrot("Elsewhere [1].")
    own = Parrot("Here [1].")
    answer = library(own).ask("Where does Bob sleep?", llm=other, max_depth=1, stream=False)
    assert answer.text == "Elsewhere [1]."
    assert (own.asked, other.streamed) == ([], False)


def test_the_library_asks_no_model_where_nothing_passes() -> None:
    llm = Parrot("Nonsense.")
    answer = library(llm).ask("Where does Bob sleep?", max_depth=1, min_score=1.0)
    assert (answer.text, answer.outcome, llm.asked) == (NOT_IN_GRAPH, "not_in_graph", [])


def test_the_library_names_what_is_not_configured_before_it_searches() -> None:
    rag = library()
    with pytest.raises(ConfigError, match="No language model is configured"):
        rag.ask("Where does Bob sleep?")
    with pytest.raises(ConfigError, match="token budget"):
        rag.ask("Where does Bob sleep?", budget=0)
    assert rag.database.calls == []  # type: ignore[attr-defined]


def test_the_library_reads_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(streams("In the Kitchen [1]."), refuses(404)) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        monkeypatch.setenv("OPENAI_MODEL", "tiny")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert library().ask("Where does Bob sleep?", max_depth=1).text == "In the Kitchen [1]."
        assert endpoint.asked[0].headers["Authorization"] == f"Bearer {KEY}"
        rag = library()
        rag._settings = Settings(llm_base_url=endpoint.base_url, llm_model="named")
        with pytest.raises(LLMError) as caught:
            rag.ask("Where does Bob sleep?", max_depth=1)
    assert caught.value.status == 404
    assert endpoint.asked[1].body["model"] == "named"
