"""Communities on a real server: found, nested, repeated, replaced at once, apart by tenant."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

import networkx
import pytest
from click.testing import CliRunner

from cli import cli
from pathrag_gds.communities import Detection, detect_communities
from pathrag_gds.communities.detect import read_links
from pathrag_gds.communities.store import RunWriter, live_run
from pathrag_gds.errors import ConfigError, DatabaseError
from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import load
from pathrag_gds.types import Entity
from tests.statements import statement

pytestmark = pytest.mark.integration

Link = tuple[str, str] | tuple[str, str, Any]

MEMBERS = statement(
    "MATCH (e:__Entity__ {tenant: $tenant})-[:IN_COMMUNITY]->(c:__Community__) "
    "RETURN c.id AS community, c.level AS level, c.tenant AS tenant, c.run AS run, "
    "       c.parent_id AS parent, c.size AS size, collect(e.id) AS members ORDER BY community",
    "read",
)
PARENTS = statement(
    "MATCH (c:__Community__ {tenant: $tenant})-[:PARENT_COMMUNITY]->(p:__Community__) "
    "RETURN c.id AS child, p.id AS parent ORDER BY child",
    "read",
)
COUNTS = statement(
    "OPTIONAL MATCH (c:__Community__ {tenant: $tenant}) WITH count(c) AS communities "
    "OPTIONAL MATCH (r:__CommunityRun__ {tenant: $tenant}) "
    "RETURN communities, count(r) AS runs",
    "read",
)
GRAPHS = statement("CALL gds.graph.list() YIELD graphName RETURN graphName AS name", "read")


def fill(db: Database, tenant: str, links: Iterable[Link], also: Iterable[str] = ()) -> None:
    """Write entities and relationships of type LINKS; a third value is the property weight."""
    links = list(links)
    ids = dict.fromkeys([end for link in links for end in link[:2]] + list(also))
    nodes = [{"id": i, "key": i, "labels": [], "properties": {"name": i}} for i in ids]
    db.run(load("ingest/merge_nodes"), tenant=tenant, rows=nodes)
    rows = [
        {
            "source": link[0],
            "target": link[1],
            "type": "LINKS",
            "key": str(number),
            "properties": {"weight": link[2]} if len(link) == 3 else {},
        }
        for number, link in enumerate(links)
    ]
    db.run(load("ingest/merge_relationships"), tenant=tenant, rows=rows)


def cliques(count: int, size: int, prefix: str = "") -> list[tuple[str, str]]:
    """Make cliques in a ring, one link from each to the next: k0n0, k0n1, …"""
    groups = [[f"{prefix}k{c}n{n}" for n in range(size)] for c in range(count)]
    within = [pair for group in groups for pair in itertools.combinations(group, 2)]
    return within + [(groups[c][0], groups[(c + 1) % count][1]) for c in range(count)]


def members(db: Database, tenant: str) -> dict[str, list[str]]:
    return {
        row["community"].partition(".")[2]: sorted(row["members"])
        for row in db.run(MEMBERS, tenant=tenant)
    }


def groups(db: Database, tenant: str, level: int = 0) -> list[list[str]]:
    found = [m for id_, m in members(db, tenant).items() if id_.startswith(f"{level}.")]
    return sorted(found)


def counts(db: Database, tenant: str) -> tuple[int, int]:
    row = db.run(COUNTS, tenant=tenant)[0]
    return row["communities"], row["runs"]


@pytest.mark.parametrize("algorithm", ["louvain", "leiden"])
def test_cliques_are_the_communities(migrated: Database, algorithm: Any) -> None:
    fill(migrated, "t", cliques(4, 5))
    found = detect_communities(migrated, tenant="t", algorithm=algorithm)
    assert groups(migrated, "t") == [[f"k{c}n{n}" for n in range(5)] for c in range(4)]
    assert (found.entities, found.relationships, found.unplaced) == (20, 44, 0)
    # Each holds 10 of 44 links and a quarter of the ends: 4 · (10/44 − 1/16).
    assert found.levels[0].modularity == round(4 * (10 / 44 - 1 / 16), 6)
    assert (found.levels[0].largest, found.levels[0].disconnected) == (5, 0)
    run = live_run(migrated, "t")
    assert run is not None
    assert (run["id"], run["source"], run["entities"]) == (found.run, algorithm, 20)
    assert json.loads(run["options"])["min_size"] == 3
    assert [row["name"] for row in migrated.run(GRAPHS) if "communities/" in row["name"]] == []


def check_tree(db: Database, tenant: str) -> None:
    """Check that every community lies within its parent, one level up, and is linked to it."""
    rows = {row["community"]: row for row in db.run(MEMBERS, tenant=tenant)}
    assert {row["tenant"] for row in rows.values()} == {tenant}
    for row in rows.values():
        assert row["size"] == len(row["members"])
        if row["level"] == 0:
            assert row["parent"] is None
        else:
            parent = rows[row["parent"]]
            assert parent["level"] == row["level"] - 1
            assert set(row["members"]) < set(parent["members"])
    linked = {row["child"]: row["parent"] for row in db.run(PARENTS, tenant=tenant)}
    assert linked == {id_: row["parent"] for id_, row in rows.items() if row["parent"]}


@pytest.mark.parametrize(("algorithm", "seed"), [("louvain", None), ("leiden", 7)])
def test_hierarchy_of_the_demo_is_sound_and_repeated(
    demo: Database, algorithm: Any, seed: int | None
) -> None:
    first = detect_communities(demo, algorithm=algorithm, seed=seed)
    check_tree(demo, "default")
    found = members(demo, "default")
    assert first.entities == 104
    assert len(first.levels) > 1
    assert first.communities == len(found)
    assert [level.communities for level in first.levels] == [
        sum(id_.startswith(f"{level.level}.") for id_ in found) for level in first.levels
    ]
    if algorithm == "leiden":
        assert [level.disconnected for level in first.levels] == [0] * len(first.levels)
    again = detect_communities(demo, algorithm=algorithm, seed=seed)
    assert members(demo, "default") == found
    assert again.levels == first.levels
    assert int(again.run) == int(first.run) + 1


@pytest.mark.parametrize("algorithm", ["louvain", "leiden"])
def test_order_of_loading_does_not_matter(migrated: Database, algorithm: Any) -> None:
    links = list(networkx.karate_club_graph().edges())
    named: Sequence[tuple[str, str]] = [(f"m{a:02}", f"m{b:02}") for a, b in links]
    fill(migrated, "one", named)
    shuffled = [(b, a) for a, b in named]
    random.Random(5).shuffle(shuffled)
    fill(migrated, "two", shuffled)
    first = detect_communities(migrated, tenant="one", algorithm=algorithm)
    second = detect_communities(migrated, tenant="two", algorithm=algorithm)
    assert members(migrated, "one") == members(migrated, "two")
    assert first.levels == second.levels


def test_as_good_as_networkx_and_igraph(demo: Database) -> None:
    import igraph

    links = read_links(demo, "default")
    pairs = [(a, b, w) for a, ends in links.items() for b, w in ends.items() if a < b]
    graph = networkx.Graph()
    graph.add_nodes_from(links)
    graph.add_weighted_edges_from(pairs)
    theirs = [
        networkx.community.modularity(
            graph, networkx.community.louvain_communities(graph, seed=seed)
        )
        for seed in range(5)
    ]
    other = igraph.Graph.TupleList(pairs, weights=True)
    leiden = other.community_leiden(
        objective_function="modularity", weights="weight", n_iterations=-1
    )
    for algorithm, best in (("louvain", max(theirs)), ("leiden", leiden.modularity)):
        found = detect_communities(demo, algorithm=algorithm)  # type: ignore[arg-type]
        assert found.levels[0].modularity > best - 0.03, algorithm
    # Our figure is theirs for the same communities, once all entities are in one.
    detect_communities(demo, min_size=1)
    run = live_run(demo, "default")
    assert run is not None
    same = [set(group) for group in groups(demo, "default")]
    assert run["modularity"][0] == pytest.approx(
        networkx.community.modularity(graph, same), abs=1e-6
    )


def test_resolution_of_leiden(migrated: Database) -> None:
    fill(migrated, "t", networkx_names(networkx.karate_club_graph().edges()))
    coarse = detect_communities(migrated, tenant="t", algorithm="leiden", gamma=0.3)
    fine = detect_communities(migrated, tenant="t", algorithm="leiden", gamma=2.0, min_size=1)
    assert coarse.levels[0].communities < fine.levels[0].communities
    assert (fine.gamma, fine.seed) == (2.0, 0)


def networkx_names(edges: Iterable[tuple[int, int]]) -> list[tuple[str, str]]:
    return [(f"m{a:02}", f"m{b:02}") for a, b in edges]


def test_weights_decide(migrated: Database) -> None:
    square: list[Link] = [("a", "b", 9), ("b", "c", 0.1), ("c", "d", 9.0), ("d", "a", 0.1)]
    fill(migrated, "t", square)
    found = detect_communities(migrated, tenant="t", weight_property="weight", min_size=2)
    assert groups(migrated, "t") == [["a", "b"], ["c", "d"]]
    # Within 18 of 18.2, half of the ends each.
    assert found.levels[0].modularity == pytest.approx(18 / 18.2 - 0.5, abs=1e-6)
    turned: list[Link] = [("a", "b", 0.1), ("b", "c", 9), ("c", "d", 0.1), ("d", "a", 9)]
    fill(migrated, "u", turned)
    detect_communities(migrated, tenant="u", weight_property="weight", min_size=2)
    assert groups(migrated, "u") == [["a", "d"], ["b", "c"]]


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "much", True])
def test_weights_that_are_none_are_refused(migrated: Database, wrong: Any) -> None:
    fill(migrated, "t", [("a", "b", 1), ("b", "c", wrong)])
    with pytest.raises(ConfigError, match="of 1 relationships"):
        detect_communities(migrated, tenant="t", weight_property="weight")
    assert counts(migrated, "t") == (0, 0)


def test_a_weight_that_nothing_has_is_refused(migrated: Database) -> None:
    fill(migrated, "t", [("a", "b")])
    with pytest.raises(ConfigError, match="No relationship of tenant 't' has a property 'wieght'"):
        detect_communities(migrated, tenant="t", weight_property="wieght")


def test_entities_without_links(migrated: Database) -> None:
    fill(migrated, "t", [], also="abcde")
    found = detect_communities(migrated, tenant="t")
    assert (found.communities, found.levels, found.unplaced) == (0, (), 5)
    single = detect_communities(migrated, tenant="t", min_size=1)
    assert groups(migrated, "t") == [["a"], ["b"], ["c"], ["d"], ["e"]]
    assert (single.unplaced, single.levels[0].modularity) == (0, 0)
    with pytest.raises(ConfigError, match="Tenant 'none' has no entities"):
        detect_communities(migrated, tenant="none")


def test_many_small_groups_are_left_out(migrated: Database) -> None:
    fill(migrated, "t", [(f"a{n}", f"b{n}") for n in range(50)] + cliques(1, 4))
    found = detect_communities(migrated, tenant="t")
    assert (found.communities, found.unplaced) == (1, 100)
    run = live_run(migrated, "t")
    assert run is not None
    assert len(run["outside"]) == 100


def test_structural_relationships_and_loops_do_not_count(migrated: Database) -> None:
    fill(migrated, "t", [*cliques(2, 4), ("k0n0", "k0n0")])
    similar = {"source": "k0n2", "target": "k1n2", "type": "SIMILAR", "key": "s", "properties": {}}
    migrated.run(load("ingest/merge_relationships"), tenant="t", rows=[similar])
    found = detect_communities(migrated, tenant="t")
    # Two links of the ring, and six in each clique.
    assert found.relationships == 14


def test_hook_says_which_entities_are_looked_at(migrated: Database) -> None:
    fill(migrated, "t", [*cliques(2, 4), *cliques(1, 3, "secret_")])

    def public(entity: Entity) -> bool:
        return not entity.name.startswith("secret_")

    found = detect_communities(migrated, tenant="t", keep=public)
    assert (found.entities, found.filtered, found.communities) == (8, 3, 2)
    by_ids = detect_communities(migrated, tenant="t", keep={f"k0n{n}" for n in range(4)})
    assert (by_ids.entities, by_ids.filtered) == (4, 7)
    assert groups(migrated, "t") == [["k0n0", "k0n1", "k0n2", "k0n3"]]


def test_tenants_of_the_same_names_stay_apart(migrated: Database) -> None:
    fill(migrated, "one", cliques(3, 4))
    fill(migrated, "two", cliques(2, 6))
    detect_communities(migrated, tenant="one")
    before = members(migrated, "one")
    detect_communities(migrated, tenant="two")
    detect_communities(migrated, tenant="two", algorithm="leiden")
    assert members(migrated, "one") == before
    assert groups(migrated, "two") == [[f"k{c}n{n}" for n in range(6)] for c in range(2)]
    check_tree(migrated, "one")
    check_tree(migrated, "two")
    assert counts(migrated, "one") == (len(before), 1)


class Broken(KeyboardInterrupt):
    """Ctrl-C at a bad moment."""


def test_interrupted_run_leaves_the_old_one_whole(
    migrated: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(migrated, "t", cliques(3, 4))
    first = detect_communities(migrated, tenant="t")
    with monkeypatch.context() as patched:

        def broken(*_: object) -> None:
            raise Broken

        patched.setattr(RunWriter, "put_in_force", broken)
        with pytest.raises(Broken):
            detect_communities(migrated, tenant="t", algorithm="leiden")
    run = live_run(migrated, "t")
    assert run is not None
    assert run["id"] == first.run
    assert counts(migrated, "t")[1] == 2
    last = detect_communities(migrated, tenant="t")
    assert counts(migrated, "t") == (last.communities, 1)
    assert {row["run"] for row in migrated.run(MEMBERS, tenant="t")} == {last.run}


def test_of_two_runs_at_once_the_later_one_goes_on(migrated: Database) -> None:
    fill(migrated, "t", cliques(3, 4))
    old = detect_communities(migrated, tenant="t")
    first = RunWriter.begin(migrated, "t", "first")
    second = RunWriter.begin(migrated, "t", "second")
    assert (first.live, second.live) == (old.run, old.run)
    with pytest.raises(DatabaseError, match="Another run began"):
        first.put_in_force({})
    run = live_run(migrated, "t")
    assert run is not None
    assert run["id"] == old.run
    second.put_in_force({"entities": 0})
    run = live_run(migrated, "t")
    assert run is not None
    assert (run["id"], run["source"]) == (second.run, "second")
    assert counts(migrated, "t") == (0, 1)


def test_reports_on_the_same_entities_are_taken_over(migrated: Database) -> None:
    fill(migrated, "t", cliques(3, 4))
    detect_communities(migrated, tenant="t")
    told = statement(
        "MATCH (c:__Community__ {tenant: 't', level: 0}) WITH c ORDER BY c.id LIMIT 2 "
        "SET c.content_hash = 'h', c.summary = 'of ' + c.members, c.rating = 5.0, c.other = 1"
    )
    migrated.run(told)
    fill(migrated, "t", [("k0n0", "new"), ("k0n1", "new"), ("k0n2", "new")])
    found: Detection = detect_communities(migrated, tenant="t")
    kept = statement(
        "MATCH (c:__Community__ {tenant: 't'}) WHERE c.content_hash = 'h' "
        "AND c.summary = 'of ' + c.members AND c.rating = 5.0 AND c.other IS NULL "
        "RETURN count(c) AS n",
        "read",
    )
    assert found.carried == migrated.run(kept)[0]["n"] == 1


def test_command_prints_levels_and_explains_what_louvain_lacks(migrated: Database) -> None:
    fill(migrated, "t", cliques(4, 5))
    where = ["--uri", migrated.connection.uri, "--username", migrated.connection.username]
    environment = {"NEO4J_PASSWORD": migrated.connection.password, "COLUMNS": "100"}

    def run(*words: str, code: int = 0) -> Any:
        command = ["communities", "detect", *words, "--tenant", "t", *where]
        outcome = CliRunner().invoke(cli, command, env=environment)
        assert outcome.exit_code == code, outcome.output
        return outcome

    shown = run().stdout
    assert shown.startswith("Louvain on 20 entities and 44 relationships of tenant t: 4 commun")
    assert "0      4            20        5         5       5        0.659       0" in shown
    given = json.loads(run("--algorithm", "leiden", "--seed", "3", "--json").stdout)
    assert (given["algorithm"], given["seed"], given["levels"][0]["communities"]) == (
        "leiden",
        3,
        4,
    )
    for option in ("--seed", "--gamma"):
        assert f"{option} goes with --algorithm leiden." in run(option, "1", code=2).stderr
    assert "are in no community" in run("--min-size", "6").stdout
