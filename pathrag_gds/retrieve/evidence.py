"""Beams for questions that need no search: what is named, and the paths between two names. No I/O.

They stand in for :class:`~pathrag_gds.retrieve.beam.Beam`, so that a search goes on in one way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pathrag_gds.graph.database import Row
from pathrag_gds.graph.queries import escape_identifier, load
from pathrag_gds.graph.schema import STRUCTURAL_TYPES
from pathrag_gds.retrieve.beam import Group, Shown, Working
from pathrag_gds.retrieve.serialize import entity_text, path_text
from pathrag_gds.retrieve.session import Session
from pathrag_gds.retrieve.statements import Request, edge_of_row
from pathrag_gds.types import Chain, Hop, Path, Step

__all__ = ["BetweenBeam", "NamedBeam", "between_request", "path_of_row"]

# Shortest paths that are read and ranked: more of them than are shown, so that the question's words
# choose among equally short ones.
MAX_BETWEEN = 50


@dataclass(slots=True)
class NamedBeam:
    """Entities as they are: paths of no hop, in the order given."""

    session: Session
    ids: tuple[str, ...]

    @property
    def alive(self) -> bool:
        """Nothing is extended."""
        return False

    def start(self, ids: Sequence[str]) -> None:
        """Take no other starts."""

    def go_deeper(self, depth: int) -> Working:
        """Ask for nothing."""
        yield from ()

    def choose(self) -> tuple[list[Shown], list[Group]]:
        """Give the named entities as surely as they were linked."""
        session = self.session
        return [
            Shown(
                path=Path((id_,)),
                text=entity_text(session.entities[id_]),
                score=session.link_score.get(id_, 0.0),
                confidence=session.link_score.get(id_, 0.0),
                terms={"link": session.link_score.get(id_, 0.0)},
                chain=Chain(id_, ()),
            )
            for id_ in self.ids
        ], []

    def hydrate(self, shown: Sequence[Shown]) -> Generator[Request, list[Row], list[Shown]]:
        """Read all that is told of them."""
        yield from self.session.hydrate(node for path in shown for node in path.path.nodes)
        return list(shown)


@dataclass(slots=True)
class BetweenBeam:
    """The shortest paths between two names: one statement, whatever their length.

    Paths rank by their hops, then by what the reranker makes of their text; their confidence is
    that of the names, since a path between them is there or not.

    Attributes:
        wanted: Which of them are kept; all by default.
    """

    session: Session
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    depth: int
    wanted: Callable[[Path], object] = lambda path: True
    found: list[Path] = field(default_factory=list)
    asked: bool = False

    @property
    def alive(self) -> bool:
        """One statement asks for all."""
        return not self.asked and self.depth > 0

    def start(self, ids: Sequence[str]) -> None:
        """Take no other starts."""

    def go_deeper(self, depth: int) -> Working:
        """Ask for the paths, and read their nodes."""
        self.asked = True
        session = self.session
        request = between_request(session, self.sources, self.targets, self.depth)
        rows = yield from session.ask("expand", request)
        self.found = list(filter(self.wanted, map(path_of_row, rows)))
        session.candidates += len(self.found)
        session.depth = max((path.depth for path in self.found), default=0)
        if self.found:
            yield from session.hydrate(node for path in self.found for node in path.nodes)

    def choose(self) -> tuple[list[Shown], list[Group]]:
        """Give the shortest paths, at most ``top_k``; chains are no groups here."""
        session = self.session
        phrasing = session.context.ontology.phrasing
        texts = [path_text(path, session.entities, phrasing=phrasing) for path in self.found]
        began = session.context.clock()
        read = session.context.reranker.score(session.question, texts) if texts else []
        session.add_time("score", began)
        shown = [
            Shown(
                path=path,
                text=text,
                score=round(score.answer - path.depth, 6),
                confidence=min(
                    session.link_score.get(path.start, 0.0), session.link_score.get(path.tail, 0.0)
                ),
                terms={"rerank": score.answer, "link": session.link_score.get(path.start, 0.0)},
                chain=Chain(
                    path.start, tuple(Step(hop.edge.type, hop.forward) for hop in path.hops)
                ),
            )
            for path, text, score in zip(self.found, texts, read, strict=True)
        ]
        shown.sort(key=lambda one: (-one.score, one.path.key))
        for one in shown[session.config.top_k :]:
            session.note(one.path.depth, "top_k", 1)
        return shown[: session.config.top_k], []

    def hydrate(self, shown: Sequence[Shown]) -> Generator[Request, list[Row], list[Shown]]:
        """Read nothing: the nodes were read to be ranked."""
        yield from ()
        return list(shown)


def between_request(
    session: Session, sources: Sequence[str], targets: Sequence[str], depth: int
) -> Request:
    """Ask for the shortest paths between entities, at most 50.

    Args:
        depth: Hops at most, at least 1.
    """
    types = "|".join(map(escape_identifier, session.config.rel_types))
    predicate = session.hop_filter
    query = load("retrieve/between").render(
        {
            "types": f":{types}" if types else "",
            "depth": str(depth),
            "filter": f"AND {predicate.text}" if predicate.text else "",
        }
    )
    return Request(
        query,
        {
            "tenant": session.context.tenant,
            "sources": list(sources),
            "targets": list(targets),
            "structural": list(STRUCTURAL_TYPES),
            "most": MAX_BETWEEN,
            "filters": dict(predicate.values),
        },
    )


def path_of_row(row: Mapping[str, Any]) -> Path:
    """Make a path of a row of ``retrieve/between``."""
    path = Path((row["nodes"][0],))
    for tail, far, told in zip(row["nodes"], row["nodes"][1:], row["hops"], strict=False):
        forward = told["source"] == tail
        edge = edge_of_row({**told, "tail": tail, "id": far, "forward": forward})
        path = path.extend(Hop(edge, forward))
    return path
