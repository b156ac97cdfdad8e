"""Our own cross-encoder of question and path, on ONNX Runtime.

A folder of it holds ``model.onnx``, ``tokenizer.json`` and ``reranker.json``; it is written by
``pathrag_gds.models.export``. Importing this module is light: numpy, ONNX Runtime and tokenizers
are imported when a reranker first scores.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from pathrag_gds.errors import ModelError
from pathrag_gds.models.encoder import MAX_TOKENS, OnnxEncoder, fingerprint_of, well_formed
from pathrag_gds.models.files import write_whole
from pathrag_gds.models.onnx_model import MODEL_FILE, TOKENIZER_FILE, OnnxModel
from pathrag_gds.models.reranker import DECIMALS, CosineReranker, PathScore
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION

__all__ = [
    "OUTPUTS",
    "QUESTION_TOKENS",
    "RECORD_FILE",
    "Calibration",
    "PathReranker",
    "RerankerRecord",
    "pair_ids",
    "shipped_matcher",
    "shipped_reranker",
]

RECORD_FILE = "reranker.json"
QUESTION_TOKENS = 96
OUTPUTS = 2  # answer, prefix

# Raise when the way a pair becomes the model's input changes.
_INPUT_VERSION = "1"
_MARKS = 3
# Scores are rounded, so 0 and 1 stand for everything up to half of the last decimal away.
_LEAST = 0.5 * 10**-DECIMALS


def shipped_reranker() -> Path:
    """Give the folder of the reranker that ships with this package, there or not."""
    return Path(__file__).parent / "path-reranker-int8"


def shipped_matcher() -> Path:
    """Give the folder of the encoder that matches nodes with questions."""
    return Path(__file__).parent / "node-matcher-int8"


@cache
def _matcher() -> CosineReranker:
    """Give the one matcher of the process, so that rerankers share its model and its vectors."""
    return CosineReranker(OnnxEncoder(shipped_matcher()))


@dataclass(frozen=True, slots=True)
class Calibration:
    """How often a score is right: ``sigmoid(slope · logit(answer) + intercept)`` (Platt).

    Attributes:
        slope: Above 0, so that it orders as the score does; below 1 where the model boasts.
        intercept: Below 0 where right answers are rarer than in training.

    Raises:
        ModelError: ``slope`` is not above 0, or one of them is not finite.
    """

    slope: float = 1.0
    intercept: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.slope < math.inf and math.isfinite(self.intercept)):
            raise ModelError(
                f"A calibration has a slope above 0 and a finite intercept, "
                f"not {self.slope!r} and {self.intercept!r}."
            )

    def apply(self, answer: float) -> float:
        """Give the probability of a score, both from 0 to 1, rounded to 6 decimals."""
        inside = min(max(answer, _LEAST), 1 - _LEAST)
        logit = self.slope * (math.log(inside) - math.log1p(-inside)) + self.intercept
        # Beyond 700 the exponential overflows, and six decimals are full at 15.
        return round(1 / (1 + math.exp(-min(max(logit, -50.0), 50.0))), DECIMALS)


@dataclass(frozen=True, slots=True)
class RerankerRecord:
    """What ``reranker.json`` says of a reranker.

    Attributes:
        name: For people.
        version: Of the model, for people.
        template: Version of the path text that it was trained on.
        max_tokens: Tokens of a pair that count, marks included, 100 to 256.
        calibration: Of ``answer``; None where it was never measured.
        base: The weights that training started from.
        trained_on: The sets and graphs that it was trained on.
        created: Date, ``YYYY-MM-DD``.
        ontology: Fingerprint of the ontology that it was adapted to; None for a general one.
    """

    name: str
    version: str = "1"
    template: str = TEXT_TEMPLATE_VERSION
    max_tokens: int = MAX_TOKENS
    calibration: Calibration | None = None
    base: str = ""
    trained_on: tuple[str, ...] = ()
    created: str = ""
    ontology: str | None = None

    @classmethod
    def read(cls, folder: Path) -> RerankerRecord:
        """Read the record of a folder.

        Raises:
            ModelError: The folder is no reranker, or its record is damaged.
        """
        path = folder / RECORD_FILE
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ModelError(
                f"{folder} is no path reranker: {RECORD_FILE} is missing ({error.strerror}).",
                hint="Give a folder that pathrag train or pathrag_gds.models.export wrote.",
            ) from error
        except ValueError as error:
            raise ModelError(f"{path} is no JSON: {error}") from error
        try:
            return cls._of(found)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{path} is no record of a reranker: {error!r}") from error

    @classmethod
    def _of(cls, found: Mapping[str, Any]) -> RerankerRecord:
        calibration = found.get("calibration")
        if calibration is not None:
            if calibration["kind"] != "platt":
                raise ValueError(f"unknown calibration {calibration['kind']!r}")
            calibration = Calibration(float(calibration["slope"]), float(calibration["intercept"]))
        ontology = found.get("ontology")
        max_tokens = int(found["max_tokens"])
        if not QUESTION_TOKENS + _MARKS < max_tokens <= MAX_TOKENS:
            raise ValueError(f"max_tokens is {max_tokens}")
        return cls(
            name=str(found["name"]),
            version=str(found["version"]),
            template=str(found["template"]),
            max_tokens=max_tokens,
            calibration=calibration,
            base=str(found.get("base", "")),
            trained_on=tuple(str(name) for name in found.get("trained_on", ())),
            created=str(found.get("created", "")),
            ontology=None if ontology is None else str(ontology),
        )

    def write(self, folder: Path) -> Path:
        """Write the record into a folder that exists, whole or not at all; give its path."""
        calibration = self.calibration and {
            "kind": "platt",
            "slope": self.calibration.slope,
            "intercept": self.calibration.intercept,
        }
        record = {
            "name": self.name,
            "version": self.version,
            "template": self.template,
            "max_tokens": self.max_tokens,
            "calibration": calibration,
            "base": self.base,
            "trained_on": list(self.trained_on),
            "created": self.created,
            "ontology": self.ontology,
        }
        path = folder / RECORD_FILE
        text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
        write_whole(path, text.encode())
        return path


class PathReranker:
    """Score with a path reranker. A text's score is the same alone and in any batch and order.

    Pairs of equal token count run together without padding; each token is scaled by itself, and
    sums of 8-bit products are exact.

    Args:
        folder: Holds ``model.onnx`` (output ``logits``), ``tokenizer.json`` and ``reranker.json``;
            the shipped one when None. The record is read at once, the model when first used.
        threads: Runs at the same time; 0 for one per core.

    Attributes:
        record: What the folder says of itself.

    Raises:
        ModelError: The folder is no path reranker, or was trained on other path texts than this
            version writes. On first use: a file is missing or damaged.
    """

    def __init__(self, folder: Path | str | None = None, *, threads: int = 0) -> None:
        where = shipped_reranker() if folder is None else Path(folder)
        self.record = RerankerRecord.read(where)
        if self.record.template != TEXT_TEMPLATE_VERSION:
            raise ModelError(
                f"The reranker in {where} was trained on path texts of version "
                f"{self.record.template!r}; this version writes {TEXT_TEMPLATE_VERSION!r}.",
                hint="Train it again: pathrag train\nOr use the default: leave --reranker out.",
            )
        self._model = OnnxModel(where, output="logits", threads=threads)

    def __repr__(self) -> str:
        return f"PathReranker({str(self._model.folder)!r})"

    @property
    def name(self) -> str:
        """Give the name for people."""
        return self.record.name

    @property
    def max_tokens(self) -> int:
        """Give the number of tokens of a pair that count, marks included."""
        return self.record.max_tokens

    @property
    def reads_chains(self) -> bool:
        """Say that chains of relations may be read alone: training always has some."""
        return True

    @property
    def calibration(self) -> Calibration | None:
        """Give how ``answer`` becomes a confidence; None where that was never measured."""
        return self.record.calibration

    @cached_property
    def fingerprint(self) -> str:
        """Give the short hex that names these scores; reads the files, not the model."""
        files = [self._model.read(MODEL_FILE), self._model.read(TOKENIZER_FILE)]
        rest = f"{self.max_tokens},{QUESTION_TOKENS},{self.record.template},{_INPUT_VERSION}"
        return fingerprint_of(b"path-reranker", *files, rest.encode())

    def confidence(self, answer: float) -> float:
        """Give the calibrated probability of an ``answer`` value; the value itself without one."""
        return answer if self.calibration is None else self.calibration.apply(answer)

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text before any cut, its two marks included."""
        return len(self._model.tokenizer.encode(well_formed(text)).ids)

    def score(self, question: str, texts: Sequence[str]) -> list[PathScore]:
        """Score each text, in order; no texts, no scores.

        Of the question the first 96 tokens count; of a pair the first 256, so a long text loses
        its end. An empty question or text has a score too.
        """
        import numpy as np

        if not texts:
            return []
        ids = pair_ids(self._model.tokenizer, question, texts, max_tokens=self.max_tokens)
        logits = self._model.run(ids).astype(np.float64)
        values = 1 / (1 + np.exp(-np.clip(logits, -50, 50)))
        return [
            PathScore(round(answer, DECIMALS), round(prefix, DECIMALS))
            for answer, prefix in values.tolist()
        ]

    def match(self, question: str, texts: Sequence[str]) -> list[float]:
        """Give how near each text is to the question; no texts, nothing.

        It is the cosine of their vectors, 0 for a negative one. The encoder ships with the package
        and was trained to find the event that a question speaks of in other words
        (``pathrag_gds.models.training.contrastive``); vectors of texts are kept.
        """
        return [score.answer for score in _matcher().score(question, texts)]


def pair_ids(
    tokenizer: Any, question: str, texts: Sequence[str], *, max_tokens: int = MAX_TOKENS
) -> list[list[int]]:
    """Make the model's input of a question and each text: ``[CLS] question [SEP] text [SEP]``.

    The question is cut at 96 tokens of its own; a pair that is too long loses the end of its text.
    Token types are 0 everywhere.

    Args:
        tokenizer: Of the library ``tokenizers``, with neither padding nor truncation, that puts
            one mark before and one after a text.
        max_tokens: Of a pair, marks included; above 99.

    Raises:
        ModelError: The tokenizer marks texts otherwise.
    """
    marks = tokenizer.encode("").ids
    if len(marks) != 2:
        raise ModelError(
            f"The tokenizer puts {len(marks)} marks around a text, not one before and one after."
        )
    first, last = marks
    asked, *told = tokenizer.encode_batch_fast(
        [well_formed(text) for text in (question, *texts)], add_special_tokens=False
    )
    head = [first, *asked.ids[:QUESTION_TOKENS], last]
    room = max_tokens - len(head) - 1
    return [[*head, *encoding.ids[:room], last] for encoding in told]
