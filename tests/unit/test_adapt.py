"""Adapting a reranker to a graph, without a server and without torch."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner

from cli import cli
from pathrag_gds import PathRAG
from pathrag_gds.adapt import Adapted, Hits, Unused, remove, rerankers_folder
from pathrag_gds.adapt.generate import _splitter, asker_for, generate
from pathrag_gds.adapt.install import install
from pathrag_gds.adapt.read import read_graph, shares
from pathrag_gds.adapt.run import _Adaptation, firsts_of, gains_enough, hits_of
from pathrag_gds.errors import ConfigError, DatabaseError, ModelError
from pathrag_gds.graph.adapted import AdaptedReranker, ontology_fingerprint
from pathrag_gds.graph.schema import Ontology, RelationType
from pathrag_gds.models.export import export_reranker
from pathrag_gds.models.path_reranker import PathReranker, RerankerRecord
from pathrag_gds.models.reranker import CachedReranker, PathScore
from pathrag_gds.models.training.candidates import Asked
from pathrag_gds.models.training.graph import TrainingGraph
from pathrag_gds.models.training.groups import Group
from pathrag_gds.models.training.lexicon import Lexicon, load_lexicon
from pathrag_gds.models.training.walks import ask_both
from pathrag_gds.retrieve.context import read_context
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION
from pathrag_gds.serve.adapting import _show
from pathrag_gds.serve.checks import Check, check_adapted
from pathrag_gds.server.home import Home
from pathrag_gds.types import Edge, Entity
from tests.fakes import RecordingDatabase, WordOverlapReranker
from tests.tiny_bert import random_bert
from tests.unit.test_context import Encoder, database

EMPTY = Lexicon((), (), (), (), (), {})
FAMILY = [
    ("ann", "mother", "bea"),
    ("bea", "mother", "cleo"),
    ("dan", "mother", "bea"),
    ("cleo", "born_in", "rome"),
    ("dan", "born_in", "oslo"),
    ("eve", "born_in", "rome"),
    ("eve", "mother", "fay"),
]


def ontology_of(triples: Sequence[tuple[str, str, str]], **words: Any) -> Ontology:
    counts: dict[str, int] = {}
    for _, type_, _ in triples:
        counts[type_] = counts.get(type_, 0) + 1
    types = (RelationType(t, n, **words.get(t, {})) for t, n in sorted(counts.items()))
    return Ontology("t", tuple(types))


def graph_of(triples: Sequence[tuple[str, str, str]]) -> TrainingGraph:
    ids = sorted({end for head, _, tail in triples for end in (head, tail)})
    return TrainingGraph.of(
        "t",
        [Entity(id_, id_.title()) for id_ in ids],
        [Edge(f"{h} {t} {e}", h, e, t) for h, t, e in triples],
    )


def count_tokens(text: str) -> int:
    return len(text.split())


# Reading


def store(triples: Sequence[tuple[str, str, str]]) -> RecordingDatabase:
    """Answer the statements of a reading from triples, pages of two entities."""
    ids = sorted({end for head, _, tail in triples for end in (head, tail)})

    def page(p: Mapping[str, Any]) -> list[dict[str, Any]]:
        left = [id_ for id_ in ids if id_ > p["after"]][:2]
        return [{"id": i, "degree": sum(head == i for head, *_ in triples)} for i in left]

    def leaving(p: Mapping[str, Any]) -> list[dict[str, Any]]:
        found = []
        for id_ in p["ids"]:
            own = [t for t in triples if t[0] == id_ and t[1] in p["types"]]
            found += [
                {
                    "tail": head,
                    "id": tail,
                    "forward": True,
                    "type": type_,
                    "key": f"{head}-{tail}",
                    "relationship": {"key": f"{head}-{tail}", "since": 1, "chunk_ids": ["c"]},
                }
                for head, type_, tail in reversed(own[: p["most"]])
            ]
        return found

    def hydrate(p: Mapping[str, Any]) -> list[dict[str, Any]]:
        properties = {"id": "", "name": "", "text_hash": "h", "description": "d", "age": 3}
        labels = ["__Entity__", "Thing"]
        return [
            {"id": i, "name": i.upper(), "labels": labels, "properties": properties}
            for i in reversed(p["ids"])
        ]

    return RecordingDatabase(
        {"adapt/page_ids": page, "adapt/leaving": leaving, "retrieve/hydrate": hydrate}
    )


def test_a_graph_is_read_whole() -> None:
    db = store(FAMILY)
    seen: list[tuple[int, int, str]] = []
    types = (*ontology_of(FAMILY).relation_types, RelationType("FROM_CHUNK", 99))
    graph = read_graph(db, "t", Ontology("t", types), progress=lambda *at: seen.append(at))
    assert list(graph.nodes) == ["ann", "bea", "cleo", "dan", "eve", "fay", "oslo", "rome"]
    entity = graph.entities["ann"]
    assert (entity.name, entity.labels, entity.description) == ("ANN", ("Thing",), "d")
    assert dict(entity.properties) == {"age": 3}
    assert graph.types == ("born_in", "mother")
    (hop,) = graph.steps["ann"]["mother", True]
    assert (hop.edge.target, hop.edge.key) == ("bea", "ann-bea")
    assert dict(hop.edge.properties) == {"since": 1}
    assert all(p["types"] == ["born_in", "mother"] for n, p in db.calls if n == "adapt/leaving")
    assert seen[-1] == (8, 8, "entities")
    assert (7, 7, "relationships") in seen


def test_a_large_graph_gives_each_type_its_share_and_follows_what_it_took() -> None:
    triples = [(f"f{i:03}", "director", f"p{i:03}") for i in range(40)]
    triples += [(f"p{i:03}", "born", f"c{i % 3}") for i in range(40)] + [("p000", "died", "c0")]
    ontology = ontology_of(triples)
    graph = read_graph(store(triples), "t", ontology, most=21)
    kept = {t: len(graph.starts[t, True]) for t in graph.types}
    assert kept == {"born": 10, "died": 1, "director": 10}
    # What is kept hangs together: a film, its director, and where that was born.
    assert len(graph.follow("f003", (("director", True), ("born", True)))) == 1
    assert set(graph.entities) == {
        *(f"f{i:03}" for i in range(10)),
        *(f"p{i:03}" for i in range(10)),
        "c0",
        "c1",
        "c2",
    }
    again = read_graph(store(triples), "t", ontology, most=21)
    assert again == graph


def test_shares() -> None:
    assert shares({"a": 10, "b": 1000, "c": 1000}, 300) == {"a": 10, "b": 145, "c": 145}
    assert shares({"a": 10, "b": 20}, 300) == {"a": 10, "b": 20}
    assert shares({}, 300) == {}


# Questions


def test_questions_are_learnt_or_held_out_never_both() -> None:
    asked = generate(
        graph_of(FAMILY),
        ontology_of(FAMILY),
        load_lexicon(),
        count_tokens,
        train=200,
        held_out=20,
        seed=3,
    )
    worlds = [g for g in asked.train if g.source.startswith("world/")]
    assert len(asked.train) == 200
    assert len(worlds) == 60
    own = [g for g in asked.held_out if g.source.startswith("t/")]
    assert len(own) == 20
    assert len(asked.held_out) == 26
    assert not {g.question for g in own} & {g.question for g in asked.train}
    assert asked == generate(
        graph_of(FAMILY),
        ontology_of(FAMILY),
        load_lexicon(),
        count_tokens,
        train=200,
        held_out=20,
        seed=3,
    )


def test_a_question_with_two_conditions_teaches_no_chain_that_is_measured() -> None:
    draw = Random(4)
    triples = [
        (f"n{draw.randrange(30)}", f"r{number % 6}", f"m{draw.randrange(30)}")
        for number in range(240)
    ]
    graph = graph_of(triples)
    asker = asker_for(graph, ontology_of(triples), EMPTY)
    is_held_out = _splitter(graph, asker, Random(1))
    random = Random(2)
    asked = [q for _ in range(300) if (q := ask_both(graph, asker, random)) is not None]
    assert len(asked) > 250
    for question in asked:
        halves = [q for q in by_chain(question) if len(q.gold[0].hops) > 1]
        if any(map(is_held_out, halves)):
            assert is_held_out(question)
    assert 0.1 < sum(map(is_held_out, asked)) / len(asked) < 0.4


def by_chain(asked: Asked) -> list[Asked]:
    """Give a question of each chain of a question."""
    chains = {tuple((h.edge.type, h.forward) for h in path.hops): path for path in asked.gold}
    return [Asked("", (path,), starts=(path.start,)) for path in chains.values()]


def test_wordings_of_the_ontology_are_in_questions_and_texts() -> None:
    triples = [(f"film{i}", "P57", f"person{i % 4}") for i in range(20)]
    words = {"P57": {"phrase": "was directed by", "inverse": "was the director of"}}
    ontology = ontology_of(triples, **words)
    graph = graph_of(triples)
    asked = generate(graph, ontology, load_lexicon(), count_tokens, train=100, held_out=5)
    own = [g for g in asked.train if g.source.startswith("t/")]
    assert any("was directed by" in text for g in own for text in g.texts)
    assert any("was the director of" in text for g in own for text in g.texts)
    assert not any("P57" in text for g in own for text in g.texts)
    told = [g.question.lower() for g in own]
    assert sum("direct" in question or "film" in question for question in told) > len(own) / 2
    given = asker_for(graph, ontology, EMPTY).given
    assert list(given) == ["P57"]
    assert "what {x} is directed by" in given["P57"].to_target
    assert "the director of {x}" in given["P57"].to_target
    assert not any("the the" in form for form in given["P57"].to_target)


@pytest.mark.parametrize("triples", [[], [("a", "r", "b")]])
def test_a_bare_graph_is_refused(triples: list[tuple[str, str, str]]) -> None:
    with pytest.raises(ConfigError, match=r"[Tt]enant 't'"):
        generate(graph_of(triples), ontology_of(triples), EMPTY, count_tokens, train=10, held_out=5)


# The record


RECORD = AdaptedReranker("t", "f1", "adapted to t", "o1", TEXT_TEMPLATE_VERSION, "2026-11-30")


def test_the_fingerprint_of_an_ontology_is_of_types_and_their_ends() -> None:
    a = RelationType("owns", 3, ("person",), ("animal", "object"))
    b = RelationType("likes", 3, ("person",), ("person",))
    found = ontology_fingerprint(Ontology("t", (a, b)))
    assert len(found) == 16
    assert found == ontology_fingerprint(Ontology("u", (b, replace(a, count=9, phrase="has"))))
    assert found != ontology_fingerprint(Ontology("t", (a,)))
    assert found != ontology_fingerprint(Ontology("t", (replace(a, ranges=("animal",)), b)))
    assert found != ontology_fingerprint(Ontology("t", (replace(a, name="own"), b)))
    assert ontology_fingerprint(Ontology("t")) == ontology_fingerprint(Ontology("u"))


class Records(RecordingDatabase):
    """Keep the records of adapted rerankers as a database would."""

    def __init__(self, *records: AdaptedReranker) -> None:
        self.kept = {record.tenant: asdict(record) for record in records}
        super().__init__(
            {
                "adapt/read_reranker": lambda p: [
                    {"record": self.kept[t]} for t in [p["tenant"]] if t in self.kept
                ],
                "adapt/all_rerankers": lambda p: [
                    {"record": record} for _, record in sorted(self.kept.items())
                ],
                "adapt/write_reranker": self._write,
                "adapt/delete_reranker": self._delete,
            }
        )

    def _write(self, p: Mapping[str, Any]) -> list[Any]:
        self.kept[p["tenant"]] = {"tenant": p["tenant"], **p["record"]}
        return []

    def _delete(self, p: Mapping[str, Any]) -> list[Any]:
        self.kept.pop(p["tenant"], None)
        return []


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    random_bert(folder / "weights", layers=1, hidden=8, heads=2)
    export_reranker(folder / "weights", folder / "model", RerankerRecord("tiny"))
    return folder / "model"


@pytest.fixture
def home(tmp_path: Path, tiny: Path) -> Path:
    """A home whose tenant t uses the reranker f1; another reranker waits to be installed."""
    folder = rerankers_folder(tmp_path)
    shutil.copytree(tiny, folder / "f1")
    shutil.copytree(tiny, folder / ".work" / "reranker")
    return tmp_path


def put(db: RecordingDatabase, home: Path) -> tuple[AdaptedReranker, Path]:
    folder = rerankers_folder(home)
    source = folder / ".work" / "reranker"
    return install(db, source, folder, lambda f: replace(RECORD, fingerprint=f))


def test_installing_takes_the_place_of_the_one_before(home: Path, tiny: Path) -> None:
    db = Records(RECORD)
    record, folder = put(db, home)
    assert record.fingerprint == PathReranker(tiny).fingerprint
    assert folder == rerankers_folder(home) / record.fingerprint
    assert sorted(p.name for p in folder.iterdir()) == sorted(p.name for p in tiny.iterdir())
    assert db.kept == {"t": asdict(record)}
    assert not (rerankers_folder(home) / "f1").exists()


def test_what_another_tenant_uses_stays(home: Path) -> None:
    db = Records(RECORD, replace(RECORD, tenant="u"))
    put(db, home)
    assert (rerankers_folder(home) / "f1").is_dir()
    assert remove(db, "u", rerankers_folder(home)) == replace(RECORD, tenant="u")
    assert not (rerankers_folder(home) / "f1").exists()
    assert list(db.kept) == ["t"]
    assert remove(db, "u", rerankers_folder(home)) is None


def test_a_record_never_leads_out_of_the_folder(home: Path) -> None:
    (home / "other").mkdir()
    (home / "other" / "reranker.json").touch()
    db = Records(replace(RECORD, fingerprint="../other"))
    put(db, home)
    assert (home / "other" / "reranker.json").exists()


def test_a_failure_leaves_the_old_state(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = Records(RECORD)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(ModelError, match="cannot be moved"):
            put(db, home)
    assert db.kept == {"t": asdict(RECORD)}
    assert {p.name for p in rerankers_folder(home).iterdir()} == {"f1", ".work"}

    def refuse(_: Mapping[str, Any]) -> list[Any]:
        raise DatabaseError("gone")

    db.answers["adapt/write_reranker"] = refuse
    with pytest.raises(DatabaseError, match="gone"):
        put(db, home)
    # The new folder is complete but nobody's; the old one is still in use.
    assert db.kept == {"t": asdict(RECORD)}
    assert (rerankers_folder(home) / "f1" / "model.onnx").exists()


def test_rerankers_do_not_make_a_folder_somebody_elses(tmp_path: Path) -> None:
    rerankers_folder(tmp_path).mkdir()
    Home.at(tmp_path).make()
    assert (tmp_path / "data").is_dir()


# Searches


def test_a_search_uses_what_was_adapted_to_its_tenant(home: Path) -> None:
    db = database()
    db.answers["adapt/read_reranker"] = [{"record": asdict(RECORD)}]
    folder = rerankers_folder(home)
    given = WordOverlapReranker()
    found = read_context(db, "t", encoder=Encoder(), reranker=given, adapted=folder)
    assert isinstance(found.reranker, CachedReranker)
    assert found.reranker.name == "tiny"
    assert (found.text_limit, found.setup_round_trips, found.warnings) == (256, 6, ())
    again = read_context(db, "t", encoder=Encoder(), reranker=given, adapted=folder)
    assert again.reranker is found.reranker

    named = read_context(db, "t", encoder=Encoder(), reranker=given)
    assert (named.reranker, named.setup_round_trips) == (given, 5)


def test_a_reranker_of_another_machine_is_a_warning(home: Path) -> None:
    db = database()
    record = replace(RECORD, fingerprint="elsewhere")
    db.answers["adapt/read_reranker"] = [{"record": asdict(record)}]
    given = WordOverlapReranker()
    folder = rerankers_folder(home)
    found = read_context(db, "t", encoder=Encoder(), reranker=given, adapted=folder)
    assert found.reranker is given
    assert found.warnings == (
        "The reranker adapted to tenant 't' (2026-11-30) is not on this machine, so word-overlap "
        "is used. Run: pathrag train --adapt --tenant t",
    )


def test_a_reranker_of_other_texts_is_a_warning(home: Path) -> None:
    db = database()
    db.answers["adapt/read_reranker"] = [{"record": asdict(replace(RECORD, fingerprint="old"))}]
    folder = rerankers_folder(home)
    shutil.copytree(folder / "f1", folder / "old")
    replace(RerankerRecord.read(folder / "old"), template="0").write(folder / "old")
    given = WordOverlapReranker()
    found = read_context(db, "t", encoder=Encoder(), reranker=given, adapted=folder)
    assert found.reranker is given
    (warning,) = found.warnings
    assert "path texts of version '0'" in warning
    assert warning.endswith("Run: pathrag train --adapt --tenant t")


def test_who_names_a_reranker_gets_it(home: Path) -> None:
    db = database()
    db.answers |= {"retrieve/seeds": [], "retrieve/hydrate": [], "retrieve/provenance": []}
    asked = cast(Any, db)
    PathRAG(asked, encoder=Encoder(), reranker=WordOverlapReranker(), home=home).search("Who?")
    assert "adapt/read_reranker" not in db.names
    db.answers["adapt/read_reranker"] = []
    result = PathRAG(asked, encoder=Encoder(), home=home).search("Who?")
    assert "adapt/read_reranker" in db.names
    assert result.stats.setup_round_trips == 6


def test_what_the_doctor_says(home: Path) -> None:
    ontology = Ontology("t", (RelationType("owns", 3),))
    folder = rerankers_folder(home)
    record = replace(
        RECORD, ontology=ontology_fingerprint(ontology), questions=200, before=0.5, after=0.75
    )
    told = (
        "adapted to t f1, adapted 2026-11-30, right first on 0.750 of 200 held-out questions "
        "(before 0.500)"
    )
    name, command = "reranker of tenant t", "Run: pathrag train --adapt --tenant t"
    assert check_adapted(record, ontology, folder) == Check(
        name, "ok", f"{told}, in {folder / 'f1'}"
    )
    grown = Ontology("t", (RelationType("owns", 3), RelationType("likes", 1)))
    assert check_adapted(record, grown, folder) == Check(
        name, "todo", f"{told}; the graph's types have changed since", command
    )
    assert check_adapted(record, ontology, folder / "x") == Check(
        name, "todo", f"{told}; it is not on this machine, so searches use another", command
    )
    old = check_adapted(replace(record, template="0"), ontology, folder)
    assert (old.state, old.todo) == ("todo", command)


# The run


def test_hits() -> None:
    class Fixed:
        name = fingerprint = "fixed"

        def score(self, question: str, texts: Sequence[str]) -> list[PathScore]:
            return [PathScore(float(text), 0.0) for text in texts]

    def group(source: str, texts: str, answer: tuple[float, ...]) -> Group:
        return Group("q", tuple(texts.split()), answer, answer, source)

    groups = [
        group("t/walk1/chain", "0.9 0.1", (1.0, 0.0)),
        group("t/walk1/chain", "0.9 0.1", (0.0, 1.0)),
        group("t/walk1/path", "0.5 0.5", (1.0, 0.0)),
        group("t/walk1/path", "0.9 0.5", (0.0, 0.0)),
        group("world/events/x/path", "0.9 0.5", (1.0, 0.0)),
    ]
    firsts = firsts_of(Fixed(), groups)
    assert firsts == [1.0, 0.0, 0.5, None, 1.0]
    found = hits_of(groups, firsts)
    assert (found.questions, found.hit) == (3, 0.5)
    assert (found.chains, found.paths, found.general) == (0.5, 0.5, 1.0)
    assert hits_of([], []).hit == 0.0


@pytest.mark.parametrize(
    ("wins", "losses", "kept", "expected"),
    [
        (1, 0, 100, False),
        (2, 0, 100, True),
        (3, 1, 100, False),  # 2 is not above the root of 4
        (4, 1, 100, True),
        (60, 50, 100, False),  # 10 is below the root of 110
        (61, 50, 100, True),
        (0, 0, 100, False),
        (0, 9, 0, False),
    ],
)
def test_a_gain_must_be_above_its_standard_error(
    wins: int, losses: int, kept: int, expected: bool
) -> None:
    own = Group("q", ("a", "b"), (1.0, 0.0), (1.0, 0.0), "t/walk1/path")
    world = replace(own, source="world/events/walk1/path")
    before = [0.0] * wins + [1.0] * losses + [1.0] * kept
    after = [1.0] * wins + [0.0] * losses + [1.0] * kept
    assert gains_enough([own] * len(before), before, after) is expected
    # Neither questions about made-up worlds count, nor those without a right text.
    assert not gains_enough([world] * len(before), before, after)
    assert not gains_enough([own] * 9, [None] * 9, [None] * 9)


def test_a_question_that_is_right_in_part_counts_in_part() -> None:
    own = [Group("q", ("a", "b"), (1.0, 0.0), (1.0, 0.0), "t/walk1/path")] * 2
    assert not gains_enough(own, [0.5, 1.0], [1.0, 1.0])
    assert gains_enough(own, [0.5, 0.5], [1.0, 1.0])
    assert not gains_enough(own, [0.0, 0.5], [1.0, 0.0])


def adaptation(db: RecordingDatabase, folder: Path, **changes: Any) -> _Adaptation:
    values: dict[str, Any] = {
        "db": db,
        "tenant": "t",
        "ontology": ontology_of(FAMILY),
        "base": cast(Any, SimpleNamespace(name="base")),
        "folder": folder,
        "work": folder / ".work",
        "generated": True,
        "pairs": None,
        "limit": {"steps": 1},
        "wanted": 60,
        "seed": 0,
        "report": lambda at: None,
    }
    return _Adaptation(**(values | changes))


def test_questions_of_an_interrupted_run_are_used_again(tmp_path: Path) -> None:
    db = store(FAMILY)
    adaptation(db, tmp_path).prepare()
    assert json.loads((tmp_path / ".work/plan.json").read_text())["plan"]["tenant"] == "t"
    train = (tmp_path / ".work/train.jsonl.gz").read_bytes()
    asked = len(db.calls)
    (tmp_path / ".work/model").mkdir()
    adaptation(db, tmp_path).prepare()
    assert len(db.calls) == asked
    assert (tmp_path / ".work/model").is_dir()
    # Another plan begins anew.
    adaptation(db, tmp_path, seed=1).prepare()
    assert len(db.calls) > asked
    assert not (tmp_path / ".work/model").exists()
    assert (tmp_path / ".work/train.jsonl.gz").read_bytes() != train


def test_pairs_alone_are_learnt_beside_worlds(tmp_path: Path) -> None:
    names = [f"n{i:02}" for i in range(40)]
    triples = [t for n in names for t in ((n, "mother", f"m {n}"), (n, "born_in", f"c {n}"))]
    pairs = tmp_path / "pairs.jsonl"
    lines = [{"question": f"who bore {n}?", "answers": [f"m {n}"]} for n in names]
    lines.append({"question": "who bore nobody?", "answers": ["m n00"]})
    pairs.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    run = adaptation(
        store(triples), tmp_path, pairs=pairs, generated=False, ontology=ontology_of(triples)
    )
    run.prepare()
    assert run.unused is not None
    assert (run.unused.no_topic, run.unused.total) == (1, 1)
    again = adaptation(
        store(triples), tmp_path, pairs=pairs, generated=False, ontology=ontology_of(triples)
    )
    again.prepare()
    assert again.unused == run.unused


# The command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give --adapt, or --data and --output."),
        (["--tenant", "t"], "--tenant goes with --adapt."),
        (["--adapt", "--epochs", "3"], "--epochs does not go with --adapt or --pairs."),
        (["--adapt", "--resume"], "--resume does not go with --adapt or --pairs."),
        (["--remove"], "--remove goes with --adapt, and without --pairs."),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(cli, ["train", *arguments])
    assert result.exit_code == 2
    assert message in result.output


def test_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    before = Hits(40, 0.5, 0.6, 0.4, None)
    after = Hits(40, 0.75, 0.8, 0.7, None)
    found = Adapted("installed", "t", "old", 400, before, after, RECORD, Path("/home/f1"))
    options = {"tenant": "t"}
    _show(found, options)
    assert capsys.readouterr().out.splitlines() == [
        "Right text first, 40 held-out questions:",
        "  all             0.500 before, 0.750 after",
        "  chains          0.600 before, 0.800 after",
        "  paths           0.400 before, 0.700 after",
        "Installed for tenant t: /home/f1",
        "Next: pathrag query '…' --tenant t",
    ]
    unused = Unused(no_topic=2, unclear=1)
    _show(replace(found, outcome="no_better", record=None, folder=None, unused=unused), options)
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "Not used, 3 of your questions: 2 name nothing that the graph has; "
        "1 have answers that several chains lead to.",
        "That is not surely better, so old stays in use: 30 right instead of 20 of 40, and so "
        "small a gain can be chance.",
    ]
    worse = replace(found, outcome="no_better", before=after, after=before, record=None)
    _show(worse, options)
    assert capsys.readouterr().out.splitlines()[-1] == (
        "That is no better, so old stays in use: 20 right instead of 30 of 40."
    )
