"""Text to vectors: the shipped ONNX encoder, and any sentence-transformers model by name or path.

Importing this module is light: numpy, ONNX Runtime and sentence-transformers are imported when an
encoder first needs them. Nothing is downloaded unless the user asked for a model by its hub name.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pathrag_gds.errors import ModelError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

__all__ = [
    "DEFAULT_ENCODER",
    "EncodeProgress",
    "Encoder",
    "OnnxEncoder",
    "fingerprint_of",
    "load_encoder",
    "shipped_model",
    "well_formed",
]

EncodeProgress = Callable[[int, int], None]
"""Called with the number of texts done and the number of all texts, never decreasing."""

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
# Raise when the way a text becomes the model's input changes: vectors are then not comparable.
INPUT_VERSION = "1"
MAX_TOKENS = 256
MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"

_REINSTALL = "If it is the shipped one, run: pip install --force-reinstall pathrag-gds"
_POOLING = "mean,l2"
_FINGERPRINT_LENGTH = 16
# Tokens in one run: larger runs leave the processor's caches (one thread, 16 tokens a text:
# 641 texts/s at 256, 604 at 512, 569 at 1,024, 485 at 2,048).
_TOKENS_PER_RUN = 512
# Texts tokenised at once, so that a million texts do not all lie in memory as tokens.
_TEXTS_PER_CHUNK = 4096


class Encoder(Protocol):
    """Turn texts into unit vectors. Safe to use from many threads.

    Attributes:
        name: What the user calls it.
        dimension: Length of a vector.
        max_tokens: Tokens of a text that count, the model's own marks included; the rest is cut.
        fingerprint: Short hex; changes with whatever changes vectors (weights, tokenizer, pooling,
            text template). Vectors of different fingerprints must not be compared.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    def encode(self, texts: Sequence[str], *, progress: EncodeProgress | None = None) -> Matrix:
        """Give one unit vector per text: (texts, dimension), in order; no texts, no rows."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text before any cut, the model's own marks included."""
        ...


def shipped_model() -> Path:
    """Give the folder of the model that ships with this package."""
    return Path(__file__).parent / "all-MiniLM-L6-v2-int8"


class OnnxEncoder:
    """Encode with ONNX Runtime. A text's vector is the same alone and in any batch.

    Texts of equal token count run together without padding, and the shipped graph scales each
    token by itself (``pathrag_gds.models.export``), so a text's company cannot touch its vector.

    Args:
        folder: Holds ``model.onnx`` (input ``input_ids``, output ``embedding``) and
            ``tokenizer.json``. Read when first used.
        name: Name for people; the folder's name when empty.
        threads: Runs at the same time; 0 for one per core.
        max_tokens: Longest text the model takes.

    Raises:
        ModelError: On first use, when a file is missing or damaged.
    """

    def __init__(
        self,
        folder: Path | str | None = None,
        *,
        name: str = "",
        threads: int = 0,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self._folder = shipped_model() if folder is None else Path(folder)
        self._name = name or (DEFAULT_ENCODER if folder is None else self._folder.name)
        self._threads = threads
        self._max_tokens = max_tokens
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any, ThreadPoolExecutor] | None = None

    def __repr__(self) -> str:
        return f"OnnxEncoder({self._name!r})"

    @property
    def name(self) -> str:
        """Give the name for people."""
        return self._name

    @property
    def max_tokens(self) -> int:
        """Give the number of tokens that count, marks included."""
        return self._max_tokens

    @property
    def dimension(self) -> int:
        """Give the length of a vector."""
        session, *_ = self._load()
        return int(session.get_outputs()[0].shape[-1])

    @cached_property
    def fingerprint(self) -> str:
        """Give the short hex that names these vectors; reads the files, not the model."""
        files = [self._read(MODEL_FILE), self._read(TOKENIZER_FILE)]
        rest = f"{_POOLING},{self._max_tokens},{INPUT_VERSION}"
        return fingerprint_of(*files, rest.encode())

    def encode(self, texts: Sequence[str], *, progress: EncodeProgress | None = None) -> Matrix:
        """Give one unit vector per text: (texts, dimension), in order; no texts, no rows.

        Texts beyond ``max_tokens`` are cut. An empty text has a vector too.
        """
        import numpy as np

        session, tokenizer, pool = self._load()
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        done = 0
        for start in range(0, len(texts), _TEXTS_PER_CHUNK):
            chunk = [well_formed(text) for text in texts[start : start + _TEXTS_PER_CHUNK]]
            ids = [self._cut(encoding.ids) for encoding in tokenizer.encode_batch_fast(chunk)]

            def run(rows: list[int], ids: list[list[int]] = ids) -> tuple[list[int], Any]:
                batch = np.array([ids[row] for row in rows], dtype=np.int64)
                return rows, session.run(["embedding"], {"input_ids": batch})[0]

            # The longest first, so that no thread is left with a long run at the end.
            for rows, output in pool.map(run, reversed(list(_runs([len(i) for i in ids])))):
                vectors[[start + row for row in rows]] = output
                done += len(rows)
                if progress:
                    progress(done, len(texts))
        return vectors

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text before any cut, marks included."""
        _, tokenizer, _ = self._load()
        return len(tokenizer.encode(well_formed(text)).ids)

    def _cut(self, ids: list[int]) -> list[int]:
        # The closing mark stays: the model has never seen a text without it.
        return ids if len(ids) <= self._max_tokens else [*ids[: self._max_tokens - 1], ids[-1]]

    def _load(self) -> tuple[Any, Any, ThreadPoolExecutor]:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self._open()
        return self._loaded

    def _open(self) -> tuple[Any, Any, ThreadPoolExecutor]:
        from concurrent.futures import ThreadPoolExecutor

        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        # Runs are small, since texts of one run have one length: threads that each take a run of
        # their own make 440 texts/s on two cores where threads within a run make 255.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # The graph is fused by hand; the higher levels would swap in slower layer normalisation.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        try:
            tokenizer = Tokenizer.from_str(self._read(TOKENIZER_FILE).decode())
            session = onnxruntime.InferenceSession(
                self._read(MODEL_FILE), options, providers=["CPUExecutionProvider"]
            )
        except ModelError:
            raise
        except Exception as error:  # both libraries raise bare exceptions of their own
            raise ModelError(
                f"The model in {self._folder} cannot be loaded: {error}",
                hint=_REINSTALL,
            ) from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        pool = ThreadPoolExecutor(self._threads or os.cpu_count() or 1, "encode")
        return session, tokenizer, pool

    def _read(self, file: str) -> bytes:
        path = self._folder / file
        try:
            return path.read_bytes()
        except OSError as error:
            raise ModelError(
                f"The encoder {self._name!r} lacks {path}: {error.strerror}.",
                hint=_REINSTALL,
            ) from error


def load_encoder(
    name: str | None = None, *, threads: int = 0, device: str | None = None
) -> Encoder:
    """Give the encoder of a name: the shipped one, a folder, or a sentence-transformers model.

    Args:
        name: None, empty, ``default`` or ``all-MiniLM-L6-v2`` is the shipped model. A folder with
            ``model.onnx`` and no ``modules.json`` is one written by ``pathrag_gds.models.export``.
            Anything else goes to sentence-transformers.
        threads: Runs of the shipped model at the same time; 0 for one per core.
        device: Device of sentence-transformers.

    Raises:
        MissingExtra: The name needs sentence-transformers, which is not installed.
        ModelError: The model cannot be loaded.
    """
    if name in (None, "", "default", DEFAULT_ENCODER):
        return OnnxEncoder(threads=threads)
    folder = Path(str(name))
    if (folder / MODEL_FILE).is_file() and not (folder / "modules.json").exists():
        return OnnxEncoder(folder, threads=threads)
    from pathrag_gds.models.sentence_transformer import SentenceTransformerEncoder

    return SentenceTransformerEncoder(str(name), device=device)


def fingerprint_of(*parts: bytes) -> str:
    """Hash parts to a short hex; the border between two parts counts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:_FINGERPRINT_LENGTH]


def well_formed(text: str) -> str:
    """Replace what has no UTF-8 form by U+FFFD, and give everything else as it is."""
    # A lone surrogate (from a damaged file) has no UTF-8 form, and tokenizers would refuse it.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group positions of equal length, shortest first, into runs of bounded size."""
    by_length: dict[int, list[int]] = {}
    for position, length in enumerate(lengths):
        by_length.setdefault(length, []).append(position)
    for length, positions in sorted(by_length.items()):
        size = max(1, _TOKENS_PER_RUN // length)
        for start in range(0, len(positions), size):
            yield positions[start : start + size]
