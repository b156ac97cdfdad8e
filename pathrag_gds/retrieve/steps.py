"""Chains as data: labels that stand for nodes, the chain of a path, what may be walked. Pure.

A chain holds no relationships, only ways through nodes, so a relationship is here what connects two
nodes by one type in one direction; how many of them run side by side is given as a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pathrag_gds.config import RevisitPolicy
from pathrag_gds.graph.schema import Ontology
from pathrag_gds.types import Chain, Entity, Path, Step

__all__ = ["Way", "chain_of", "label_of", "labels_by_count", "may_step"]

Way = tuple[str, ...]
"""Ids of the nodes of one instance of a chain, the start first."""


def labels_by_count(ontology: Ontology) -> tuple[str, ...]:
    """List the labels of a graph, the most frequent first, equally frequent ones by name."""
    named = [t for t in ontology.entity_types if t.name]
    return tuple(t.name for t in sorted(named, key=lambda t: (-t.count, t.name)))


def label_of(labels: Sequence[str], order: Sequence[str]) -> str:
    """Give the one label that a node counts under: the first in order that it has, or none."""
    return next((label for label in order if label in labels), "")


def chain_of(path: Path, entities: Mapping[str, Entity], order: Sequence[str]) -> Chain:
    """Give the chain of a path, nodes between its ends that have a description kept as they are.

    The text of such a node is what the path was chosen for; the end stands for all like it, but
    where the path returns to its start.

    Args:
        order: Of labels; see :func:`labels_by_count`.
    """
    steps = []
    for number, hop in enumerate(path.hops, start=1):
        node = entities[hop.tail]
        told = number < path.depth and bool(node.description)
        back = hop.tail == path.start
        steps.append(
            Step(
                hop.edge.type,
                hop.forward,
                label_of(node.labels, order),
                hop.tail if told or back else "",
            )
        )
    return Chain(path.start, tuple(steps))


def may_step(
    policy: RevisitPolicy, steps: Sequence[Step], way: Way, step: Step, end: str, parallel: int
) -> bool:
    """Say whether an instance of a chain may be extended by one step to a node.

    The same as :func:`pathrag_gds.retrieve.expand.allowed`, told without the relationships: where
    several run side by side, each may be walked once.

    Args:
        steps: That the way took so far; one less than it has nodes.
        end: Node that the step leads to.
        parallel: Relationships of the step's type and direction from the way's end to that node.
    """
    if policy == "node":
        return end not in way
    if policy == "topic" and end == way[0]:
        return False
    wanted = _relationship(way[-1], step, end)
    if policy == "none":
        last = _relationship(way[-2], steps[-1], way[-1]) if steps else None
        return last != wanted or parallel > 1
    walked = sum(
        _relationship(head, taken, tail) == wanted
        for head, taken, tail in zip(way, steps, way[1:], strict=False)
    )
    return walked < parallel


def _relationship(head: str, step: Step, tail: str) -> tuple[str, str, str]:
    return (head, step.type, tail) if step.forward else (tail, step.type, head)
