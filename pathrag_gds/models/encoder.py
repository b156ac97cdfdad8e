"""Text to vectors: the shipped ONNX encoder, and any sentence-transformers model by name or path.

Importing this module is light: numpy, ONNX Runtime and sentence-transformers are imported when an
encoder first needs them. Nothing is downloaded unless the user asked for a model by its hub name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pathrag_gds.models.onnx_model import MODEL_FILE, TOKENIZER_FILE, OnnxModel

if TYPE_CHECKING:
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

_POOLING = "mean,l2"
_FINGERPRINT_LENGTH = 16
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
        where = shipped_model() if folder is None else Path(folder)
        self._model = OnnxModel(where, output="embedding", threads=threads)
        self._name = name or (DEFAULT_ENCODER if folder is None else where.name)
        self._max_tokens = max_tokens

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
        return self._model.width

    @cached_property
    def fingerprint(self) -> str:
        """Give the short hex that names these vectors; reads the files, not the model."""
        files = [self._model.read(MODEL_FILE), self._model.read(TOKENIZER_FILE)]
        rest = f"{_POOLING},{self._max_tokens},{INPUT_VERSION}"
        return fingerprint_of(*files, rest.encode())

    def encode(self, texts: Sequence[str], *, progress: EncodeProgress | None = None) -> Matrix:
        """Give one unit vector per text: (texts, dimension), in order; no texts, no rows.

        Texts beyond ``max_tokens`` are cut. An empty text has a vector too.
        """
        import numpy as np

        model = self._model
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        done = 0

        def ran(rows: int) -> None:
            nonlocal done
            done += rows
            if progress:
                progress(done, len(texts))

        for start in range(0, len(texts), _TEXTS_PER_CHUNK):
            chunk = [well_formed(text) for text in texts[start : start + _TEXTS_PER_CHUNK]]
            ids = [self._cut(encoding.ids) for encoding in model.tokenizer.encode_batch_fast(chunk)]
            vectors[start : start + len(chunk)] = model.run(ids, done=ran)
        return vectors

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text before any cut, marks included."""
        return len(self._model.tokenizer.encode(well_formed(text)).ids)

    def _cut(self, ids: list[int]) -> list[int]:
        # The closing mark stays: the model has never seen a text without it.
        return ids if len(ids) <= self._max_tokens else [*ids[: self._max_tokens - 1], ids[-1]]


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
