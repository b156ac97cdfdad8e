"""Questions with their gold answers, and which of them a run asks. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import md5
from typing import Literal, get_args

from pathrag_gds.errors import ConfigError
from pathrag_gds.evaluation.probe import Chain, Probe
from pathrag_gds.types import Path

__all__ = [
    "BUCKETS",
    "AnswerKey",
    "Chain",
    "Condition",
    "Question",
    "asked_text",
    "bucket_of",
    "parse_buckets",
    "select",
    "show_buckets",
    "start_ids",
]

BUCKETS = 10

AnswerKey = tuple[str, str]
"""Id of an entity, and the key of its property where that is the answer; else empty."""

Condition = Literal["given", "file", "plain"]

_MARKS = re.compile(r"[\[\]_]+")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what is known to be right.

    Attributes:
        id: Unique within the data set, the same in every run.
        text: As the file has it, topic marked or not.
        answers: What counts as right: any of them for Hit@k, all of them for the answer set.
        bucket: From 0 to 9; splits are sets of buckets.
        topics: Ids of the entities that the question names; empty where the file does not say.
        chains: Relationship types that lead from each topic to the answers; one for all topics, or
            one for each; empty where none is known.
        paths: Gold paths where the file gives them instead.
        returns: Whether a gold path may come back to its topic.
        passages: Ids of the chunks that the answer follows from; empty where none is known.
        candidates: Paths to rank where there is no graph to search.
        groups: Parts of the data set that it belongs to, such as ``simple``.
        probe: What is right where that is more than entities; None for questions of paths.
    """

    id: str
    text: str
    answers: frozenset[AnswerKey]
    bucket: int = 0
    topics: tuple[str, ...] = ()
    chains: tuple[Chain, ...] = ()
    paths: tuple[Path, ...] = ()
    returns: bool = True
    passages: frozenset[str] = frozenset()
    candidates: tuple[Path, ...] = ()
    groups: tuple[str, ...] = ()
    probe: Probe | None = None

    @property
    def entities(self) -> frozenset[str]:
        """Ids of the entities that are the answer or have it."""
        return frozenset(id_ for id_, _ in self.answers)


def bucket_of(text: str) -> int:
    """Give the bucket of what must not be in two splits: MD5 of the UTF-8 text, modulo 10."""
    return int(md5(text.encode(), usedforsecurity=False).hexdigest(), 16) % BUCKETS


def parse_buckets(text: str) -> frozenset[int]:
    """Read ``3-4`` or ``0,2,5-9``.

    Raises:
        ConfigError: It is not such a list, or names a bucket above 9.
    """
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d)(?:\s*-\s*(\d))?\s*", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise ConfigError(
                f"{text!r} is no list of buckets.", hint="Buckets are 0 to 9: 3-4, or 0,2,5-9."
            )
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(found)


def show_buckets(buckets: Collection[int]) -> str:
    """Write buckets as :func:`parse_buckets` reads them; ``all`` for all ten."""
    if len(buckets) == BUCKETS:
        return "all"
    runs: list[list[int]] = []
    for bucket in sorted(buckets):
        if runs and runs[-1][1] == bucket - 1:
            runs[-1][1] = bucket
        else:
            runs.append([bucket, bucket])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def select(
    questions: Iterable[Question],
    *,
    buckets: Collection[int],
    group: str = "",
    limit: int | None = None,
) -> list[Question]:
    """Choose what is asked, in the order of the MD5 of the question.

    So the first hundred are a fair sample, and part of the first thousand.

    Args:
        group: Only these; empty for all.
        limit: At most so many; None for all.
    """
    chosen = [q for q in questions if q.bucket in buckets and (not group or group in q.groups)]
    chosen.sort(key=lambda q: (md5(q.text.encode(), usedforsecurity=False).hexdigest(), q.id))
    return chosen if limit is None else chosen[:limit]


def asked_text(question: Question, condition: Condition) -> str:
    """Give the text that is asked.

    ``file``: as the file has it. ``given``: without brackets and underscores, for the topic is
    told beside it. ``plain``: the same in lower case, so that nothing shows where the topic is.
    """
    if condition not in get_args(Condition):
        raise ConfigError(
            f"There is no condition {condition!r}.",
            hint="Conditions: " + ", ".join(get_args(Condition)),
        )
    if condition == "file":
        return question.text.strip()
    text = " ".join(_MARKS.sub(" ", question.text).split())
    text = re.sub(r" (['’]s\b|[?.,!;:])", r"\1", text)
    return text.lower() if condition == "plain" else text


def start_ids(question: Question, condition: Condition) -> tuple[str, ...]:
    """Give the ids that the search is told: the topics where the condition gives them."""
    return question.topics if condition == "given" else ()
