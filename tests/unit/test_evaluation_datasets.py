"""The data sets, read from small files of our own in their published formats."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import ConfigError, LoadError
from pathrag_gds.evaluation.datasets import DATASETS, Dataset, open_dataset
from pathrag_gds.evaluation.datasets.metaqa import chain_of_type
from pathrag_gds.evaluation.datasets.story import load_story
from pathrag_gds.evaluation.graph import reach_of
from pathrag_gds.evaluation.questions import (
    Question,
    asked_text,
    bucket_of,
    parse_buckets,
    select,
    show_buckets,
    start_ids,
)

# Questions


def test_buckets_are_md5_modulo_ten() -> None:
    assert bucket_of("") == 0xD41D8CD98F00B204E9800998ECF8427E % 10 == 6
    assert bucket_of("abc") == 0x900150983CD24FB0D6963F7D28E17F72 % 10 == 0


@pytest.mark.parametrize(
    ("text", "found", "shown"),
    [("3-4", {3, 4}, "3-4"), ("0,2, 5-7", {0, 2, 5, 6, 7}, "0,2,5-7"), ("0-9", range(10), "all")],
)
def test_buckets_are_read_and_shown(text: str, found: set[int], shown: str) -> None:
    assert parse_buckets(text) == set(found)
    assert show_buckets(parse_buckets(text)) == shown


@pytest.mark.parametrize("text", ["", "4-3", "10", "a", "3-", "1 2"])
def test_what_is_no_list_of_buckets_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="no list of buckets"):
        parse_buckets(text)


def question(text: str, *groups: str, bucket: int = 3) -> Question:
    return Question(text, text, frozenset({("x", "")}), bucket=bucket, groups=groups)


def test_fewer_questions_are_the_first_of_more() -> None:
    many = [question(f"q{i}") for i in range(50)]
    few = select(many, buckets={3}, limit=10)
    assert few == select(reversed(many), buckets={3})[:10]
    assert few != many[:10]
    assert select(many, buckets={4}) == []


def test_groups_choose() -> None:
    some = [question("a", "simple"), question("b", "revisiting"), question("c", "simple", bucket=5)]
    assert [q.text for q in select(some, buckets={3}, group="simple")] == ["a"]


def test_conditions_hide_the_topic_or_tell_it() -> None:
    asked = Question(
        "q", " who is  [Tom_Cullen] 's wife ?", frozenset(), topics=("Tom_Cullen",), bucket=0
    )
    assert asked_text(asked, "file") == "who is  [Tom_Cullen] 's wife ?"
    assert asked_text(asked, "given") == "who is Tom Cullen's wife?"
    assert asked_text(asked, "plain") == "who is tom cullen's wife?"
    assert start_ids(asked, "given") == ("Tom_Cullen",)
    assert start_ids(asked, "plain") == ()


# PathQuestion

PQ_KB = """anna\tchildren\tben
ben\tparents\tanna
ben\tspouse\tcleo
ben\tspouse\tcora
cleo\tplace_of_birth\trome
anna\tplace_of_birth\trome
"""
PQ = """who is anna 's child 's wife ?\tcleo(cleo/cora/)\tanna#children#ben#spouse#cleo#<end>#cleo
mother of child of anna ?\tanna(anna/)\tanna#children#ben#parents#anna#<end>#anna
birth place of ben 's wife ?\trome(rome/)\tben#spouse#cleo#place_of_birth#rome#<end>#rome
"""


def pathquestion(data: Path, questions: str = PQ, *, packed: bool = False) -> Dataset:
    folder = data / "pathquestion"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "2H-kb.txt").write_text(PQ_KB, encoding="utf-8")
    if packed:
        (folder / "PQ-2H.txt.gz").write_bytes(gzip.compress(questions.encode()))
    else:
        (folder / "PQ-2H.txt").write_text(questions, encoding="utf-8")
    with open_dataset("pathquestion-2h", data=data) as dataset:
        return dataset


def test_pathquestion_is_read_with_gold_paths(tmp_path: Path) -> None:
    dataset = pathquestion(tmp_path)
    first, second, third = dataset.questions
    assert first.answers == {("cleo", ""), ("cora", "")}
    assert first.topics == ("anna",)
    assert first.bucket == bucket_of("anna#children#ben#spouse#cleo")
    assert [p.nodes for p in dataset.graph.gold_paths(first)] == [
        ("anna", "ben", "cleo"),
        ("anna", "ben", "cora"),
    ]
    assert first.groups == ("simple", "clean")
    assert second.groups == ("revisiting",)
    # Rome is two hops from Ben over Anna, too, but not fewer.
    assert third.groups == ("simple", "clean")
    assert (dataset.report, dataset.main) == ((3, 4), "simple")
    assert dataset.conditions == ("plain", "file", "given")


def test_an_answer_that_is_nearer_than_its_gold_path_is_not_clean(tmp_path: Path) -> None:
    text = "where was anna 's child 's wife born ?\trome(rome/)\t"
    line = text + "anna#children#ben#parents#anna#<end>#anna\n"
    (tmp_path / "q.txt").write_text(
        "home of ben 's mother ?\tben(ben/)\tcleo#place_of_birth#rome#<end>#rome\n" + line,
        encoding="utf-8",
    )
    pathquestion(tmp_path)
    with open_dataset("pathquestion-2h", data=tmp_path, questions=tmp_path / "q.txt") as dataset:
        # One hop away in a set of two hops: a path of one hop reaches it.
        assert dataset.questions[0].groups == ("simple",)


def test_gzip_makes_no_difference(tmp_path: Path) -> None:
    one = pathquestion(tmp_path / "a")
    other = pathquestion(tmp_path / "b", packed=True)
    assert one.questions == other.questions
    assert one.graph_digest == other.graph_digest


def test_what_can_be_reached(tmp_path: Path) -> None:
    dataset = pathquestion(tmp_path)
    simple, revisiting, _ = dataset.questions
    graph = dataset.graph

    def reach(asked: Question, **config: object) -> tuple[bool, bool]:
        made = SearchConfig().with_(**config)
        found = reach_of(asked, graph.gold_paths(asked), graph, made)
        return found.reachable, found.uncut

    assert reach(simple) == (True, True)
    assert reach(simple, max_depth=1) == (False, False)
    assert reach(revisiting) == (False, False)
    assert reach(revisiting, revisit="edge") == (True, True)
    # Ben has two spouses, so a cap of one may cut the right one.
    assert reach(simple, cap_per_relation=1) == (True, False)
    assert reach(simple, expand_per_path=3) == (True, False)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a question\tanswer", "3 cells"),
        ("who ?\tx\tanna#children", "no path"),
        ("who ?\tx\tanna#spouse#ben#<end>#ben", "not in the knowledge base"),
    ],
)
def test_a_line_that_has_not_the_format_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(LoadError, match=message) as caught:
        pathquestion(tmp_path, PQ + line + "\n")
    assert caught.value.line == 4


# MetaQA


@pytest.mark.parametrize(
    ("kind", "chain"),
    [
        ("actor_to_movie", (("starred_actors", False),)),
        (
            "movie_to_writer_to_movie_to_imdbvotes",
            (("written_by", True), ("written_by", False), ("has_imdb_votes", True)),
        ),
        ("tag_to_movie_to_year", (("has_tags", False), ("release_year", True))),
    ],
)
def test_types_of_metaqa_are_chains(kind: str, chain: tuple[tuple[str, bool], ...]) -> None:
    assert chain_of_type(kind) == chain


@pytest.mark.parametrize("kind", ["actor_to_actor", "movie_to_colour", "movie_to_movie"])
def test_unknown_types_of_metaqa_are_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="unknown type"):
        chain_of_type(kind)


def metaqa(data: Path) -> Path:
    folder = data / "metaqa"
    (folder / "2-hop").mkdir(parents=True)
    (folder / "entities.dict").write_text("0\tHeat\n1\tAl\n2\tRonin\n3\tBob, Jr.\n4\t1995\n")
    (folder / "relations.dict").write_text("0\tstarred_actors\n1\trelease_year\n")
    (folder / "kb_ids.txt").write_text("0\t0\t1\n2\t0\t1\n0\t0\t3\n0\t1\t4\n2\t0\t3\n")
    (folder / "2-hop" / "dev.txt").write_text(
        "who acted with [Al] ?\tBob, Jr.\nfilms by an actor of [Heat]\tRonin\n"
    )
    (folder / "2-hop" / "qa_dev_qtype.txt").write_text(
        "actor_to_movie_to_actor\nmovie_to_actor_to_movie\n"
    )
    return folder


def test_metaqa_never_comes_back_to_its_topic(tmp_path: Path) -> None:
    metaqa(tmp_path)
    with open_dataset("metaqa-2h", data=tmp_path) as dataset:
        first, second = dataset.questions
        assert first.topics == ("Al",)
        assert first.answers == {("Bob, Jr.", "")}
        assert first.bucket == bucket_of("Al")
        assert {p.nodes for p in dataset.graph.gold_paths(first)} == {
            ("Al", "Heat", "Bob, Jr."),
            ("Al", "Ronin", "Bob, Jr."),
        }
        assert {p.tail for p in dataset.graph.gold_paths(second)} == {"Ronin"}
        assert dataset.graph_name == "metaqa"
        assert first.groups == ("actor_to_movie_to_actor",)


def test_another_file_of_metaqa_goes_without_types(tmp_path: Path) -> None:
    folder = metaqa(tmp_path)
    other = folder / "mine.txt"
    other.write_text("who acted with [Al] ?\tBob, Jr.\n")
    with open_dataset("metaqa-2h", data=tmp_path, questions=other) as dataset:
        assert len(dataset.questions) == 1
        assert dataset.graph.gold_paths(dataset.questions[0]) == ()
    other.write_text("who acted with Al ?\tBob, Jr.\n")
    with (
        pytest.raises(LoadError, match="marks its topic"),
        open_dataset("metaqa-2h", data=tmp_path, questions=other),
    ):
        pass


# The others


def test_conjunctions_have_a_path_from_each_topic(tmp_path: Path) -> None:
    folder = tmp_path / "wc2014"
    folder.mkdir()
    (folder / "WC2014.txt").write_text(
        "Forward\tplays\tAlan\nForward\tplays\tBill\nMexico\thome_of\tAlan\n", encoding="utf-8"
    )
    told = "Forward#plays#Alan#<end>#Alan*Mexico#home_of#Alan#<end>#Alan"
    (folder / "WC-C.txt").write_text(
        f"a Forward from Mexico ?\tAlan\t{told}\tAlan/\tx\tForward/Mexico\n", encoding="utf-8"
    )
    with open_dataset("wc2014-c", data=tmp_path) as dataset:
        (asked,) = dataset.questions
        assert asked.topics == ("Forward", "Mexico")
        # Bill is a forward, but no answer.
        assert [p.nodes for p in dataset.graph.gold_paths(asked)] == [
            ("Forward", "Alan"),
            ("Mexico", "Alan"),
        ]


def test_candidates_of_webqsp(tmp_path: Path) -> None:
    folder = tmp_path / "webqsp_paths"
    folder.mkdir()

    def line(id_: str, *paths: str) -> str:
        told = "\n".join(paths)
        text = f"…\n\nReasoning Paths:\n{told}\n\nQuestion:\nwho? [/INST]"
        return json.dumps(
            {"id": id_, "question": f"who is {id_}", "ground_truth": ["Ann"], "input": text}
        )

    (folder / "gnnrag_lmsr_predictions.jsonl").write_text(
        "\n".join(
            [
                line("1", "Bo -> r.s -> Ann", "Bo -> t -> m.1 -> u -> Cy", "Bo -> r.s -> Ann"),
                line("2", "Bo -> r.s -> Ann"),
                line("3"),
            ]
        ),
        encoding="utf-8",
    )
    with open_dataset("webqsp-paths", data=tmp_path) as dataset:
        first, second = dataset.questions
        assert [p.nodes for p in first.candidates] == [("Bo", "Ann"), ("Bo", "m.1", "Cy")]
        assert [hop.edge.type for hop in first.candidates[1].hops] == ["t", "u"]
        assert (first.groups, second.groups) == (("mixed",), ())
        assert dataset.inputs == ()
        assert reach_of(first, (), dataset.graph, SearchConfig()).reachable


def test_musique_becomes_a_graph_with_passages(tmp_path: Path) -> None:
    folder = tmp_path / "musique_hipporag"
    folder.mkdir()
    documents = [
        {
            "title": "Zim",
            "text": "A river.",
            "extracted_triples": [["Zim", "flows  in", "Zimbabwe"], ["broken", "one"]],
        },
        {
            "title": "Falls",
            "text": "Falls.",
            "extracted_triples": [["Zimbabwe", "has", "Victoria Falls"], ["", "x", "y"]],
        },
    ]
    asked = {
        "id": "2hop__1",
        "question": "Which falls?",
        "answer": "Vic Falls",
        "answer_aliases": ["victoria falls"],
        "question_decomposition": [{}, {}],
        "paragraphs": [
            {"title": "Zim", "paragraph_text": "A river.", "is_supporting": False},
            {"title": "Falls", "paragraph_text": "Falls.", "is_supporting": True},
        ],
    }
    triples = folder / "openie_musique_train_results_ner_gpt-3.5-turbo-1106_1890.json"
    triples.write_text(json.dumps({"docs": documents}), encoding="utf-8")
    (folder / "musique_questions.json").write_text(json.dumps([asked]), encoding="utf-8")
    with open_dataset("musique", data=tmp_path) as dataset:
        (question,) = dataset.questions
        assert question.answers == {("Victoria Falls", "")}
        assert question.passages == {"p1"}
        assert question.groups == ("2-hop",)
        assert {e.type for e in dataset.graph.edges.values()} == {"flows in", "has"}
        assert dataset.graph.chunks == {"p0", "p1"}
        rows = [json.loads(line) for line in dataset.inputs[1].path.read_text().splitlines()]
        assert rows[-1] == {
            "source": "Zimbabwe",
            "type": "has",
            "target": "Victoria Falls",
            "chunk_ids": ["p1"],
        }


def write_twowiki(folder: Path, *, gold: str = "Ann Lee (actor)") -> None:
    corpus = {
        "Old Film": "Old Film is a film. It was made by J. Ann Lee in Home (town).",
        "Ann Lee (actor)": "Ann Lee lived at home and in Home.",
        "Ann Lee (singer)": "Sings.",
        "Home": "A town.",
        "Princess (2010 film)": "A film about a Princess from Home.",
    }
    (folder / "twowiki").mkdir()
    rows = [{"title": title, "text": text} for title, text in corpus.items()]
    (folder / "twowiki" / "2wikimultihopqa_corpus.json").write_text(json.dumps(rows))
    for file, found in (("fastgraphrag", ["Home"]), ("lightrag", []), ("vectordb", ["Old"])):
        asked = [{"question": "Who?", "evidence": found, "ground_truth": ["Old Film", gold]}]
        (folder / "twowiki" / f"results_{file}_101.json").write_text(json.dumps(asked))


def test_twowiki_links_passages_by_the_titles_that_they_mention(tmp_path: Path) -> None:
    write_twowiki(tmp_path)
    with open_dataset("twowiki", data=tmp_path) as dataset:
        (question,) = dataset.questions
        edges = {(e.source, e.target) for e in dataset.graph.edges.values()}
        rows = [json.loads(line) for line in dataset.inputs[1].path.read_text().splitlines()]
    # Both people of that name; "home" is no title, "a Princess" is not the film of 2010, and no
    # passage mentions itself.
    assert edges == {
        ("Old Film", "Ann Lee (actor)"),
        ("Old Film", "Ann Lee (singer)"),
        ("Old Film", "Home"),
        ("Ann Lee (actor)", "Ann Lee (singer)"),
        ("Ann Lee (actor)", "Home"),
        ("Princess (2010 film)", "Home"),
    }
    assert rows[1]["aliases"] == ["Ann Lee"]
    first = next(row for row in rows if row.get("source") == "Old Film")
    assert first["sentence"] == "It was made by J. Ann Lee in Home (town)."
    assert question.passages == {"Old Film", "Ann Lee (actor)"}
    assert question.answers == frozenset()
    assert dataset.recorded["fast-graphrag"] == {question.id: ("Home",)}
    assert dataset.recorded["plain-vectors"] == {question.id: ("Old",)}
    reach = reach_of(question, (), dataset.graph, SearchConfig())
    assert reach.reachable


def test_twowiki_refuses_a_gold_title_that_is_not_there(tmp_path: Path) -> None:
    write_twowiki(tmp_path, gold="Nobody")
    with (
        pytest.raises(LoadError, match="the corpus has no passage 'Nobody'"),
        open_dataset("twowiki", data=tmp_path),
    ):
        pass


def test_bob_has_its_gold_paths_as_walks() -> None:
    with open_dataset("bob") as dataset:
        assert len(dataset.questions) == 10
        assert (len(dataset.graph.names), len(dataset.graph.edges)) == (104, 165)
        value, owner, friend = (dataset.questions[i] for i in (0, 2, 3))
        assert value.answers == {("bob", "fur_color")}
        assert value.paths == ()
        assert [p.nodes for p in owner.paths] == [("bob", "jane")]
        assert [p.nodes for p in friend.paths] == [("bob", "bonding_moment", "joy")]


def test_a_story_may_have_phrasings_and_several_answers(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id:ID,name\na,Ann\nb,Bo\nc,Cy\n")
    (tmp_path / "edges.csv").write_text(":START_ID,:END_ID,:TYPE,key\na,b,knows,k1\nc,b,knows,k2\n")
    items = [
        {
            "question": "Whom do both know?",
            "phrasings": ["Who is known to both?"],
            "kind": "entity",
            "id": "b",
            "also": ["c"],
            "groups": ["people"],
            "gold_path": ["k1", "k2"],
        }
    ]
    (tmp_path / "questions.json").write_text(json.dumps(items))
    dataset = load_story(tmp_path, "tale")
    assert [q.id for q in dataset.questions] == ["tale:1.1", "tale:1.2"]
    assert {q.answers for q in dataset.questions} == {frozenset({("b", ""), ("c", "")})}
    assert [q.groups for q in dataset.questions] == [("main phrasing", "people"), ("people",)]
    assert dataset.questions[0].paths[0].nodes == ("a", "b", "c")
    items[0]["gold_path"] = ["k1", "nothing"]
    (tmp_path / "questions.json").write_text(json.dumps(items))
    with pytest.raises(LoadError, match="question 1: KeyError"):
        load_story(tmp_path, "tale")


def test_shortest_ways_are_found_whatever_the_direction(tmp_path: Path) -> None:
    graph = pathquestion(tmp_path).graph
    ways = graph.shortest_paths(["cora", "nobody"], ["rome"], 6)
    assert {p.nodes for p in ways} == {
        ("cora", "ben", "cleo", "rome"),
        ("cora", "ben", "anna", "rome"),
    }
    # Ben and Anna are joined twice, so there are three paths over two rows of nodes.
    assert len(ways) == 3
    assert graph.shortest_paths(["cora"], ["rome"], 2) == ()
    assert [p.nodes for p in graph.shortest_paths(["rome"], ["rome", "ben"], 2)] == [("rome",)]


@pytest.mark.parametrize(
    "name", sorted(name for name in DATASETS if not name.endswith(("bob", "story2")))
)
def test_a_set_that_is_not_there_says_how_to_name_its_folder(name: str, tmp_path: Path) -> None:
    for data in (None, tmp_path):
        with pytest.raises(ConfigError) as caught, open_dataset(name, data=data):
            pass
        assert "--data DIR" in caught.value.hint


def test_unknown_sets_are_refused() -> None:
    with pytest.raises(ConfigError, match="no data set 'alice'"), open_dataset("alice"):
        pass


def test_the_second_story_can_be_asked_in_all_its_phrasings() -> None:
    with open_dataset("story2") as dataset:
        main = [q for q in dataset.questions if "main phrasing" in q.groups]
        assert (len(dataset.questions), len(main)) == (120, 40)
        config = SearchConfig()
        graph = dataset.graph
        reached = [reach_of(q, graph.gold_paths(q), graph, config) for q in dataset.questions]
        assert all(reach.reachable for reach in reached)
