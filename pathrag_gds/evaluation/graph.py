"""A data set's graph in memory: gold paths, and what a search could reach at all. Pure but for
reading the files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pathrag_gds.config import SearchConfig
from pathrag_gds.evaluation.questions import Chain, Question
from pathrag_gds.ingest.formats import detect, read
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.lines import Lines
from pathrag_gds.ingest.rows import ChunkRow, DataRow, NodeRow
from pathrag_gds.retrieve.expand import allowed
from pathrag_gds.types import Edge, Hop, Path

__all__ = ["Graph", "Reach", "reach_of", "read_graph"]

_MOST_PATHS = 1000


@dataclass(slots=True)
class Graph:
    """Entities and relationships by id, as a load of the same rows leaves them.

    Attributes:
        names: Of every entity by id; the id where the row has no name.
        chunks: Ids of the chunks.
        edges: By identity.
    """

    names: dict[str, str] = field(default_factory=dict)
    chunks: set[str] = field(default_factory=set)
    edges: dict[tuple[str, ...], Edge] = field(default_factory=dict)
    _around: dict[tuple[str, str, bool], list[Hop]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _types: dict[str, set[tuple[str, bool]]] = field(default_factory=lambda: defaultdict(set))

    def add(self, row: DataRow) -> None:
        """Add a row; one that is there already changes nothing."""
        if isinstance(row, ChunkRow):
            self.chunks.add(row.id)
            return
        if isinstance(row, NodeRow):
            self.names[row.id] = str(row.properties.get("name") or row.id)
            return
        for end in (row.source, row.target):
            self.names.setdefault(end, end)
        edge = Edge(row.key, row.source, row.target, row.type)
        if edge.identity in self.edges:
            return
        self.edges[edge.identity] = edge
        for hop in (Hop(edge, True), Hop(edge, False)):
            self._around[hop.head, edge.type, hop.forward].append(hop)
            self._types[hop.head].add((edge.type, hop.forward))

    def hops(self, node: str, type_: str, forward: bool) -> Sequence[Hop]:
        """Give the hops of one type and direction that start at a node, in the rows' order."""
        return self._around.get((node, type_, forward), ())

    def neighbours(self, node: str) -> Iterator[Hop]:
        """Give every hop that starts at a node, by type and direction."""
        for type_, forward in sorted(self._types.get(node, ())):
            yield from self.hops(node, type_, forward)

    def degree(self, node: str) -> int:
        """Count the hops that start at a node."""
        return sum(len(self.hops(node, *kind)) for kind in self._types.get(node, ()))

    def walk(self, start: str, chain: Chain, *, returns: bool = True) -> list[Path]:
        """Give every path that follows a chain, no relationship twice in a row.

        Args:
            returns: Whether a path may come back to the start.
        """
        paths = [Path((start,))] if start in self.names else []
        for type_, forward in chain:
            paths = [
                path.extend(hop)
                for path in paths
                for hop in self.hops(path.tail, type_, forward)
                if returns or hop.tail != start
            ]
        return paths

    def distances(self, start: str, limit: int) -> dict[str, int]:
        """Count the hops to every node within a limit, whatever their direction."""
        found = {start: 0}
        border = [start]
        for distance in range(1, limit + 1):
            reached = {hop.tail for node in border for hop in self.neighbours(node)}
            border = sorted(reached - found.keys())
            found.update(dict.fromkeys(border, distance))
        return found

    def shortest_paths(
        self, starts: Iterable[str], ends: Iterable[str], limit: int
    ) -> tuple[Path, ...]:
        """Give the shortest ways from any start to any end, whatever the directions.

        Args:
            limit: Hops at most.

        Returns:
            All of the least length, the first 1,000 of them; none within the limit, no path.
        """
        wanted = {id_ for id_ in ends if id_ in self.names}
        left = dict.fromkeys(sorted(wanted), 0)
        origins = sorted({id_ for id_ in starts if id_ in self.names})
        border = list(left)
        for distance in range(1, limit + 1):
            if not left.keys().isdisjoint(origins):
                break
            reached = {hop.tail for node in border for hop in self.neighbours(node)}
            border = sorted(reached - left.keys())
            left.update(dict.fromkeys(border, distance))
        near = [id_ for id_ in origins if id_ in left]
        least = min((left[id_] for id_ in near), default=0)
        paths = [Path((id_,)) for id_ in near if left[id_] == least]
        for remaining in range(least - 1, -1, -1):
            paths = [
                path.extend(hop)
                for path in paths
                for hop in self.neighbours(path.tail)
                if left.get(hop.tail) == remaining
            ][:_MOST_PATHS]
        return tuple(paths)

    def gold_paths(self, question: Question) -> tuple[Path, ...]:
        """Give the gold paths of a question, those that end at a gold answer where any do.

        The file's own, else the walks of its chains from its topics; none where none is known.
        """
        if question.paths or not question.chains:
            return question.paths
        chains = question.chains
        if len(chains) == 1:
            chains = chains * len(question.topics)
        paths = [
            path
            for topic, chain in zip(question.topics, chains, strict=True)
            for path in self.walk(topic, chain, returns=question.returns)
        ]
        ending = [path for path in paths if path.tail in question.entities]
        return tuple(ending or paths)


@dataclass(frozen=True, slots=True)
class Reach:
    """What a search under a policy could find of the gold.

    Attributes:
        reachable: A gold path is short enough and visits nothing that it may not visit again;
            without gold paths, a gold answer is in the graph, or on one of the candidates; where no
            entity is the answer, one that the question names; where passages alone are known to be
            right, all of them are there.
        uncut: One such path passes no node where a cap could drop it, whatever the order.
    """

    reachable: bool
    uncut: bool


def reach_of(question: Question, gold: Sequence[Path], graph: Graph, config: SearchConfig) -> Reach:
    """Say what a search could find at all, however well it ranks."""
    if not gold:
        if question.passages and not (question.entities or question.topics):
            held = question.passages <= graph.chunks
            return Reach(held, held)
        nodes = {node for path in question.candidates for node in path.nodes} or graph.names
        # Where the answer is a number, what is named is all that has to be there.
        present = any(id_ in nodes for id_ in question.entities or question.topics)
        return Reach(present, present)
    may = allowed(config.revisit)
    permitted = [path for path in gold if path.depth <= config.max_depth and _may(path, may)]
    return Reach(bool(permitted), any(_uncut(path, graph, config) for path in permitted))


def _may(path: Path, may: Callable[[Path, Hop], bool]) -> bool:
    walked = Path((path.start,))
    for hop in path.hops:
        if not may(walked, hop):
            return False
        walked = walked.extend(hop)
    return True


def _uncut(path: Path, graph: Graph, config: SearchConfig) -> bool:
    return all(
        len(graph.hops(hop.head, hop.edge.type, hop.forward)) <= config.cap_per_relation
        and graph.degree(hop.head) <= config.expand_per_path
        for hop in path.hops
    )


def read_graph(inputs: Iterable[Input]) -> Graph:
    """Read files into memory as a load reads them.

    Raises:
        LoadError: A file or a row cannot be read.
    """
    graph = Graph()
    for source in map(detect, inputs):
        with Lines(source.path) as lines:
            for record in read(source, lines):
                if record.fault is not None:
                    raise record.fault
                if record.row is not None:
                    graph.add(record.row)
    return graph
