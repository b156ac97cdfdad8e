"""The training run: schedule, steps, checkpoints, evaluation, and the report of it."""

from __future__ import annotations

import json
import logging
import math
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pathrag_gds.errors import ConfigError, ModelError
from pathrag_gds.evaluation import metrics
from pathrag_gds.models.encoder import MAX_TOKENS
from pathrag_gds.models.files import write_whole
from pathrag_gds.models.path_reranker import OUTPUTS, Calibration
from pathrag_gds.models.training.base import Base, save_model
from pathrag_gds.models.training.batches import TokenisedGroups, epoch_batches, runs_of
from pathrag_gds.models.training.calibrate import platt
from pathrag_gds.models.training.measures import Figures, measure, measure_by_source
from pathrag_gds.models.training.network import (
    PRECISIONS,
    Network,
    processor_flags,
)
from pathrag_gds.models.training.torch_import import import_torch
from pathrag_gds.version import __version__

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

__all__ = [
    "CHECKPOINT_FILE",
    "REPORT_FILE",
    "Outcome",
    "Progress",
    "TrainingRecipe",
    "predict",
    "train",
]

CHECKPOINT_FILE = "checkpoint.pt"
REPORT_FILE = "report.json"
LOG = logging.getLogger(__name__)

_CHECKPOINT_VERSION = 1
# Held-out groups of an evaluation on the way; the last one takes all.
_GROUPS_ON_THE_WAY = 1000
# Weight of the newest step in the loss that is shown.
_LOSS_SMOOTHING = 0.02
_INTERESTING_FLAGS = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_tile")
# What may differ when a run goes on: when it looks up, and when it ends.
_CHANGEABLE = ("minutes", "steps", "epochs", "evaluate_every", "checkpoint_every")


@dataclass(frozen=True, slots=True)
class TrainingRecipe:
    """How to train. One of ``minutes``, ``steps`` and ``epochs`` says when to stop.

    Attributes:
        minutes: Wall clock of the run, evaluations on the way included. How far the same minutes
            get depends on the machine.
        steps: Number of batches.
        epochs: How often each group is seen.
        learning_rate: At its highest.
        warm_up: Share of the run in which the learning rate rises to its highest, 0 to 1; it falls
            to 0 in the rest.
        weight_decay: Of matrices; norms and biases do not decay.
        clip: Longest gradient.
        listwise: Weight of the loss that lets the texts of a group compete.
        tokens_per_batch: Most tokens between two updates of the weights.
        tokens_per_run: Most tokens that go through the model together.
        precision: Of the products: ``auto``, ``float32`` or ``bfloat16``.
        frozen_embeddings: Leave the embeddings as they are.
        keep: Weights that are saved: those of the ``last`` step, or the ``best`` of the
            evaluations by ``hit``.
        blend: Share of these in the weights that are saved, above 0 to 1; the rest is of the base.
            In between, a model keeps what the base knew besides what it learnt: M. Wortsman et
            al., "Robust fine-tuning of zero-shot models", CVPR 2022, equation 1.
        evaluate_every: Minutes between evaluations of held-out groups.
        checkpoint_every: Minutes between checkpoints.
        max_tokens: Of a pair.
        threads: Of torch; 0 leaves them as they are.
        seed: Of order and new weights.

    Raises:
        ConfigError: A value is out of range, or not exactly one limit is given.
    """

    minutes: float | None = None
    steps: int | None = None
    epochs: int | None = None
    learning_rate: float = 2e-4
    warm_up: float = 0.06
    weight_decay: float = 0.01
    clip: float = 1.0
    listwise: float = 1.0
    tokens_per_batch: int = 8192
    tokens_per_run: int = 4096
    precision: str = "auto"
    frozen_embeddings: bool = True
    keep: Literal["last", "best"] = "last"
    blend: float = 1.0
    evaluate_every: float = 10.0
    checkpoint_every: float = 10.0
    max_tokens: int = MAX_TOKENS
    threads: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        limits = [v for v in (self.minutes, self.steps, self.epochs) if v is not None]
        if len(limits) != 1 or not limits[0] > 0:
            raise ConfigError(
                "A training run needs exactly one limit above 0: minutes, steps or epochs."
            )
        positive = (
            "learning_rate",
            "clip",
            "tokens_per_batch",
            "tokens_per_run",
            "evaluate_every",
            "checkpoint_every",
        )
        for name in positive:
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name} must be above 0, not {getattr(self, name)!r}.")
        for name in ("weight_decay", "listwise", "threads"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ConfigError(f"{name} must not be below 0, but is {getattr(self, name)!r}.")
        if not 0 < self.blend <= 1:
            raise ConfigError(f"blend must be above 0 to 1, not {self.blend!r}.")
        if not 0 <= self.warm_up < 1:
            raise ConfigError(f"warm_up must be from 0 to below 1, not {self.warm_up!r}.")
        if not 100 <= self.max_tokens <= MAX_TOKENS:
            raise ConfigError(f"max_tokens must be 100 to {MAX_TOKENS}, not {self.max_tokens!r}.")
        if self.precision not in PRECISIONS:
            raise ConfigError(f"precision must be one of {PRECISIONS}, not {self.precision!r}.")
        if self.keep not in ("last", "best"):
            raise ConfigError(f"keep must be last or best, not {self.keep!r}.")

    def rate(self, share: float) -> float:
        """Give the learning rate when a share of the run is done, from 0 to 1."""
        if share < self.warm_up:
            return self.learning_rate * share / self.warm_up
        return self.learning_rate * max(0.0, 1 - share) / (1 - self.warm_up)


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a training run is.

    Attributes:
        step: Batches done.
        share: Of the run that is done, from 0 to 1.
        loss: Mean over the last fifty batches or so.
        pairs_per_second: Since the run began or went on.
        remaining: Seconds that are left, about.
        figures: Of an evaluation that has just been made, else None.
    """

    step: int
    share: float
    loss: float
    pairs_per_second: float
    remaining: float
    figures: Figures | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a training run.

    Attributes:
        finished: False when it was interrupted: then there is a checkpoint, and no model.
        step: Batches done.
        seconds: Of all sittings together.
        figures: Of all held-out groups; None without any, and when interrupted.
        calibration: Of ``answer``; None as above.
    """

    finished: bool
    step: int
    seconds: float
    figures: Figures | None = None
    calibration: Calibration | None = None


def train(
    base: Base,
    data: TokenisedGroups,
    output: Path,
    recipe: TrainingRecipe,
    *,
    held_out: TokenisedGroups | None = None,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Train a classifier on groups; write the model and ``report.json`` into a folder.

    With a limit of steps or epochs, the same arguments give the same weights on the same machine
    with as many threads, whether the run was interrupted or not. SIGINT ends the batch, writes a
    checkpoint and ends the run; a second one ends it at once.

    Args:
        base: Where training starts.
        data: What is learnt.
        output: Folder of the model; made when absent. Checkpoints lie in it until the run is done.
        held_out: What is never learnt, and measured.
        resume: Go on where the checkpoint in ``output`` stopped.
        progress: Called after every batch.

    Raises:
        ConfigError: There is nothing to learn from; ``output`` holds a checkpoint and ``resume``
            is not given, or the other way round, or the checkpoint is of another run.
        ModelError: The checkpoint is damaged, or the loss is no number any more.
        MissingExtra: torch is not installed.
    """
    torch = import_torch()
    if not len(data):
        raise ConfigError("There is no group to train on.")
    if recipe.threads:
        torch.set_num_threads(recipe.threads)
    run = _TrainingRun(base, data, output, recipe, held_out)
    output.mkdir(parents=True, exist_ok=True)
    checkpoint = output / CHECKPOINT_FILE
    if resume:
        run.restore(checkpoint)
    elif checkpoint.exists():
        raise ConfigError(
            f"{checkpoint} is of a run that was not finished.",
            hint="Go on with --resume, or remove the file.",
        )
    with _interruptible() as interrupted:
        done = run.go(progress or (lambda _: None), interrupted)
    if not done:
        return Outcome(False, run.step, run.seconds())
    return run.finish()


def predict(network: Network, data: TokenisedGroups, *, tokens_per_run: int = 4096) -> Matrix:
    """Give the logits of every pair, (pairs, 2)."""
    import numpy as np

    torch = import_torch()
    logits = np.zeros((data.pairs, OUTPUTS), np.float32)
    with torch.inference_mode():
        for start in range(0, len(data), _GROUPS_ON_THE_WAY):
            groups = range(start, min(start + _GROUPS_ON_THE_WAY, len(data)))
            for run in runs_of(data, groups, tokens_per_run):
                logits[run.pairs] = network.logits(run).numpy()
    return logits


class _TrainingRun:
    """The state of a run; ``step``, ``epoch`` and ``place`` say which batch comes next."""

    def __init__(
        self,
        base: Base,
        data: TokenisedGroups,
        output: Path,
        recipe: TrainingRecipe,
        held_out: TokenisedGroups | None,
    ) -> None:
        self.torch = import_torch()
        self.base = base
        self.data = data
        self.output = output
        self.recipe = recipe
        self.held_out = held_out if held_out is not None and len(held_out) else None
        self.watched = _some_groups(self.held_out) if self.held_out else None
        self.network = Network(
            base.bert, precision=recipe.precision, frozen_embeddings=recipe.frozen_embeddings
        )
        self.optimizer = self.torch.optim.AdamW(
            self.network.parameters(recipe.weight_decay), lr=recipe.learning_rate, fused=True
        )
        self.batches: list[tuple[int, ...]] = []
        self.step = self.epoch = self.place = 0
        self.pairs = self.tokens = 0
        self.loss = 0.0
        self.seconds_before = 0.0
        self.history: list[dict[str, Any]] = []
        self.best: tuple[float, list[Any]] | None = None
        self.started = time.monotonic()
        self.fingerprint = data.fingerprint()

    def seconds(self) -> float:
        """Give the seconds of all sittings up to now."""
        return self.seconds_before + time.monotonic() - self.started

    def share(self) -> float:
        """Give how much of the run is done, from 0 to 1."""
        recipe = self.recipe
        if recipe.minutes is not None:
            return min(1.0, self.seconds() / (60 * recipe.minutes))
        if recipe.steps is not None:
            return min(1.0, self.step / recipe.steps)
        assert recipe.epochs is not None
        within = self.place / len(self.batches)
        return min(1.0, (self.epoch + within) / recipe.epochs)

    def go(self, progress: Callable[[Progress], None], interrupted: Callable[[], bool]) -> bool:
        """Train to the end; False when interrupted before it, after a checkpoint."""
        recipe = self.recipe
        self.batches = self.cut()
        self.started = time.monotonic()
        pairs_before, seconds_before = self.pairs, self.seconds()
        evaluated = saved = self.started
        while (share := self.share()) < 1:
            self.train_batch(self.batches[self.place], recipe.rate(share))
            self.advance()
            share = self.share()
            now = time.monotonic()
            figures = None
            if share < 1 and now - evaluated >= 60 * recipe.evaluate_every:
                figures = self.evaluate()
                evaluated = time.monotonic()
            if interrupted() and share < 1:
                self.save()
                return False
            if now - saved >= 60 * recipe.checkpoint_every:
                self.save()
                saved = time.monotonic()
            spent = self.seconds() - seconds_before
            progress(
                Progress(
                    step=self.step,
                    share=share,
                    loss=self.loss,
                    pairs_per_second=(self.pairs - pairs_before) / max(spent, 1e-9),
                    remaining=self.seconds() / share * (1 - share) if share else math.inf,
                    figures=figures,
                )
            )
        # The evaluation that follows may be interrupted, too.
        self.save()
        return True

    def cut(self) -> list[tuple[int, ...]]:
        """Give the batches of the epoch."""
        return epoch_batches(
            self.data, self.recipe.tokens_per_batch, seed=self.recipe.seed, epoch=self.epoch
        )

    def advance(self) -> None:
        """Move on to the next batch."""
        self.step += 1
        self.place += 1
        if self.place == len(self.batches):
            self.epoch, self.place = self.epoch + 1, 0
            self.batches = self.cut()

    def train_batch(self, groups: tuple[int, ...], rate: float) -> None:
        """Learn from the pairs of some groups together."""
        import numpy as np

        runs = list(runs_of(self.data, groups, self.recipe.tokens_per_run))
        outputs = [self.network.logits(run) for run in runs]
        # Runs mix the pairs of all groups, and a group's loss needs all of its logits. So the loss
        # is differentiated by the logits first, and each run by its weights afterwards.
        order = np.concatenate([run.pairs for run in runs])
        logits = self.torch.cat([output.detach() for output in outputs]).requires_grad_()
        loss = self.batch_loss(logits, order, groups)
        value = loss.item()
        if not math.isfinite(value):
            raise ModelError(
                f"The loss is {value} after {self.step} batches.",
                hint="Train with a lower learning rate.",
            )
        loss.backward()
        self.network.clear()
        for output, part in zip(
            outputs, logits.grad.split([len(run.pairs) for run in runs]), strict=True
        ):
            output.backward(part)
            self.network.collect()
        self.network.clip(self.recipe.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.network.refresh()
        newest = 1.0 if not self.step else max(_LOSS_SMOOTHING, 1 / (self.step + 1))
        self.loss += newest * (value - self.loss)
        self.pairs += len(order)
        self.tokens += sum(len(run.ids) for run in runs)

    def batch_loss(self, logits: Any, order: Any, groups: tuple[int, ...]) -> Any:
        """Give the loss of pairs that lie in the order of their numbers in ``order``."""
        import numpy as np

        torch, data = self.torch, self.data
        labels = torch.from_numpy(np.stack([data.answer[order], data.prefix[order]], axis=1))
        rows = {int(pair): row for row, pair in enumerate(order)}
        members = [
            [rows[pair] for pair in range(int(data.group_starts[g]), int(data.group_starts[g + 1]))]
            for g in groups
        ]
        return group_loss(logits, labels, members, self.recipe.listwise)

    def evaluate(self) -> Figures | None:
        """Measure some of the held-out groups, and remember the figures."""
        if self.watched is None:
            return None
        figures = measure(predict(self.network, self.watched), self.watched)
        self.history.append(
            {"step": self.step, "seconds": round(self.seconds()), "loss": round(self.loss, 4)}
            | figures.to_dict()
        )
        if self.recipe.keep == "best":
            hit = figures.hit or 0.0
            if self.best is None or hit > self.best[0]:
                self.best = hit, [m.detach().clone() for m in self.network.masters()]
        return figures

    def save(self) -> None:
        """Write a checkpoint; it appears whole or not at all."""
        state = {
            "version": _CHECKPOINT_VERSION,
            "recipe": asdict(self.recipe),
            "base": self.base.name,
            "data": self.fingerprint,
            "precision": self.network.precision,
            "masters": [master.detach() for master in self.network.masters()],
            "optimizer": self.optimizer.state_dict(),
            "random": self.torch.get_rng_state(),
            "step": self.step,
            "epoch": self.epoch,
            "place": self.place,
            "pairs": self.pairs,
            "tokens": self.tokens,
            "loss": self.loss,
            "seconds": self.seconds(),
            "history": self.history,
            "best": self.best,
        }
        path = self.output / CHECKPOINT_FILE
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            self.torch.save(state, temporary)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        LOG.info("Checkpoint after %d batches: %s", self.step, path)

    def restore(self, path: Path) -> None:
        """Go back to a checkpoint of the same run."""
        if not path.is_file():
            raise ConfigError(
                f"There is no checkpoint {path}.", hint="Leave --resume out to start anew."
            )
        try:
            state = self.torch.load(path, weights_only=True)
            if state["version"] != _CHECKPOINT_VERSION:
                raise ValueError(f"its version is {state['version']}")
            saved = TrainingRecipe(**state["recipe"])
        except Exception as error:  # torch raises what pickle, zip and its own checks raise
            raise ModelError(
                f"The checkpoint {path} is damaged: {error}", hint="Remove it and start anew."
            ) from error
        self.check_same(path, state, saved)
        self.network.load(state["masters"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.torch.set_rng_state(state["random"])
        for name in ("step", "epoch", "place", "pairs", "tokens", "loss", "history"):
            setattr(self, name, state[name])
        self.best = tuple(state["best"]) if state["best"] else None
        self.seconds_before = state["seconds"]

    def check_same(self, path: Path, state: dict[str, Any], saved: TrainingRecipe) -> None:
        """Refuse a checkpoint that other data, another base or another recipe made."""
        mine, theirs = asdict(self.recipe), asdict(saved)
        differing = [n for n in mine if n not in _CHANGEABLE and mine[n] != theirs[n]]
        if state["data"] != self.fingerprint:
            differing.append("data")
        if state["base"] != self.base.name:
            differing.append("base")
        if state["precision"] != self.network.precision:
            differing.append("precision")
        if differing:
            raise ConfigError(
                f"The run in {path} differs in: {', '.join(sorted(set(differing)))}.",
                hint="Repeat the options of that run, or train into another folder.",
            )

    def finish(self) -> Outcome:
        """Write the model and the report; remove the checkpoint."""
        seconds = self.seconds()
        if self.best is not None:
            # The last weights take part in the choice.
            self.evaluate()
            self.network.load(self.best[1])
        if self.recipe.blend < 1:
            self.blend()
        figures = calibration = None
        results: dict[str, Any] = {}
        if self.held_out is not None:
            logits = predict(self.network, self.held_out)
            figures = measure(logits, self.held_out)
            calibration = platt(logits[:, 0], self.held_out.answer)
            results = _results(logits, self.held_out, figures, calibration)
        save_model(self.network.bert(), self.base.tokenizer, self.output)
        report = json.dumps(self.report(seconds) | results, indent=2, ensure_ascii=False) + "\n"
        write_whole(self.output / REPORT_FILE, report.encode())
        (self.output / CHECKPOINT_FILE).unlink(missing_ok=True)
        return Outcome(True, self.step, seconds, figures, calibration)

    def blend(self) -> None:
        """Put the weights between those of the base and those that were learnt."""
        recipe = self.recipe
        base = Network(
            self.base.bert, precision=recipe.precision, frozen_embeddings=recipe.frozen_embeddings
        )
        pairs = zip(base.masters(), self.network.masters(), strict=True)
        self.network.load([old.detach().lerp(new.detach(), recipe.blend) for old, new in pairs])

    def report(self, seconds: float) -> dict[str, Any]:
        """Give what the report says of the run itself."""
        flags = processor_flags()
        return {
            "base": self.base.name,
            "recipe": asdict(self.recipe),
            "data": {
                "groups": len(self.data),
                "pairs": self.data.pairs,
                "sources": self.data.counts(),
                "fingerprint": self.fingerprint,
            },
            "training": {
                "steps": self.step,
                "epochs": round(self.epoch + self.place / len(self.batches), 3),
                "pairs": self.pairs,
                "seconds": round(seconds, 1),
                "pairs_per_second": round(self.pairs / max(seconds, 1e-9), 1),
                "tokens": self.tokens,
                "loss": round(self.loss, 4),
                "precision": self.network.precision,
                "history": self.history,
            },
            "machine": {
                "python": platform.python_version(),
                "torch": str(self.torch.__version__),
                "pathrag_gds": __version__,
                "threads": self.torch.get_num_threads(),
                "processor_flags": [flag for flag in _INTERESTING_FLAGS if flag in flags],
            },
        }


def group_loss(logits: Any, labels: Any, members: list[list[int]], listwise: float) -> Any:
    """Give the loss of the pairs of some groups: each pair by itself, and against its group.

    ``BCE(answer) + BCE(prefix)``, means over the pairs, and ``listwise`` times the cross entropy of
    the softmax over each group's logits with its labels, of answer and of prefix. Several right
    texts share the mass; groups without a right one have no such part. Means over the groups.

    Args:
        logits: (pairs, 2).
        labels: (pairs, 2), from 0 to 1.
        members: The rows of each group.
    """
    torch = import_torch()
    loss = 2 * torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
    if not listwise:
        return loss
    longest = max(map(len, members))
    rows = torch.tensor([[*rows, *[-1] * (longest - len(rows))] for rows in members])
    absent = (rows < 0).unsqueeze(-1)
    # Not minus infinity, of which the product with a label of 0 is no number.
    by_group = logits[rows].masked_fill(absent, -1e4).log_softmax(1)
    target = labels[rows].masked_fill(absent, 0.0)
    mass = target.sum(1)
    crossed = -(target * by_group).sum(1) / mass.clamp(min=1e-9)
    competing = mass > 0
    counts = competing.sum(0).clamp(min=1)
    return loss + listwise * ((crossed * competing).sum(0) / counts).sum()


def _results(
    logits: Matrix, data: TokenisedGroups, figures: Figures, calibration: Calibration
) -> dict[str, Any]:
    raw, scaled = (
        metrics.calibration(_told_and_true(logits[:, 0], data.answer, scaling)).to_dict()
        for scaling in (Calibration(), calibration)
    )
    by_source = measure_by_source(logits, data)
    return {
        "held_out": figures.to_dict()
        | {"sources": {source: found.to_dict() for source, found in by_source.items()}},
        "calibration": asdict(calibration)
        | {
            "kind": "platt",
            "error_before": raw["error"],
            "error_after": scaled["error"],
            "bins": scaled["bins"],
        },
    }


def _told_and_true(logits: Any, labels: Any, calibration: Calibration) -> list[tuple[float, float]]:
    """Give the probability that each pair is said to be right with, and its label."""
    import numpy as np

    scaled = calibration.slope * logits.astype(np.float64) + calibration.intercept
    told = 1 / (1 + np.exp(-np.clip(scaled, -50, 50)))
    return list(zip(told.tolist(), labels.tolist(), strict=True))


def _some_groups(data: TokenisedGroups) -> TokenisedGroups:
    """Give up to a thousand groups, evenly spread."""
    import numpy as np

    if len(data) <= _GROUPS_ON_THE_WAY:
        return data
    chosen = np.linspace(0, len(data) - 1, _GROUPS_ON_THE_WAY).astype(int)
    return data.subset([int(group) for group in chosen])


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Let SIGINT and SIGTERM be asked for instead of breaking in; a second one breaks in."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, _: Any) -> None:
        asked.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, ask)
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
