"""Two tenants with the same ids and names, and everything that can be done with one of them.

What one tenant alone holds carries its name: a word in every description and text, a label, a type
of relationship, a property. So whatever shows the name of the other tenant has leaked.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from cli import cli
from pathrag_gds import PathRAG, PathRAGError
from pathrag_gds.config import Connection
from tests.endpoint import ScriptedEndpoint
from tests.unit.test_imports_indexes import TABLES, nano_folder, write

__all__ = [
    "COMMANDS",
    "METHODS",
    "QUESTION",
    "SAVED",
    "TENANTS",
    "WITHOUT_TENANT",
    "Done",
    "Place",
    "operations",
    "public_methods",
    "tenant_commands",
    "write_files",
]

TENANTS = ("amber", "cobalt")
QUESTION = "Where does Jane live?"
SAVED = "homes"

_PEOPLE = ("Jane", "Paul", "Rosa", "Omar")
_TOWNS = ("Oslo", "Bergen", "Hamar", "Molde")


@dataclass(frozen=True)
class Done:
    """What an operation showed, to whoever asked and to the language model.

    Attributes:
        text: All of it.
        failed: It was refused, which some are where something was not done before.
    """

    text: str
    failed: bool = False


@dataclass(frozen=True)
class Place:
    """Where operations run.

    Attributes:
        rag: One object for both tenants, so that what it keeps is tried, too.
        folder: Holds a folder of files for each tenant.
    """

    rag: PathRAG
    server: Connection
    endpoint: ScriptedEndpoint
    folder: Path

    def files(self, tenant: str) -> Path:
        """Give the folder with the files of a tenant."""
        return self.folder / tenant

    def command(self, tenant: str, *words: str) -> Done:
        """Run a command of the command line for a tenant."""
        where = ["--tenant", tenant, "--uri", self.server.uri, "--username", self.server.username]
        environment = {
            "NEO4J_PASSWORD": self.server.password,
            "PATHRAG_LLM_BASE_URL": self.endpoint.base_url,
            "PATHRAG_LLM_MODEL": "tiny",
        }
        self.endpoint.asked.clear()
        done = CliRunner().invoke(cli, [*words, *where], env=environment)
        shown = done.stdout + done.stderr + self._asked()
        return Done(shown, done.exit_code != 0)

    def method(self, call: Callable[[], Any]) -> Done:
        """Call a method of the library."""
        self.endpoint.asked.clear()
        try:
            return Done(_shown(call()) + self._asked())
        except PathRAGError as error:
            return Done(f"{error.message} {error.hint}" + self._asked(), failed=True)

    def _asked(self) -> str:
        return json.dumps([asked.body for asked in self.endpoint.asked])


def _shown(result: Any) -> str:
    """Show a result as JSON where it has that, and as a program sees it."""
    told = result.to_dict() if hasattr(result, "to_dict") else None
    return json.dumps(told, default=str) + repr(result)


def write_files(folder: Path, tenant: str) -> None:
    """Write the files of a tenant: its graph, its texts, and indexes of other systems."""
    own = f"{tenant}ine"
    folder.mkdir(parents=True)
    nodes = ["id:ID,name,description,secret,:LABEL,chunk_ids:string[]"]
    links = [":START_ID,:END_ID,:TYPE,note"]
    chunks = []
    for number, (person, town) in enumerate(zip(_PEOPLE, _TOWNS, strict=True)):
        for id_, name, label in ((f"p{number}", person, "Person"), (f"t{number}", town, "Town")):
            told = f"{name} is {own}."
            nodes.append(f"{id_},{name},{told},{own},{label};{tenant.title()}Thing,c{number}")
        links.append(f"p{number},t{number},LIVES_IN,{own}")
        links += [f"p{number},p{other},KNOWS,{own}" for other in range(number)]
        links += [f"t{number},t{other},NEAR,{own}" for other in range(number)]
        text = f"{person} lives in {town}, which is {own}."
        chunks.append({"id": f"c{number}", "document": f"Book {own}", "position": 0, "text": text})
    links.append(f"p0,p3,{tenant.upper()}_LINK,{own}")
    (folder / "nodes.csv").write_text("\n".join(nodes) + "\n")
    (folder / "links.csv").write_text("\n".join(links) + "\n")
    (folder / "chunks.jsonl").write_text("".join(json.dumps(chunk) + "\n" for chunk in chunks))
    asked = [
        {"question": f"Where does {person} live?", "answers": [town]}
        for person, town in zip(_PEOPLE, _TOWNS, strict=True)
    ]
    (folder / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    told = json.loads(json.dumps(TABLES).replace("First.", own).replace("Central.", own))
    write(folder / "graphrag", told)
    (folder / "nano").mkdir()
    nano_folder(folder / "nano")


# The command line: by the words of a command, what more is given to it

_Words = Callable[[Path], list[str]]


def _with(*words: str) -> _Words:
    return lambda folder: list(words)


COMMANDS: Mapping[str, _Words] = {
    "ask": _with(QUESTION, "--json"),
    "communities detect": _with("--min-size", "2"),
    "communities report": _with("--extractive"),
    "communities status": _with(),
    "demo": _with(),
    "doctor": _with(),
    "embed": _with(),
    "explain": _with(QUESTION, "--json"),
    "import graphrag": lambda folder: [str(folder / "graphrag")],
    "import lightrag": lambda folder: [str(folder / "nano")],
    "load": lambda folder: [
        str(folder / name) for name in ("nodes.csv", "links.csv", "chunks.jsonl")
    ],
    "migrate baseline": _with("001"),
    "migrate clean": _with(),
    "migrate repair": _with(),
    "migrate status": _with(),
    "migrate unlock": _with(),
    "migrate up": _with(),
    "migrate validate": _with(),
    "patterns": _with(),
    "prompt": _with(QUESTION),
    "query": _with(QUESTION, "--json"),
    "run": _with(SAVED),
    "schema refresh": _with(),
    "schema show": _with(),
    "train": _with("--adapt", "--remove"),
    "tune": lambda folder: [
        *(str(folder / "questions.jsonl"), "--output", str(folder / "tune")),
        *("--trials", "0", "--holdout", "0.5", "--max-depth", "1"),
    ],
}
# The same command in other ways, which show other things.
FURTHER: Mapping[str, tuple[str, list[str]]] = {
    "query for people": ("query", [QUESTION]),
    "query --cypher": ("query", [QUESTION, "--cypher"]),
    "query --save": ("query", [QUESTION, "--save", SAVED, "--replace"]),
    "query by vectors of reports": (
        "query",
        [QUESTION, "--method", "community", "--scorer", "cosine", "--json"],
    ),
    "query by words of reports": (
        "query",
        [QUESTION, "--method", "community", "--scorer", "overlap"],
    ),
    "query by vector": ("query", [QUESTION, "--method", "vector", "--json"]),
    "query by all methods": ("query", [QUESTION, "--method", "hybrid", "--json"]),
    "query by flow": ("query", [QUESTION, "--pruner", "flow:pagerank", "--json"]),
    "ask of reports": ("ask", [QUESTION, "--method", "global"]),
    "ask of communities": ("ask", [QUESTION, "--method", "community", "--json"]),
    "ask of paths and texts": ("ask", [QUESTION, "--method", "hybrid", "--json"]),
    "communities detect by Leiden": ("communities detect", ["--algorithm", "leiden"]),
    "communities report by a model": ("communities report", ["--yes"]),
    "patterns --delete": ("patterns", ["--delete", SAVED]),
    "run of another anchor": ("run", [SAVED, "Paul"]),
}


def tenant_commands() -> dict[str, click.Command]:
    """Give every command that has ``--tenant``, by its words."""

    def walk(group: click.Group, words: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
        for name, command in group.commands.items():
            if isinstance(command, click.Group):
                yield from walk(command, (*words, name))
                # A group may be a command, too.
                if not command.invoke_without_command:
                    continue
            if any("--tenant" in option.opts for option in command.params):
                yield " ".join((*words, name)), command

    return dict(walk(cli, ()))


# The library: public methods of PathRAG

WITHOUT_TENANT: Mapping[str, str] = {
    "connect": "makes the object",
    "from_settings": "makes the object",
    "close": "ends it for all",
    "refresh": "forgets what is known, of all",
}


def _saved(place: Place, tenant: str) -> Any:
    return place.rag.save_pattern(place.rag.search(QUESTION, tenant=tenant), SAVED, replace=True)


METHODS: Mapping[str, Callable[[Place, str], Any]] = {
    "ask": lambda place, tenant: place.rag.ask(QUESTION, tenant=tenant),
    "ask_by": lambda place, tenant: place.rag.ask_by(QUESTION, method="global", tenant=tenant),
    "delete_pattern": lambda place, tenant: place.rag.delete_pattern(SAVED, tenant=tenant),
    "detect_communities": lambda place, tenant: place.rag.detect_communities(tenant=tenant),
    "explain": lambda place, tenant: place.rag.explain(QUESTION, tenant=tenant),
    "patterns": lambda place, tenant: place.rag.patterns(tenant=tenant),
    "prompt": lambda place, tenant: place.rag.prompt(QUESTION, tenant=tenant),
    "prompt_of": lambda place, tenant: place.rag.prompt_of(
        place.rag.search(QUESTION, tenant=tenant)
    ),
    "query": lambda place, tenant: place.rag.query(QUESTION, method="hybrid", tenant=tenant),
    "report_communities": lambda place, tenant: place.rag.report_communities(tenant=tenant),
    "run_pattern": lambda place, tenant: place.rag.run_pattern(SAVED, ["Jane"], tenant=tenant),
    "save_pattern": _saved,
    "search": lambda place, tenant: place.rag.search(QUESTION, tenant=tenant),
}


def public_methods() -> set[str]:
    """Name the public methods of the object that users hold."""
    return {name for name, _ in inspect.getmembers(PathRAG, callable) if not name.startswith("_")}


def operations() -> dict[str, Callable[[Place, str], Done]]:
    """Give all that can be done with a tenant, by name."""

    def command(words: str, more: _Words) -> Callable[[Place, str], Done]:
        return lambda place, tenant: place.command(
            tenant, *words.split(), *more(place.files(tenant))
        )

    def method(call: Callable[[Place, str], Any]) -> Callable[[Place, str], Done]:
        return lambda place, tenant: place.method(lambda: call(place, tenant))

    made = {f"pathrag {words}": command(words, more) for words, more in COMMANDS.items()}
    made |= {f"pathrag {what}": command(w, _with(*more)) for what, (w, more) in FURTHER.items()}
    return made | {f"PathRAG.{name}": method(call) for name, call in METHODS.items()}
