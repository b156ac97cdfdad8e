"""The README and the messages name only commands, options, files and headings that exist."""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path

import click
import pytest

from cli import cli
from pathrag_gds.config import PRESETS, SearchConfig

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?ms)^```[a-z]*\n(.*?)^```", README)
# The one command that runs every test, and what it needs installed; .ci/run uses the same.
TEST_COMMANDS = ('pip install -e ".[test]"', "pytest")


def shell_lines() -> list[str]:
    """Give the lines of the code blocks that begin with a command, continued ones joined."""
    lines = "\n".join(BLOCKS).replace("\\\n", " ").splitlines()
    return [re.sub(r"^\$ ", "", line.strip()) for line in lines]


def shown_commands() -> list[str]:
    inline = re.findall(r"`(pathrag [^`]+)`", re.sub(r"(?ms)^```.*?^```", "", README))
    lines = [line for line in shell_lines() if re.match(r"(?:[A-Z_]+=\S+ )*pathrag\b", line)]
    commands = [part for line in lines for part in re.split(r"\s(?:\||&&|;)\s", line)]
    return [c for c in [*commands, *inline] if "pathrag" in c.split()]


def resolve(words: list[str]) -> tuple[click.Command, list[str]]:
    """Follow words down the command tree; give the command and the words that are left."""
    command: click.Command = cli
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        with click.Context(command, help_option_names=["-h", "--help"]) as context:
            found = command.get_command(context, rest[0])
        assert found is not None, f"there is no command {' '.join(words)!r}"
        command, rest = found, rest[1:]
    return command, rest


def options_of(command: click.Command) -> set[str]:
    with click.Context(command, help_option_names=["-h", "--help"]) as context:
        return {name for p in command.get_params(context) for name in (*p.opts, *p.secondary_opts)}


def check(words: list[str]) -> click.Command:
    command, rest = resolve(words)
    known = options_of(command)
    for word in rest:
        name = word.partition("=")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", name):
            assert name in known, f"{' '.join(words)!r} has no option {name}"
    return command


def walk(command: click.Command, path: str) -> list[tuple[str, click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        with click.Context(command, help_option_names=["-h", "--help"]) as context:
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                assert child is not None
                found += walk(child, f"{path} {name}")
    return found


TREE = walk(cli, "pathrag")


@pytest.mark.parametrize(("path", "command"), TREE, ids=[path for path, _ in TREE])
def test_every_command_and_option_has_help(path: str, command: click.Command) -> None:
    assert command.help, path
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path} {parameter.opts[0]}"


@pytest.mark.parametrize("line", sorted(set(shown_commands())))
def test_commands_of_the_readme_exist(line: str) -> None:
    words = shlex.split(line, comments=True)
    words = words[words.index("pathrag") + 1 :]
    command = check(words)
    assert command.help


def test_the_readme_shows_the_main_commands() -> None:
    shown = {line.split("pathrag ", 1)[1].split()[0] for line in shown_commands()}
    assert {"demo", "query", "load", "server"} <= shown


@pytest.mark.parametrize("command", TEST_COMMANDS)
def test_readme_and_ci_run_the_tests_with_the_same_command(command: str) -> None:
    assert command in shell_lines()
    assert re.search(rf"(?m)^\s*{re.escape(command)}(?:\s|$)", CI)


@pytest.mark.parametrize("name", ["fast", "balanced", "thorough"])
def test_the_readme_says_what_a_preset_changes(name: str) -> None:
    row = re.search(rf"(?m)^\| `{name}` \| (.+?) \|", README)
    assert row is not None
    told = re.findall(r"--([a-z-]+) ([\d.]+)", row[1])
    changes = {option.replace("-", "_"): json.loads(value) for option, value in told}
    assert SearchConfig(**changes) == PRESETS[name]


def test_links_lead_somewhere() -> None:
    text = re.sub(r"(?ms)^```.*?^```", "", README)
    headings = {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in re.findall(r"(?m)^#+ (.+)$", text)
    }
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in headings, f"no heading {target}"
        elif "://" not in target:
            file, _, anchor = target.partition("#")
            assert (ROOT / file).exists(), f"no file {target}"
            assert not anchor or file.endswith(".md")


def texts() -> list[tuple[str, str]]:
    """Give every text in the program, and where it stands."""
    found = []
    for path in [ROOT / "cli.py", *sorted((ROOT / "pathrag_gds").rglob("*.py"))]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append((node.value, f"{path.name}:{node.lineno}"))
    return found


def mentioned() -> dict[str, str]:
    """Give every command that a text of the program names, with where it stands."""
    pattern = re.compile(r"\bpathrag((?: --?[a-z-]+| [a-z-]+)+)")
    return {
        words.strip(): place for text, place in reversed(texts()) for words in pattern.findall(text)
    }


def test_options_that_messages_advise_exist() -> None:
    known = {option for _, command in TREE for option in options_of(command)}
    advised = {
        option: place
        for text, place in texts()
        for option in re.findall(
            r"\b(?:[Ww]ith|[Uu]se|[Gg]ive|[Aa]dd|or|by) (--[a-z][a-z-]+)", text
        )
    }
    assert "--home" in advised
    assert {option: place for option, place in advised.items() if option not in known} == {}


# English sentences that begin like a command.
PROSE = frozenset({"has no phase"})


@pytest.mark.parametrize(("words", "place"), sorted(mentioned().items()), ids=sorted(mentioned()))
def test_commands_in_messages_exist(words: str, place: str) -> None:
    if words in PROSE:
        return
    names = [w for w in words.split() if w]
    command, rest = resolve_prefix(names)
    assert command is not cli or rest[0].startswith("-"), f"{place}: no command {words!r}"
    known = options_of(command)
    for word in rest:
        if word.startswith("-") and word != "-vv":
            assert word in known, f"{place}: {words!r}: no option {word}"


def resolve_prefix(words: list[str]) -> tuple[click.Command, list[str]]:
    """Follow words down the tree as far as they are commands; ordinary words may come after."""
    command: click.Command = cli
    rest = list(words)
    while isinstance(command, click.Group) and rest:
        with click.Context(command, help_option_names=["-h", "--help"]) as context:
            found = command.get_command(context, rest[0])
        if found is None:
            break
        command, rest = found, rest[1:]
    return command, rest
