"""The demo on an embedded server of its own, and the README's code, as a stranger runs them.

Every command is a process of its own. The server is started by the first of them and stopped by
the last, once per lane.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.demo import DEFAULT_QUESTION
from pathrag_gds.server import DEFAULT_LANE, LANES, stop
from pathrag_gds.types import Source

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON_BLOCKS = re.findall(r"(?ms)^```python\n(.*?)^```", README)
OWN_GRAPH = re.findall(r"(?ms)^## Your own graph\n+```sh\n(.*?)^```", README)
NODES = """id:ID,name,:LABEL,born:int
keanu,Keanu Reeves,person,1964
lana,Lana Wachowski,person,1965
matrix,The Matrix,film,
"""
RELATIONSHIPS = """:START_ID,:END_ID,:TYPE,roles:string[]
keanu,matrix,acted_in,Neo
lana,matrix,directed,
"""


class Shell:
    """An empty folder in which commands are typed, with an embedded server of its own."""

    def __init__(self, folder: Path, lane: str) -> None:
        self.folder = folder
        self.home = folder / "server"
        # A developer's own server is tested elsewhere; here it is the embedded one in any case.
        self.lane = lane if lane in LANES else DEFAULT_LANE

    def python(self, *arguments: str, **environment: str) -> str:
        """Run Python; give what it prints."""
        # The server lives for a minute: compiling for speed would take longer than it saves.
        settings = {"PYTHONPATH": str(ROOT), "PATHRAG_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=os.environ | settings | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def pathrag(self, *arguments: str, **environment: str) -> str:
        """Run the command line interface; give what it prints."""
        return self.python("-m", "pathrag_gds", *arguments, **environment)

    def demo(self) -> Any:
        """Run the demo as from nothing."""
        return json.loads(
            self.pathrag("demo", "--json", "--home", str(self.home), "--lane", self.lane)
        )


@pytest.fixture(scope="module")
def shell(lane: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    shell = Shell(tmp_path_factory.mktemp(f"demo-{lane}"), lane)
    yield shell
    stop(shell.home, timeout_s=10)


@pytest.fixture(scope="module")
def first(shell: Shell) -> Any:
    return shell.demo()


def steps(told: Any) -> dict[str, str]:
    return {step["name"]: step["detail"] for step in told["steps"]}


def sources(hop: Any) -> tuple[Source, ...]:
    return tuple(Source(**source) for source in hop["sources"])


def without_times(result: Any) -> Any:
    assert result["stats"]["millis"]["total"] > 0
    return {**result, "stats": {**result["stats"], "millis": {}}}


def test_the_demo_answers_from_nothing(shell: Shell, first: Any) -> None:
    assert list(steps(first)) == ["jars", "server", "migrate", "load", "embed", "search"]
    done = steps(first)
    assert done["server"].startswith("started at bolt://127.0.0.1:")
    assert done["load"] == "104 entities, 165 relationships, 32 chunks into tenant default"
    assert done["embed"] == "136 texts, 0 unchanged"
    result = first["result"]
    assert result["question"] == DEFAULT_QUESTION
    answer = result["answers"][0]
    assert answer["id"] == "whiskerville"
    assert result["paths"][answer["paths"][0] - 1]["nodes"][-1]["id"] == "whiskerville"
    assert first["next"][1] == f"pathrag server stop --home {shlex.quote(str(shell.home))}"


def test_the_demo_again_finds_its_work_done(shell: Shell, first: Any) -> None:
    again = shell.demo()
    done = steps(again)
    assert done["jars"].startswith("0 fetched, 0 copied, ")
    assert done["server"] == steps(first)["server"].replace("started", "ran already")
    assert list(done) == ["jars", "server", "story", "search"]
    assert done["story"] == "is in tenant default already, with its vectors"
    assert without_times(again["result"]) == without_times(first["result"])


def test_the_same_question_gets_the_same_answer_whatever_the_hash_seed(
    shell: Shell, first: Any
) -> None:
    told = [
        json.loads(
            shell.pathrag(
                *("query", DEFAULT_QUESTION, "--json", "--home", str(shell.home)),
                PYTHONHASHSEED=seed,
            )
        )
        for seed in ("1", "2")
    ]
    stats = told[0]["stats"]
    assert stats["round_trips"] == stats["depth"] + 4
    assert json.dumps(without_times(told[0])) == json.dumps(without_times(told[1]))
    assert without_times(told[0]) == without_times(first["result"])


def test_the_python_of_the_readme_runs_on_the_demo(shell: Shell, first: Any) -> None:
    assert len(PYTHON_BLOCKS) == 1
    lines = shell.python("-c", PYTHON_BLOCKS[0], PATHRAG_HOME=str(shell.home)).splitlines()
    paths = [line for line in lines if " → " in line]
    shown = first["result"]["paths"][:3]
    assert [line.split()[0] for line in paths] == [str(path["rank"]) for path in shown]
    expected = [" → ".join(node["name"] for node in path["nodes"]) for path in shown]
    assert [line.split(" ", 2)[2] for line in paths] == expected
    assert lines[0].startswith("Whiskerville ")
    assert 0 < float(lines[0].split()[-1]) <= 1
    hops = [line for line in lines if line.startswith("   ")]
    assert hops == [
        f"   {hop['type']} {hop['properties']} {sources(hop)}"
        for path in shown
        for hop in path["hops"]
    ]


def test_the_readmes_commands_for_a_graph_of_ones_own_run(shell: Shell, first: Any) -> None:
    (shell.folder / "nodes.csv").write_text(NODES, encoding="utf-8")
    (shell.folder / "relationships.csv").write_text(RELATIONSHIPS, encoding="utf-8")
    settings = {"PATHRAG_HOME": str(shell.home), "PATHRAG_TENANT": "films"}
    (block,) = OWN_GRAPH
    told: dict[str, str] = {}
    for line in block.splitlines():
        name, *words = shlex.split(line, comments=True)
        assert name == "pathrag"
        told[" ".join(words[:2])] = shell.pathrag(*words, **settings)
    ran = [words.split()[0] for words in told]
    assert ran == ["server", "migrate", "load", "embed", "query", "explain"]
    loaded, embedded, asked, explained = list(told.values())[2:]
    assert "3 nodes, 2 relationships and 0 chunks into tenant films" in loaded
    assert "Next: pathrag embed\n" in loaded
    assert embedded.startswith("3 entities and 0 chunks in ")
    assert re.search(r"(?m)^(?:Answer|   also)  ?Lana Wachowski ", asked)
    path = 'Keanu Reeves —[acted_in {roles: ["Neo"]}]→ The Matrix ←[directed]— Lana Wachowski'
    assert path in " ".join(asked.split())
    assert path in " ".join(explained.split())
    assert "Depth 2: " in explained


def test_the_server_is_stopped(shell: Shell, first: Any) -> None:
    home = ("--home", str(shell.home))
    assert shell.pathrag("server", "stop", *home) == "Stopped.\n"
    assert json.loads(shell.pathrag("server", "status", "--json", *home))["state"] == "stopped"
