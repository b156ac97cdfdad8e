"""Find where chains from different names meet, and put that among the results. No I/O.

What two frontiers have in common is seen where both are whole; where one is a sample, only the
database can tell. So the patterns of the likeliest conjunctions are asked for their answers before
anything is shown: the statement that completes answers anyway, asked earlier. Those that lead to
nothing are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pathrag_gds.retrieve.beam import Group, Shown
from pathrag_gds.retrieve.complete import Found
from pathrag_gds.retrieve.conjoin import Condition, Conjunction, conjoin
from pathrag_gds.retrieve.pattern import PatternAnswers
from pathrag_gds.retrieve.score import shifted
from pathrag_gds.retrieve.serialize import meeting_text
from pathrag_gds.retrieve.session import Session
from pathrag_gds.types import Anchor, Chain, Path

__all__ = ["Joined", "join", "merged", "place", "proven"]

# Shapes whose answers are what paths lead to.
_SHAPES = frozenset({"conjunction"})
_MOST_TEXTS = 60
# Added to the logit of a conjunction for each mention beyond the first: one that leaves no name out
# rather answers. Chosen on conjunctions over the graphs of PathQuestion and on MetaQA's training
# split, where words that happen to be names must not count: from 3 on, the former had the right
# answer first for .825 of 120, without it for .775, by single chains for .308; at 5 the latter
# lost none, without a limit 2 of 120.
_PER_MENTION = 3.0


@dataclass(frozen=True, slots=True)
class Joined:
    """A conjunction that was read.

    Attributes:
        rerank: What the reranker made of its text.
        asked: What the graph says to it; None where it was not asked.
    """

    conjunction: Conjunction
    group: Group
    rerank: float
    link: float
    asked: PatternAnswers | None = field(default=None, compare=False)


def join(
    session: Session, conditions: Iterable[Condition], anchors: Sequence[Anchor]
) -> list[Joined]:
    """Read the conjunctions of what a beam found; best first, none where fewer than two are named.

    Args:
        conditions: Chains that were read, in a fixed order.
        anchors: What the question names; candidates of one mention are alternatives.
    """
    mentions: dict[str, list[str]] = {}
    for anchor in anchors:
        mentions.setdefault(anchor.mention, []).append(anchor.id)
    if session.shape.kind not in _SHAPES or len(mentions) < 2:
        return []
    named = [anchor.id for anchor in anchors]
    found = conjoin(conditions, list(mentions.values()), named, _MOST_TEXTS)
    session.candidates += len(found)
    phrasing = session.context.ontology.phrasing
    began = session.context.clock()
    texts = [
        meeting_text(one.chains, [session.entities[c.start] for c in one.chains], phrasing=phrasing)
        for one in found
    ]
    session.scorer.read_texts(texts)
    session.add_time("score", began)
    joined = []
    for conjunction, text in zip(found, texts, strict=True):
        read = session.scorer.scores.get(text)
        if read is None:
            session.note(conjunction.depth, "time_limit", 1)
            continue
        answer = shifted(read[0], _PER_MENTION * (len(conjunction.conditions) - 1))
        confidence = session.confidence(answer)
        if confidence < session.config.min_score:
            session.note(conjunction.depth, "min_score", 1)
            continue
        chains = conjunction.chains
        surest = min(chains, key=lambda chain: session.link_score.get(chain.start, 0.0)).start
        joined.append(
            Joined(
                conjunction,
                Group(chains, text, confidence, session.total(answer, surest, conjunction.depth)),
                read[0],
                session.link_score.get(surest, 0.0),
            )
        )
    return sorted(joined, key=lambda one: -one.group.score)


def merged(groups: Iterable[Group], joined: Iterable[Joined]) -> list[Group]:
    """Put conjunctions among other groups, best first; before equally good ones."""
    return sorted([*(one.group for one in joined), *groups], key=lambda group: -group.score)


def proven(session: Session, joined: Iterable[Joined], found: Found) -> list[Joined]:
    """Keep the conjunctions that meet somewhere, with what the graph says to them.

    One of which nothing was asked counts by what is known of its frontiers.
    """
    told = {g.chains: a for g, a in zip(found.groups, found.answers, strict=True)}
    kept = []
    for one in joined:
        asked = told.get(one.group.chains)
        if asked.answers if asked else one.conjunction.met:
            kept.append(replace(one, asked=asked))
        else:
            session.note(one.conjunction.depth, "no_meeting", 1)
    return kept


def place(session: Session, joined: Sequence[Joined], shown: Sequence[Shown]) -> list[Shown]:
    """Put instances of conjunctions among the paths of the result.

    An instance is a path of each chain to one node. They stay together: where ``top_k`` leaves no
    room for all of them, the next best take it.

    Args:
        joined: Best first.
        shown: Paths of the beam, best first.
    """
    limit = session.config.top_k
    units = [*(unit for one in joined for unit in _instances(one)), *([path] for path in shown)]
    units.sort(key=lambda unit: -unit[0].score)
    placed: dict[_WayKey, Shown] = {}
    for unit in units:
        new = {_way(path): path for path in unit if _way(path) not in placed}
        if len(placed) + len(new) <= limit:
            placed |= new
        else:
            session.note(unit[0].path.depth, "top_k", len(new))
    return list(placed.values())


_WayKey = tuple[Chain, tuple[str, ...], str]


def _way(shown: Shown) -> _WayKey:
    """Tell paths apart; one that was not read yet does not know its relationships' keys."""
    parallel = "" if shown.meeting or not shown.path.hops else shown.path.hops[-1].edge.key
    return (shown.chain, shown.path.nodes, parallel)


def _instances(joined: Joined) -> Iterator[list[Shown]]:
    """Give a path of each chain to one node, node by node: nearest to the question first."""
    conditions = joined.conjunction.conditions
    if joined.asked is not None:
        ways = [answer.paths for answer in joined.asked.answers if answer.paths]
    else:
        ways = [tuple(c.path_to(end) for c in conditions) for end in joined.conjunction.met]
    for paths in ways:
        yield [
            _shown(joined, path, chain)
            for path, chain in zip(paths, joined.group.chains, strict=True)
        ]


def _shown(joined: Joined, path: Path, chain: Chain) -> Shown:
    return Shown(
        path=path,
        text=joined.group.text,
        score=joined.group.score,
        confidence=joined.group.confidence,
        terms={"rerank": joined.rerank, "similarity": 0.0, "type": 0.0, "link": joined.link},
        chain=chain,
        meeting=joined.group.chains,
    )
