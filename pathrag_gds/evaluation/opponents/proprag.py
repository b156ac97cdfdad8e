"""A beam over paths of facts, by embedding alone, in PropRAG's manner.

Jingjin Wang, Jiawei Han: PropRAG, Guiding Retrieval with Beam Search over Proposition Paths (2025),
arXiv 2504.18070; https://github.com/ReLink-Inc/PropRAG. What is taken over: no language model while
searching; a path is worth the similarity of the question and the *re-embedded concatenation* of its
propositions; beam 4, three propositions, 40 candidates a path after a cheap filter. What differs:
a proposition is the sentence of a hop, the cheap filter is the similarity of the neighbour's own
vector instead of the mean of proposition vectors, and starts are linked as our search links them
instead of by a PageRank.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256

from pathrag_gds.evaluation.opponents.linking import Linked, Linker, Links, database_of
from pathrag_gds.evaluation.opponents.ranked import in_order, tie_breaker
from pathrag_gds.evaluation.systems import Asked, Opponent, Ranking, Setting
from pathrag_gds.graph.database import QueryRunner
from pathrag_gds.models.encoder import Encoder
from pathrag_gds.retrieve.expand import allowed, expand_request, extensions, read_neighbours
from pathrag_gds.retrieve.filters import Predicate
from pathrag_gds.retrieve.serialize import Phrasing, hop_sentence
from pathrag_gds.types import Entity, Path

__all__ = ["PropRAG", "PropRAGOptions", "propositions", "proprag"]


@dataclass(frozen=True, slots=True)
class PropRAGOptions:
    """How wide and how deep the beam goes; the defaults are PropRAG's.

    Attributes:
        beam_width: Paths kept from one depth to the next.
        max_depth: Propositions of a path at most.
        candidates: Extensions of one path that are embedded.
        cap_per_relation: Relationships read per node, type and direction.
        linked: Starts, where the question names none.
    """

    beam_width: int = 4
    max_depth: int = 3
    candidates: int = 40
    cap_per_relation: int = 40
    linked: int = 5


def propositions(path: Path, entities: Mapping[str, Entity], phrasing: Phrasing) -> str:
    """Tell a path by what its hops state, one sentence after the other; empty for no hop."""
    return " ".join(hop_sentence(hop, entities, phrasing) for hop in path.hops)


@dataclass(frozen=True, slots=True)
class PropRAG:
    """Rank entities by the best path that ends at them; the starts are left out."""

    db: QueryRunner
    links: Links
    encoder: Encoder
    options: PropRAGOptions = field(default_factory=PropRAGOptions)
    name: str = "proprag"

    @property
    def fingerprint(self) -> str:
        """Give the short hex that names these options and vectors."""
        told = f"1 {self.encoder.fingerprint} {sorted(asdict(self.options).items())}"
        return sha256(told.encode()).hexdigest()[:16]

    def rank(self, asked: Asked) -> Ranking:
        """Answer one question; no answers where nothing leads on from its starts."""
        began = time.perf_counter()
        linked = self.links.link(asked)
        entities = dict(linked.entities)
        round_trips = linked.round_trips
        scores: dict[str, float] = {}
        found: dict[Path, float] = {}
        beam = [Path((start,)) for start in linked.starts]
        for _ in range(self.options.max_depth):
            children, asked_db = self._extended(beam, linked, entities)
            round_trips += asked_db
            if not children:
                break
            texts = self._texts(children, entities)
            self._score(linked, asked.text, list(texts.values()), scores)
            found |= {path: scores[text] for path, text in texts.items()}
            order = self._order(asked.question.text, texts, scores)
            beam = order[: self.options.beam_width]
        wall = (time.perf_counter() - began) * 1000
        best: dict[str, tuple[float, ...]] = {}
        for path, score in found.items():
            best[path.tail] = max(best.get(path.tail, (score,)), (score,))
        question = asked.question.text
        return Ranking(
            answers=in_order(question, best, without=linked.starts),
            passages=_passages(sorted(found, key=lambda p: (-found[p], _tie(question, p)))),
            texts_scored=len(scores),
            round_trips=round_trips,
            millis={"wall": round(wall, 3)},
        )

    def _extended(
        self, beam: Sequence[Path], linked: Linked, entities: dict[str, Entity]
    ) -> tuple[list[Path], int]:
        """Give every path that is one hop longer, and how many statements that took."""
        context = self.links.context
        request = None
        if beam:
            request = expand_request(
                list(dict.fromkeys(path.tail for path in beam)),
                tenant=context.tenant,
                ontology=context.ontology,
                restriction=(),
                targets=(),
                cap=self.options.cap_per_relation,
                predicate=Predicate("", {}),
                vector=linked.vector,
                vector_property=context.vector_property,
            )
        if request is None:
            return [], 0
        around = read_neighbours(request, self.db.run(request.query, **request.parameters))
        may = allowed("node")
        children = []
        for path in beam:
            chosen, _, _ = extensions(
                path,
                around.neighbours.get(path.tail, ()),
                may=may,
                expand_per_path=self.options.candidates,
            )
            for neighbour in chosen:
                entities.setdefault(neighbour.entity.id, neighbour.entity)
                children.append(path.extend(neighbour.hop))
        return children, 1

    def _texts(self, paths: Sequence[Path], entities: Mapping[str, Entity]) -> dict[Path, str]:
        phrasing = self.links.context.ontology.phrasing
        return {path: propositions(path, entities, phrasing) for path in paths}

    def _score(
        self, linked: Linked, question: str, texts: Sequence[str], scores: dict[str, float]
    ) -> None:
        """Score the texts that are new: cosine with the question, rounded to six decimals."""
        new = [text for text in dict.fromkeys(texts) if text not in scores]
        if not new:
            return
        asked = linked.vector or tuple(float(x) for x in self.encoder.encode([question])[0])
        values = self.encoder.encode(new) @ asked
        scores.update((text, round(float(v), 6)) for text, v in zip(new, values, strict=True))

    def _order(
        self, question: str, texts: Mapping[Path, str], scores: Mapping[str, float]
    ) -> list[Path]:
        return sorted(texts, key=lambda path: (-scores[texts[path]], _tie(question, path)))


def _tie(question: str, path: Path) -> str:
    return tie_breaker(question, repr((path.start, *(hop.edge.identity for hop in path.hops))))


def _passages(paths: Sequence[Path]) -> tuple[str, ...]:
    """List the chunks that the hops were read from, best path first."""
    chunks = (chunk for path in paths for hop in path.hops for chunk in hop.edge.chunk_ids)
    return tuple(dict.fromkeys(chunks))


def proprag(setting: Setting) -> Opponent:
    """Set the beam up on the tenant's graph.

    Raises:
        ConfigError: The data set has no graph.
        EncoderMismatch: The vectors in the database are of another encoder.
    """
    options = PropRAGOptions()
    links = Linker.of(setting, "proprag", most=options.linked)
    return PropRAG(database_of(setting, "proprag"), links, setting.encoder, options)
