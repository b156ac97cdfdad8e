"""How well a path answers a question: two values per text, in one pass of a model.

``answer`` says that the path ends at the answer; ``prefix`` that an extension of it does. A model
with one output gives both the same value.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from pathrag_gds.errors import ModelError
from pathrag_gds.models.cache import LeastRecentlyUsed
from pathrag_gds.models.encoder import Encoder, fingerprint_of, well_formed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

__all__ = [
    "DECIMALS",
    "CachedReranker",
    "Calibrated",
    "ChainReader",
    "CosineReranker",
    "CrossEncoderReranker",
    "NodeMatcher",
    "PathScore",
    "Reranker",
    "TokenReader",
    "confidence_of",
    "load_reranker",
    "matcher_of",
    "reader_of",
    "reads_chains",
]

DECIMALS = 6
_CACHED_TEXTS = 50_000
_CACHED_SCORES = 200_000


class PathScore(NamedTuple):
    """Two values of a path for a question, each from 0 to 1, rounded to 6 decimals.

    Attributes:
        answer: That the path ends at the answer.
        prefix: That an extension of the path does.
    """

    answer: float
    prefix: float


class Reranker(Protocol):
    """Score texts of paths against a question. Safe to use from many threads.

    Attributes:
        name: What the user calls it.
        fingerprint: Short hex; changes with whatever changes scores.
    """

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    def score(self, question: str, texts: Sequence[str]) -> list[PathScore]:
        """Score each text, in order; no texts, no scores."""
        ...


@runtime_checkable
class Calibrated(Protocol):
    """A reranker that knows how often it is right; not every one does."""

    def confidence(self, answer: float) -> float:
        """Give the probability, from 0 to 1, that a path with this ``answer`` value answers.

        Never falls while ``answer`` rises, so it orders paths as ``answer`` does.
        """
        ...


def confidence_of(reranker: Reranker, answer: float) -> float:
    """Give the calibrated ``answer`` value of a reranker, or the value itself where there is none.

    Args:
        reranker: The one that gave the value.
        answer: From 0 to 1, as scored.
    """
    return reranker.confidence(answer) if isinstance(reranker, Calibrated) else answer


@runtime_checkable
class ChainReader(Protocol):
    """A reranker that may have been trained to read chains of relations."""

    @property
    def reads_chains(self) -> bool: ...


def reads_chains(reranker: Reranker) -> bool:
    """Say whether a reranker was trained to read chains of relations, not only whole paths."""
    return isinstance(reranker, ChainReader) and reranker.reads_chains


@runtime_checkable
class TokenReader(Protocol):
    """A model that says how much of a text it reads: every encoder, and some rerankers.

    Attributes:
        max_tokens: Tokens that count, marks included; the rest is cut.
    """

    @property
    def max_tokens(self) -> int: ...

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text before any cut, marks included."""
        ...


def reader_of(reranker: Reranker, otherwise: TokenReader) -> TokenReader:
    """Give what counts the tokens of a reranker's texts: itself, or else another model."""
    inner = reranker.reranker if isinstance(reranker, CachedReranker) else reranker
    return inner if isinstance(inner, TokenReader) else otherwise


@runtime_checkable
class NodeMatcher(Protocol):
    """A reranker that also tells which of many nodes a question speaks of, by what they tell."""

    def match(self, question: str, texts: Sequence[str]) -> list[float]:
        """Give how near each text is to the question, from 0 to 1; no texts, nothing."""
        ...


def matcher_of(reranker: Reranker) -> NodeMatcher | None:
    """Give what matches nodes for a reranker: itself, where it can."""
    inner = reranker.reranker if isinstance(reranker, CachedReranker) else reranker
    return inner if isinstance(inner, NodeMatcher) else None


class CosineReranker:
    """Score by the cosine of question and text, ``max(0, cos)``; both values are the same.

    Not ``(1 + cos) / 2``, which gives strangers 0.5. Vectors of texts are kept, so a path that is
    scored again at the next depth or for the next question costs nothing.

    Args:
        encoder: Embeds questions and texts.
        cached_texts: Most vectors that are kept; the least recently used goes first. A vector of
            384 dimensions takes 1.5 kB.
    """

    def __init__(self, encoder: Encoder, *, cached_texts: int = _CACHED_TEXTS) -> None:
        self._encoder = encoder
        self._vectors: LeastRecentlyUsed[str, Vector] = LeastRecentlyUsed(cached_texts)

    def __repr__(self) -> str:
        return f"CosineReranker({self._encoder!r})"

    @property
    def name(self) -> str:
        """Give the name for people."""
        return f"cosine({self._encoder.name})"

    @property
    def fingerprint(self) -> str:
        """Give the short hex that names these scores."""
        return fingerprint_of(b"cosine", self._encoder.fingerprint.encode())

    def score(self, question: str, texts: Sequence[str]) -> list[PathScore]:
        """Score each text, in order; no texts, no scores."""
        if not texts:
            return []
        vectors = self._embed([question, *texts])
        asked = vectors[question]
        # One product per text: a matrix product may sum in another order for another batch.
        cosines = (float(asked @ vectors[text]) for text in texts)
        return [_same(cosine) for cosine in cosines]

    def _embed(self, texts: Sequence[str]) -> dict[str, Vector]:
        known = self._vectors.find(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            # Copies, for a row of the matrix would keep the whole matrix in memory.
            fresh = {
                text: vector.copy()
                for text, vector in zip(missing, self._encoder.encode(missing), strict=True)
            }
            self._vectors.store(fresh)
            known.update(fresh)
        return known


class CrossEncoderReranker:
    """Score with a cross-encoder of sentence-transformers, by local path or hub name.

    One output gives both values; of two outputs the first is ``answer``, the second ``prefix``.
    Outputs are logits, turned into values by the sigmoid, whatever the model's files say.

    Args:
        model: Folder, or a name that sentence-transformers resolves. Only a name can cause a
            download, and only because the user gave it.
        device: Such as ``cpu`` or ``cuda``; None leaves the choice to the library.
        batch_size: Pairs in one run.

    Raises:
        MissingExtra: sentence-transformers is not installed.
        ModelError: The model cannot be loaded, or has neither one nor two outputs.
    """

    def __init__(
        self, model: str | Path, *, device: str | None = None, batch_size: int = 32
    ) -> None:
        from pathrag_gds.models.sentence_transformer import import_sentence_transformers

        self._name = str(model)
        self._batch_size = batch_size
        # Its tokenizer is changed while it works, and refuses a second thread at that moment.
        self._lock = threading.Lock()
        library = import_sentence_transformers("A cross-encoder by name or path")
        import torch

        try:
            self._model = library.CrossEncoder(
                self._name,
                device=device,
                activation_fn=torch.nn.Sigmoid(),
                local_files_only=Path(self._name).exists(),
            )
        except Exception as error:  # the library raises whatever its loaders raise
            raise ModelError(
                f"The cross-encoder {self._name!r} cannot be loaded: {error}",
                hint="Give a folder that sentence-transformers can read, or leave the model out.",
            ) from error
        self._outputs = int(self._model.num_labels)
        if self._outputs not in (1, 2):
            raise ModelError(
                f"The cross-encoder {self._name!r} has {self._outputs} outputs, not one or two.",
                hint="Give a model with one output (relevance) or two (answer, prefix).",
            )

    def __repr__(self) -> str:
        return f"CrossEncoderReranker({self._name!r})"

    @property
    def name(self) -> str:
        """Give the path or name that was asked for."""
        return self._name

    @cached_property
    def fingerprint(self) -> str:
        """Give the short hex that names these scores; reads all weights once."""
        from pathrag_gds.models.sentence_transformer import tokenizer_bytes, weight_bytes

        model = self._model
        # Renamed in version 6; the old name warns there.
        longest = model.max_seq_length if hasattr(model, "max_seq_length") else model.max_length
        return fingerprint_of(
            *weight_bytes(model),
            tokenizer_bytes(model.tokenizer),
            f"sigmoid,{self._outputs},{longest}".encode(),
        )

    def score(self, question: str, texts: Sequence[str]) -> list[PathScore]:
        """Score each text, in order; no texts, no scores.

        Texts run sorted by length, so that little is padded.
        """
        if not texts:
            return []
        asked = well_formed(question)
        clean = [well_formed(text) for text in texts]
        order = sorted(range(len(clean)), key=lambda row: (len(clean[row]), clean[row], row))
        with self._lock:
            output = self._model.predict(
                [(asked, clean[row]) for row in order],
                batch_size=self._batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        values = output.reshape(len(texts), self._outputs)
        scores = [PathScore(0.0, 0.0)] * len(texts)
        for row, value in zip(order, values.tolist(), strict=True):
            scores[row] = PathScore(round(value[0], DECIMALS), round(value[-1], DECIMALS))
        return scores


class CachedReranker:
    """Keep the scores of another reranker, by its fingerprint, the question and the text.

    Args:
        reranker: Scores what is not kept yet; each distinct text once per call.
        size: Most scores that are kept; the least recently used goes first.

    Attributes:
        reranker: The one that is wrapped.
    """

    def __init__(self, reranker: Reranker, *, size: int = _CACHED_SCORES) -> None:
        self.reranker = reranker
        self._scores: LeastRecentlyUsed[tuple[str, str, str], PathScore] = LeastRecentlyUsed(size)

    def __repr__(self) -> str:
        return f"CachedReranker({self.reranker!r})"

    @property
    def name(self) -> str:
        """Give the name of the wrapped reranker."""
        return self.reranker.name

    @property
    def fingerprint(self) -> str:
        """Give the fingerprint of the wrapped reranker."""
        return self.reranker.fingerprint

    @property
    def hits(self) -> int:
        """Count the distinct texts of each call whose score was kept."""
        return self._scores.hits

    @property
    def misses(self) -> int:
        """Count the distinct texts of each call that had to be scored."""
        return self._scores.misses

    @property
    def reads_chains(self) -> bool:
        """Whether the wrapped reranker does."""
        return reads_chains(self.reranker)

    def confidence(self, answer: float) -> float:
        """Give what the wrapped reranker makes of an ``answer`` value."""
        return confidence_of(self.reranker, answer)

    def score(self, question: str, texts: Sequence[str]) -> list[PathScore]:
        """Score each text, in order; no texts, no scores."""
        if not texts:
            return []
        fingerprint = self.fingerprint
        keys = {text: (fingerprint, question, text) for text in texts}
        known = self._scores.find(keys.values())
        missing = [text for text, key in keys.items() if key not in known]
        if missing:
            fresh = self.reranker.score(question, missing)
            scored = {keys[text]: value for text, value in zip(missing, fresh, strict=True)}
            self._scores.store(scored)
            known.update(scored)
        return [known[keys[text]] for text in texts]


def load_reranker(
    name: str | None, encoder: Encoder, *, device: str | None = None
) -> CachedReranker:
    """Give the reranker of a name, with a cache around it.

    Args:
        name: None, empty or ``default`` is the path reranker that ships with the package; where
            none does, and for ``cosine``, the cosine of the encoder's vectors. A folder with
            ``reranker.json`` is a path reranker. Anything else is a cross-encoder of
            sentence-transformers, by folder or hub name.
        encoder: Used by the cosine.
        device: Device of sentence-transformers.

    Raises:
        MissingExtra: The name needs sentence-transformers, which is not installed.
        ModelError: The model cannot be loaded.
    """
    from pathrag_gds.models.path_reranker import RECORD_FILE, PathReranker, shipped_reranker

    default = name in (None, "", "default")
    folder = shipped_reranker() if default else Path(str(name))
    if name != "cosine" and (folder / RECORD_FILE).is_file():
        return CachedReranker(PathReranker(folder))
    if default or name == "cosine":
        return CachedReranker(CosineReranker(encoder))
    return CachedReranker(CrossEncoderReranker(str(name), device=device))


def _same(cosine: float) -> PathScore:
    value = round(min(1.0, max(0.0, cosine)), DECIMALS)
    return PathScore(value, value)
