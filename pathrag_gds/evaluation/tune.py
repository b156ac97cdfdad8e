"""Find configurations of the search that answer well for what they read.

Two aims pull apart: quality (such as Hit@1) and cost (texts read, or time), so what is looked for
is not one configuration but the curve between them. The method is successive halving with random
sampling and two objectives: configurations are drawn by chance from a small grid (Bergstra and
Bengio, JMLR 13, 2012), all are asked a few questions, the most promising third is asked three times
as many, and so on until a few are left that are asked all (Jamieson and Talwalkar, AISTATS 2016);
which are promising is told by fronts of quality and cost (Schmucker and others,
arXiv 2106.12639, which does so for the asynchronous form). Presets take part as landmarks that are
never dropped.

What is chosen is good on the questions that it was chosen by, and so its figures there flatter.
Therefore a part of the questions is held out, by the MD5 of what they ask for, and only what was
chosen, and the landmarks, are asked them in the end.

Draws and order follow from the seed by a hash: the same call on the same graph gives the same
report in every process, but for times.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pathrag_gds.config import DEFAULT_PRESET, SearchConfig
from pathrag_gds.errors import ConfigError
from pathrag_gds.evaluation.front import Point, front, most_promising
from pathrag_gds.evaluation.metrics import (
    hit_at,
    mean,
    paired_bootstrap,
    percentile,
    reciprocal_rank,
    set_f1,
    wilson,
)
from pathrag_gds.evaluation.questions import AnswerKey, Question, asked_text, start_ids
from pathrag_gds.evaluation.results import ResultsFile
from pathrag_gds.evaluation.run import METHOD, versions
from pathrag_gds.evaluation.systems import Asked, Ranking, Setting
from pathrag_gds.text import fold

__all__ = [
    "AIMS",
    "ROWS_FILE",
    "SPACE",
    "Aim",
    "Cost",
    "Metric",
    "Plan",
    "Pool",
    "Trial",
    "Tuning",
    "draw",
    "plan",
    "split",
]

Metric = Literal["hit@1", "mrr", "f1"]
Cost = Literal["texts", "latency"]

ROWS_FILE = "trials.jsonl"
ETA = 3
"""Of so many configurations one is kept from rung to rung, and asked so many times as much."""
LEAST_QUESTIONS = 8
"""Fewer answers say too little to drop a configuration."""
FINALISTS = 4
_ROW_VERSION = 1
# What costs at least so many times as much as another is clearly dearer.
_CLEARLY = 1.1
_TOLERANCE = 1e-9
_DECIMALS = 4

SPACE: Mapping[str, tuple[Any, ...]] = {
    "beam_width": (6, 10, 16, 30, 60, 100),
    "local_keep": (0, 1, 2, 4),
    "min_prefix": (0.01, 0.02, 0.05, 0.1, 0.2, 0.3),
    "expand_per_path": (10, 20, 50),
    "cap_per_relation": (10, 20, 50, 100),
    "rerank_limit": (20, 40, 100, 200, 500),
    "frontier_width": (30, 100, 300),
    "text_budget": (32, 64, 128),
    "weight_chain": (0.0, 0.15, 0.3, 0.5, 0.7),
    "weight_similarity": (0.0, 3.0, 6.0, 9.0),
    "weight_type": (0.0, 1.0, 2.0, 4.0),
}
"""Fields of :class:`SearchConfig` that are varied unless others are named, and to what."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What one preset may cost.

    Attributes:
        name: Of the preset.
        most: Mean texts of a question at most, or milliseconds of half the questions; None for any.
    """

    name: str
    most: float | None = None


AIMS: Mapping[Cost, tuple[Aim, ...]] = {
    "texts": (Aim("fast", 40), Aim("balanced", 120), Aim("thorough")),
    "latency": (Aim("fast", 250), Aim("balanced", 600), Aim("thorough")),
}
"""What the presets aim at."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Questions and where they are asked.

    Attributes:
        setting: Its configuration is not looked at.
        questions: With answers; those of all pools together have different ids.
        graph: Changes with the graph, so that what was asked of another is not taken for this one.
        by_name: Gold answers are names, ids or values as a person wrote them.
    """

    setting: Setting
    questions: tuple[Question, ...]
    graph: str = ""
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class Trial:
    """A configuration that is tried.

    Attributes:
        name: Of the preset, or ``trial N``.
        key: Identifies what the configuration says, as hex.
    """

    name: str
    config: SearchConfig
    key: str = field(init=False)

    def __post_init__(self) -> None:
        told = json.dumps(self.config.to_dict(), sort_keys=True)
        object.__setattr__(self, "key", hashlib.sha256(told.encode()).hexdigest()[:12])


def draw(
    space: Mapping[str, Sequence[Any]],
    base: SearchConfig,
    count: int,
    *,
    seed: int = 0,
    known: Collection[str] = (),
) -> list[Trial]:
    """Draw configurations by chance, each value as likely as the others of its field.

    What is drawn for a number does not depend on ``count``: a run of more trials goes on from one
    of fewer.

    Args:
        space: Values by field of :class:`SearchConfig`; at least one for each.
        base: Says all other fields.
        count: So many different ones; fewer where the space hardly has more.
        known: Keys of configurations that are not drawn.

    Raises:
        ConfigError: A field is unknown, or a value out of range.
    """
    for name, values in space.items():
        for value in values:
            base.with_(**{name: value})
    seen = set(known)
    found: list[Trial] = []
    # The last of a small space come late, so more is drawn than is wanted.
    for number in range(20 * count + 100):
        if len(found) == count:
            break
        drawn = {n: values[_chance(seed, number, n) % len(values)] for n, values in space.items()}
        trial = Trial(f"trial {number + 1}", base.with_(**drawn))
        if trial.key not in seen:
            seen.add(trial.key)
            found.append(trial)
    return found


def _chance(*what: object) -> int:
    digest = hashlib.sha256("\0".join(map(str, what)).encode()).digest()
    return int.from_bytes(digest[:8], "big")


def split(
    questions: Sequence[Question], share: float, *, seed: int = 0
) -> tuple[list[Question], list[Question]]:
    """Part questions into those to tune by and those that are held out.

    By MD5 of what is asked for (topics and answers, else the text), so that phrasings of one
    question are on one side; whatever the seed, which says in which order they are asked.

    Args:
        share: Held out, above 0 and below 1, a little more where phrasings stay together. At least
            one on each side where there are two things asked for.
    """
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(_subject(question), []).append(question)
    held: list[Question] = []
    tuning: list[Question] = []
    names = sorted(groups, key=lambda name: (_md5(f"held out {name}"), name))
    for place, name in enumerate(names):
        is_held = len(held) < share * len(questions) and place < len(names) - 1
        (held if is_held else tuning).extend(groups[name])

    def order(question: Question) -> tuple[str, str]:
        return _md5(f"{seed} {question.id}"), question.id

    return sorted(tuning, key=order), sorted(held, key=order)


def _subject(question: Question) -> str:
    if not question.answers:
        return question.text
    return json.dumps([sorted(question.topics), sorted(question.answers)])


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is asked.

    Attributes:
        rungs: Configurations and the first questions that they are asked, for each rung.
        landmarks: Presets, which are asked everything.
        held_out: Questions for them and for what is chosen.
        aims: Configurations chosen at most.
    """

    rungs: tuple[tuple[int, int], ...]
    landmarks: int
    held_out: int
    aims: int

    @property
    def searches(self) -> int:
        """Count the searches, at most."""
        before = 0
        total = 0
        for count, questions in self.rungs:
            total += (count + self.landmarks) * (questions - before)
            before = questions
        return total + (self.landmarks + self.aims) * self.held_out


def plan(
    trials: int,
    *,
    tuning: int,
    held_out: int,
    landmarks: int,
    aims: int,
    budget: int | None = None,
) -> Plan:
    """Say which configurations are asked how much.

    Args:
        trials: Configurations drawn at most.
        tuning: Questions to tune by, at least 1.
        budget: Searches at most, by fewer trials; None for any number.

    Raises:
        ConfigError: The budget does not even take the landmarks.
    """

    def of(count: int) -> Plan:
        sizes = [tuning]
        while math.ceil(sizes[0] / ETA) >= LEAST_QUESTIONS and count > FINALISTS * ETA ** (
            len(sizes) - 1
        ):
            sizes.insert(0, math.ceil(sizes[0] / ETA))
        kept = [
            min(count, max(FINALISTS, math.ceil(count / ETA**rung))) for rung in range(len(sizes))
        ]
        chosen = min(aims, count)
        return Plan(tuple(zip(kept, sizes, strict=True)), landmarks, held_out, chosen)

    # One trial more may make one more rung, which costs less, so every number is looked at.
    fitting = (of(count) for count in range(trials, -1, -1))
    found = next((p for p in fitting if budget is None or p.searches <= budget), None)
    if found is None:
        raise ConfigError(
            f"{budget} searches are too few: the presets alone take {of(0).searches}.",
            hint="Ask fewer questions (--limit), or allow more searches (--budget).",
        )
    return found


@dataclass(frozen=True, slots=True)
class _Item:
    """A question in its pool.

    Attributes:
        id: Changes with whatever its answers depend on beside the configuration.
    """

    pool: int
    question: Question
    id: str


Progress = Callable[[int, int, str], None]


class Tuning:
    """A run: :meth:`run` asks, :meth:`report` tells of what was asked so far.

    Args:
        pools: At least one; with at least two questions together.
        landmarks: Presets by name, :data:`~pathrag_gds.config.DEFAULT_PRESET` among them.
        trials: Configurations drawn; see :func:`draw`.
        metric: What is good.
        cost: What is dear.
        aims: What is chosen in the end.
        holdout: Share of the questions that is held out, above 0 and below 1.
        budget: Searches at most, by fewer trials; None for any number.
        seed: For the order in which questions are asked, and for intervals.

    Attributes:
        plan: How much is asked.

    Raises:
        ConfigError: There are too few questions, or the budget is too small.
    """

    def __init__(
        self,
        pools: Sequence[Pool],
        landmarks: Mapping[str, SearchConfig],
        trials: Sequence[Trial],
        *,
        metric: Metric = "hit@1",
        cost: Cost = "texts",
        aims: Sequence[Aim] = AIMS["texts"],
        holdout: float = 0.3,
        budget: int | None = None,
        seed: int = 0,
    ) -> None:
        self._pools = pools
        self._metric: Metric = metric
        self._cost: Cost = cost
        self._aims = aims
        self._seed = seed
        parts = [split(pool.questions, holdout, seed=seed) for pool in pools]
        self._tuning = _mixed(pools, [tuning for tuning, _ in parts])
        self._held = _mixed(pools, [held for _, held in parts])
        if not self._tuning or not self._held:
            raise ConfigError(
                "There are too few questions to tune by some and to check with others.",
                hint="Give at least two that ask for different things; better a hundred.",
            )
        self._landmarks = [Trial(name, config) for name, config in landmarks.items()]
        self.plan = plan(
            len(trials),
            tuning=len(self._tuning),
            held_out=len(self._held),
            landmarks=len(self._landmarks),
            aims=len(aims),
            budget=budget,
        )
        self._drawn = list(trials[: self.plan.rungs[0][0]])
        self._rows: dict[str, dict[str, Any]] = {}
        self._done: set[str] = set()

    def run(self, folder: Path, *, resume: bool = True, progress: Progress | None = None) -> None:
        """Ask; each search is written as it is done, and not done again by a later run.

        Whatever ends it (Ctrl-C, a server that fails): :meth:`report` tells of what is there.

        Raises:
            ConfigError: The folder holds searches of another version of program or model.
            DatabaseError: The server failed.
        """
        report = progress or (lambda done, total, what: None)
        with ResultsFile(folder / ROWS_FILE, self._head(), resume=resume) as results:
            self._rows = results.rows
            alive = self._drawn
            for rung, (count, questions) in enumerate(self.plan.rungs, 1):
                alive = self._best(alive, count)
                what = f"rung {rung} of {len(self.plan.rungs)}: {count} configurations"
                self._ask(
                    [*self._landmarks, *alive], self._tuning[:questions], results, report, what
                )
            chosen = [trial for _, trial in self._choose() if trial is not None]
            asked = {trial.key: trial for trial in (*self._landmarks, *chosen)}
            self._ask(list(asked.values()), self._held, results, report, "held-out questions")

    def report(self) -> dict[str, Any]:
        """Tell what was asked so far, and what is best; plain JSON values.

        Returns:
            ``version``, ``sets``, ``metric``, ``cost``, ``seed``, ``questions`` (``tuning`` and
            ``held_out``), ``rungs``, ``complete``; ``unanswered``: ids of the questions to tune by
            that no configuration answered at all right; ``trials``, landmarks first, each with
            ``name``, ``landmark``, ``changes`` from the default preset, ``tuning`` and ``held_out``
            figures, and ``front``: whether no other is better and cheaper on the same questions.
            ``choices``: for each aim its ``preset``, ``most``, the ``trial`` that is best within it
            (None where none is), and ``difference``: quality on the held-out questions minus that
            of the landmark ``against``, with its paired 95 % interval.
            Figures: ``n``, ``quality`` with its 95 % interval ``low`` to ``high``, ``texts``,
            ``round_trips``, ``millis``, and ``sets``, the quality in each.
        """
        common = self._common()
        comparable = self._comparable(common)
        best = set(front(self._points(comparable, common)))
        chosen = self._choose()
        asked = [t for t in (*self._landmarks, *self._drawn) if self._known(t, self._tuning)]
        base = self._landmarks[self._base()].config
        complete = common == len(self._tuning) and all(
            len(self._known(t, self._held)) == len(self._held)
            for t in (*self._landmarks, *(trial for _, trial in chosen if trial))
        )
        return {
            "version": 1,
            "sets": [
                {
                    "name": pool.setting.dataset.name,
                    "tenant": pool.setting.tenant,
                    "condition": pool.setting.condition,
                    "questions": len(pool.questions),
                }
                for pool in self._pools
            ],
            "metric": self._metric,
            "cost": self._cost,
            "seed": self._seed,
            "questions": {"tuning": len(self._tuning), "held_out": len(self._held)},
            "rungs": [{"configurations": n, "questions": q} for n, q in self.plan.rungs],
            "complete": complete,
            "unanswered": self._unanswered(asked),
            "trials": [
                {
                    "name": trial.name,
                    "landmark": trial in self._landmarks,
                    "changes": _changes(trial.config, base),
                    "front": trial.key in best and trial in comparable,
                    "tuning": self._figures(self._known(trial, self._tuning)),
                    "held_out": self._figures(self._known(trial, self._held)),
                }
                for trial in asked
            ],
            "choices": [self._choice(aim, trial) for aim, trial in chosen],
        }

    def best(self) -> list[tuple[Aim, Trial | None]]:
        """Give what is best within each aim; None where nothing is."""
        return self._choose()

    def _head(self) -> dict[str, Any]:
        setting = self._pools[0].setting
        system = setting.system(setting.reranker, METHOD)
        head = {"what": "pathrag tune", "versions": versions(setting, system, METHOD)}
        told = json.dumps([_ROW_VERSION, head], sort_keys=True)
        return {"fingerprint": hashlib.sha256(told.encode()).hexdigest()[:16], **head}

    def _ask(
        self,
        trials: Sequence[Trial],
        items: Sequence[_Item],
        results: ResultsFile,
        report: Progress,
        what: str,
    ) -> None:
        """Ask all of them; trials take turns in going first, for the first warms the database."""
        for place, item in enumerate(items):
            turn = place % len(trials)
            for trial in (*trials[turn:], *trials[:turn]):
                id_ = _row_id(trial, item)
                report(len(self._done), self.plan.searches, what)
                if id_ not in results.rows:
                    results.add({"id": id_, **self._row(trial, item)})
                self._done.add(id_)

    def _row(self, trial: Trial, item: _Item) -> dict[str, Any]:
        pool = self._pools[item.pool]
        setting = replace(pool.setting, config=trial.config)
        question = item.question
        asked = Asked(
            question,
            asked_text(question, setting.condition),
            start_ids(question, setting.condition),
        )
        ranking = setting.system(setting.reranker, METHOD).rank(asked)
        answers, predicted = _told(ranking, question.answers, by_name=pool.by_name)
        return {
            "hit@1": hit_at(answers, question.answers, 1),
            "mrr": round(reciprocal_rank(answers, question.answers), 6),
            "f1": round(set_f1(predicted, question.answers), 6),
            "texts": ranking.texts_scored,
            "round_trips": ranking.round_trips,
            "millis": ranking.millis["wall"],
        }

    def _known(self, trial: Trial, items: Sequence[_Item]) -> list[tuple[_Item, dict[str, Any]]]:
        found = ((item, self._rows.get(_row_id(trial, item))) for item in items)
        return [(item, row) for item, row in found if row is not None]

    def _best(self, trials: Sequence[Trial], count: int) -> list[Trial]:
        """Keep the most promising by what all of them were asked."""
        if len(trials) <= count:
            return list(trials)
        asked = max(q for _, q in self.plan.rungs if self._all_know(trials, q))
        kept = most_promising(self._points(trials, asked), count)
        return [trial for trial in trials if trial.key in kept]

    def _all_know(self, trials: Iterable[Trial], questions: int) -> bool:
        items = self._tuning[:questions]
        return all(len(self._known(trial, items)) == len(items) for trial in trials)

    def _common(self) -> int:
        """Count the first questions by which trials can be compared: all landmarks know them."""
        sizes = [q for _, q in self.plan.rungs if self._all_know(self._landmarks, q)]
        return max(sizes, default=0)

    def _comparable(self, questions: int) -> list[Trial]:
        if not questions:
            return []
        return [t for t in (*self._landmarks, *self._drawn) if self._all_know([t], questions)]

    def _points(self, trials: Iterable[Trial], questions: int) -> dict[str, Point]:
        items = self._tuning[:questions]
        return {t.key: self._point([row for _, row in self._known(t, items)]) for t in trials}

    def _point(self, rows: Sequence[Mapping[str, Any]]) -> Point:
        quality = round(mean([row[self._metric] for row in rows]) or 0.0, 6)
        if self._cost == "latency":
            return quality, percentile([row["millis"] for row in rows], 0.5)
        return quality, round(mean([row["texts"] for row in rows]) or 0.0, 6)

    def _choose(self) -> list[tuple[Aim, Trial | None]]:
        """Take within each aim the best, of equals the cheapest.

        The preset of the aim's name stays where nothing is better by more than one standard error
        of the difference (after Breiman and others, 1984), or as good and clearly cheaper.
        """
        common = self._common()
        trials = self._comparable(common)
        points = self._points(trials, common)
        found: list[tuple[Aim, Trial | None]] = []
        for aim in self._aims:
            within = [t for t in trials if aim.most is None or points[t.key][1] <= aim.most]
            # min takes the first of equals, and landmarks stand first.
            best = min(within, key=lambda t: (-points[t.key][0], points[t.key][1]), default=None)
            own = next((t for t in within if t.name == aim.name), None)
            if best and own and self._stays(own, best, aim, common):
                best = own
            found.append((aim, best))
        return found

    def _stays(self, preset: Trial, best: Trial, aim: Aim, questions: int) -> bool:
        items = self._tuning[:questions]
        points = self._points((preset, best), questions)
        if aim.most is not None and points[preset.key][1] > points[best.key][1] * _CLEARLY:
            return False
        pairs = zip(self._known(preset, items), self._known(best, items), strict=True)
        gains = [one[self._metric] - other[self._metric] for (_, other), (_, one) in pairs]
        gain = math.fsum(gains) / len(gains)
        return gain <= _standard_error(gains) + _TOLERANCE

    def _base(self) -> int:
        names = [trial.name for trial in self._landmarks]
        return names.index(DEFAULT_PRESET)

    def _choice(self, aim: Aim, trial: Trial | None) -> dict[str, Any]:
        names = {landmark.name: landmark for landmark in self._landmarks}
        against = names.get(aim.name, self._landmarks[self._base()])
        return {
            "preset": aim.name,
            "most": aim.most,
            "trial": None if trial is None else trial.name,
            "against": against.name,
            "difference": None if trial is None else self._difference(against, trial),
        }

    def _difference(self, first: Trial, second: Trial) -> dict[str, Any] | None:
        one = {item.id: row for item, row in self._known(first, self._held)}
        pairs = [
            (one[item.id][self._metric], row[self._metric])
            for item, row in self._known(second, self._held)
            if item.id in one
        ]
        if not pairs:
            return None
        interval = paired_bootstrap([a for a, _ in pairs], [b for _, b in pairs], seed=self._seed)
        return {
            "n": len(pairs),
            "difference": round(interval.difference, _DECIMALS),
            "low": round(interval.low, _DECIMALS),
            "high": round(interval.high, _DECIMALS),
        }

    def _figures(self, known: Sequence[tuple[_Item, Mapping[str, Any]]]) -> dict[str, Any] | None:
        if not known:
            return None
        rows = [row for _, row in known]
        quality = mean([row[self._metric] for row in rows]) or 0.0
        low, high = wilson(quality, len(rows))
        sets: dict[str, list[float]] = {}
        for item, row in known:
            name = self._pools[item.pool].setting.dataset.name
            sets.setdefault(name, []).append(row[self._metric])
        return {
            "n": len(rows),
            "quality": round(quality, _DECIMALS),
            "low": round(low, _DECIMALS),
            "high": round(high, _DECIMALS),
            "texts": _spread([row["texts"] for row in rows]),
            "round_trips": _spread([row["round_trips"] for row in rows]),
            "millis": _spread([row["millis"] for row in rows]),
            "sets": {
                name: {"n": len(values), "quality": round(mean(values) or 0.0, _DECIMALS)}
                for name, values in sets.items()
            },
        }

    def _unanswered(self, trials: Sequence[Trial]) -> list[str]:
        """Name the questions that every trial missed: their answers may be wrong."""
        best: dict[str, float] = {}
        for trial in trials:
            for item, row in self._known(trial, self._tuning):
                id_ = item.question.id
                best[id_] = max(best.get(id_, 0.0), row["mrr"])
        return sorted(id_ for id_, value in best.items() if value == 0)


def _row_id(trial: Trial, item: _Item) -> str:
    return f"{trial.key} {item.id}"


def _item(pools: Sequence[Pool], number: int, question: Question) -> _Item:
    pool, setting = pools[number], pools[number].setting
    told = [
        setting.tenant,
        pool.graph,
        setting.condition,
        setting.reranker.fingerprint,
        question.text,
        sorted(question.answers),
        question.topics,
    ]
    return _Item(number, question, _md5(json.dumps(told)))


def _mixed(pools: Sequence[Pool], parts: Sequence[Sequence[Question]]) -> list[_Item]:
    """Mix pools evenly, so that the first questions are a fair part of each."""
    places = [
        ((place + 0.5) / len(part), pool, question)
        for pool, part in enumerate(parts)
        for place, question in enumerate(part)
    ]
    places.sort(key=lambda place: place[:2])
    return [_item(pools, pool, question) for _, pool, question in places]


def _standard_error(values: Sequence[float]) -> float:
    """Give the standard error of a mean; 0 of one value."""
    middle = math.fsum(values) / len(values)
    squares = math.fsum((value - middle) ** 2 for value in values)
    return math.sqrt(squares / max(len(values) - 1, 1) / len(values))


def _changes(config: SearchConfig, base: SearchConfig) -> dict[str, Any]:
    one, other = config.to_dict(), base.to_dict()
    return {name: value for name, value in one.items() if value != other[name]}


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {
        "mean": round(mean(values) or 0.0, 3),
        "p50": percentile(values, 0.5),
        "p95": percentile(values, 0.95),
    }


def _told(
    ranking: Ranking, gold: Collection[AnswerKey], *, by_name: bool
) -> tuple[list[AnswerKey], frozenset[AnswerKey]]:
    """Give answers, best first, and those that count as the whole answer, as the gold has them."""
    answers = list(ranking.answers)
    predicted = frozenset(answers[:1]) if ranking.predicted is None else ranking.predicted
    if not by_name or ranking.explanation is None:
        return answers, predicted
    spelt = {fold(text): (text, "") for text, _ in sorted(gold)}
    meant: dict[AnswerKey, AnswerKey] = {}
    for answer in ranking.explanation.result.answers:
        # A value is what it says, whoever has it.
        spellings = (answer.id, answer.name) if answer.value is None else (str(answer.value),)
        found = next((spelt[fold(s)] for s in spellings if fold(s) in spelt), None)
        if found is not None:
            meant[answer.id, answer.property] = found
    named = [meant.get(answer, answer) for answer in answers]
    return list(dict.fromkeys(named)), frozenset(meant.get(answer, answer) for answer in predicted)
