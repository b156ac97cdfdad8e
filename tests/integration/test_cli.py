"""The command line against a real server: fill the graph, ask it, look at it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli import cli
from pathrag_gds.config import Connection
from pathrag_gds.demo import (
    CHUNK_FILES,
    DEFAULT_QUESTION,
    NODE_FILES,
    RELATIONSHIP_FILES,
    questions,
)
from pathrag_gds.errors import ConfigError
from pathrag_gds.graph.database import Database
from pathrag_gds.ingest import load_files
from pathrag_gds.retrieve.pattern import pattern_of, pattern_query
from pathrag_gds.retrieve.saved import save_pattern
from pathrag_gds.serve.demo import choose_tenant
from pathrag_gds.types import Chain, Step
from tests.pasting import pasted
from tests.statements import statement

ROOT = Path(__file__).parents[2]
FILES = [str(path) for path in (*NODE_FILES, *RELATIONSHIP_FILES, *CHUNK_FILES)]
QUICK = ("--max-depth", "2", "--beam-width", "8", "--seed-k", "8")
# What a command prints must not hang on trained weights.
COSINE = (*QUICK, "--reranker", "cosine", "--min-prefix", "0")
MILK = "Where did the milk spilling incident take place?"

Run = Callable[..., Result]


@pytest.fixture
def pathrag(server: Connection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command against the server under test, in an empty folder."""
    (tmp_path / "pathrag.toml").write_text(f"password = {json.dumps(server.password)}\n")
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    where = ["--uri", server.uri, "--username", server.username]
    if server.database:
        where += ["--database", server.database]

    def run(*arguments: str, code: int = 0) -> Result:
        outcome = CliRunner().invoke(cli, [*arguments, *where])
        assert outcome.exit_code == code, outcome.stderr
        return outcome

    return run


def counted(db: Database, tenant: str) -> int:
    query = statement("MATCH (n {tenant: $tenant}) RETURN count(n) AS count", mode="read")
    return int(db.run(query, tenant=tenant)[0]["count"])


def foreign(db: Database, tenant: str) -> None:
    db.run(statement("CREATE (:__Entity__ {tenant: $tenant, id: 'bob'})"), tenant=tenant)


def test_load_embed_and_ask(migrated: Database, pathrag: Run) -> None:
    loaded = json.loads(pathrag("load", *FILES, "--json").stdout)
    assert (loaded["nodes"], loaded["relationships"], loaded["chunks"]) == (104, 165, 32)

    embedded = json.loads(pathrag("embed", "--json").stdout)
    assert (embedded["entities"], embedded["chunks"], embedded["unchanged"]) == (104, 32, 0)

    outcome = pathrag("query", MILK, *COSINE, "--json")
    told = json.loads(outcome.stdout)
    assert outcome.stderr == ""
    assert told["outcome"] == "answered"
    assert "kitchen" in {node["id"] for path in told["paths"] for node in path["nodes"]}
    assert told["stats"]["round_trips"] == told["stats"]["depth"] + 4
    assert told["config"]["beam_width"] == 8

    again = pathrag("embed").stdout
    assert again.startswith("0 entities and 0 chunks in ")
    assert "136 unchanged" in again


def test_a_bad_row_is_named_and_nothing_is_embedded(
    migrated: Database, pathrag: Run, tmp_path: Path
) -> None:
    file = tmp_path / "nodes.csv"
    file.write_text("id:ID,name,age:int\na,Ann,4\nb,Ben,four\n")
    outcome = pathrag("load", str(file), code=6)
    assert outcome.stdout == ""
    assert outcome.stderr.startswith(f"Error: {file}:3, column 'age:int': 'four' is not")
    assert counted(migrated, "default") == 0


def test_skipped_rows_end_with_the_code_of_partial_work(
    migrated: Database, pathrag: Run, tmp_path: Path
) -> None:
    file = tmp_path / "nodes.csv"
    file.write_text("id:ID,name,age:int\na,Ann,4\nb,Ben,four\n")
    outcome = pathrag("load", str(file), "--on-error", "skip", "--json", code=8)
    assert json.loads(outcome.stdout)["nodes"] == 1
    assert "1 rows were loaded, 1 were not" in outcome.stderr


def test_piped_output_has_no_colour_and_fits_80_columns(demo: Database, pathrag: Run) -> None:
    out = pathrag("query", MILK, *COSINE).stdout
    assert "\x1b" not in out
    lines = out.splitlines()
    assert lines[0].startswith("Answer  ")
    assert [line[0] for line in lines if line[:1].isdigit()] == ["1", "2", "3", "4", "5"]
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("          source: ") for line in lines) == 5
    assert lines[-1].startswith("depth 2, 6 round trips, ")


def test_explain_tells_seeds_and_every_depth(demo: Database, pathrag: Run) -> None:
    told = json.loads(pathrag("explain", MILK, *COSINE, "--json").stdout)
    assert len(told["seeds"]) == 8
    assert [depth["depth"] for depth in told["depths"]] == [0, 1, 2]
    assert sum(cut["count"] for cut in told["cut"]) > 0
    out = pathrag("explain", MILK, *COSINE).stdout
    assert out.count("\nDepth ") == 3
    assert "ranked below --beam-width" in out
    assert "Seeds: entities that its words and meaning lead to (5 of 8)" in out


def test_filters_and_tenants_bind(demo: Database, pathrag: Run) -> None:
    wanted = ("--relationship-filter", '{"role": "spilled"}')
    told = json.loads(pathrag("query", MILK, *COSINE, *wanted, "--json").stdout)
    hops = [hop for path in told["paths"] for hop in path["hops"]]
    assert {hop["properties"]["role"] for hop in hops} == {"spilled"}
    outcome = pathrag("query", MILK, *COSINE, "--tenant", "nobody", "--json")
    assert json.loads(outcome.stdout)["paths"] == []
    assert "Tenant 'nobody' has no entities" in outcome.stderr


def test_the_prompt_holds_the_paths_of_the_query(demo: Database, pathrag: Run) -> None:
    asked = json.loads(pathrag("query", MILK, *COSINE, "--json").stdout)
    outcome = pathrag("prompt", MILK, *COSINE)
    instructions, question, passages, paths = outcome.stdout.rstrip("\n").split("\n\n")
    assert instructions.endswith("\nAnswer in the language of the question.")
    assert question == f"Question: {MILK}"
    assert [line[:4] for line in paths.splitlines()[1:-1]] == [f"[{n}] " for n in (5, 4, 3, 2, 1)]
    best = asked["paths"][0]
    assert all(node["name"] in paths.splitlines()[-2] for node in best["nodes"])
    told = json.loads(pathrag("prompt", MILK, *COSINE, "--json").stdout)
    assert f"{told['system']}\n\n{told['user']}\n" == outcome.stdout
    assert outcome.stderr == (
        f"{told['tokens']:,} tokens: 5 paths and {len(told['chunks'])} passages "
        f"({told['chunk_tokens']} of them).\n"
    )
    assert told["tokens"] - told["chunk_tokens"] < told["budget"] == 4000
    # What the best path was read from stands last, next to the paths.
    last = told["chunks"][-1]
    assert last["paths"][0] == 1
    query = statement("MATCH (c:Chunk {tenant: $tenant, id: $id}) RETURN c.text AS text")
    (row,) = demo.run(query, tenant="default", id=last["id"])
    assert passages.splitlines()[-2].partition(") ")[2].split() == row["text"].split()


def test_the_prompt_keeps_to_its_budgets(demo: Database, pathrag: Run) -> None:
    small = ("--budget", "330", "--chunk-budget", "60", "--order", "descending")
    outcome = pathrag("prompt", MILK, *COSINE, *small, "--json")
    told = json.loads(outcome.stdout)
    assert outcome.stderr == ""
    assert told["paths"][0]["number"] == 1
    assert 0 < len(told["paths"]) < 5
    assert told["tokens"] - told["chunk_tokens"] <= 330
    assert told["chunk_tokens"] <= 60
    assert {left["kind"] for left in told["left_out"]} == {"path", "chunk"}
    refused = pathrag("prompt", MILK, *COSINE, "--budget", "20", code=2)
    assert refused.stdout == ""
    assert refused.stderr.splitlines()[-1].startswith("Give --budget ")
    nobody = pathrag("prompt", MILK, *COSINE, "--tenant", "nobody")
    assert "(none was found)" in nobody.stdout
    assert "Tenant 'nobody' has no entities" in nobody.stderr


def test_the_prompt_of_the_readme(demo: Database, pathrag: Run) -> None:
    (line,) = re.findall(r"(?m)^pathrag (prompt .*)", (ROOT / "README.md").read_text("utf-8"))
    outcome = pathrag(*shlex.split(line), *COSINE)
    assert outcome.stdout.endswith("\n</paths>\n")
    assert "\n[1] " in outcome.stdout
    summary = re.match(
        r"([\d,]+) tokens: \d paths? and \d passages? \((\d+) of them\)\.\n", outcome.stderr
    )
    assert summary
    tokens, chunk_tokens = (int(number.replace(",", "")) for number in summary.groups())
    assert chunk_tokens <= 300
    assert tokens - chunk_tokens <= 900


def test_schema_shows_the_types_of_the_story(demo: Database, pathrag: Run) -> None:
    told = json.loads(pathrag("schema", "show", "--json").stdout)
    assert {t["name"]: t["count"] for t in told["relation_types"]}["takes_place"] == 23
    assert json.loads(pathrag("schema", "refresh", "--json").stdout) == told
    assert "takes_place" in pathrag("schema", "show").stdout


def test_doctor_is_content_with_the_demo(demo: Database, pathrag: Run) -> None:
    outcome = pathrag("doctor", "--json")
    told = json.loads(outcome.stdout)
    assert told["healthy"] is True
    assert [(c["name"], c["state"]) for c in told["checks"]] == [
        ("neo4j", "ok"),
        ("gds", "ok"),
        ("projections", "ok"),
        ("migrations", "ok"),
        ("model", "ok"),
        ("reranker", "ok"),
        ("index chunk_text", "ok"),
        ("index entity_name_key", "ok"),
        ("index entity_names", "ok"),
        ("index entity_text", "ok"),
        ("vectors of entities", "ok"),
        ("vectors of chunks", "ok"),
        ("tenant default", "ok"),
        ("ontology", "ok"),
    ]
    assert told["checks"][-1]["found"] == "11 relationship types recorded"
    vectors = next(c for c in told["checks"] if c["name"] == "vectors of entities")
    assert vectors["found"].startswith("entity_embedding ONLINE, dimension 384, all-MiniLM-L6-v2 ")


def test_doctor_sees_types_that_nobody_recorded(migrated: Database, pathrag: Run) -> None:
    load_files(migrated, [*CHUNK_FILES, *NODE_FILES, *RELATIONSHIP_FILES])
    add = (
        "MATCH (a:__Entity__ {tenant: $tenant, id: 'bob'}) "
        "MATCH (b:__Entity__ {tenant: $tenant, id: 'joy'}) "
        "CREATE (a)-[:`is `` fond`]->(b) CREATE (a)-[:SIMILAR]->(b) "
        "CREATE (:Thing)-[:ELSEWHERE]->(:Thing) CREATE (:__Entity__ {name: 'No tenant'})"
    )
    migrated.run(statement(add), tenant="default")
    migrated.run(
        statement(
            "CREATE (:__Entity__ {tenant: $tenant, id: 'a'})-[:owns]->"
            "(:__Entity__ {tenant: $tenant, id: 'b'})"
        ),
        tenant="my own",
    )
    checks = {
        c["name"]: c for c in json.loads(pathrag("doctor", "--json", code=1).stdout)["checks"]
    }
    assert checks["ontology"]["state"] == "todo"
    assert checks["ontology"]["found"] == (
        "not recorded, so searches may miss them: is ` fond; "
        "nothing recorded for tenant my own, so searches start slowly"
    )
    first, second = checks["ontology"]["todo"].splitlines()
    assert first.startswith("Run: pathrag schema refresh --tenant default --uri bolt://")
    assert second.startswith("Run: pathrag schema refresh --tenant 'my own' --uri bolt://")
    stray = checks["without tenant"]
    assert stray["state"] == "note"
    assert stray["found"].startswith("1 entities and 0 chunks have no tenant")

    pathrag("schema", "refresh", "--tenant", "default")
    pathrag("schema", "refresh", "--tenant", "my own")
    checks = {
        c["name"]: c for c in json.loads(pathrag("doctor", "--json", code=1).stdout)["checks"]
    }
    assert checks["ontology"]["state"] == "ok"


def test_doctor_says_what_an_empty_database_needs(database: Database, pathrag: Run) -> None:
    told = json.loads(pathrag("doctor", "--json", code=1).stdout)
    todo = {c["name"]: c["todo"] for c in told["checks"] if c["state"] != "ok"}
    where = f"--uri {database.connection.uri} --username {database.connection.username}"
    if database.connection.database:
        where += f" --database {database.connection.database}"
    assert todo["migrations"] == f"Run: pathrag migrate up {where}"
    assert todo["index entity_text"] == f"Run: pathrag migrate up {where}"
    assert todo["vectors of entities"] == f"Run: pathrag embed {where}"
    assert todo["tenants"] == f"Run: pathrag demo {where}, or pathrag load FILES {where}"


def test_doctor_sees_what_is_not_embedded_and_a_lost_index(
    migrated: Database, pathrag: Run
) -> None:
    foreign(migrated, "mine")
    migrated.run(statement("DROP INDEX entity_text", mode="schema"))
    told = json.loads(pathrag("doctor", "--json", code=1).stdout)
    todo = {
        c["name"]: (c["state"], c["todo"].partition(" --uri")[0])
        for c in told["checks"]
        if c["state"] != "ok"
    }
    assert todo["tenant mine"] == ("todo", "Run: pathrag embed --tenant mine")
    assert todo["index entity_text"] == ("failed", "Run: pathrag migrate up")
    pathrag("migrate", "up")
    told = json.loads(pathrag("doctor", "--json", code=1).stdout)
    assert "index entity_text" not in {c["name"] for c in told["checks"] if c["state"] != "ok"}


def test_migrate_from_nothing(database: Database, pathrag: Run) -> None:
    before = json.loads(pathrag("migrate", "status", "--json").stdout)
    assert before["version"] == ""
    assert {m["state"] for m in before["migrations"]} == {"pending"}
    pathrag("migrate", "validate", code=1)

    plan = json.loads(pathrag("migrate", "up", "--dry-run", "--json").stdout)
    assert plan["dry_run"] is True
    assert json.loads(pathrag("migrate", "status", "--json").stdout) == before

    done = pathrag("migrate", "up")
    assert "Applying V001__create_constraints.cypher" in done.stderr
    count = len(before["migrations"])
    newest = before["migrations"][-1]["version"]
    assert done.stdout == f"{count} applied; the schema is at version {newest}.\n"
    assert pathrag("migrate", "validate").stdout == "VALID\n"
    assert pathrag("migrate", "up").stdout.startswith("0 applied")
    assert pathrag("migrate", "repair", "--dry-run").stdout.startswith("0 records changed")
    assert pathrag("migrate", "unlock").stdout == "Not locked.\n"
    assert "The schema is current" in pathrag("migrate", "status").stdout

    cleaned = pathrag("migrate", "clean", "--yes", "--json")
    assert json.loads(cleaned.stdout)["records"] == count
    recorded = pathrag("migrate", "baseline", "latest", "--json")
    assert len(json.loads(recorded.stdout)["recorded"]) == count


def test_another_dimension_is_a_placeholder(database: Database, pathrag: Run) -> None:
    done = json.loads(
        pathrag("migrate", "up", "--placeholder", "vector_dimensions=8", "--json").stdout
    )
    assert done["placeholders"]["vector_dimensions"] == "8"
    query = statement(
        "SHOW INDEXES YIELD name, options WHERE name = 'entity_embedding' "
        "RETURN options.indexConfig['vector.dimensions'] AS dimensions",
        mode="read",
    )
    assert database.run(query) == [{"dimensions": 8}]


def test_demo_from_nothing_and_again(
    database: Database, pathrag: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:1")
    told = json.loads(pathrag("demo", "--json").stdout)
    assert told["tenant"] == "default"
    assert [step["name"] for step in told["steps"]] == ["migrate", "load", "embed", "search"]
    result = told["result"]
    assert result["question"] == DEFAULT_QUESTION
    assert result["answers"][0]["id"] == "whiskerville"
    assert told["next"][0].startswith('pathrag query "Who are Bob\'s friends?" --uri bolt://')
    nodes = counted(database, "default")

    monkeypatch.setenv("PATHRAG_RERANKER", "cosine")
    again = pathrag("demo", "Who is Jane?").stdout
    assert counted(database, "default") == nodes
    assert "is in tenant default already, with its vectors" in again
    assert "Answer  description of Jane: A girl who collects feathers." in again


def test_demo_leaves_other_data_alone(migrated: Database, pathrag: Run) -> None:
    foreign(migrated, "default")
    told = json.loads(pathrag("demo", "Who is Jane?", "--json").stdout)
    assert told["tenant"] == told["result"]["tenant"] == "demo"
    assert "--tenant demo" in told["next"][0]
    # The ontology of the tenant is not written either: nothing but the node is there.
    assert counted(migrated, "default") == 1


ADDITIONS = {
    "an entity": "CREATE (:__Entity__ {tenant: $tenant, id: 'x'})",
    "a chunk": "CREATE (:Chunk {tenant: $tenant, id: 'x'})",
    "a document": "CREATE (:Document {tenant: $tenant, id: 'x'})",
    "a relationship": "MATCH (a:__Entity__ {tenant: $tenant, id: 'bob'}) "
    "MATCH (b:__Entity__ {tenant: $tenant, id: 'joy'}) CREATE (a)-[:KNOWS]->(b)",
}


@pytest.mark.parametrize("addition", ADDITIONS)
def test_demo_leaves_a_tenant_alone_that_data_were_added_to(
    migrated: Database, addition: str
) -> None:
    load_files(migrated, [*CHUNK_FILES, *NODE_FILES, *RELATIONSHIP_FILES])
    assert choose_tenant(migrated, "") == "default"
    migrated.run(statement(ADDITIONS[addition]), tenant="default")
    assert choose_tenant(migrated, "") == "demo"
    with pytest.raises(ConfigError, match="Tenant 'default' of this database holds other data"):
        choose_tenant(migrated, "default")


def test_demo_after_a_load_into_its_tenant_goes_elsewhere(
    database: Database, pathrag: Run, tmp_path: Path
) -> None:
    pathrag("demo")
    mine = tmp_path / "mine.csv"
    mine.write_text("id:ID,name,description\nbob,Robert,Mine.\nann,Ann,\n")
    pathrag("load", str(mine))
    told = json.loads(pathrag("demo", "--json").stdout)
    assert told["tenant"] == "demo"
    query = statement(
        "MATCH (e:__Entity__ {tenant: 'default', id: 'bob'}) RETURN e.name AS name", mode="read"
    )
    assert database.run(query) == [{"name": "Robert"}]
    assert counted(database, "demo") > 0


def test_demo_goes_on_with_a_load_of_its_own_that_was_interrupted(
    migrated: Database, pathrag: Run
) -> None:
    load_files(migrated, [*CHUNK_FILES, *NODE_FILES])
    told = json.loads(pathrag("demo", "Who is Jane?", "--json").stdout)
    assert told["tenant"] == "default"
    steps = {step["name"]: step["detail"] for step in told["steps"]}
    assert steps["load"].endswith("165 relationships, 32 chunks into tenant default")


def test_demo_refuses_where_everything_is_taken(migrated: Database, pathrag: Run) -> None:
    for tenant in ("default", "demo", "mine"):
        foreign(migrated, tenant)
    outcome = pathrag("demo", code=2)
    assert outcome.stdout == ""
    assert "Tenant 'default' and 'demo' of this database hold other data" in outcome.stderr
    outcome = pathrag("demo", "--tenant", "mine", code=2)
    assert "Tenant 'mine' of this database holds other data" in outcome.stderr
    assert [counted(migrated, tenant) for tenant in ("default", "demo", "mine")] == [1, 1, 1]


def test_same_json_whatever_the_hash_seed(demo: Database, server: Connection) -> None:
    told: list[dict[str, Any]] = []
    for seed in ("1", "2"):
        environment = os.environ | {
            "PYTHONHASHSEED": seed,
            "NEO4J_URI": server.uri,
            "NEO4J_USERNAME": server.username,
            "NEO4J_PASSWORD": server.password,
        }
        done = subprocess.run(
            [sys.executable, str(ROOT / "cli.py"), "query", MILK, *QUICK, "--json"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        told.append(json.loads(done.stdout))
        assert told[-1]["stats"].pop("millis")["total"] > 0
    assert json.dumps(told[0]) == json.dumps(told[1])


def test_a_saved_pattern_is_listed_run_and_deleted(demo: Database, pathrag: Run) -> None:
    steps = (Step("involve", False, "event"), Step("takes_place", True))
    made = pattern_of([Chain("milk", steps)], "milk …", tenant="default", revisit="node")
    assert "(none; save one with" in pathrag("patterns").stdout
    save_pattern(demo, "places", made)
    try:
        assert re.search(r"(?m)^places +milk +milk … +\d{4}-", pathrag("patterns").stdout)
        assert json.loads(pathrag("patterns", "--tenant", "other", "--json").stdout) == []
        (told,) = json.loads(pathrag("patterns", "--json").stdout)
        assert (told["cypher"], told["anchors"]) == (made.cypher, ["milk"])

        expected = {row["id"] for row in demo.run(pattern_query(made), **made.parameters)}
        found = json.loads(pathrag("run", "places", "--json").stdout)
        assert {answer["id"] for answer in found["answers"]} == expected
        assert "kitchen" in expected
        shown = pathrag("run", "places", "--anchor", "MILK").stdout
        assert f"{len(expected)} answer" in shown
        assert re.search(r"(?m)^Kitchen +kitchen$", shown)

        nothing = pathrag("run", "places", "--anchor", "Nobody at all", code=2)
        assert "has no entity called 'Nobody at all'" in nothing.stderr
        strange = pathrag("run", "places", "--tenant", "other", code=2)
        assert "Tenant other has no pattern 'places'" in strange.stderr
    finally:
        pathrag("patterns", "--delete", "places")
    assert json.loads(pathrag("patterns", "--json").stdout) == []
    assert "has no pattern" in pathrag("patterns", "--delete", "places", code=2).stderr


# No weights: ten questions whose answers are found by chains, whatever ranks them.
TEN = [item.question for item in questions()]
CHAINS = (
    "--strategy",
    "chains",
    "--reranker",
    "cosine",
    "--min-prefix",
    "0",
    "--min-score",
    "0",
    "--intent",
    "off",
)


@pytest.mark.parametrize("question", TEN)
def test_pasted_cypher_returns_the_answers(demo: Database, pathrag: Run, question: str) -> None:
    told = json.loads(pathrag("query", question, *CHAINS, "--json").stdout)
    printed = pathrag("query", question, *CHAINS, "--cypher").stdout
    blocks = printed.rstrip("\n").split("\n\n")
    shown = {a["id"]: a["pattern"] for a in told["answers"] if a["pattern"] is not None}
    answering = list(dict.fromkeys(shown.values()))
    assert len(blocks) == len(answering) > 0

    returned = {
        number: {row["id"] for row in pasted(demo, block)}
        for number, block in zip(answering, blocks, strict=True)
    }
    assert set().union(*returned.values()) == set(shown)
    for number, found in returned.items():
        assert told["patterns"][number]["total"] == len(found)
        assert {id for id, pattern in shown.items() if pattern == number} <= found
