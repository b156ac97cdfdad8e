"""Adapt a reranker to a tenant's graph: read, ask, train, check, install."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from pathrag_gds.adapt.generate import GENERAL, Questions, generate, replayed
from pathrag_gds.adapt.install import install, rerankers_folder
from pathrag_gds.adapt.pairs import Names, Unused, read_pairs, weak_gold
from pathrag_gds.adapt.read import read_graph
from pathrag_gds.errors import ConfigError, ModelError
from pathrag_gds.graph.adapted import AdaptedReranker, adapted_reranker, ontology_fingerprint
from pathrag_gds.graph.database import QueryRunner
from pathrag_gds.graph.schema import Ontology, read_ontology
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.models.files import write_whole
from pathrag_gds.models.path_reranker import (
    RECORD_FILE,
    Calibration,
    PathReranker,
    RerankerRecord,
    shipped_reranker,
)
from pathrag_gds.models.reranker import Reranker, load_reranker
from pathrag_gds.models.training.generate import groups_of
from pathrag_gds.models.training.graph import TrainingGraph
from pathrag_gds.models.training.groups import Group, read_groups, write_groups
from pathrag_gds.models.training.lexicon import load_lexicon
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION
from pathrag_gds.server.files import exclusive
from pathrag_gds.version import __version__

if TYPE_CHECKING:
    from pathrag_gds.models.training.base import Base
    from pathrag_gds.models.training.trainer import Outcome
    from pathrag_gds.models.training.trainer import Progress as TrainingProgress

__all__ = ["AdaptProgress", "Adapted", "Hits", "adapt"]

# A minute of training on two cores, or a batch, sees about so many groups; none need be seen twice.
_GROUPS_PER_MINUTE = 900
_GROUPS_PER_STEP = 20
_LEAST_GROUPS = 400
_HELD_OUT = 600
# Every tenth of a user's own questions is measured with, where there are enough to spare.
_PAIRS_TO_HOLD_OUT = 50
_HELD_OUT_PAIRS = 10
# A user's question is worth more than a generated one: it is told several times, each time beside
# other wrong paths.
_TELLINGS = 6
_MINUTES_PER_CHECKPOINT = 2.0
# Lower than for a new head, so that general skill is kept; high enough to learn a graph in minutes.
_LEARNING_RATE = 1e-4
_PLAN_FILE = "plan.json"
_TRAIN_FILE = "train.jsonl.gz"
_HELD_OUT_FILE = "held_out.jsonl.gz"


@dataclass(frozen=True, slots=True)
class AdaptProgress:
    """Where an adaptation is.

    Attributes:
        stage: ``read``, ``questions``, ``train``, ``export`` or ``check``.
        done: Of ``total``; both 0 where nothing is counted.
        detail: For people.
    """

    stage: str
    done: int = 0
    total: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Hits:
    """How often a right text was first among the texts of a held-out question.

    Attributes:
        questions: About the graph that have a right text.
        hit: Share of them, 0 to 1; 0 without questions.
        chains: The same where texts tell chains of relations; None without such questions.
        paths: The same where they tell whole paths; None without such questions.
        general: The same for questions about made-up worlds; None without such questions.
    """

    questions: int
    hit: float
    chains: float | None
    paths: float | None
    general: float | None

    @property
    def right(self) -> int:
        """How many questions had a right text first, to the nearest whole one."""
        return round(self.hit * self.questions)


@dataclass(frozen=True, slots=True)
class Adapted:
    """What came of an adaptation.

    Attributes:
        outcome: ``installed``; ``no_better``, at least not surely, than what is in use, and nothing
            was changed; ``interrupted``, and the same call goes on.
        before: Of the reranker that was in use; None when interrupted.
        after: Of the adapted one; None when interrupted.
        record: What the graph says of it now; None unless installed.
        folder: Of the adapted reranker; None unless installed.
        groups: Questions that were learnt from.
        unused: Of a user's own questions, those that gave nothing; None without such questions.
    """

    outcome: Literal["installed", "no_better", "interrupted"]
    tenant: str
    replaced: str
    groups: int
    before: Hits | None = None
    after: Hits | None = None
    record: AdaptedReranker | None = None
    folder: Path | None = None
    unused: Unused | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        values = asdict(self)
        values["folder"] = str(self.folder) if self.folder else None
        return values


def adapt(
    db: QueryRunner,
    tenant: str,
    *,
    base: Path | None = None,
    home: Path | str | None = None,
    generated: bool = True,
    pairs: Path | None = None,
    minutes: float = 10.0,
    steps: int | None = None,
    seed: int = 0,
    progress: Callable[[AdaptProgress], None] | None = None,
) -> Adapted:
    """Adapt a reranker to the graph of a tenant, and install it where it is better.

    It is measured on held-out questions beside the reranker that the tenant's searches use now,
    and installed only if it has a right text first more often, by more than one standard error: a
    question or two more can be chance. An interrupted run goes on with the same call: what was done
    lies in the folder of the rerankers until the run is over.

    Args:
        base: Folder to start from, of this package or of ``transformers``; None is the shipped
            reranker, or all-MiniLM-L6-v2 where none ships.
        home: Of the embedded server, where the reranker is installed; None is the default one.
        generated: Learn from questions that are generated from the graph.
        pairs: JSON Lines of a user's own questions with their answers, to learn from, too.
        minutes: Of training; reading, asking and checking come on top.
        steps: Batches of training, instead of minutes.
        seed: Of all draws.
        progress: Called often.

    Raises:
        ConfigError: There is nothing to learn from.
        LoadError: A line of ``pairs`` is wrong.
        MissingExtra: torch is not installed.
        ModelError: A model cannot be loaded or written.
        EmbeddedServerError: Another process adapts to this tenant, too.
        DatabaseError: The server failed.
    """
    from pathrag_gds.models.training.base import load_base
    from pathrag_gds.models.training.torch_import import import_torch

    import_torch()  # its absence must not show only after the graph was read
    if not generated and pairs is None:
        raise ConfigError("There is nothing to learn from: no generated questions, no pairs.")
    report = progress or (lambda at: None)
    if base is None and (shipped_reranker() / RECORD_FILE).is_file():
        base = shipped_reranker()
    start = load_base(base, seed=seed)
    ontology = read_ontology(db, tenant)
    if not ontology.relation_types:
        raise ConfigError(
            f"Tenant {tenant!r} has no relationships to ask about.",
            hint="Load some: pathrag load FILES",
        )
    folder = rerankers_folder(home)
    run = _Adaptation(
        db=db,
        tenant=tenant,
        ontology=ontology,
        base=start,
        folder=folder,
        work=folder / f".work-{hashlib.sha256(tenant.encode()).hexdigest()[:16]}",
        generated=generated,
        pairs=pairs,
        limit={"steps": steps} if steps is not None else {"minutes": minutes},
        wanted=max(
            _LEAST_GROUPS,
            math.ceil(_GROUPS_PER_MINUTE * minutes) if steps is None else _GROUPS_PER_STEP * steps,
        ),
        seed=seed,
        report=report,
    )
    with _refusals(folder):
        folder.mkdir(parents=True, exist_ok=True)
    hint = "Wait for it or end it, then run the command again."
    lock = run.work.with_suffix(".lock")
    with exclusive(lock, wait_s=0, doing=f"adapting to tenant {tenant!r}", hint=hint):
        return run.go()


@dataclass(slots=True)
class _Adaptation:
    db: QueryRunner
    tenant: str
    ontology: Ontology
    base: Base
    folder: Path
    work: Path
    generated: bool
    pairs: Path | None
    limit: Mapping[str, Any]
    wanted: int
    seed: int
    report: Callable[[AdaptProgress], None]
    unused: Unused | None = field(default=None)

    def go(self) -> Adapted:
        self.prepare()
        train = list(read_groups(self.work / _TRAIN_FILE))
        held_out = list(read_groups(self.work / _HELD_OUT_FILE))
        used = self.in_use()
        outcome = self.train(train, held_out)
        if outcome is not None and not outcome.finished:
            return Adapted("interrupted", self.tenant, used.name, len(train), unused=self.unused)
        adapted = self.export(train)
        self.report(AdaptProgress("check", detail=used.name))
        before = firsts_of(used, held_out)
        self.report(AdaptProgress("check", detail="the adapted reranker"))
        after = firsts_of(PathReranker(adapted), held_out)
        old, new = hits_of(held_out, before), hits_of(held_out, after)
        record = target = None
        if gains_enough(held_out, before, after):
            record, target = install(
                self.db,
                adapted,
                self.folder,
                lambda fingerprint: AdaptedReranker(
                    tenant=self.tenant,
                    fingerprint=fingerprint,
                    name=_name(self.tenant),
                    ontology=ontology_fingerprint(self.ontology),
                    template=TEXT_TEMPLATE_VERSION,
                    created=date.today().isoformat(),
                    questions=new.questions,
                    before=round(old.hit, 4),
                    after=round(new.hit, 4),
                ),
            )
        shutil.rmtree(self.work)
        return Adapted(
            "installed" if record else "no_better",
            self.tenant,
            used.name,
            len(train),
            old,
            new,
            record,
            target,
            self.unused,
        )

    def in_use(self) -> Reranker:
        """Give the reranker that the tenant's searches use now."""
        record = adapted_reranker(self.db, self.tenant)
        path = record.folder(self.folder) if record else None
        if path is not None:
            # One that an older version made is left by searches, too.
            with suppress(ModelError):
                return PathReranker(path)
        return load_reranker(None, load_encoder(None))

    def plan(self) -> dict[str, Any]:
        """Say what this run depends on; a run goes on only with the same."""
        return {
            "version": __version__,
            "template": TEXT_TEMPLATE_VERSION,
            "tenant": self.tenant,
            "ontology": ontology_fingerprint(self.ontology),
            "base": self.base.name,
            "generated": self.generated,
            "pairs": hashlib.sha256(self.pairs.read_bytes()).hexdigest() if self.pairs else None,
            "wanted": self.wanted,
            "limit": dict(self.limit),
            "seed": self.seed,
        }

    def prepare(self) -> None:
        """Write the questions into the work folder, unless an interrupted run left them there."""
        pairs = read_pairs(self.pairs) if self.pairs else []
        plan = self.plan()
        file = self.work / _PLAN_FILE
        with _refusals(self.work):
            if (known := _read_json(file)) and known["plan"] == plan:
                self.unused = Unused(**known["unused"]) if known["unused"] else None
                return
            shutil.rmtree(self.work, ignore_errors=True)
            self.work.mkdir(parents=True)
        graph = read_graph(
            self.db,
            self.tenant,
            self.ontology,
            progress=lambda done, total, what: self.report(
                AdaptProgress("read", done, total, what)
            ),
        )
        train: list[Group] = []
        held_out: list[Group] = []
        if self.generated:
            asked = self.ask(graph)
            train += asked.train
            held_out += asked.held_out
        if pairs:
            self.unused = Unused()
            own, own_held_out = self.own(pairs, graph, self.unused)
            if not self.generated:
                own += self.replay(len(own) // 2)
            train += own
            held_out += own_held_out
            Random(f"order {self.seed}").shuffle(train)
        if not held_out or not any(max(group.answer) > 0 for group in train):
            raise ConfigError(
                f"There are too few questions about tenant {self.tenant!r} to learn from some and "
                "to check with others.",
                hint="Give more questions, or let them be generated: pathrag train --adapt",
            )
        write_groups(self.work / _TRAIN_FILE, train)
        write_groups(self.work / _HELD_OUT_FILE, held_out)
        told = {"plan": plan, "unused": asdict(self.unused) if self.unused else None}
        write_whole(file, json.dumps(told).encode())

    def ask(self, graph: TrainingGraph) -> Questions:
        """Generate questions."""
        return generate(
            graph,
            self.ontology,
            load_lexicon(),
            load_encoder(None).count_tokens,
            train=self.wanted,
            held_out=min(_HELD_OUT, self.wanted // 4),
            seed=self.seed,
            progress=lambda done, total, what: self.report(
                AdaptProgress("questions", done, total, what)
            ),
        )

    def replay(self, count: int) -> list[Group]:
        """Give questions about made-up worlds."""
        source = replayed(load_lexicon(), self.seed, load_encoder(None).count_tokens)
        return [next(source) for _ in range(count)]

    def own(
        self, pairs: Sequence[Any], graph: TrainingGraph, unused: Unused
    ) -> tuple[list[Group], list[Group]]:
        """Make groups of a user's own questions: to learn, and to measure with."""
        random = Random(f"pairs {self.seed}")
        asked = list(weak_gold(pairs, graph, Names.of(graph), unused))
        spare = len(asked) >= _PAIRS_TO_HOLD_OUT or not self.generated
        measured = [q for q in asked if spare and _digest(q.question) % _HELD_OUT_PAIRS == 0]
        learnt = [q for q in asked if q not in measured]
        count_tokens = load_encoder(None).count_tokens

        def groups(questions: Sequence[Any], tellings: int) -> list[Group]:
            return [
                group
                for chains in (0.0, 1.0) * tellings
                for group in groups_of(
                    questions,
                    graph,
                    random,
                    count_tokens,
                    chains=chains,
                    phrasing=self.ontology.phrasing,
                )
            ]

        return groups(learnt, _TELLINGS // 2), groups(measured, 1)

    def train(self, train: Sequence[Group], held_out: Sequence[Group]) -> Outcome | None:
        """Train, or go on with it; None where that is done already."""
        from tokenizers import Tokenizer

        from pathrag_gds.models.training.batches import tokenise
        from pathrag_gds.models.training.trainer import (
            CHECKPOINT_FILE,
            REPORT_FILE,
            TrainingRecipe,
        )
        from pathrag_gds.models.training.trainer import train as run

        output = self.work / "model"
        if (output / REPORT_FILE).is_file():
            return None
        reader = Tokenizer.from_str(self.base.tokenizer)
        recipe = TrainingRecipe(
            **self.limit,
            learning_rate=max(self.base.learning_rate, _LEARNING_RATE),
            # One look at the end is enough: nothing is chosen by it.
            evaluate_every=1e6,
            checkpoint_every=_MINUTES_PER_CHECKPOINT,
            seed=self.seed,
        )

        def moved(at: TrainingProgress) -> None:
            detail = f"loss {at.loss:.3f}, {at.pairs_per_second:,.0f} pairs/s"
            self.report(AdaptProgress("train", round(1000 * at.share), 1000, detail))

        return run(
            self.base,
            tokenise(train, reader),
            output,
            recipe,
            held_out=tokenise(held_out, reader),
            resume=(output / CHECKPOINT_FILE).is_file(),
            progress=moved,
        )

    def export(self, train: Sequence[Group]) -> Path:
        """Write the reranker into the work folder, complete; give its folder."""
        from pathrag_gds.models.export import export_reranker, sample_pairs
        from pathrag_gds.models.training.trainer import REPORT_FILE

        self.report(AdaptProgress("export"))
        model, output = self.work / "model", self.work / "reranker"
        found = (_read_json(model / REPORT_FILE) or {})["calibration"]
        sources = {group.source.split("/")[0] for group in train}
        record = RerankerRecord(
            name=_name(self.tenant),
            calibration=Calibration(float(found["slope"]), float(found["intercept"])),
            base=self.base.name,
            trained_on=tuple(sorted(sources)),
            created=date.today().isoformat(),
            ontology=ontology_fingerprint(self.ontology),
        )
        export_reranker(model, output, record, pairs=sample_pairs(train, seed=self.seed))
        return output


def firsts_of(reranker: Reranker, groups: Sequence[Group]) -> list[float | None]:
    """Score groups, and say of each how far a right text is first, 0 to 1.

    Between 0 and 1 where several texts are first and not all are right; None for a group without
    a right text.
    """
    return [_first(reranker, group) if max(group.answer) == 1 else None for group in groups]


def _first(reranker: Reranker, group: Group) -> float:
    scores = [score.answer for score in reranker.score(group.question, group.texts)]
    best = max(scores)
    first = [a for a, score in zip(group.answer, scores, strict=True) if score == best]
    # Texts of one score are in no order, so their mean is what to expect.
    return sum(first) / len(first)


def hits_of(groups: Sequence[Group], firsts: Sequence[float | None]) -> Hits:
    """Say how often a right text is first; groups without one do not count.

    Args:
        firsts: By group, what :func:`firsts_of` says.
    """
    found: dict[str, list[float]] = {"chains": [], "paths": [], "general": []}
    for group, first in zip(groups, firsts, strict=True):
        if first is None:
            continue
        kind = "chains" if group.source.endswith("/chain") else "paths"
        found["general" if _is_general(group) else kind].append(first)
    own = found["chains"] + found["paths"]
    means = {kind: sum(hits) / len(hits) if hits else None for kind, hits in found.items()}
    return Hits(len(own), sum(own) / len(own) if own else 0.0, **means)


def gains_enough(
    groups: Sequence[Group], before: Sequence[float | None], after: Sequence[float | None]
) -> bool:
    """Say whether so many more questions about the graph are right that chance seldom does it.

    The gain must be above one standard error of the paired difference, which is the root of the
    number of questions that changed: ``wins - losses > sqrt(wins + losses)``, the statistic of
    Q. McNemar, "Note on the sampling error of the difference between correlated proportions or
    percentages", Psychometrika 12 (1947). A question that is right in part counts with its
    difference. One question that became right is never enough, and a reranker that is only as
    good as the other passes about one time in six. Questions about made-up worlds do not count.

    Args:
        before: By group, what :func:`firsts_of` says of the reranker in use.
        after: The same of the adapted one.
    """
    changes = [
        new - old
        for group, old, new in zip(groups, before, after, strict=True)
        if old is not None and new is not None and not _is_general(group)
    ]
    return sum(changes) > math.sqrt(sum(change * change for change in changes))


def _is_general(group: Group) -> bool:
    return group.source.startswith(f"{GENERAL}/")


def _name(tenant: str) -> str:
    return f"adapted to {tenant}"


def _digest(text: str) -> int:
    return int(hashlib.md5(text.encode("utf-8", "surrogatepass")).hexdigest(), 16)


def _read_json(path: Path) -> Any:
    """Read a file; None where it is absent or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"Cannot write in {path}: {error.strerror or error}.",
            hint="Choose a folder that you can write in with --home (or PATHRAG_HOME).",
        ) from error
