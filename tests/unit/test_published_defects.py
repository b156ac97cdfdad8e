"""Inputs that broke the published code of PathRAG, as far as they need no server.

The numbers are those of the list of these defects. The others are tested where their part is:
D2, D5, D6, D20 in ``test_keywords``; D3, D8, D13 to D16, D22 to D26 in ``test_flow``; D7 to D12,
D16, D18, D25, D26 in ``tests/integration/test_published_defects.py``. D21 is none of ours: no mode
of the endpoint is relied on, what it writes is read by the letter.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pathrag_gds.answer.generate import generate_answer
from pathrag_gds.answer.prompt import build_prompt
from pathrag_gds.config import SearchConfig
from pathrag_gds.server.home import default_home
from pathrag_gds.types import SearchResult
from tests.fakes import MemoryGraph
from tests.searching import CHAIN, ask, nodes
from tests.unit.test_generate import Parrot, ranked, searched

ROOT = Path(__file__).parents[2]


def words(text: str) -> int:
    return len(text.split())


def with_descriptions(count: int, length: int) -> SearchResult:
    paths = tuple(ranked(n + 1, description="word " * length) for n in range(count))
    return replace(searched(1), paths=paths)


@pytest.mark.parametrize("pruner", ["beam", "flow:paper", "flow:reference", "flow:hops"])
def test_nothing_found_is_an_outcome(pruner: str) -> None:
    """D1, D22: no seed, a node alone, and nodes that nothing links."""
    empty = ask(MemoryGraph([], seeds=[]), pruner=pruner)
    assert (empty.paths, empty.outcome) == ((), "not_in_graph")
    alone = ask(MemoryGraph([], seeds=["a"]), pruner=pruner)
    assert (nodes(alone), alone.outcome) == (["a"], "answered")
    apart = MemoryGraph([("a", "R", "x"), ("b", "R", "y")], seeds=["a", "b"])
    assert not any({"a", "b"} <= set(path) for path in nodes(ask(apart, pruner=pruner)))


def test_defaults_are_a_search() -> None:
    """D4: what is not given is legal. D3: what was given is as it was."""
    config = SearchConfig()
    before = config.to_dict()
    graph = MemoryGraph(CHAIN, seeds=["a"])
    assert ask(graph, {"": 0.9}, config=config).paths
    assert ask(graph, {"": 0.9}, config=config, pruner="flow:paper").paths
    assert config.to_dict() == before == SearchConfig().to_dict()


def test_the_best_path_is_in_the_prompt_however_long_it_is() -> None:
    """D17: it is shortened, and the others are taken as far as they fit."""
    prompt = build_prompt(with_descriptions(3, 4000), count_tokens=words, budget=600)
    assert 1 in prompt.numbered
    assert prompt.shortened
    assert prompt.tokens <= 600


def test_many_long_descriptions_stay_within_the_budget() -> None:
    """D30: forty paths of five hundred words each."""
    prompt = build_prompt(with_descriptions(40, 500), count_tokens=words, budget=4000)
    assert prompt.tokens <= 4000
    assert len(prompt.numbered) > 1
    assert len(prompt.left_out) == 40 - len(prompt.numbered)


def test_a_long_answer_keeps_all_of_its_words() -> None:
    """D19: longer than the prompt, with the question and names of roles in it."""
    result = searched()
    text = f"{result.question} The user asked, the model and the system told [1]. " * 200
    prompt = build_prompt(result, count_tokens=words)
    assert len(text) > len(prompt.text)
    assert generate_answer(result, prompt, Parrot(text)).text == text.strip()


def test_the_default_folder_is_legal_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """D28: no colon and no clock in it."""
    monkeypatch.delenv("PATHRAG_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    home = default_home()
    assert home == default_home()
    named = home.parts[home.parts.index("pathrag-gds") :]
    assert not set("".join(named)) & set(':*?"<>|')


def test_models_and_tokenizers_need_no_network() -> None:
    """D29, D27: they ship; whoever opens a connection fails here, and no other library comes."""
    script = """
import socket, sys
def refuse(*_, **__): raise AssertionError("the network was used")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.models.reranker import load_reranker
encoder = load_encoder(None)
assert encoder.count_tokens("a question") > 2
assert encoder.encode(["a question"]).shape == (1, encoder.dimension)
(score,) = load_reranker(None, encoder).score("a question", ["a path"])
assert 0 <= score.answer <= 1
print(sorted({"torch", "vllm", "modelscope", "ollama", "boto3", "openai"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr
