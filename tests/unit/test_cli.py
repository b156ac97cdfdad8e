"""The command line without a server: help, options, exit codes, and what is printed where."""

from __future__ import annotations

import errno
import json
import logging
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import pathrag_gds.pathrag
from cli import cli
from pathrag_gds.config import SearchConfig, Settings
from pathrag_gds.errors import (
    AuthFailed,
    ConfigError,
    EmbeddedServerError,
    LoadError,
    PartialError,
    PathRAGError,
    ServerUnavailable,
)
from pathrag_gds.migrate.plan import Outcome
from pathrag_gds.serve import terminal
from pathrag_gds.serve.command import command_line
from pathrag_gds.serve.options import read_search, repeated
from pathrag_gds.types import (
    Answer,
    Chain,
    Cut,
    DepthTrace,
    Edge,
    Entity,
    Explanation,
    Hop,
    Pattern,
    RankedPath,
    ResultHop,
    SearchResult,
    SearchStats,
    Seed,
    Source,
    Step,
    TracedPath,
)
from pathrag_gds.types import Path as GraphPath

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "pandas", "onnxruntime", "numpy", "neo4j", "rich", "graphdatascience")

SPILLED = Hop(Edge("k1", "event", "milk", "involve", {"role": "spilled"}, ("bob_03",)), False)
PLACE = Hop(Edge("k2", "event", "kitchen", "takes_place", {}, ("bob_03",)), True)
PATH = GraphPath(("milk", "event", "kitchen"), (SPILLED, PLACE))


def result(**changes: Any) -> SearchResult:
    """Make a result of one path from the milk to the kitchen."""
    source = Source("bob_03", "The Adventures of Bob the Cat")
    values: dict[str, Any] = {
        "question": "Where?",
        "tenant": "default",
        "method": "path",
        "outcome": "answered",
        "anchors": (),
        "answers": (Answer("entity", "kitchen", "Kitchen", confidence=0.75, paths=(1,)),),
        "paths": (
            RankedPath(
                rank=1,
                score=0.75,
                confidence=0.75,
                terms={"rerank": 0.75},
                text="…",
                path=PATH,
                nodes=(Entity("milk", "Milk"), Entity("event", "Ev"), Entity("kitchen", "Kitchen")),
                hops=(ResultHop(SPILLED, (source,)), ResultHop(PLACE, (source,))),
            ),
        ),
        "cut": (Cut(1, "beam_width", 7),),
        "stats": SearchStats(5, 4, 2, 12, 9, 3, 0, {"total": 42.0}, "both", "nodes tell more"),
        "config": {"min_score": 0.1},
        "seeds": (Seed("milk", 0.5, 0.03),),
    }
    return SearchResult(**{**values, **changes})


class FakeRAG:
    """Stands where the facade stands and notes what it is asked."""

    def __init__(self, answer: SearchResult | PathRAGError | BaseException) -> None:
        self.answer = answer
        self.settings: Settings | None = None
        self.config: SearchConfig | None = None

    def __enter__(self) -> FakeRAG:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def search(self, question: str, *, config: SearchConfig) -> SearchResult:
        self.config = config
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def explain(self, question: str, *, config: SearchConfig) -> Explanation:
        trace = DepthTrace(
            depth=1,
            paths=(
                TracedPath(PATH, 0.75, 0.75),
                TracedPath(GraphPath(("milk",)), 0.2, 0.2, "beam_width"),
            ),
            names={"milk": "Milk", "event": "Ev", "kitchen": "Kitchen"},
            cut=(Cut(1, "beam_width", 7),),
            truncated=("Milk",),
        )
        return Explanation(self.search(question, config=config), (trace,))


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATHRAG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def rag(monkeypatch: pytest.MonkeyPatch) -> FakeRAG:
    fake = FakeRAG(result())

    def from_settings(settings: Settings) -> FakeRAG:
        fake.settings = settings
        return fake

    monkeypatch.setattr(pathrag_gds.pathrag.PathRAG, "from_settings", from_settings)
    return fake


def run(*arguments: str, **options: Any) -> tuple[int, str, str]:
    outcome = CliRunner().invoke(cli, list(arguments), **options)
    return outcome.exit_code, outcome.stdout, outcome.stderr


def commands(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in sorted(group.commands.items()):
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


ALL_COMMANDS = list(commands())


def test_every_command_of_the_design_is_there() -> None:
    assert [" ".join(path) for path in ALL_COMMANDS] == [
        "ask",
        "communities",
        "communities detect",
        "communities report",
        "communities status",
        "demo",
        "doctor",
        "embed",
        "eval",
        "explain",
        "import",
        "import graphrag",
        "import lightrag",
        "load",
        "migrate",
        "migrate baseline",
        "migrate clean",
        "migrate repair",
        "migrate status",
        "migrate unlock",
        "migrate up",
        "migrate validate",
        "patterns",
        "prompt",
        "query",
        "run",
        "schema",
        "schema refresh",
        "schema show",
        "server",
        "server dump",
        "server install",
        "server logs",
        "server restore",
        "server start",
        "server status",
        "server stop",
        "train",
        "tune",
    ]


@pytest.mark.parametrize("path", [(), *ALL_COMMANDS], ids=" ".join)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_of_every_command(path: tuple[str, ...], flag: str) -> None:
    code, out, err = run(*path, flag)
    assert (code, err) == (0, "")
    usage, _, rest = out.partition("\n\n")
    assert usage.startswith(" ".join(("Usage: cli", *path)))
    assert len(rest.split("\n\n")[0].strip()) > 20
    assert "..." not in rest, "a summary is cut off"
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("path", ALL_COMMANDS, ids=" ".join)
def test_every_option_is_explained(path: tuple[str, ...]) -> None:
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{' '.join(path)} {parameter.opts[0]}"


def test_version() -> None:
    assert run("--version") == (0, "pathrag, version 0.1.0\n", "")


def test_help_and_import_load_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "import pathrag_gds, cli\n"
        "try: cli.cli(['query', '--help'])\n"
        "except SystemExit: pass\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def started(code: str) -> subprocess.Popen[str]:
    """Start the command line in a process of its own, with the facade replaced."""
    script = (
        "import sys, time, cli, pathrag_gds\n"
        f"def connect(settings):\n    {code}\n"
        "pathrag_gds.PathRAG.from_settings = connect\n"
        "sys.argv = ['pathrag', 'query', 'Where?']\n"
        "cli.main()\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with SIGINT ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


# What a command may do when the signal breaks into it.
BROKEN_INTO = {
    "nothing": "time.sleep(600)",
    "a driver that cannot tidy up": (
        "\n    try: time.sleep(600)\n    finally: raise BufferError('Existing exports of data')"
    ),
    "an error of ours": (
        "\n    try: time.sleep(600)"
        "\n    except BaseException as error:"
        "\n        raise pathrag_gds.PathRAGError('The server went away.') from None"
    ),
}


@pytest.mark.parametrize("wait", BROKEN_INTO.values(), ids=BROKEN_INTO)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_command(number: signal.Signals, code: int, wait: str) -> None:
    with started(f"print('ready', flush=True); {wait}") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (code, "", "Interrupted.\n")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    with started("sys.stdin.read(); [print('line') for _ in range(100_000)]") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert err == ""
    assert process.returncode == 1


@pytest.mark.parametrize(
    ("flags", "uri"), [((), ""), (("--uri", "bolt://mine:7687"), "bolt://mine:7687")]
)
def test_demo_looks_at_no_server_but_one_named_by_uri(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flags: tuple[str, ...], uri: str
) -> None:
    import pathrag_gds.serve.demo as demo

    seen: list[Settings] = []

    def run_demo(settings: Settings, question: str | None, *, progress: object) -> demo.DemoReport:
        seen.append(settings)
        return demo.DemoReport("default", (), result(), ("pathrag query",))

    monkeypatch.setattr(demo, "run_demo", run_demo)
    monkeypatch.setenv("NEO4J_URI", "bolt://elsewhere:7687")
    monkeypatch.setenv("NEO4J_PASSWORD", "secret")
    (tmp_path / "pathrag.toml").write_text('uri = "bolt://file:7687"\npassword = "file"\n')
    code, out, _ = run("demo", *flags, "--json")
    assert code == 0
    assert json.loads(out)["next"] == ["pathrag query"]
    assert (seen[0].uri, seen[0].password) == (uri, "")


@pytest.mark.parametrize("command", ["query", "explain"])
def test_every_field_of_the_configuration_is_an_option(command: str) -> None:
    options = {option for p in cli.commands[command].params for option in p.opts}
    for field in fields(SearchConfig):
        assert "--" + field.name.replace("_", "-") in options


def test_options_reach_the_search(rag: FakeRAG) -> None:
    code, _, _ = run(
        "query",
        "Where?",
        *("--preset", "a3", "--beam-width", "7", "--min-score", "0", "--revisit", "edge"),
        *("--no-normalize-within-depth", "--rel-types", "owns", "--rel-types", "a,b"),
        *("--node-filter", '{"age": {"$gt": 3}}', "--time-limit-s", "1.5", "--tenant", "t"),
    )
    assert code == 0
    assert rag.config == SearchConfig(
        beam_width=7,
        min_score=0,
        revisit="edge",
        normalize_within_depth=False,
        depth_penalty=0.2,
        rel_types=("owns", "a,b"),
        node_filter={"age": {"$gt": 3}},
        time_limit_s=1.5,
    )
    assert rag.settings is not None
    assert rag.settings.tenant == "t"


def test_without_options_the_search_has_its_defaults() -> None:
    assert read_search({}) == SearchConfig()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--beam-width", "0"), "beam_width must be an integer from 1"),
        (("--beam-width", "x"), "'x' is not a valid integer"),
        (("--node-filter", "{"), "is not JSON"),
        (("--node-filter", "[1]"), "is not an object"),
        (("--preset", "b"), "There is no preset 'b'"),
        (("--revisit", "b"), "'b' is not one of"),
        (("--uri", "bolt://x", "--home", "y"), "--uri and --home name two servers"),
        (("--tenant", " x"), "is not a tenant name"),
        (("--no-such-option",), "No such option"),
    ],
)
def test_usage_errors_exit_with_2(arguments: tuple[str, ...], told: str) -> None:
    code, out, err = run("query", "Where?", *arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert "Traceback" not in err


def test_query_needs_a_question() -> None:
    code, _, err = run("query")
    assert code == 2
    assert "Missing argument 'QUESTION'" in err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PathRAGError("m", hint="h"), 1),
        (ConfigError("m", hint="h"), 2),
        (AuthFailed("m", hint="h"), 3),
        (EmbeddedServerError("m", hint="h"), 4),
        (LoadError("m", hint="h"), 6),
        (PartialError("m", hint="h"), 8),
    ],
)
def test_an_error_is_its_message_its_hint_and_its_code(
    rag: FakeRAG, error: PathRAGError, code: int
) -> None:
    rag.answer = error
    assert run("query", "Where?", "--json") == (code, "", "Error: m\nh\n")


def test_an_interrupt_exits_with_130(rag: FakeRAG) -> None:
    rag.answer = KeyboardInterrupt()
    assert run("query", "Where?") == (130, "", "Interrupted.\n")


def test_what_was_not_foreseen_is_said_in_one_line(rag: FakeRAG) -> None:
    rag.answer = ZeroDivisionError("division by zero")
    code, out, err = run("query", "Where?")
    assert (code, out) == (1, "")
    assert err.splitlines()[0] == "Error: ZeroDivisionError: division by zero"
    assert "Traceback" not in err


def test_a_named_server_that_is_not_there_exits_with_3() -> None:
    code, out, err = run("schema", "show", "--uri", "bolt://127.0.0.1:1")
    assert (code, out) == (ServerUnavailable.exit_code, "")
    assert "127.0.0.1:1" in err


def test_without_any_server_the_command_to_start_one_is_named() -> None:
    code, _, err = run("schema", "show")
    assert code == 3
    assert "Run: pathrag server start" in err


def test_home_outranks_the_server_of_the_environment(
    rag: FakeRAG, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_URI", "bolt://elsewhere:7687")
    monkeypatch.setenv("NEO4J_PASSWORD", "secret")
    run("query", "Where?")
    assert rag.settings is not None
    assert rag.settings.uri == "bolt://elsewhere:7687"
    run("query", "Where?", "--home", "/somewhere")
    assert rag.settings == Settings(home="/somewhere", tenant="")


def test_password_is_asked_for_and_never_an_option(rag: FakeRAG) -> None:
    code, out, err = run(
        "query", "Where?", "--uri", "bolt://x", "--ask-password", "--json", input="secret\n"
    )
    assert code == 0
    assert rag.settings is not None
    assert rag.settings.password == "secret"
    assert json.loads(out)["question"] == "Where?"
    assert "secret" not in out + err
    assert not [o for p in cli.commands["query"].params for o in p.opts if o == "--password"]


def test_json_is_the_result_and_nothing_else(rag: FakeRAG) -> None:
    rag.answer = result(warnings=("Beware.",))
    code, out, err = run("query", "Where?", "--json")
    assert code == 0
    assert json.loads(out) == rag.answer.to_dict()
    assert err == "Warning: Beware.\n"


def test_query_prints_answer_path_source_and_cost(rag: FakeRAG) -> None:
    code, out, err = run("query", "Where?")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "Answer  Kitchen  (confidence 0.75; path 1)",
        "",
        "1  0.750  Milk ←[involve {role: spilled}]— Ev —[takes_place]→ Kitchen",
        "          source: The Adventures of Bob the Cat (bob_03)",
        "",
        "depth 2, 5 round trips, 12 paths, 9 texts scored (3 cached), 0.04 s",
    ]


def test_no_answer_is_said_with_the_next_command(rag: FakeRAG) -> None:
    rag.answer = result(outcome="not_in_graph", answers=(), paths=())
    code, out, _ = run("query", "Where?")
    assert code == 0
    assert out.startswith("No path of tenant default answers this with a confidence of 0.1")
    assert "pathrag explain" in out


def test_explain_says_what_was_cut_where_and_why(rag: FakeRAG) -> None:
    code, out, err = run("explain", "Where?")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "Strategy: both (nodes tell more)" in lines
    assert "Depth 1: 1 kept" in lines
    assert "  cut: 7 ranked below --beam-width" in lines
    assert "  not all relationships read: Milk" in lines
    assert "  kept  0.750  Milk ←[involve {role: spilled}]— Ev —[takes_place]→ Kitchen" in lines
    assert "  cut   0.200  Milk" in lines
    assert "Milk    milk  0.500       0.0300" in lines


@pytest.mark.parametrize(
    ("cut", "told"),
    [
        (
            (
                Cut(1, "beam_width", 7),
                Cut(1, "min_score", 5),
                Cut(1, "top_k", 40),
                Cut(2, "min_score", 7),
            ),
            ["left out: 12 below --min-score, 40 beyond --top-k", ""],
        ),
        ((Cut(2, "time_limit", 3),), ["left out: 3 not scored within --time-limit-s", ""]),
        ((Cut(1, "beam_width", 7),), []),
    ],
)
def test_explain_says_what_was_left_out_at_the_end(
    rag: FakeRAG, cut: tuple[Cut, ...], told: list[str]
) -> None:
    rag.answer = result(cut=cut)
    _, out, _ = run("explain", "Where?")
    _, _, after = out.partition("\nResult\n")
    lines = after.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Answer  "))
    assert lines[:first] == told


def test_explain_says_where_chains_of_several_names_meet(rag: FakeRAG) -> None:
    chains = tuple(Chain(start, (Step("MADE", True),)) for start in "ab")
    text = "a made A. b made A. The answer is A."
    both, one = Pattern(chains, text, "…", {}, total=1200), Pattern(chains[:1], "a.", "…", {}, 1)
    rag.answer = result(patterns=(both, one, replace(both, total=None)))
    _, out, _ = run("explain", "Where?")
    joined = [line for line in out.splitlines() if line.startswith("joined: ")]
    assert joined == [f"joined: {text} 1,200 in the graph", f"joined: {text} not counted"]


def test_explain_as_json_adds_seeds_and_depths(rag: FakeRAG) -> None:
    code, out, _ = run("explain", "Where?", "--json")
    assert code == 0
    told = json.loads(out)
    assert told["seeds"] == [{"id": "milk", "similarity": 0.5, "fused": 0.03}]
    assert [depth["depth"] for depth in told["depths"]] == [1]


def test_explain_as_a_page_is_written_to_a_file(rag: FakeRAG, tmp_path: Path) -> None:
    file = tmp_path / "why.html"
    file.write_text("old")
    assert run("explain", "Where?", "--html", str(file)) == (0, f"Written to {file}.\n", "")
    page = file.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>\n")
    assert "cut: 7 ranked below --beam-width" in page
    code, out, _ = run("explain", "Where?", "--html", "two.html", "--json")
    assert code == 0
    assert [depth["depth"] for depth in json.loads(out)["depths"]] == [1]
    assert Path("two.html").read_text(encoding="utf-8") == page
    assert sorted(found.name for found in tmp_path.iterdir()) == ["two.html", "why.html"]


def test_a_page_is_written_where_its_link_leads(rag: FakeRAG, tmp_path: Path) -> None:
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "link.html").symlink_to("real.html")
    assert run("explain", "Where?", "--html", "link.html")[0] == 0
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("absent/why.html", "absent/why.html cannot be written: there is no folder "),
        ("pipe", "pipe is not a file."),
    ],
)
def test_a_page_that_cannot_be_written_is_refused_before_the_search(
    rag: FakeRAG, file: str, told: str
) -> None:
    os.mkfifo("pipe")
    code, out, err = run("explain", "Where?", "--html", file)
    assert (code, out) == (2, "")
    assert err.startswith(f"Error: {told}")
    assert rag.config is None


def test_a_page_is_whole_or_not_there(
    rag: FakeRAG, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "why.html").write_text("old")
    monkeypatch.setattr("os.replace", fail)
    code, out, err = run("explain", "Where?", "--html", "why.html")
    assert (code, out) == (2, "")
    assert err.startswith("Error: why.html cannot be written: No space left on device.\n")
    assert [found.name for found in tmp_path.iterdir()] == ["why.html"]
    assert (tmp_path / "why.html").read_text() == "old"


def test_server_status_of_a_new_home() -> None:
    code, out, _ = run("server", "status", "--json")
    assert code == 0
    assert json.loads(out)["state"] == "stopped"


def test_server_stop_without_a_server() -> None:
    assert run("server", "stop") == (0, "It was not running.\n", "")


def test_doctor_without_a_server_says_how_to_start_one() -> None:
    code, out, _ = run("doctor", "--json")
    assert code == 1
    told = json.loads(out)
    assert told["healthy"] is False
    checks = {check["name"]: check for check in told["checks"]}
    assert list(checks) == ["java", "jars", "server", "model"]
    assert checks["server"]["todo"] == "Run: pathrag server start"
    assert checks["model"]["state"] == "ok"


def test_load_names_a_file_that_is_not_there() -> None:
    code, _, err = run("load", "nowhere.csv")
    assert code == 2
    assert "'nowhere.csv' does not exist" in err


@pytest.mark.parametrize(
    "given",
    [
        ("--on-error", "skip"),
        ("--batch-size", "10"),
        ("--reject-folder", "rejects"),
        ("--no-resume",),
    ],
)
def test_import_files_take_no_option_of_a_load(tmp_path: Path, given: tuple[str, ...]) -> None:
    (tmp_path / "nodes.csv").write_text("id:ID,name\na,Ann\n")
    code, out, err = run("load", "nodes.csv", "--to-import-csv", "out", *given)
    assert (code, out) == (2, "")
    assert f"leave out {given[0]}." in err
    assert not (tmp_path / "out").exists()


def test_import_files_tell_how_far_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, int, str]] = []

    @contextmanager
    def noting(what: str, *, unit: str = "") -> Iterator[Callable[..., None]]:
        yield lambda done, total=None, detail="": told.append((what, done, detail))

    monkeypatch.setattr(terminal, "progress", noting)
    (tmp_path / "nodes.csv").write_text("id:ID,name\na,Ann\nb,Ben\n")
    code, out, _ = run("load", "nodes.csv", "--to-import-csv", "out")
    assert code == 0
    assert out.startswith("2 nodes and 0 relationships in out.\n")
    assert told == [("Reading", 2, "nodes.csv 2 rows")]


def test_a_command_in_a_message_can_be_copied() -> None:
    words = ["pathrag", "query", "Who is Bob's friend?", "--tenant", "a b", "--home", "/x$y"]
    told = command_line(words)
    assert told == """pathrag query "Who is Bob's friend?" --tenant 'a b' --home '/x$y'"""
    assert shlex.split(told) == words
    odd = ["it's $HOME", '"', "`", "\\", "!"]
    assert shlex.split(command_line(odd)) == odd


def test_what_goes_on_names_the_same_server_and_tenant() -> None:
    assert repeated({"home": "a b", "tenant": "t", "uri": None, "lane": "lts"}) == [
        *("--home", "a b", "--tenant", "t"),
    ]
    given = {"uri": "bolt://x", "username": "ann", "database": "d", "ask_password": True}
    assert repeated(given) == [
        *("--uri", "bolt://x", "--username", "ann", "--database", "d", "--ask-password"),
    ]
    assert repeated({}) == []


def test_a_restored_server_is_started_by_the_command_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pathrag_gds.server.restore", lambda *_, **__: None)
    assert run("server", "restore", "x.dump")[1] == (
        "Restored. Start it with: pathrag server start\n"
    )
    assert run("server", "restore", "x.dump", "--home", "my home")[1] == (
        "Restored. Start it with: pathrag server start --home 'my home'\n"
    )


@pytest.mark.parametrize(
    ("outcome", "advice"),
    [
        ("INCOMPLETE_DATABASE", "up"),
        ("DIFFERENT_CONTENT", "repair --dry-run"),
        ("INCOMPLETE_MIGRATIONS", "repair --dry-run"),
    ],
)
@pytest.mark.parametrize("command", ["status", "validate"])
def test_migrate_names_the_command_that_helps(
    monkeypatch: pytest.MonkeyPatch, command: str, outcome: Outcome, advice: str
) -> None:
    import pathrag_gds.graph.connect
    from pathrag_gds.migrate import runner
    from pathrag_gds.migrate.results import Status, Validation

    monkeypatch.setattr(pathrag_gds.graph.connect, "open_database", lambda _: nullcontext())
    monkeypatch.setattr(runner, "status", lambda *_, **__: Status(outcome, ()))
    monkeypatch.setattr(runner, "validate", lambda *_, **__: Validation(outcome))
    more = ("--home", "my home", "--placeholder", "vector_dimensions=8")
    code, out, _ = run("migrate", command, *more)
    assert code == (0 if command == "status" else 1)
    told = out.splitlines()[-1]
    assert told == (
        f"Run: pathrag migrate {advice} --home 'my home' --placeholder vector_dimensions=8"
    )


def test_clean_asks_first() -> None:
    code, out, err = run("migrate", "clean", input="n\n")
    assert (code, out) == (1, "")
    assert "Forget which migrations were applied?" in err


def test_a_placeholder_is_name_and_value() -> None:
    code, _, err = run("migrate", "up", "--placeholder", "vector_dimensions")
    assert code == 2
    assert "NAME=VALUE" in err


@pytest.mark.parametrize("arguments", [("-vv", "query", "Where?"), ("query", "Where?", "-vv")])
def test_verbose_logs_to_stderr_with_tracebacks(
    rag: FakeRAG, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger("pathrag_gds")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "level", logging.WARNING)
    rag.answer = ConfigError("m")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "Traceback" in err
    assert err.endswith("Error: m\n")
