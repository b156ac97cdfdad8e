"""A small graph in memory, for questions to be made from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from pathrag_gds.types import Edge, Entity, Hop, Path

__all__ = ["Chain", "Step", "TrainingGraph", "draw_hop"]

_DRAWS = 4

Step = tuple[str, bool]
"""A relationship type and whether it is followed in its stored direction."""
Chain = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class TrainingGraph:
    """Entities and relationships of one graph.

    Attributes:
        name: For statistics.
        entities: By id.
        steps: By id of a node, then by step, the hops that can be taken; all in a fixed order.
        starts: By step, the ids of the nodes that it can be taken from.
        nodes: Ids, in the order given.
        described: Ids of the nodes that have a description which no other node has.
    """

    name: str
    entities: Mapping[str, Entity]
    steps: Mapping[str, Mapping[Step, tuple[Hop, ...]]] = field(repr=False)
    starts: Mapping[Step, tuple[str, ...]] = field(repr=False)
    nodes: tuple[str, ...] = field(repr=False)
    described: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, name: str, entities: Iterable[Entity], edges: Iterable[Edge]) -> TrainingGraph:
        """Build a graph; a relationship with an end that is no entity is left out."""
        known = {entity.id: entity for entity in entities}
        found: dict[str, dict[Step, list[Hop]]] = {id_: defaultdict(list) for id_ in known}
        for edge in sorted(set(edges), key=lambda e: e.identity):
            if edge.source in known and edge.target in known:
                found[edge.source][edge.type, True].append(Hop(edge, True))
                if edge.source != edge.target:
                    found[edge.target][edge.type, False].append(Hop(edge, False))
        steps = {
            id_: {step: tuple(hops) for step, hops in sorted(by_step.items())}
            for id_, by_step in found.items()
        }
        starts: dict[Step, list[str]] = defaultdict(list)
        for id_, by_step in steps.items():
            for step in by_step:
                starts[step].append(id_)
        told = Counter(entity.description for entity in known.values())
        return cls(
            name,
            known,
            steps,
            {step: tuple(ids) for step, ids in starts.items()},
            tuple(known),
            tuple(id_ for id_, e in known.items() if e.description and told[e.description] == 1),
        )

    @property
    def types(self) -> tuple[str, ...]:
        """Relationship types, sorted."""
        return tuple(sorted({step[0] for by_step in self.steps.values() for step in by_step}))

    def hops(self, node: str) -> Iterator[Hop]:
        """Go through all hops from a node."""
        for hops in self.steps[node].values():
            yield from hops

    def degree(self, node: str) -> int:
        """Count the hops from a node."""
        return sum(len(hops) for hops in self.steps[node].values())

    def random_walk(self, start: str, length: int, random: Random) -> Path | None:
        """Take a walk without a node twice; each step's relation is drawn before its end.

        None where the walk gets stuck.
        """
        path = Path((start,))
        for _ in range(length):
            members = list(self.steps[path.tail].values())
            random.shuffle(members)
            drawn = (hop for hops in members if (hop := draw_hop(hops, path.nodes, random)))
            hop = next(drawn, None)
            if hop is None:
                return None
            path = path.extend(hop)
        return path

    def random_hop(self, node: str, avoid: Collection[str], random: Random) -> Hop | None:
        """Draw a hop from a node that leads to none of some nodes; None where all do."""
        members = list(self.steps[node].values())
        for _ in range(_DRAWS if members else 0):
            (hops,) = random.choices(members, [len(hops) for hops in members])
            hop = hops[random.randrange(len(hops))]
            if hop.tail not in avoid:
                return hop
        free = [hop for hop in self.hops(node) if hop.tail not in avoid]
        return free[random.randrange(len(free))] if free else None

    def follow(self, start: str, chain: Sequence[Step], limit: int = 2000) -> list[Path]:
        """List the paths of a chain from a node that never come back to it.

        A node inside may be met twice, as in the pattern that a database would match; no
        relationship is. At most ``limit`` paths are kept per step, the first ones.
        """
        paths = [Path((start,))]
        for step in chain:
            longer = (
                path.extend(hop)
                for path in paths
                for hop in self.steps[path.tail].get(step, ())
                # An edge is one object here; comparing its fields takes most of the time.
                if hop.tail != start and all(h.edge is not hop.edge for h in path.hops)
            )
            paths = list(islice(longer, limit))
        return paths


def draw_hop(hops: Sequence[Hop], avoid: Collection[str], random: Random) -> Hop | None:
    """Draw one of some hops that leads to none of some nodes; None where all do."""
    # A few draws mostly find one, and a hub's hops need not be gone through.
    for _ in range(_DRAWS if hops else 0):
        hop = hops[random.randrange(len(hops))]
        if hop.tail not in avoid:
            return hop
    free = [hop for hop in hops if hop.tail not in avoid]
    return free[random.randrange(len(free))] if free else None
