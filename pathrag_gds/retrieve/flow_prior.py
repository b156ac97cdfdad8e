"""Flow as a prior: how reliable flow calls a path that another beam found. No I/O.

One statement reads what lies around the starts (:mod:`.subgraph`). From each start the paper's
resource spreads over it, and a path that a beam extends has what the paper's formula gives it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

from pathrag_gds.graph.database import Row
from pathrag_gds.retrieve.flow import Threshold, paper_resource, path_reliability
from pathrag_gds.retrieve.session import Session
from pathrag_gds.retrieve.statements import Request
from pathrag_gds.retrieve.subgraph import read_subgraph, subgraph_request

__all__ = ["FlowPrior", "read_prior"]


@dataclass(frozen=True, slots=True)
class FlowPrior:
    """What flows from each start.

    Attributes:
        amounts: S(v) by start, then by node; a node that nothing reaches is not in it.
        decay: What is left of flow after a hop.
    """

    amounts: Mapping[str, Mapping[str, float]]
    decay: float

    def __call__(self, nodes: Sequence[str]) -> float:
        """Give the reliability of a path as a share of the highest there is.

        That is S(P) / (1 + α), with :func:`~pathrag_gds.retrieve.flow.path_reliability`: 1 for one
        hop from a node that has no other neighbour, and less for what is longer or goes through
        nodes that have many.

        Args:
            nodes: Of the path, in order.

        Returns:
            In [0, 1], rounded to 6 decimals; 0 for a path without hops, and for one that nothing is
            known of, as its start is none.
        """
        reached = self.amounts.get(nodes[0])
        if reached is None:
            return 0.0
        return round(path_reliability(nodes, reached) / (1 + self.decay), 6)


def read_prior(
    session: Session, starts: Sequence[str]
) -> Generator[Request, list[Row], FlowPrior | None]:
    """Read what lies around the starts and let flow run from each of them.

    Nothing is read where its weight is 0, and nothing is known where the time limit cut it off.
    θ is ``flow_threshold``; by default nothing is stopped, since nothing is pruned.
    """
    config, context = session.config, session.context
    if not config.weight_flow or not starts:
        return None
    request = subgraph_request(
        starts,
        rounds=config.flow_hops,
        tenant=context.tenant,
        ontology=context.ontology,
        restriction=config.rel_types,
        cap=config.cap_per_relation,
        predicate=session.hop_filter,
    )
    rows = yield from session.ask("flow", request)
    if session.partial:
        return None
    began = context.clock()
    graph = read_subgraph(request, rows).graph
    threshold = Threshold(config.flow_threshold or 0.0)
    amounts = {
        start: paper_resource(
            graph, start, decay=config.flow_decay, threshold=threshold, hops=config.flow_hops
        ).amounts
        for start in starts
    }
    session.add_time("flow", began)
    return FlowPrior(amounts, config.flow_decay)
