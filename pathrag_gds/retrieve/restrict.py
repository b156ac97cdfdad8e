"""Which relationship types the words of a question allow, from the live ontology. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from pathrag_gds.graph.schema import Ontology
from pathrag_gds.retrieve.serialize import relation_phrase
from pathrag_gds.retrieve.terms import WordTerms, roots

__all__ = ["allowed_types", "restriction_warnings"]

_NAMED = 12


def allowed_types(
    words: WordTerms, asked: str, starts: Collection[str], ontology: Ontology
) -> tuple[str, ...]:
    """List the types that a search may follow when only what is asked for may be followed.

    Allowed is a type whose wording the question has a word of; and where the question names the
    type of its answer, a type on a shortest way through the ontology, from domain to range and
    back, from the labels of the starts to a label of that name.

    Args:
        words: Of the question.
        asked: The type that it asks for; empty where it names none.
        starts: Labels of the nodes that the search starts from.

    Returns:
        By name; empty where the question names neither, so that nothing can be told.
    """
    wanted = roots(asked)
    ends = {t.name for t in ontology.entity_types if wanted & roots(relation_phrase(t.name or " "))}
    return tuple(sorted(words.prior.keys() | _between(starts, ends, ontology)))


def _between(starts: Collection[str], ends: Collection[str], ontology: Ontology) -> set[str]:
    """Give the types on the shortest ways from some labels to others, of a step at least."""
    steps = [
        (type_.name, head, tail)
        for type_ in ontology.relation_types
        for domain in type_.domains
        for range_ in type_.ranges
        for head, tail in ((domain, range_), (range_, domain))
    ]
    leading: dict[str, set[str]] = defaultdict(set)
    for _, head, tail in steps:
        leading[head].add(tail)
    there, back = _distances(starts, leading), _distances(ends, leading)
    lengths = {
        (name, head, tail): there[head] + 1 + back[tail]
        for name, head, tail in steps
        if head in there and tail in back
    }
    least = min(lengths.values(), default=0)
    return {name for (name, _, _), length in lengths.items() if length == least}


def _distances(starts: Iterable[str], leading: Mapping[str, set[str]]) -> dict[str, int]:
    """Count the steps to each label that can be come to; a start is 0 away."""
    found = dict.fromkeys(starts, 0)
    edge = list(found)
    while edge:
        edge = [
            tail for head in edge for tail in sorted(leading.get(head, ())) if tail not in found
        ]
        found |= dict.fromkeys(edge, max(found.values()) + 1)
    return found


def restriction_warnings(allowed: Collection[str], types: int, *, empty: bool) -> tuple[str, ...]:
    """Say to what the intent restricted a search, and that it may be why nothing was found.

    Args:
        allowed: See :func:`allowed_types`.
        types: How many the graph has.
        empty: Nothing was found.
    """
    if not allowed:
        return ("The question names no type of the graph, so its intent restricts nothing.",)
    some = sorted(allowed)[:_NAMED]
    more = ", …" if len(allowed) > len(some) else ""
    told = (
        f"Its intent restricts the search to {len(allowed)} of {types} relationship types: "
        f"{', '.join(some)}{more}.",
    )
    if not empty:
        return told
    return (*told, "Nothing was found within them. Ask without: --intent weight")
