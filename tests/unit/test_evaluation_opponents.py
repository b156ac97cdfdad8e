"""Other people's ways to answer, on small graphs where the right figures can be told by hand."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import md5
from typing import Any

import numpy as np
import pytest

from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import ConfigError, MissingExtra
from pathrag_gds.evaluation.datasets.dataset import Dataset
from pathrag_gds.evaluation.graph import Graph
from pathrag_gds.evaluation.judge import judge
from pathrag_gds.evaluation.opponents.hybrid import plain_words, worth_of
from pathrag_gds.evaluation.opponents.linking import Linked, Linker
from pathrag_gds.evaluation.opponents.pagerank import PageRank, catalog_name, seed_weights
from pathrag_gds.evaluation.opponents.proprag import PropRAG, PropRAGOptions
from pathrag_gds.evaluation.opponents.ranked import in_order, tie_breaker
from pathrag_gds.evaluation.opponents.template import Entry, Template, learn, masked, template
from pathrag_gds.evaluation.questions import Chain, Question
from pathrag_gds.evaluation.systems import Asked, Ranking, Setting, find_opponent
from pathrag_gds.graph.queries import load
from pathrag_gds.ingest.rows import relationship_row
from pathrag_gds.models.encoder import Encoder, load_encoder
from pathrag_gds.models.reranker import CosineReranker
from pathrag_gds.retrieve.session import SearchContext
from pathrag_gds.types import Entity
from tests.fakes import MemoryGraph, RecordingDatabase
from tests.searching import context

FACTS = [
    ("heat", "directed_by", "mann"),
    ("ali", "directed_by", "mann"),
    ("heat", "starred", "de niro"),
    ("ronin", "starred", "de niro"),
    ("mann", "born_in", "chicago"),
]
DIRECTOR: Chain = (("directed_by", True),)
FILMS: Chain = (("directed_by", False),)
OTHERS: Chain = (("directed_by", True), ("directed_by", False))


def memory(facts: Sequence[tuple[str, str, str]] = FACTS) -> Graph:
    graph = Graph()
    for fact in facts:
        graph.add(relationship_row(*fact, {}))
    return graph


def question(text: str, topics: Sequence[str] = (), *chains: Chain, **more: Any) -> Question:
    return Question(f"q:{text}", text, frozenset(), topics=tuple(topics), chains=chains, **more)


def ids(ranking: Ranking) -> list[str]:
    assert all(property_ == "" for _, property_ in ranking.answers)
    return [id_ for id_, _ in ranking.answers]


# Order


def test_the_larger_worth_comes_first_number_by_number() -> None:
    worth = {"a": (0.5, 9.0), "b": (0.7, 1.0), "c": (0.7, 2.0), "d": (1.0, 0.0)}
    assert in_order("q", worth, without={"d"}) == (("c", ""), ("b", ""), ("a", ""))
    assert in_order("q", {}) == ()


def test_ties_fall_by_the_md5_of_question_and_id_whatever_came_first() -> None:
    assert tie_breaker("who?", "ann") == md5(b"who?\0ann").hexdigest()
    # A difference in the tenth decimal is the noise of a sum.
    one = in_order("who?", {"ann": (0.5,), "bob": (0.5 + 1e-10,), "cem": (0.5,)})
    other = in_order("who?", {"cem": (0.5,), "bob": (0.5,), "ann": (0.5,)})
    expected = sorted(["ann", "bob", "cem"], key=lambda id_: md5(f"who?\0{id_}".encode()).digest())
    assert one == other == tuple((id_, "") for id_ in expected)


def test_ties_are_worth_what_chance_makes_of_them() -> None:
    firsts = [in_order(f"question {n}", {c: () for c in "abcd"})[0][0] for n in range(2000)]
    for c in "abcd":
        assert firsts.count(c) / 2000 == pytest.approx(0.25, abs=0.03)


# Lookup table


@pytest.mark.parametrize(
    ("text", "names", "form"),
    [
        ("who directed [Heat]", ["Heat"], "who directed *"),
        ("WHO directed heat ?", ["Heat"], "who directed *"),
        ("the child of Zoë_Kazan 's wife", ["zoe kazan"], "the child of * s wife"),
        ("who is in who", ["Who"], "who is in *"),
        (
            "name a player from Mexico at Forward",
            ["Forward", "Mexico"],
            "name a player from * at *",
        ),
        ("new york new york", ["New York"], "new york *"),
    ],
)
def test_topics_are_masked(text: str, names: list[str], form: str) -> None:
    found = masked(text, names)
    assert found is not None
    assert " ".join(found[0]) == form


def test_masks_know_their_names_and_the_longest_name_goes_first() -> None:
    found = masked("is The Vow older than Vow", ["Vow", "The Vow"])
    assert found == (("is", "*", "older", "than", "*"), (1, 0))
    assert masked("who directed Heat", ["Ronin"]) is None
    assert masked("who directed $", ["$"]) is None


def test_the_most_frequent_chain_of_a_form_is_learned() -> None:
    training = [
        question("who directed [heat]", ["heat"], DIRECTOR),
        question("who directed [ali]", ["ali"], DIRECTOR),
        question("who directed [ronin]", ["ronin"], OTHERS),
        question("no topic known", [], DIRECTOR),
        question("no chain known of [heat]", ["heat"]),
        question("the topic is not in the text", ["heat"], DIRECTOR),
    ]
    assert learn(training, memory().names) == {
        ("who", "directed", "*"): Entry((DIRECTOR,), count=2, total=3)
    }


def table() -> Template:
    training = [
        question("who directed [heat]", ["heat"], DIRECTOR),
        question("what else did the director of [heat] make", ["heat"], OTHERS),
        question("who directed [heat] and [ali]", ["heat", "ali"], DIRECTOR),
    ]
    called = {"heat": [("heat", "heat")], "ali": [("ali", "ali")], "mann": [("mann", "mann")]}
    return Template(learn(training, memory().names), memory(), called)


def test_a_known_form_is_answered_by_all_ends_of_its_chain() -> None:
    asked = question("What else did the director of [ali] make", returns=False)
    ranking = table().rank(Asked(asked, asked.text, ("ali",)))
    assert ids(ranking) == ["heat"]
    assert ranking.predicted == frozenset({("heat", "")})
    assert ranking.confidence == 1.0
    both = replace(asked, returns=True)
    assert set(ids(table().rank(Asked(both, both.text, ("ali",))))) == {"heat", "ali"}


def test_an_unknown_form_gets_no_answer_and_no_confidence() -> None:
    ranking = table().rank(Asked(question("by whom is [ali]"), "by whom is ali", ("ali",)))
    assert (ranking.answers, ranking.predicted, ranking.confidence) == ((), frozenset(), None)


def test_several_topics_are_answered_by_what_all_of_them_reach() -> None:
    asked = question("who directed heat and ali")
    assert ids(table().rank(Asked(asked, asked.text, ("ali", "heat")))) == ["mann"]
    # No topic given: names are linked, and the form of two topics is the one that is known.
    assert ids(table().rank(Asked(asked, asked.text))) == ["mann"]


def test_names_are_linked_where_no_topic_is_given() -> None:
    ranking = table().rank(Asked(question("who directed ali?"), "who directed ali?"))
    assert ids(ranking) == ["mann"]
    assert table().rank(Asked(question("who are you?"), "who are you?")).answers == ()


def setting(*questions: Question, report: tuple[int, ...] = (0, 1)) -> Setting:
    made = Dataset("tale", questions, "digest", graph=memory(), report=report)
    encoder = load_encoder(None)
    return Setting(made, "given", SearchConfig(), encoder, CosineReranker(encoder))


def test_only_buckets_that_are_not_reported_train() -> None:
    known = question("who directed [heat]", ["heat"], DIRECTOR, bucket=5)
    reported = question("who made [heat]", ["heat"], DIRECTOR, bucket=1)
    opponent = template(setting(known, reported))
    assert isinstance(opponent, Template)
    assert set(opponent.table) == {("who", "directed", "*")}
    assert opponent.fingerprint == template(setting(known)).fingerprint
    with pytest.raises(ConfigError, match="no training questions"):
        template(setting(reported))


# PageRank


@dataclass
class FixedLinks:
    """Start at given entities."""

    context: SearchContext
    starts: tuple[str, ...]
    entities: Mapping[str, Entity] = field(default_factory=dict)
    vector: tuple[float, ...] | None = None

    def link(self, asked: Asked) -> Linked:
        starts = asked.start_ids or self.starts
        known = {id_: self.entities.get(id_, Entity(id_, id_)) for id_ in starts}
        return Linked(starts, known, self.vector, 1)


def test_specificity_is_one_over_passages_else_over_facts() -> None:
    entities = {
        "heat": Entity("heat", "heat", chunk_ids=("c1",)),
        "mann": Entity("mann", "mann", chunk_ids=("c1", "c2", "c3")),
        "de niro": Entity("de niro", "de niro"),
        "alone": Entity("alone", "alone"),
    }
    assert seed_weights(("heat", "mann"), entities, memory()) == {"heat": 0.75, "mann": 0.25}
    assert seed_weights(("de niro", "alone"), entities, memory()) == pytest.approx(
        {"de niro": 1 / 3, "alone": 2 / 3}
    )
    assert seed_weights((), entities, memory()) == {}


def pagerank(rows: Sequence[Mapping[str, Any]], graph: Graph) -> tuple[PageRank, RecordingDatabase]:
    db = RecordingDatabase(
        {
            "evaluation/pagerank": [dict(row) for row in rows],
            "evaluation/pagerank_passages": [
                {"id": "p2", "score": 0.6},
                {"id": "p1", "score": 0.7},
            ],
        }
    )
    links = FixedLinks(context(MemoryGraph([], seeds=[]), CosineReranker(Words())), ("heat",))
    return PageRank(db, links, graph, "t"), db


def test_walks_restart_at_the_starts_which_are_no_answers() -> None:
    scores = [
        {"id": "heat", "score": 0.6},
        {"id": "ali", "score": 0.1},
        {"id": "mann", "score": 0.3},
    ]
    opponent, db = pagerank(scores, memory())
    ranking = opponent.rank(Asked(question("who?"), "who?"))
    assert ids(ranking) == ["mann", "ali"]
    assert (ranking.round_trips, ranking.passages) == (2, ())
    ((name, parameters),) = db.calls
    assert (name, parameters["graph"]) == ("evaluation/pagerank", catalog_name("t"))
    assert parameters["seeds"] == [{"id": "heat", "weight": 1.0}]
    assert (parameters["damping"], parameters["tenant"]) == (0.5, "t")


def test_passages_are_ranked_where_there_are_any() -> None:
    graph = memory()
    graph.chunks.update({"p1", "p2"})
    opponent, _ = pagerank([], graph)
    ranking = opponent.rank(Asked(question("who?"), "who?", ("heat",)))
    assert (ranking.answers, ranking.passages, ranking.round_trips) == ((), ("p1", "p2"), 3)


def test_without_a_start_nothing_is_asked() -> None:
    opponent, db = pagerank([], memory())
    links = replace_starts(opponent, ())
    ranking = replace(opponent, links=links).rank(Asked(question("who?"), "who?"))
    assert (ranking.answers, db.calls) == ((), [])


def replace_starts(opponent: PageRank, starts: tuple[str, ...]) -> FixedLinks:
    return FixedLinks(opponent.links.context, starts)


# Beam of propositions


class Words:
    """One dimension a word: cosine is the share of common words; remembers what it read."""

    name = "words"
    max_tokens = 256
    fingerprint = "words"
    dimension = 64

    def __init__(self) -> None:
        self.read: list[str] = []
        self._known: dict[str, int] = {}

    def encode(self, texts: Sequence[str], *, progress: Any = None) -> Any:
        self.read += texts
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().replace(".", "").replace("?", "").split():
                vectors[row, self._known.setdefault(word, len(self._known))] = 1.0
            vectors[row] /= np.linalg.norm(vectors[row])
        return vectors

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def beam(
    encoder: Encoder, *starts: str, facts: Sequence[tuple[Any, ...]] = FACTS, **options: Any
) -> tuple[PropRAG, RecordingDatabase]:
    graph = MemoryGraph(facts, seeds=[])
    db = RecordingDatabase(graph.answers)
    links = FixedLinks(context(graph, CosineReranker(encoder)), starts)
    return PropRAG(db, links, encoder, PropRAGOptions(**options)), db


def test_paths_are_scored_by_their_concatenated_propositions() -> None:
    encoder = Words()
    opponent, db = beam(encoder, "heat", max_depth=2)
    text = "heat directed by mann born in"
    ranking = opponent.rank(Asked(question(text), text))
    # Common words over the root of the product of both counts: 6/√48, 4/√30, 4/√36, 1/√24, 1/√30.
    assert ids(ranking) == ["chicago", "mann", "ali", "de niro", "ronin"]
    assert "heat is directed by mann. mann born in chicago." in encoder.read
    assert ranking.texts_scored == 5
    assert ranking.round_trips == 1 + 2
    assert db.names == ["retrieve/expand", "retrieve/expand"]


def test_what_falls_out_of_the_beam_is_not_extended_but_still_an_answer() -> None:
    text = "heat directed by mann born in"
    opponent, db = beam(Words(), "heat", max_depth=3, beam_width=1)
    ranking = opponent.rank(Asked(question(text), text))
    assert ids(ranking) == ["chicago", "mann", "ali", "de niro"]
    # A path visits no node twice, and the best of depth two ends at a leaf.
    assert [parameters["frontier"] for _, parameters in db.calls] == [
        ["heat"],
        ["mann"],
        ["chicago"],
    ]


def test_passages_come_from_the_hops_of_the_best_paths() -> None:
    facts = [
        ("heat", "directed_by", "mann", {"chunk_ids": ["p1", "p2"]}),
        ("heat", "starred", "de niro", {"chunk_ids": ["p2", "p3"]}),
    ]
    opponent, _ = beam(Words(), "heat", facts=facts, max_depth=1)
    ranking = opponent.rank(Asked(question("heat starred"), "heat starred"))
    assert ids(ranking)[0] == "de niro"
    assert ranking.passages == ("p2", "p3", "p1")


def test_a_beam_from_nowhere_has_no_answer() -> None:
    opponent, db = beam(Words())
    assert opponent.rank(Asked(question("who?"), "who?")).answers == ()
    assert db.calls == []
    lonely, _ = beam(Words(), "alone")
    assert lonely.rank(Asked(question("who?"), "who?")).answers == ()


# Links


def test_starts_are_the_given_else_the_named_else_the_nearest() -> None:
    graph = MemoryGraph(FACTS, seeds=["ronin", "ali", "heat"])
    known = replace(context(graph, CosineReranker(Words())), question_vector=())
    db = RecordingDatabase(graph.answers)
    linker = Linker(db, known, Words(), SearchConfig(), most=2)
    assert linker.link(Asked(question(""), "who directed heat", ("ali", "nobody"))).starts == (
        "ali",
    )
    assert linker.link(Asked(question(""), "who directed heat")).starts == ("heat",)
    nearest = linker.link(Asked(question(""), "any film at all"))
    assert nearest.starts == ("ronin", "ali")
    assert (nearest.round_trips, len(nearest.vector or ())) == (1, Words.dimension)


@pytest.mark.parametrize("name", ["pagerank", "proprag", "graphrag-hybrid"])
def test_a_set_without_a_graph_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"tale has no graph for the opponent '{name}'"):
        find_opponent(name)(setting())


# neo4j-graphrag


def test_lucene_reads_only_words() -> None:
    assert plain_words('Is "Heat" (1995) NOT: AC/DC && [Ali]?') == "is heat 1995 not ac dc ali"
    assert plain_words("?!") == ""


def test_ends_are_worth_their_best_start_then_fewest_hops() -> None:
    rows = [
        {"start": "a", "score": 0.9, "id": "x", "hops": 2},
        {"start": "b", "score": 0.5, "id": "x", "hops": 1},
        {"start": "a", "score": 0.9, "id": "y", "hops": 1},
        {"start": "b", "score": 0.5, "id": "z", "hops": 1},
    ]
    worth = worth_of(rows)
    assert worth == {"x": (0.9, -2.0), "y": (0.9, -1.0), "z": (0.5, -1.0)}
    assert [id_ for id_, _ in in_order("q", worth)] == ["y", "x", "z"]


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "neo4j_graphrag", None)
    with pytest.raises(MissingExtra, match="'eval'"):
        find_opponent("graphrag-hybrid")(setting())


def test_the_tail_begins_with_what_the_package_found() -> None:
    tail = load("evaluation/hybrid_tail").render({"found": ""})
    assert tail.text.strip().startswith("WITH node AS e, score")
    assert [param.name for param in tail.params] == [
        "tenant",
        "topics",
        "starts",
        "reach",
        "structural",
    ]


# What came with a data set


def test_recorded_results_are_looked_up() -> None:
    asked = question("Who?", passages=frozenset({"a", "b"}))
    dataset = Dataset("two", (asked,), "d", recorded={"lightrag": {asked.id: ("b", "c", "a")}})
    setting = Setting(
        dataset, "file", SearchConfig(), load_encoder(None), CosineReranker(load_encoder(None))
    )
    system = find_opponent("lightrag")(setting)
    found = system.rank(Asked(asked, asked.text))
    assert (found.answers, found.passages) == ((), ("b", "c", "a"))
    # Not recorded: it found nothing, and that counts.
    other = question("What?", passages=frozenset({"a"}))
    nothing = system.rank(Asked(other, other.text))
    assert nothing.passages == ()
    row = judge(Asked(asked, asked.text), found, Graph(), SearchConfig())
    assert (row["passage_recall@5"], row["all_passages@8"]) == (1.0, 1.0)
    row = judge(Asked(other, other.text), nothing, Graph(), SearchConfig())
    assert (row["passage_recall@5"], row["all_passages@8"]) == (0.0, 0.0)
    with pytest.raises(ConfigError, match="two has no recorded results of 'plain-vectors'"):
        find_opponent("plain-vectors")(setting)


def test_eight_passages_are_looked_at_for_all_of_the_gold() -> None:
    asked = question("Who?", passages=frozenset({"a", "b"}))
    for place, whole in ((8, 1.0), (9, 0.0)):
        found = ["b", *(f"x{n}" for n in range(place - 2)), "a"]
        ranking = Ranking(answers=(), passages=tuple(found))
        row = judge(Asked(asked, asked.text), ranking, Graph(), SearchConfig())
        assert (row["passage_recall@5"], row["all_passages@8"]) == (0.5, whole)
