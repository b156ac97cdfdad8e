"""The best groups of paths become queries, and one statement counts and completes their answers.

Like a search, a generator of requests without I/O.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, replace

from pathrag_gds.graph.database import Row
from pathrag_gds.retrieve.beam import Group, Shown
from pathrag_gds.retrieve.pattern import PatternAnswers, answers_request, pattern_of, read_answers
from pathrag_gds.retrieve.session import Session
from pathrag_gds.retrieve.statements import Request
from pathrag_gds.types import Answer, Chain, Pattern

__all__ = ["Found", "ask_patterns", "fill_in", "fill_in_meetings", "mark"]


@dataclass(frozen=True, slots=True)
class Found:
    """Patterns and what the graph says to them, best first."""

    groups: tuple[Group, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    answers: tuple[PatternAnswers, ...] = ()


def ask_patterns(
    session: Session,
    groups: Iterable[Group],
    named: Sequence[str],
    *,
    unsure: Collection[tuple[Chain, ...]] = (),
    examples: int = 0,
) -> Generator[Request, list[Row], Found]:
    """Make patterns of the best groups, and read their answers in one statement.

    A group of no hop has no query: the node itself is all there is. Nothing is asked where the time
    is up. Chains that turn out not to meet are left out.

    Args:
        groups: Best first.
        named: Ids that the question names: they are no answers.
        unsure: Chains of groups that may not meet: up to twice as many groups are asked, so that
            others can take the place of these.
        examples: Answers of each that come with paths.
    """
    config, context = session.config, session.context
    chosen: list[Group] = []
    sure = 0
    for group in groups:
        if sure == config.patterns or len(chosen) == 2 * config.patterns:
            break
        if all(chain.steps for chain in group.chains):
            chosen.append(group)
            sure += group.chains not in unsure
    if not chosen or session.partial:
        return Found()
    patterns = [
        pattern_of(
            group.chains,
            group.text,
            tenant=context.tenant,
            revisit=config.revisit,
            predicate=session.predicate,
            named=named,
        )
        for group in chosen
    ]
    request = answers_request(
        patterns,
        tenant=context.tenant,
        revisit=config.revisit,
        limit=config.max_answers,
        examples=examples,
        predicate=session.predicate,
        named=named,
        vector=context.question_vector,
        vector_property=context.vector_property,
    )
    rows = yield from session.ask("answers", request)
    found = read_answers(patterns, request, rows)
    kept = [
        (group, replace(pattern, total=told.total), told)
        for group, pattern, told in zip(chosen, patterns, found, strict=True)
        if told.total != 0 or len(group.chains) == 1
    ][: config.patterns]
    if not kept:
        return Found()
    return Found(*(tuple(column) for column in zip(*kept, strict=True)))


def mark(
    answers: Sequence[Answer], shown: Sequence[Shown], found: Found
) -> tuple[tuple[Answer, ...], tuple[Pattern, ...]]:
    """Say of answers which pattern gives them, and of patterns whether all they give is there.

    Args:
        answers: Of the shown paths; their ``paths`` are ranks in ``shown``.
    """
    place = {group.chains: index for index, group in enumerate(found.groups)}
    given = [{answer.entity.id for answer in told.answers} for told in found.answers]

    def marked(answer: Answer) -> Answer:
        indexes = (place.get(shown[rank - 1].chains) for rank in answer.paths)
        pattern = next((i for i in indexes if i is not None and answer.id in given[i]), None)
        return replace(answer, pattern=pattern)

    told = tuple(marked(answer) if answer.kind == "entity" else answer for answer in answers)
    return told, _completed(told, found)


def fill_in(
    answers: Sequence[Answer], shown: Sequence[Shown], groups: Sequence[Group], found: Found
) -> tuple[tuple[Answer, ...], tuple[Pattern, ...]]:
    """Put all answers of the patterns among those of the shown paths, group by group.

    Within a group those that a path is shown of come first, the others by similarity to the
    question, then by id. A group whose paths answer by a property is not filled in.

    Args:
        answers: Of the shown paths; their ``paths`` are ranks in ``shown``.
        groups: All of the result, best first.
    """
    known, _ = mark(answers, shown, found)
    of_group: dict[tuple[Chain, ...], list[Answer]] = {}
    for answer in known:
        of_group.setdefault(shown[answer.paths[0] - 1].chains, []).append(answer)
    by_id = {answer.id: answer for answer in known if answer.kind == "entity"}
    place = {group.chains: index for index, group in enumerate(found.groups)}
    filled: dict[tuple[str, str, str], Answer] = {}
    for group in groups:
        own = of_group.get(group.chains, [])
        for answer in own:
            filled.setdefault(_identity(answer), answer)
        index = place.get(group.chains)
        if index is None or any(answer.kind != "entity" for answer in own):
            continue
        for more in found.answers[index].answers:
            entity = more.entity
            # Also where only paths of a later group that ends there are shown.
            answer = by_id.get(entity.id) or Answer("entity", entity.id, entity.name)
            answer = replace(answer, confidence=group.confidence, pattern=index)
            filled.setdefault(_identity(answer), answer)
    return tuple(filled.values()), _completed(filled.values(), found)


def fill_in_meetings(
    answers: Sequence[Answer], shown: Sequence[Shown], found: Found
) -> tuple[tuple[Answer, ...], tuple[Pattern, ...]]:
    """Put all nodes where chains meet after the first of them that a path is shown to.

    Other answers stay as they are: of paths that were read whole, not all of a chain are alike.

    Args:
        answers: Of the shown paths; their ``paths`` are ranks in ``shown``.
    """
    known, _ = mark(answers, shown, found)
    place = {group.chains: index for index, group in enumerate(found.groups)}
    by_id = {answer.id: answer for answer in known if answer.kind == "entity"}
    filled: dict[tuple[str, str, str], Answer] = {}
    for answer in known:
        filled.setdefault(_identity(answer), answer)
        meeting = shown[answer.paths[0] - 1].meeting
        if answer.kind != "entity" or meeting not in place:
            continue
        for more in found.answers[place[meeting]].answers:
            entity = more.entity
            other = by_id.get(entity.id) or Answer("entity", entity.id, entity.name)
            other = replace(other, confidence=answer.confidence, pattern=place[meeting])
            filled.setdefault(_identity(other), other)
    return tuple(filled.values()), _completed(filled.values(), found)


def _identity(answer: Answer) -> tuple[str, str, str]:
    return (answer.kind, answer.id, answer.property)


def _completed(answers: Iterable[Answer], found: Found) -> tuple[Pattern, ...]:
    """Say of each pattern whether every answer in the graph is among the answers given."""
    listed = {answer.id for answer in answers if answer.kind == "entity"}
    return tuple(
        replace(
            pattern, complete=told.complete and all(a.entity.id in listed for a in told.answers)
        )
        for pattern, told in zip(found.patterns, found.answers, strict=True)
    )
